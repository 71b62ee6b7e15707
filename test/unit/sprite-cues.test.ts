import { describe, expect, it } from 'vitest';
import { parseSprites } from '../../src/web/shared/sprites.ts';

const at = 'http://127.0.0.1:4520/media/a/sprites.vtt?signature=s';
const cue = (payload: string, times = '00:00:01.000 --> 00:00:02.500') => `WEBVTT\n\n${times}\n${payload}\n`;
const urls = (payload: string, base = at) => parseSprites(cue(payload), base).map(({ url }) => url);

describe('sprite cues', () => {
  it('sprite cues name regions of sheets relative to their own URL, sorted by time', () => {
    const text = [
      'WEBVTT - of somebody',
      'NOTE with words',
      '2\n00:05.000 --> 01:00:06.500 align:start\nb.jpg?signature=x%3D#xywh=pixel:160,90,160,90',
      '00:00:00.000 --> 00:00:05.000\n/sheets/a.jpg#xywh=0,0,160,90\nand more',
    ].join('\r\n\r\n');
    expect(parseSprites(text.replaceAll(/(?<!\r)\n/g, '\r\n'), at)).toEqual([
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
    expect(urls('http://127.0.0.1:9/a.jpg#xywh=0,0,1,1')).toEqual([]);
    expect(urls('//127.0.0.1:9/a.jpg#xywh=0,0,1,1')).toEqual([]);
    expect(urls('https://cdn.example/a.jpg#xywh=0,0,1,1')).toEqual([]);
    const secure = 'https://media.example/sprites.vtt';
    expect(urls('https://cdn.example/a.jpg#xywh=0,0,1,1', secure)).toHaveLength(1);
    expect(urls('http://media.example/a.jpg#xywh=0,0,1,1', secure)).toEqual([]);
    for (const scheme of ['javascript:', 'data:image/png,', 'blob:', 'file:///'])
      for (const base of [at, secure, 'file:///a.vtt', 'no URL'])
        expect(urls(`${scheme}a#xywh=0,0,1,1`, base)).toEqual([]);
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
    expect(urls(payload)).toEqual([]);
  });

  it.each(['00:02.000 --> 00:01.000', '0:1 --> 0:2', '--> 00:01.000', '00:00.000 -- 00:01.000'])(
    'ignores a sprite cue with the invalid time %s',
    (times) => {
      expect(parseSprites(cue('a.jpg#xywh=0,0,1,1', times), at)).toEqual([]);
    },
  );

  it('parseSprites returns at most 10,000 cues', () => {
    expect(parseSprites(cue('a.jpg#xywh=0,0,1,1').repeat(10_001), at)).toHaveLength(10_000);
    expect(parseSprites('', at)).toEqual([]);
  });
});
