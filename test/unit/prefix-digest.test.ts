import { join } from 'node:path';
import { blake3 } from '@napi-rs/blake-hash';
import { expect, it, onTestFinished } from 'vitest';
import { PrefixDigest } from '../../src/client/upload/sources/checksum.ts';
import { FileSource } from '../../src/client/upload/sources/source.ts';
import { writeSome } from '../support/files.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const size = 3 * 1024 * 1024 + 17;

async function begun() {
  const path = join(temporaryFolder(), 'file.bin');
  const bytes = writeSome(path, size);
  const source = await FileSource.open(path);
  onTestFinished(() => source.close());
  return { bytes, digest: await PrefixDigest.open(source) };
}

const whole = (bytes: Buffer) => ({ offset: bytes.length, blake3: blake3(bytes).toString('hex') });

it('the prefix digest counts each byte once when bytes are sent again', async () => {
  const { bytes, digest } = await begun();
  digest.update(0, bytes.subarray(0, 1000));
  digest.update(500, bytes.subarray(500, 2000));
  digest.update(0, bytes.subarray(0, 100));
  await digest.catchUp(size);
  expect(digest.current()).toEqual(whole(bytes));
});

it('the prefix digest accepts read-ahead bytes of an aborted request while it catches up from disk', async () => {
  const { bytes, digest } = await begun();
  const caughtUp = digest.catchUp(size);
  for (let at = 0; at < size; at += 100_000) {
    if (at <= digest.current().offset) digest.update(at, bytes.subarray(at, at + 150_000));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await caughtUp;
  expect(digest.current()).toEqual(whole(bytes));
});

it('the prefix digest throws when bytes arrive after a gap', async () => {
  const { bytes, digest } = await begun();
  expect(() => digest.update(10, bytes.subarray(10, 20))).toThrow('cannot take bytes at 10');
});
