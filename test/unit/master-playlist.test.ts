import { expect, it } from 'vitest';
import {
  codecsOf,
  type HlsPackage,
  mergeMasters,
  peakOf,
  withSize,
} from '../../src/sandbox/media/hls/master-playlist.ts';

const packageWithMaster = (master: string, more: Partial<HlsPackage> = {}): HlsPackage => ({
  ...{ master, hasOwnAudio: false, audioRate: 30, cuts: [], beginsAt: 0, seconds: 10 },
  ...more,
});

const variantStream = (peak: number, codecs: string, more = '') =>
  `#EXT-X-STREAM-INF:BANDWIDTH=${peak},AVERAGE-BANDWIDTH=${peak / 2},CODECS="${codecs}",RESOLUTION=320x180${more}\nplaylist-${peak}.m3u8\n`;

const audioRendition =
  '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio-1",NAME="eng-1",LANGUAGE="eng",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="playlist-2.m3u8"\n';

it('a master playlist lists the variant streams from best to worst', () => {
  const bestPackage = packageWithMaster(`#EXTM3U\n\n${variantStream(200, 'avc1.64000c,mp4a.40.2')}`);
  const lowerPackage = packageWithMaster(`#EXTM3U\n\n${variantStream(100, 'avc1.4d400b,mp4a.40.2')}`);
  expect(mergeMasters(bestPackage, [lowerPackage])).toBe(
    `#EXTM3U\n\n${variantStream(200, 'avc1.64000c,mp4a.40.2')}${variantStream(100, 'avc1.4d400b,mp4a.40.2')}`,
  );
  expect([codecsOf(bestPackage), peakOf(bestPackage)]).toEqual([['avc1.64000c', 'mp4a.40.2'], 200]);
});

it('audio renditions are shared by all variant streams, whose bandwidths and codecs include them', () => {
  const bestStream = variantStream(230, 'avc1.64000c,mp4a.40.2', ',AUDIO="audio-1"');
  const bestPackage = packageWithMaster(`#EXTM3U\n\n${audioRendition}\n${bestStream}`, { hasOwnAudio: true });
  const lowerPackage = packageWithMaster(`#EXTM3U\n\n${variantStream(100, 'avc1.4d400b')}`);
  expect(mergeMasters(bestPackage, [lowerPackage]).split('\n').slice(5)).toEqual([
    'playlist-230.m3u8',
    '#EXT-X-STREAM-INF:BANDWIDTH=130,AVERAGE-BANDWIDTH=80,CODECS="avc1.4d400b,mp4a.40.2",RESOLUTION=320x180,AUDIO="audio-1"',
    'playlist-100.m3u8',
    '',
  ]);
});

it('the display size of an HLS package replaces the coded frame size in RESOLUTION', () => {
  const bestPackage = packageWithMaster(`#EXTM3U\n\n${variantStream(200, 'avc1.64000c')}`);
  expect(withSize(bestPackage, { width: 180, height: 320 }).master).toContain(',RESOLUTION=180x320\n');
});
