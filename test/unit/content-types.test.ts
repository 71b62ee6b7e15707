import { expect, it } from 'vitest';
import { contentTypeOf } from '../../src/client/upload/sources/content-types.lazy.ts';

it.each([
  ['clip.mp4', 'video/mp4'],
  ['CLIP.MKV', 'video/x-matroska'],
  ['tape.avi', 'video/x-msvideo'],
  ['film.m4v', 'video/x-m4v'],
  ['take.flac', 'audio/x-flac'],
  ['take.aiff', 'audio/x-aiff'],
  ['script.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['GX010001.LRV', 'video/mp4'],
  ['GX010001.THM', 'image/jpeg'],
  ['VID_00.insv', 'video/mp4'],
  ['pano.360', 'video/mp4'],
  ['tape.dv', 'video/dv'],
  ['sound.ac3', 'audio/ac3'],
  ['IMG_1.CR3', 'image/x-canon-cr3'],
  ['DSC_1.NEF', 'image/x-nikon-nef'],
  ['https://media.example.com/a.mp4', 'video/mp4'],
  ['README', undefined],
  ['archive.unknown', undefined],
])('the media type of %s is %s', (path, type) => {
  expect(contentTypeOf(path)).toBe(type);
});
