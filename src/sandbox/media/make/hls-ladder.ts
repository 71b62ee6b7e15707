import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FfmpegSource } from '../ffmpeg/ffmpeg.ts';
import { attemptStep } from '../ffmpeg/ffmpeg-attempt.ts';
import type { VideoProperties } from '../ffmpeg/ffmpeg-context.ts';
import { masterPlaylist } from '../hls/master.ts';
import type { HlsPackage } from '../hls/rendition.ts';
import type { ProcessingJob } from '../processing-job.ts';
import { arePlayableEverywhere, lowerRung, upperRung } from './ladder.ts';
import { encodeRung, type Rung } from './rung.ts';

/** Number of playlist ids reserved per rung, since each audio track can have its own playlist. */
const idsPerRung = 100;

/**
 * Creates the HLS ladder in `job.hlsDir` from the packaged source, if there is one, and rungs encoded by ffmpeg.
 * The upper rung is encoded only if some browsers cannot play the source. All rungs share the audio renditions that
 * have their own playlists.
 *
 * @returns true if at least one rung was created
 */
export async function makeHls(
  job: ProcessingJob,
  source: FfmpegSource,
  video: VideoProperties | undefined,
  top?: HlsPackage,
): Promise<boolean> {
  const encoded = (rung: Rung, place: number) => encodeAndPackage(job, source, rung, place);
  const hasPlayableAudio = top && arePlayableEverywhere(top.sounds.flatMap(({ codecs }) => codecs));
  const playableTop = hasPlayableAudio ? [top] : [];
  const isPlayableEverywhere = playableTop.some(({ main }) => arePlayableEverywhere(main.codecs));
  const upper =
    video && !isPlayableEverywhere ? await encoded(upperRung(video, countAudioRenditions(playableTop[0])), 1) : [];
  const steps = playableTop.length + upper.length > 0 ? [...playableTop, ...upper] : top ? [top] : [];
  const [best] = steps;
  if (!best) return false;
  const lower = video ? await encoded(lowerRung(video, best), 2) : [];
  const master = masterPlaylist(best, [...steps.slice(1), ...lower]);
  await writeFile(join(job.hlsDir, 'master.m3u8'), master, { mode: 0o600 });
  return true;
}

const countAudioRenditions = (made: HlsPackage | undefined) => made?.sounds.length ?? 0;

/** Encodes and packages one rung of the ladder; returns an empty array if that fails. */
async function encodeAndPackage(
  job: ProcessingJob,
  source: FfmpegSource,
  rung: Rung,
  place: number,
): Promise<HlsPackage[]> {
  const seconds = Math.min(3600, Math.ceil(60 + 6 * rung.duration));
  const path = await job.attemptTemporary(`${rung.name} step`, seconds, source, (context) => encodeRung(context, rung));
  if (path === undefined) return [];
  const hlsDir = join(job.workDir, rung.name);
  const { cuts } = rung;
  const task = { sourcePath: path, hlsDir, firstId: place * idsPerRung, ...(cuts && { cuts }) };
  const report = await attemptStep(job, `${rung.name} step`, seconds, () => job.inspect(task));
  await rm(path);
  const made = report?.reading?.package;
  if (!made) {
    if (report) job.log(`no ${rung.name} step: ${report.reading?.problem ?? report.workerErrors}`);
    return [];
  }
  await moveAll(hlsDir, job.hlsDir);
  return [made];
}

async function moveAll(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  for (const name of await readdir(from)) await rename(join(from, name), join(to, name));
}
