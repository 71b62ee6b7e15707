import type { ProcessingJob } from '../processing-job.ts';
import type { Dimensions } from '../recognize/dimensions.ts';
import type { MediaChapter } from '../recognize/inspection-messages.ts';
import type { FfmpegContext, FfmpegSource } from './ffmpeg.ts';
import { ToolRejectedError } from './tool.ts';

/** Streams of a file. Cover art of audio does not count as video. */
export type Streams = {
  pictures: Dimensions[];
  hasSound: boolean;
  subtitles: { codec: string; language: string | undefined; title: string | undefined }[];
  chapters: MediaChapter[];
};

/**
 * Lists the streams of a source with ffprobe. Returns ToolRejectedError if ffprobe rejects the file, and undefined if
 * it is missing or fails for another reason, or if the file contains neither video nor audio.
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

type Probed = {
  streams?: {
    codec_type: string;
    codec_name?: string;
    width?: number;
    height?: number;
    sample_aspect_ratio?: string;
    disposition?: { attached_pic?: number };
    tags?: { language?: string; title?: string };
  }[];
  chapters?: { start_time: string; tags?: { title?: string } }[];
};

const shownFields = [
  'stream=codec_type,codec_name,width,height,sample_aspect_ratio',
  ...['stream_disposition=attached_pic', 'stream_tags=language,title', 'chapter=start_time', 'chapter_tags=title'],
].join(':');

async function readStreams({ probe }: FfmpegContext): Promise<Streams> {
  const printed = await probe(['-of', 'json', '-show_entries', shownFields]);
  const { streams = [], chapters = [] }: Probed = JSON.parse(printed.toString());
  const ofType = (type: string) => streams.filter(({ codec_type }) => codec_type === type);
  const videos = ofType('video').filter(({ disposition }) => disposition?.attached_pic !== 1);
  if (videos.some(({ width, height }) => !width || !height)) throw new ToolRejectedError('a picture has no size');
  const found = {
    pictures: videos.map(({ width = 0, height = 0, sample_aspect_ratio = '' }) =>
      displaySize(width, height, sample_aspect_ratio),
    ),
    hasSound: ofType('audio').length > 0,
    subtitles: ofType('subtitle').map(({ codec_name: codec = '', tags }) => ({
      codec,
      language: tags?.language,
      title: tags?.title,
    })),
    chapters: chapters.map(({ start_time, tags }) => ({ title: tags?.title ?? '', start_time: Number(start_time) })),
  };
  if (found.pictures.length === 0 && !found.hasSound) throw new Error('there is no video or audio');
  return found;
}

/** Returns the display size; non-square pixels (`4:3`) change the width. */
function displaySize(width: number, height: number, ratio: string): Dimensions {
  const [across = 0, down = 0] = ratio.split(':').map(Number);
  const hasNonSquarePixels = across > 0 && down > 0 && across !== down;
  return { width: hasNonSquarePixels ? Math.round((width * across) / down) : width, height };
}
