import { PassThrough } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { type ErrorRecord, errorRecord } from '../../src/cli/error-hints.ts';
import { MediactlError } from '../../src/client/errors.ts';
import { openChecksum, PrefixDigest } from '../../src/client/upload/sources/checksum.ts';
import type { ReadOptions } from '../../src/client/upload/sources/source.ts';
import { StreamSource } from '../../src/client/upload/sources/stream-source.ts';
import { recordedError } from '../support/errors.ts';
import { pseudoRandomBytes } from '../support/files.ts';

const chunkBytes = 3 * 1024 * 1024;
const allBytes = pseudoRandomBytes(4 * chunkBytes + 1000);

/** Simulates a pipe; `taken` counts the bytes that were read from it. */
function createPipe(bytes = allBytes, pieceBytes = 65_536) {
  const consumed = { bytes: 0 };
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      const piece = Buffer.from(bytes.subarray(at, at + pieceBytes));
      consumed.bytes += piece.length;
      yield piece;
      piece.fill(0); // Node may reuse the buffer
    }
  }
  return { consumed, input: pieces() };
}

const openStdinSource = (input: AsyncIterable<Buffer | string>, sizeBytes = allBytes.length, signal?: AbortSignal) =>
  new StreamSource(input, { sizeBytes, chunkBytes, realPath: 'a-name-of-the-caller', signal });

async function readAll(source: StreamSource, start: number, end: number, reading?: ReadOptions) {
  const parts: Buffer[] = [];
  try {
    for await (const bytes of source.read(start, end, reading)) parts.push(bytes);
    return { bytes: Buffer.concat(parts) };
  } catch (error) {
    return { bytes: Buffer.concat(parts), error: errorRecord(error as MediactlError) };
  }
}

describe('stdin of a known length', () => {
  it.each([1, 1000, 65_536, 5_000_000])(
    'stdin that arrives in pieces of %d bytes is read chunk by chunk',
    async (pieceBytes) => {
      const bytes = pieceBytes === 1 ? allBytes.subarray(0, 100_000) : allBytes;
      const source = openStdinSource(createPipe(bytes, pieceBytes).input, bytes.length);
      expect(source.identity).toEqual({ sizeBytes: bytes.length, mtimeNs: '0' });
      expect([source.path, source.realPath]).toEqual(['-', 'a-name-of-the-caller']);
      for (let at = 0; at < bytes.length; at += chunkBytes) {
        const end = Math.min(bytes.length, at + chunkBytes);
        const reported: number[] = [];
        const onRead = (offset: number, part: Buffer) => reported.push(offset, part.length);
        const result = await readAll(source, at, end, { onRead });
        expect(result.error).toBeUndefined();
        expect(result.bytes.equals(bytes.subarray(at, end))).toBe(true);
        expect(reported.at(0)).toBe(at);
        expect((reported.at(-2) as number) + (reported.at(-1) as number)).toBe(end);
      }
    },
  );

  it('a chunk of stdin can be read again from its start or from an offset within it', async () => {
    const source = openStdinSource(createPipe().input);
    await readAll(source, 0, chunkBytes);
    for await (const _bytes of source.read(chunkBytes, 2 * chunkBytes)) break; // dropped connection
    for (const start of [chunkBytes, chunkBytes, chunkBytes + 7]) {
      const { bytes } = await readAll(source, start, start + chunkBytes);
      expect(bytes.equals(allBytes.subarray(start, start + chunkBytes))).toBe(true);
    }
    const { error } = await readAll(source, chunkBytes + 6, 2 * chunkBytes);
    expect(recordedError(error as ErrorRecord)).toEqual({
      code: 'file_missing',
      exit: 1,
      hint: 'run the same command again with the same input',
    });
  });

  it('a piece of stdin is delivered to every reader that waits for it', async () => {
    const input = new PassThrough();
    const source = openStdinSource(input, 6);
    const firstReader = source.read(0, 6);
    const secondReader = source.read(0, 6);
    const firstPieces = Promise.all([firstReader.next(), secondReader.next()]);
    input.write('abc');
    expect((await firstPieces).map(({ value }) => String(value))).toEqual(['abc', 'abc']);
    input.end('def');
    expect(String((await secondReader.next()).value)).toBe('def');
  });

  it('a read of stdin can skip forward to a later chunk but not go back', async () => {
    const source = openStdinSource(createPipe().input);
    const { bytes } = await readAll(source, 2 * chunkBytes, 3 * chunkBytes);
    expect(bytes.equals(allBytes.subarray(2 * chunkBytes, 3 * chunkBytes))).toBe(true);
    expect((await readAll(source, 0, 1)).error).toMatchObject({
      code: 'file_missing',
      hint: expect.stringContaining('run the same command again with the same input'),
    });
  });

  it('stdin is read up to the offset of an earlier run and verified against its checksum', async () => {
    const checksum = await openChecksum();
    const offset = 3 * chunkBytes + 77;
    checksum.update(allBytes.subarray(0, offset));
    const expected = { offset, blake3: checksum.digest() };
    const source = openStdinSource(createPipe().input);
    const digest = await PrefixDigest.open(source, expected);
    await digest.catchUp(offset + 10);
    const onRead = digest.update.bind(digest);
    expect((await readAll(source, offset + 10, allBytes.length, { onRead })).error).toBeUndefined();
    const checksumOfAll = await openChecksum();
    checksumOfAll.update(allBytes);
    expect(digest.current()).toEqual({ offset: allBytes.length, blake3: checksumOfAll.digest() });
    const otherSource = openStdinSource(createPipe(pseudoRandomBytes(allBytes.length, 'other')).input);
    await expect((await PrefixDigest.open(otherSource, expected)).catchUp(offset)).rejects.toThrow(
      'changed since its upload began',
    );
  });

  it('stdin is not read ahead, and at most one chunk of it is kept in memory', async () => {
    setFlagsFromString('--expose-gc');
    const bufferedBytes = () => {
      runInNewContext('gc')();
      return process.memoryUsage().arrayBuffers;
    };
    const sizeBytes = 20 * chunkBytes;
    const { input, consumed } = createPipe(Buffer.alloc(sizeBytes));
    const source = openStdinSource(input, sizeBytes);
    const before = bufferedBytes();
    for (let at = 0; at < sizeBytes; at += chunkBytes) {
      for await (const _bytes of source.read(at, at + chunkBytes));
      expect(consumed.bytes - at - chunkBytes).toBeLessThanOrEqual(65_536);
    }
    // Released buffers are garbage-collected asynchronously.
    await expect.poll(() => bufferedBytes() - before).toBeLessThan(3 * chunkBytes);
  });
});

