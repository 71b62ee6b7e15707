import type { Dimensions } from '../recognize/dimensions.ts';

/** A media playlist and the properties of its stream. */
export type Rendition = {
  /** File name of the playlist, which is in the same folder as its header and segments. */
  playlist: string;
  /** RFC 6381 codec names. */
  codecs: string[];
  /** Bit rates in bits per second. */
  peak: number;
  average: number;
  /** Display size; null for audio. */
  size: Dimensions | null;
};

/** An audio rendition with its own playlist, such as one per language. */
export type AudioRendition = Rendition & {
  /** ISO 639-2/T language code; `und` if unknown. */
  language: string;
  name: string | null;
  channels: number;
};

/** A file packaged as HLS. `sounds` is empty if audio is in the segments of the main playlist. */
export type HlsPackage = {
  main: Rendition;
  sounds: AudioRendition[];
  /** Start of each segment except the first, in seconds. */
  cuts: number[];
  /** Timestamp of the first video frame in the source, and duration of the package, in seconds. */
  beginsAt: number;
  seconds: number;
};

/** Builds the master playlist (RFC 8216 §4.3.4): the variant streams from best to worst, which share the audio. */
export function masterPlaylist(top: HlsPackage, lower: readonly HlsPackage[]): string {
  const group = top.sounds.length > 0 ? 'audio-1' : undefined;
  const steps = [top, ...lower].map(({ main }) => formatVariant(main, top.sounds, group));
  const sounds = top.sounds.map((sound, at) => formatAudio(sound, at, group as string));
  return `${['#EXTM3U', ...sounds, ...steps].join('\n')}\n`;
}

const highest = (values: readonly number[]) => Math.max(0, ...values);

function formatVariant(main: Rendition, sounds: readonly AudioRendition[], group: string | undefined): string {
  const attributes = [
    `BANDWIDTH=${main.peak + highest(sounds.map(({ peak }) => peak))}`,
    `AVERAGE-BANDWIDTH=${main.average + highest(sounds.map(({ average }) => average))}`,
    `CODECS="${[...new Set([...main.codecs, ...sounds.flatMap(({ codecs }) => codecs)])]}"`,
    ...(main.size ? [`RESOLUTION=${main.size.width}x${main.size.height}`] : []),
    ...(group ? [`AUDIO="${group}"`] : []),
  ];
  return `#EXT-X-STREAM-INF:${attributes.join(',')}\n${main.playlist}`;
}

function formatAudio(sound: AudioRendition, at: number, group: string): string {
  const { language, name, channels, playlist } = sound;
  const hasLanguage = language !== 'und';
  const attributes = [
    `TYPE=AUDIO,GROUP-ID="${group}"`,
    `NAME="${sanitizeQuoted(name) || `${hasLanguage ? language : group}-${at + 1}`}"`,
    ...(hasLanguage ? [`LANGUAGE="${language}"`] : []),
    ...(at === 0 ? ['DEFAULT=YES'] : []),
    `AUTOSELECT=YES,CHANNELS="${channels}",URI="${playlist}"`,
  ];
  return `#EXT-X-MEDIA:${attributes.join(',')}`;
}

/** Replaces the characters that a quoted string cannot contain (RFC 8216 §4.2). */
const sanitizeQuoted = (text: string | null) => text?.replace(/["\r\n]+/g, ' ').trim();

export type PlaylistSegment = { file: string; seconds: number; bytes: number };

/** Builds a complete (VOD) media playlist of CMAF segments (RFC 8216 §4.3.3). */
export function mediaPlaylist(header: string, entries: readonly PlaylistSegment[]): string {
  const longest = Math.max(...entries.map(({ seconds }) => seconds));
  return [
    ...['#EXTM3U', '#EXT-X-VERSION:7'],
    `#EXT-X-TARGETDURATION:${Math.max(1, Math.ceil(longest))}`,
    ...['#EXT-X-PLAYLIST-TYPE:VOD', '#EXT-X-INDEPENDENT-SEGMENTS'],
    `#EXT-X-MAP:URI="${header}"`,
    ...entries.flatMap(({ file, seconds }) => [`#EXTINF:${seconds.toFixed(6)},`, file]),
    ...['#EXT-X-ENDLIST', ''],
  ].join('\n');
}

/** Returns the peak and average bit rates in bits per second (RFC 8216 §4.3.4.2). */
export function bitRatesOf(entries: readonly PlaylistSegment[]): { peak: number; average: number } {
  type Part = Omit<PlaylistSegment, 'file'>;
  const rate = ({ bytes, seconds }: Part) => Math.ceil((8 * bytes) / Math.max(seconds, 1e-3));
  const add = (a: Part, b: Part): Part => ({ bytes: a.bytes + b.bytes, seconds: a.seconds + b.seconds });
  return { peak: Math.max(...entries.map(rate)), average: rate(entries.reduce(add, { bytes: 0, seconds: 0 })) };
}
