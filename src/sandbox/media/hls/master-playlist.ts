import type { Dimensions } from '../recognize/dimensions.ts';

/** A file packaged as HLS. */
export type HlsPackage = {
  /** Master playlist with the variant stream of the video, and with the audio renditions that have own playlists. */
  master: string;
  hasOwnAudio: boolean;
  /** Average bit rate of the largest audio track, in bits per second; 0 if there is none. */
  audioRate: number;
  /** Start of each segment except the first, in seconds. */
  cuts: number[];
  /** Timestamp of the first video frame in the source, and duration of the package, in seconds. */
  beginsAt: number;
  seconds: number;
};

/** Matches the value of an attribute (RFC 8216 §4.2). */
const attribute = (name: string) => new RegExp(`(?<=[:,]${name}=)(?:"[^"]*"|[^,\\n]+)`);

const readAttribute = (text: string, name: string) => attribute(name).exec(text)?.[0].replaceAll('"', '') ?? '';

/** Returns the RFC 6381 codec names: of the video, then of the audio. Audio of each codec has a variant stream. */
export const codecsOf = ({ master }: HlsPackage): string[] => [
  ...new Set([...master.matchAll(/CODECS="([^"]*)"/g)].flatMap(([, codecs = '']) => codecs.split(','))),
];

/** Returns the peak bit rate of the first variant stream, in bits per second. */
export const peakOf = ({ master }: HlsPackage): number => Number(readAttribute(master, 'BANDWIDTH'));

/** Replaces the size in the master playlist, which lacks rotation and non-square pixels. */
export const withSize = (made: HlsPackage, { width, height }: Dimensions): HlsPackage => ({
  ...made,
  master: made.master.replaceAll(new RegExp(attribute('RESOLUTION'), 'g'), `${width}x${height}`),
});

/** Builds the master playlist (RFC 8216 §4.3.4): the variant streams from best to worst, which share the audio. */
export function mergeMasters(top: HlsPackage, lower: readonly HlsPackage[]): string {
  const streams = lower.map(({ master }) => /^#EXT-X-STREAM-INF:.*\n.*\n/m.exec(master)?.[0] ?? '');
  return [top.master, ...(top.hasOwnAudio ? streams.map((each) => addAudio(each, top)) : streams)].join('');
}

/** Adds the audio renditions of another package, which are of one codec, to a variant stream without audio. */
function addAudio(stream: string, top: HlsPackage): string {
  const [, ...audioCodecs] = readAttribute(top.master, 'CODECS').split(',');
  const raise = (rate: string) => String(Number(rate) + top.audioRate);
  return stream
    .replace(attribute('BANDWIDTH'), raise)
    .replace(attribute('AVERAGE-BANDWIDTH'), raise)
    .replace(attribute('CODECS'), (codecs) => `"${[codecs.slice(1, -1), ...audioCodecs]}"`)
    .replace('\n', `,AUDIO="${readAttribute(top.master, 'AUDIO')}"\n`);
}