describe('stdin of a different length', () => {
  it('stdin shorter than declared fails with the number of bytes at which it ended', async () => {
    const source = openStdinSource(createPipe(allBytes.subarray(0, 70_000)).input);
    const { bytes, error } = await readAll(source, 0, chunkBytes);
    expect(bytes.length).toBe(70_000);
    expect(error).toMatchObject({
      code: 'stdin_size_differs',
      message: `stdin ended after 70000 of ${allBytes.length} bytes`,
      exit_code: 2,
      retryable: false,
    });
  });

  it.each([1, 65_536, 100_000])(
    'stdin that is longer than declared fails before its last chunk is complete, in pieces of %d bytes',
    async (pieceBytes) => {
      const source = openStdinSource(createPipe(allBytes.subarray(0, 65_537), pieceBytes).input, 65_536);
      const { bytes, error } = await readAll(source, 0, 65_536);
      expect(bytes.length).toBeLessThan(65_536);
      expect(error).toMatchObject({
        code: 'stdin_size_differs',
        message: 'stdin has more than 65536 bytes',
        exit_code: 2,
      });
    },
  );

  it('stdin that is longer than declared can be read up to its last chunk', async () => {
    const source = openStdinSource(createPipe(allBytes.subarray(0, 100_001)).input, 100_000);
    expect((await readAll(source, 0, 99_999)).bytes.length).toBe(99_999);
  });
});

describe('idle stdin', () => {
  it('a read of idle stdin waits until it is aborted', async () => {
    const stop = new AbortController();
    const source = openStdinSource(new PassThrough(), 10, stop.signal);
    const reading = readAll(source, 0, 10);
    stop.abort(new MediactlError('enough', { code: 'interrupted' }));
    expect((await reading).error).toMatchObject({ code: 'interrupted' });
    expect((await readAll(source, 0, 10)).error).toMatchObject({ code: 'interrupted' });
  });

  it('closing the source destroys stdin so that the program can exit', async () => {
    const input = new PassThrough();
    const source = openStdinSource(input, 10);
    source
      .read(0, 10)
      .next()
      .catch(() => {});
    await source.close();
    expect(input.destroyed).toBe(true);
  });

  it('a read of stdin fails when its pipe fails', async () => {
    const input = new PassThrough();
    const source = openStdinSource(input, 10);
    const reading = source.read(0, 10).next();
    input.destroy(new Error('EIO'));
    await expect(reading).rejects.toThrow('EIO');
  });
});
