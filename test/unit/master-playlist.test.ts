import { expect, it } from 'vitest';
import {
  type AudioRendition,
  bitRatesOf,
  type HlsPackage,
  masterPlaylist,
  mediaPlaylist,
} from '../../src/sandbox/media/hls/playlists.ts';

const step = (id: number, codecs: string[], sounds: AudioRendition[] = []): HlsPackage => ({
  main: {
    playlist: `playlist-${id}.m3u8`,
    codecs,
    peak: 100 * id,
    average: 50 * id,
    size: { width: 320, height: 180 },
  },
  sounds,
  cuts: [],
  beginsAt: 0,
  seconds: 10,
});

const sound = (id: number, language: string, name: string | null): AudioRendition => ({
  playlist: `playlist-${id}.m3u8`,
  codecs: ['mp4a.40.2'],
  peak: 30,
  average: 20,
  size: null,
  language,
  name,
  channels: 2,
});

it('a master playlist names each step with what it holds, the best first', () => {
  const lines = masterPlaylist(step(2, ['avc1.64000c', 'mp4a.40.2']), [step(1, ['avc1.4d400b'])]);
  expect(lines).toBe(
    [
      '#EXTM3U',
      '#EXT-X-STREAM-INF:BANDWIDTH=200,AVERAGE-BANDWIDTH=100,CODECS="avc1.64000c,mp4a.40.2",RESOLUTION=320x180',
      'playlist-2.m3u8',
      '#EXT-X-STREAM-INF:BANDWIDTH=100,AVERAGE-BANDWIDTH=50,CODECS="avc1.4d400b",RESOLUTION=320x180',
      'playlist-1.m3u8',
      '',
    ].join('\n'),
  );
});

it('sounds of their own are shared by all steps; a name cannot end its quotes', () => {
  const sounds = [sound(2, 'eng', 'A "real"\nname'), sound(3, 'und', null)];
  const lines = masterPlaylist(step(1, ['avc1.64000c'], sounds), [step(4, ['avc1.4d400b'])]);
  expect(lines.split('\n').slice(1, 4)).toEqual([
    '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio-1",NAME="A  real name",LANGUAGE="eng",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="playlist-2.m3u8"',
    '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio-1",NAME="audio-1-2",AUTOSELECT=YES,CHANNELS="2",URI="playlist-3.m3u8"',
    '#EXT-X-STREAM-INF:BANDWIDTH=130,AVERAGE-BANDWIDTH=70,CODECS="avc1.64000c,mp4a.40.2",RESOLUTION=320x180,AUDIO="audio-1"',
  ]);
  expect(lines.match(/AUDIO="audio-1"$/gm)).toHaveLength(2);
});

it('a media playlist tells its longest segment, rounded up; rates are of the largest and of all', () => {
  const entries = [
    { file: 'segment-1-1.m4s', seconds: 4.004, bytes: 1000 },
    { file: 'segment-1-2.m4s', seconds: 0.5, bytes: 500 },
  ];
  expect(mediaPlaylist('init-1.m4s', entries)).toContain('#EXT-X-TARGETDURATION:5\n');
  expect(bitRatesOf(entries)).toEqual({ peak: 8000, average: 2665 });
});
