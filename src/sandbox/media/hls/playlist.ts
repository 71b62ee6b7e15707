/** Playlist entry for a segment. */
export type PlaylistSegment = { file: string; seconds: number; bytes: number };

/** Builds a complete (VOD) media playlist of CMAF segments (RFC 8216 §4.3.3). */
export function mediaPlaylist(header: string, entries: readonly PlaylistSegment[]): string {
  const longest = Math.max(...entries.map(({ seconds }) => seconds));
  return [
    '#EXTM3U',
    '#EXT-X-VERSION:7',
    `#EXT-X-TARGETDURATION:${Math.max(1, Math.ceil(longest))}`,
    '#EXT-X-PLAYLIST-TYPE:VOD',
    '#EXT-X-INDEPENDENT-SEGMENTS',
    `#EXT-X-MAP:URI="${header}"`,
    ...entries.flatMap(({ file, seconds }) => [`#EXTINF:${seconds.toFixed(6)},`, file]),
    '#EXT-X-ENDLIST',
    '',
  ].join('\n');
}

/** Returns the peak and average bit rates in bits per second (RFC 8216 §4.3.4.2). */
export function bitRatesOf(entries: readonly PlaylistSegment[]): { peak: number; average: number } {
  const rate = (bytes: number, seconds: number) => Math.ceil((8 * bytes) / Math.max(seconds, 1e-3));
  const sum = (value: (entry: PlaylistSegment) => number) => entries.reduce((all, one) => all + value(one), 0);
  return {
    peak: Math.max(...entries.map(({ bytes, seconds }) => rate(bytes, seconds))),
    average: rate(
      sum(({ bytes }) => bytes),
      sum(({ seconds }) => seconds),
    ),
  };
}
