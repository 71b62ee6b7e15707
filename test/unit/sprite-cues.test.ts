import { describe, expect, it } from 'vitest';
import { parseSprites } from '../../src/web/shared/sprites.ts';

const cueFileUrl = 'http://127.0.0.1:4520/media/a/sprites.vtt?signature=s';
const cueFile = (payload: string, times = '00:00:01.000 --> 00:00:02.500') => `WEBVTT\n\n${times}\n${payload}\n`;
const spriteUrls = (payload: string, base = cueFileUrl) => parseSprites(cueFile(payload), base).map(({ url }) => url);

describe('sprite cues', () => {
  it('sprite cues name regions of sheets relative to their own URL, sorted by time', () => {
    const text = [
      'WEBVTT - of somebody',
      'NOTE with words',
      '2\n00:05.000 --> 01:00:06.500 align:start\nb.jpg?signature=x%3D#xywh=pixel:160,90,160,90',
      '00:00:00.000 --> 00:00:05.000\n/sheets/a.jpg#xywh=0,0,160,90\nand more',
    ].join('\r\n\r\n');
    expect(parseSprites(text.replaceAll(/(?<!\r)\n/g, '\r\n'), cueFileUrl)).toEqual([
      {
        start: 0,
        end: 5,
        url: 'http://127.0.0.1:4520/sheets/a.jpg',
        x: 0,
        y: 0,
        width: 160,
        height: 90,
      },
      {
        start: 5,
        end: 3606.5,
        url: 'http://127.0.0.1:4520/media/a/b.jpg?signature=x%3D',
        x: 160,
        y: 90,
        width: 160,
        height: 90,
      },
    ]);
  });

  it('sprite cues with URLs that the watch page may not load are ignored', () => {
    expect(spriteUrls('http://127.0.0.1:9/a.jpg#xywh=0,0,1,1')).toEqual([]);
    expect(spriteUrls('//127.0.0.1:9/a.jpg#xywh=0,0,1,1')).toEqual([]);
    expect(spriteUrls('https://cdn.example/a.jpg#xywh=0,0,1,1')).toEqual([]);
    const httpsCueFileUrl = 'https://media.example/sprites.vtt';
    expect(spriteUrls('https://cdn.example/a.jpg#xywh=0,0,1,1', httpsCueFileUrl)).toHaveLength(1);
    expect(spriteUrls('http://media.example/a.jpg#xywh=0,0,1,1', httpsCueFileUrl)).toEqual([]);
    for (const scheme of ['javascript:', 'data:image/png,', 'blob:', 'file:///'])
      for (const base of [cueFileUrl, httpsCueFileUrl, 'file:///a.vtt', 'no URL'])
        expect(spriteUrls(`${scheme}a#xywh=0,0,1,1`, base)).toEqual([]);
  });

  it.each([
    '<img src=x>#xywh=0,0,1,1',
    '<b>a</b>#xywh=0,0,1,1',
    'a.jpg',
    'a.jpg#xywh=0,0,1',
    'a.jpg#xywh=-1,0,1,1',
    'a.jpg#xywh=0,0,0,1',
    'a.jpg#xywh=percent:0,0,50,50',
    'a.jpg#xywh=0,0,1,9999999',
    'http://[#xywh=0,0,1,1',
  ])('ignores the invalid sprite cue %s', (payload) => {
    expect(spriteUrls(payload)).toEqual([]);
  });

  it.each(['00:02.000 --> 00:01.000', '0:1 --> 0:2', '--> 00:01.000', '00:00.000 -- 00:01.000'])(
    'ignores a sprite cue with the invalid time %s',
    (times) => {
      expect(parseSprites(cueFile('a.jpg#xywh=0,0,1,1', times), cueFileUrl)).toEqual([]);
    },
  );

  it('parseSprites returns at most 10,000 cues', () => {
    expect(parseSprites(cueFile('a.jpg#xywh=0,0,1,1').repeat(10_001), cueFileUrl)).toHaveLength(10_000);
    expect(parseSprites('', cueFileUrl)).toEqual([]);
  });
});
