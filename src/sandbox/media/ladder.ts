import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { scaledEven } from './dimensions.ts';
import { bitRatesOf, codecsOf, encodeRung, type Rung } from './rung.ts';
import type { Video, Workshop } from './workshop.ts';

/** Sides of the steps that are encoded: the upper in 1080p, the lower half of it and 480p at most. */
const upperSide = 1920;
const lowerSide = 854;
/** What keeps a picture watchable, in bits a second and pixel. */
const bitsAPixel = 4;
const leastRate = 120_000;

/**
 * Two steps in one master playlist: the remuxed original above one that is encoded, or two that are
 * encoded where players of HLS could not play the original. Until all is written, `hls` stays as it is.
 */
export async function makeLadder(
  shop: Workshop,
  video: Video,
  hls: string,
  remuxIsWhole: boolean,
): Promise<void> {
  const master = remuxIsWhole ? await readFile(join(hls, 'master.m3u8'), 'utf8') : '#EXTM3U\n';
  const top = topOf(master);
  const audioRate = video.hasAudio && !top.audioGroup ? 64_000 : undefined;
  const lower = rung('lower', video, Math.min(0.5, lowerSide / longerSide(video)), {
    fps: 30,
    audioRate,
    ceiling: top.bandwidth,
  });
  const upper = rung('upper', video, Math.min(1, upperSide / longerSide(video)), {
    fps: 60,
    audioRate: audioRate && 2 * audioRate,
  });
  const folder = join(shop.folder, 'ladder');
  await mkdir(folder, { mode: 0o700 });
  try {
    const entries: string[] = [];
    for (const step of remuxIsWhole ? [lower] : [upper, lower]) {
      await encodeRung(shop, video, step, folder);
      entries.push(await entryOf(step, folder, hls, top));
    }
    if (!remuxIsWhole) await rm(hls, { recursive: true, force: true });
    await mkdir(hls, { recursive: true, mode: 0o700 });
    for (const name of await readdir(folder)) await rename(join(folder, name), join(hls, name));
    await writeFile(join(hls, 'master.m3u8'), `${master.trimEnd()}\n\n${entries.join('\n')}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const longerSide = ({ width, height }: Video) => Math.max(width, height);

function rung(
  name: string,
  video: Video,
  factor: number,
  { ceiling = Number.POSITIVE_INFINITY, ...rest }: Pick<Rung, 'fps' | 'audioRate'> & Ceiling,
): Rung {
  const size = scaledEven(video, factor);
  const enough = Math.min(bitsAPixel * size.width * size.height, ceiling / 2);
  return { name, size, maxRate: Math.round(Math.max(leastRate, enough)), ...rest };
}

/** Of the step above, in bits a second: a lower one that takes as much would be none. */
type Ceiling = { ceiling?: number | undefined };

/** What the remuxed step says of itself; nothing where there is none. */
function topOf(master: string) {
  const [entry = ''] = /^#EXT-X-STREAM-INF:.*/m.exec(master) ?? [];
  const [, bandwidth] = /[:,]BANDWIDTH=(\d+)/.exec(entry) ?? [];
  const [, codecs = ''] = /CODECS="([^"]*)"/.exec(entry) ?? [];
  const [, audioGroup] = /AUDIO="([^"]*)"/.exec(entry) ?? [];
  const audioPlaylists = [...master.matchAll(/^#EXT-X-MEDIA:TYPE=AUDIO,.*URI="([^"]+)"/gm)];
  return {
    bandwidth: bandwidth === undefined ? undefined : Number(bandwidth),
    audioCodecs: codecs.split(',').filter((codec) => !/^(?:avc|hvc|hev|vp0|av01)/.test(codec)),
    /** Several languages are playlists of their own, which all steps share. */
    audioGroup,
    audioPlaylists: audioPlaylists.map(([, uri = '']) => uri),
  };
}

/** A step's lines in the master playlist. */
async function entryOf(
  step: Rung,
  folder: string,
  hls: string,
  { audioGroup, audioCodecs, audioPlaylists }: ReturnType<typeof topOf>,
): Promise<string> {
  const own = await bitRatesOf(folder, `${step.name}.m3u8`);
  const shared = audioGroup
    ? await Promise.all(audioPlaylists.map((name) => bitRatesOf(hls, name)))
    : [];
  const most = (rate: 'peak' | 'average') => Math.max(0, ...shared.map((each) => each[rate]));
  const codecs = [...(await codecsOf(folder, step)), ...(audioGroup ? audioCodecs : [])];
  const attributes = [
    `BANDWIDTH=${own.peak + most('peak')}`,
    `AVERAGE-BANDWIDTH=${own.average + most('average')}`,
    `CODECS="${codecs.join(',')}"`,
    `RESOLUTION=${step.size.width}x${step.size.height}`,
    ...(audioGroup ? [`AUDIO="${audioGroup}"`] : []),
  ];
  return `#EXT-X-STREAM-INF:${attributes.join(',')}\n${step.name}.m3u8\n`;
}
