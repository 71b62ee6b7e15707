import type { AudioRendition, HlsPackage, Rendition } from './rendition.ts';

/**
 * Builds the HLS master playlist (RFC 8216 §4.3.4), which lists the variant streams from best to worst. They all
 * share the audio renditions that have their own playlists.
 */
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
    'TYPE=AUDIO',
    `GROUP-ID="${group}"`,
    `NAME="${sanitizeQuoted(name) || `${hasLanguage ? language : group}-${at + 1}`}"`,
    ...(hasLanguage ? [`LANGUAGE="${language}"`] : []),
    ...(at === 0 ? ['DEFAULT=YES'] : []),
    'AUTOSELECT=YES',
    `CHANNELS="${channels}"`,
    `URI="${playlist}"`,
  ];
  return `#EXT-X-MEDIA:${attributes.join(',')}`;
}

/** Replaces the characters that a quoted string cannot contain (RFC 8216 §4.2). */
const sanitizeQuoted = (text: string | null) => text?.replace(/["\r\n]+/g, ' ').trim();
