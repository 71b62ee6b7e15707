import type { DerivedFiles } from '../../store/derived-files.ts';
import type { FfmpegContext, FfmpegSource } from '../ffmpeg/ffmpeg.ts';
import type { Streams } from '../ffmpeg/streams.ts';
import type { ProcessingJob } from '../processing-job.ts';

/** Subtitle codecs that store text. All other subtitle codecs store images. */
const textCodecs = /^(?:subrip|ass|ssa|webvtt|mov_text|text|microdvd|subviewer|ttml)$/;
const maxTracks = 50;

/** A subtitle track to extract. `at` is its index among the subtitle tracks of the source. */
type Track = DerivedFiles['subtitles'][number] & { at: number };

/** Extracts text subtitles as WebVTT files; skips tracks that ffmpeg cannot convert. */
export async function subtitlesOf(
  { attempt }: ProcessingJob,
  source: FfmpegSource,
  streams: Streams | undefined,
): Promise<DerivedFiles['subtitles']> {
  const tracks = (streams?.subtitles ?? [])
    .map(({ codec, language, title }, at) => ({
      codec,
      at,
      file: `subtitles-${at}.vtt`,
      ...describeLanguage(language, title, at),
    }))
    .filter(({ codec }) => textCodecs.test(codec))
    .slice(0, maxTracks);
  if (tracks.length === 0) return [];
  const extracted = (tracksToExtract: Track[], name: string) =>
    attempt(name, 600, source, (context) => extract(context, tracksToExtract));
  // Extract all tracks in one run. If that fails, extract each track separately.
  const all = await extracted(tracks, 'subtitles in one pass');
  if (all || tracks.length === 1) return all ?? [];
  const made = [];
  for (const track of tracks) made.push(...((await extracted([track], track.file)) ?? []));
  return made;
}

async function extract({ run }: FfmpegContext, tracks: readonly Track[]) {
  const args = tracks.flatMap(({ at, file }) => ['-map', `0:s:${at}`, '-f', 'webvtt', file]);
  await run(args, { outputs: tracks.map(({ file }) => file) });
  return tracks.map(({ file, label, language }) => ({ file, label, language }));
}

const languageNames = new Intl.DisplayNames('en', { type: 'language' });

/** Returns the language as a BCP 47 tag (`und` if unknown) and a label that is never empty. */
function describeLanguage(code: string | undefined, title: string | undefined, at: number) {
  const language = languageOf(code);
  const name = language === 'und' ? undefined : languageNames.of(language);
  return { language, label: title?.trim() || name || `Subtitles ${at + 1}` };
}

function languageOf(code = 'und'): string {
  try {
    return Intl.getCanonicalLocales(code)[0] ?? 'und';
  } catch {
    return 'und'; // the language tag of a container may be invalid
  }
}
