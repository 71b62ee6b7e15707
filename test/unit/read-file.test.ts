import { expect, it } from 'vitest';
import { decodeText } from '../../src/client/read-file.ts';

const text = 'größe.mp4\r\n🎬.mov';
const littleEndian = Buffer.from(`\uFEFF${text}`, 'utf16le');

it.each([
  ['UTF-8', Buffer.from(text)],
  ['UTF-8 with a byte order mark', Buffer.from(`\uFEFF${text}`)],
  ['UTF-16, little-endian, as PowerShell writes it', littleEndian],
  ['UTF-16, big-endian', Buffer.from(littleEndian).swap16()],
])('a list of files is read in %s', (_encoding, bytes) => expect(decodeText(bytes)).toBe(text));

it('a text in UTF-16 that is cut in the middle of a character is read up to it', () => {
  expect(decodeText(Buffer.from(littleEndian).swap16().subarray(0, 5))).toBe('g');
});
