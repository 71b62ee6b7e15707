import { join } from 'node:path';
import { blake3 } from '@napi-rs/blake-hash';
import { expect, it, onTestFinished } from 'vitest';
import { OwnFiles } from '../../src/client/own-files.ts';
import { PrefixDigest } from '../../src/client/upload/sources/checksum.ts';
import { FileSource } from '../../src/client/upload/sources/source.ts';
import { writeRandomFile } from '../support/files.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const fileSize = 3 * 1024 * 1024 + 17;

async function openPrefixDigest() {
  const path = join(temporaryFolder(), 'file.bin');
  const bytes = writeRandomFile(path, { size: fileSize });
  const source = await FileSource.open(path, new OwnFiles({}));
  onTestFinished(() => source.close());
  return { bytes, prefixDigest: await PrefixDigest.open(source) };
}

const digestOfWholeFile = (bytes: Buffer) => ({ offset: bytes.length, blake3: blake3(bytes).toString('hex') });

it('the prefix digest counts each byte once when bytes are sent again', async () => {
  const { bytes, prefixDigest } = await openPrefixDigest();
  prefixDigest.update(0, bytes.subarray(0, 1000));
  prefixDigest.update(500, bytes.subarray(500, 2000));
  prefixDigest.update(0, bytes.subarray(0, 100));
  await prefixDigest.catchUp(fileSize);
  expect(prefixDigest.current()).toEqual(digestOfWholeFile(bytes));
});

it('the prefix digest accepts read-ahead bytes of an aborted request while it catches up from disk', async () => {
  const { bytes, prefixDigest } = await openPrefixDigest();
  const caughtUp = prefixDigest.catchUp(fileSize);
  for (let offset = 0; offset < fileSize; offset += 100_000) {
    if (offset <= prefixDigest.current().offset) prefixDigest.update(offset, bytes.subarray(offset, offset + 150_000));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await caughtUp;
  expect(prefixDigest.current()).toEqual(digestOfWholeFile(bytes));
});

it('the prefix digest throws when bytes arrive after a gap', async () => {
  const { bytes, prefixDigest } = await openPrefixDigest();
  expect(() => prefixDigest.update(10, bytes.subarray(10, 20))).toThrow('cannot take bytes at 10');
});
