import type { DerivedFiles } from '../../store/derived-files.ts';
import type { FfmpegSource } from '../ffmpeg/ffmpeg.ts';
import type { Streams } from '../ffmpeg/streams.ts';
import type { ProcessingJob } from '../processing-job.ts';

/** Subtitle codecs that store text. All other subtitle codecs store images. */
const textCodecs = /^(?:subrip|ass|ssa|webvtt|mov_text|text|microdvd|subviewer|ttml)$/;
const maxTracks = 50;

/**
 * Extracts the text subtitles of audio as WebVTT files; skips tracks that ffmpeg cannot convert. "Subtitle generation …
 * draw[s] on the organization's credit balance" (§1), so there are none if the balance is too low.
 */
export async function subtitlesOf(
  { attempt, drawSubtitleCredits, log }: ProcessingJob,
  source: FfmpegSource,
  streams: Streams | undefined,
): Promise<DerivedFiles['subtitles']> {
  const tracks = (streams?.subtitles ?? [])
    .map((track, at) => ({ ...track, at, file: `subtitles-${at}.vtt` }))
    .filter(({ codec }) => textCodecs.test(codec))
    .slice(0, maxTracks);
  if (!drawSubtitleCredits(tracks.length)) {
    log('no subtitles: the credit balance is depleted');
    return [];
  }
  const made = [];
  for (const { at, file, language, title } of tracks) {
    const args = ['-map', `0:s:${at}`, '-f', 'webvtt', file];
    const written = await attempt(file, 600, source, ({ run }) => run(args, { outputs: [file] }));
    if (written) made.push({ file, ...describeLanguage(language, title, at) });
  }
  return made;
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
