import { expect, it } from 'vitest';
import { decodeText } from '../../src/client/read-file.ts';

const text = 'größe.mp4\r\n🎬.mov';
const littleEndian = Buffer.from(`\uFEFF${text}`, 'utf16le');

it.each([
  ['UTF-8', Buffer.from(text)],
  ['UTF-8 with a byte order mark', Buffer.from(`\uFEFF${text}`)],
  ['UTF-16, little-endian, as PowerShell writes it', littleEndian],
  ['UTF-16, big-endian', Buffer.from(littleEndian).swap16()],
])('a file list encoded in %s is decoded', (_encoding, bytes) => expect(decodeText(bytes)).toBe(text));

it('truncated UTF-16 text is decoded up to the last complete character', () => {
  expect(decodeText(Buffer.from(littleEndian).swap16().subarray(0, 5))).toBe('g'); // the BOM, g and half of r
});
