import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProcessingJob } from '../processing-job.ts';
import type { Dimensions } from '../recognize/dimensions.ts';
import type { MediaChapter } from '../recognize/inspection-messages.ts';
import type { FfmpegContext, FfmpegSource } from './ffmpeg.ts';
import { ToolRejectedError } from './tool.ts';

/** Streams that ffmpeg finds in a file. Cover art of audio does not count as video. */
export type Streams = {
  pictures: Dimensions[];
  hasSound: boolean;
  subtitles: { codec: string; language: string | undefined; title: string | undefined }[];
  chapters: MediaChapter[];
};

/**
 * Lists the streams of a source with ffmpeg. Returns ToolRejectedError if ffmpeg rejects the file, and undefined if
 * ffmpeg is missing or fails for another reason, or if the file contains neither video nor audio.
 */
export const listStreams = (
  job: ProcessingJob,
  source: FfmpegSource,
): Promise<Streams | ToolRejectedError | undefined> =>
  job.attemptTemporary<Streams | ToolRejectedError>('list of streams', 60, source, (context) =>
    readStreams(context).catch((error) => {
      if (!(error instanceof ToolRejectedError)) throw error;
      job.log(`no list of streams: ${error.message}`);
      return error;
    }),
  );

async function readStreams({ folder, run }: FfmpegContext): Promise<Streams> {
  const tags = 'streams.txt';
  // framecrc prints each property of a stream on its own line; ffmetadata contains the metadata of
  // subtitles and chapters.
  const printed = await run([
    ...['-map', '0:V?', '-map', '0:a?', '-map', '0:s?', '-c', 'copy', '-t', '0'],
    ...['-f', 'framecrc', '-', '-map', '0:s?', '-c', 'copy', '-f', 'ffmetadata', tags],
  ]);
  const streams = propertiesOf(printed.toString());
  const sections = sectionsOf(await readFile(join(folder, tags), 'utf8'));
  const ofType = (type: string) => streams.filter(({ media_type }) => media_type === type);
  const tagsOf = sections.filter(({ section }) => section === 'STREAM');
  const found = {
    pictures: ofType('video').map(({ dimensions = '', sar = '' }) => displaySize(dimensions, sar)),
    hasSound: ofType('audio').length > 0,
    subtitles: ofType('subtitle').map(({ codec_id: codec = '' }, at) => {
      const { language, title }: Partial<Properties> = tagsOf[at] ?? {};
      return { codec, language, title };
    }),
    chapters: sections.filter(({ section }) => section === 'CHAPTER').map(chapterOf),
  };
  if (found.pictures.length === 0 && !found.hasSound) throw new Error('there is no video or audio');
  return found;
}

type Properties = Record<string, string>;

/** Parses lines such as `#codec_id 0: h264` into properties per stream. */
function propertiesOf(printed: string): Properties[] {
  const streams: Properties[] = [];
  for (const [, name = '', at = '', value = ''] of printed.matchAll(/^#(\w+) (\d+): +(.*)$/gm))
    streams[Number(at)] = { ...streams[Number(at)], [name]: value };
  return streams;
}

/** Returns the display size; non-square pixels change the width. */
function displaySize(dimensions: string, ratio: string): Dimensions {
  const [width = 0, height = 0] = dimensions.split('x').map(Number);
  const [across = 0, down = 0] = ratio.split('/').map(Number);
  const hasNonSquarePixels = across > 0 && down > 0 && across !== down;
  return { width: hasNonSquarePixels ? Math.round((width * across) / down) : width, height };
}

/** Parses ffmetadata: `[SECTION]`, then `key=value` lines with backslash escapes. */
function sectionsOf(text: string): (Properties & { section: string })[] {
  const sections = [{ section: '' } as Properties & { section: string }];
  for (const line of text.split(/(?<!\\)\n/)) {
    const [, section] = /^\[(\w+)\]$/.exec(line) ?? [];
    const [, key, value] = /^((?:[^=\\]|\\.)+)=([\s\S]*)$/.exec(line) ?? [];
    if (section !== undefined) sections.push({ section });
    else if (key !== undefined)
      Object.assign(sections.at(-1) as object, { [unescapeText(key)]: unescapeText(value ?? '') });
  }
  return sections;
}

const unescapeText = (text: string) => text.replace(/\\([\s\S])/g, '$1');

function chapterOf({ TIMEBASE = '', START, title = '' }: Properties): MediaChapter {
  const [numerator = 0, denominator = 1] = TIMEBASE.split('/').map(Number);
  return { title, start_time: (Number(START) * numerator) / denominator };
}
