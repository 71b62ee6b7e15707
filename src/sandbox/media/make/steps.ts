import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { within } from '../ffmpeg/attempts.ts';
import type { Source } from '../ffmpeg/ffmpeg.ts';
import type { Video } from '../ffmpeg/workshop.ts';
import { masterPlaylist } from '../hls/master.ts';
import type { Package } from '../hls/rendition.ts';
import type { Job } from '../job.ts';
import { areCommon, lowerRung, upperRung } from './ladder.ts';
import { encodeRung, type Rung } from './rung.ts';

/** Number of playlist ids reserved per rung: each audio track may have its own playlist. */
const idsAPackage = 100;

/**
 * Creates the HLS ladder in `job.hlsDir`: the packaged source, if any, and rungs encoded by ffmpeg;
 * the upper one only if some browsers cannot play the source. All rungs share separate audio
 * renditions.
 *
 * @returns true if there is any HLS
 */
export async function makeHls(
  job: Job,
  source: Source,
  video: Video | undefined,
  top?: Package,
): Promise<boolean> {
  const encoded = (rung: Rung, place: number) => encode(job, source, rung, place);
  const soundsArePlayed = top && areCommon(top.sounds.flatMap(({ codecs }) => codecs));
  const kept = soundsArePlayed ? [top] : [];
  const isEnough = kept.some(({ main }) => areCommon(main.codecs));
  const upper = video && !isEnough ? await encoded(upperRung(video, soundsOf(kept[0])), 1) : [];
  const steps = kept.length + upper.length > 0 ? [...kept, ...upper] : top ? [top] : [];
  const [best] = steps;
  if (!best) return false;
  const lower = video ? await encoded(lowerRung(video, best), 2) : [];
  const master = masterPlaylist(best, [...steps.slice(1), ...lower]);
  await writeFile(join(job.hls, 'master.m3u8'), master, { mode: 0o600 });
  return true;
}

const soundsOf = (made: Package | undefined) => made?.sounds.length ?? 0;

/** Encodes and packages one rung of the ladder; returns an empty array if that fails. */
async function encode(job: Job, source: Source, rung: Rung, place: number): Promise<Package[]> {
  const seconds = Math.min(3600, Math.ceil(60 + 6 * rung.duration));
  const path = await job.attemptAside(`${rung.name} step`, seconds, source, (shop) =>
    encodeRung(shop, rung),
  );
  if (path === undefined) return [];
  const hlsDir = join(job.work, rung.name);
  const { cuts } = rung;
  const task = { sourcePath: path, hlsDir, firstId: place * idsAPackage, ...(cuts && { cuts }) };
  const report = await within(job, `${rung.name} step`, seconds, () => job.inspect(task));
  await rm(path);
  const made = report?.reading?.package;
  if (!made) {
    if (report) job.log(`no ${rung.name} step: ${report.reading?.problem ?? report.complaints}`);
    return [];
  }
  await moveAll(hlsDir, job.hls);
  return [made];
}

async function moveAll(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  for (const name of await readdir(from)) await rename(join(from, name), join(to, name));
}
