import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  cpSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { blake3 } from '@napi-rs/blake-hash';
import { beforeEach, describe, expect, it } from 'vitest';
import { fastClock } from '../support/clock.ts';
import { someBytes, writeSome } from '../support/files.ts';
import { respondWith } from '../support/interposer.ts';
import { isStrict } from '../support/sandbox.ts';
import { changeEntry } from '../support/state-database.ts';
import { chunkBytes, setUpUploader } from '../support/upload-setup.ts';

const world = setUpUploader();

/** Changes bytes but neither size nor mtime. */
function editInSecret(at: number, seed: string): void {
  const time = new Date('2026-01-01');
  const bytes = Buffer.from(world.bytes);
  someBytes(1000, seed).copy(bytes, at);
  writeFileSync(world.path, bytes);
  utimesSync(world.path, time, time);
}

describe('a file that changes under the upload', () => {
  const changes: [string, number, () => void][] = [
    ['shrinks', 13, () => truncateSync(world.path, 3 * chunkBytes)],
    ['grows', 13, () => appendFileSync(world.path, 'more')],
    ['is edited', 13, () => writeFileSync(world.path, someBytes(world.bytes.length, 'edited'))],
    ['is edited, its time put back', 13, () => editInSecret(0, 'secret')],
    ['is deleted', 1, () => rmSync(world.path)],
    [
      'is replaced',
      13,
      () => {
        writeFileSync(`${world.path}.new`, someBytes(world.bytes.length, 'replaced'));
        renameSync(`${world.path}.new`, world.path);
      },
    ],
  ];
  it.each(changes)('%s: exit %i, and no spliced asset', async (_what, exit, change) => {
    utimesSync(world.path, new Date('2026-01-01'), new Date('2026-01-01'));
    world.fault = ({ method, nth }) =>
      method === 'PATCH' && nth === 2 ? { beforeResponse: () => change() } : undefined;
    const { code, record } = await world.upload();
    expect(code).toBe(exit);
    expect(record.error.code).toBe(exit === 1 ? 'file_missing' : 'file_changed');
    expect((await world.findAssets()).map(({ status }) => status)).toEqual(['uploading']);
  });

  it('an empty file that is filled meanwhile is reported as changed', async () => {
    world.bytes = writeSome(world.path, 0, '');
    world.fault = ({ method }) =>
      method === 'POST' ? { beforeResponse: () => appendFileSync(world.path, 'more') } : undefined;
    const { code, record } = await world.upload();
    expect([code, record.error.code]).toEqual([13, 'file_changed']);
  });

  it('gets another mode: that is no change', async () => {
    world.fault = ({ method, nth }) =>
      method === 'PATCH' && nth === 2 ? { beforeResponse: () => chmodSync(world.path, 0o600) } : undefined;
    await world.expectUploaded((await world.upload()).record);
  });

  it('edited between two runs: refused before a byte is sent', async () => {
    await world.interruptAfterTwoChunks();
    writeFileSync(world.path, someBytes(world.bytes.length, 'edited'));
    const { code, record } = await world.upload();
    expect(code).toBe(13);
    expect(record.error.cause).toContain('already uploaded has changed');
    expect(world.patchRequests()).toEqual([]);
  });

  it.each([
    ['grows', () => appendFileSync(world.path, 'more')],
    ['shrinks', () => truncateSync(world.path, 3 * chunkBytes)],
  ])('a file that %s between two runs is refused before a byte is sent', async (_what, change) => {
    const id = await world.interruptAfterTwoChunks();
    change();
    for (const again of [await world.upload(), await world.run(['uploads', 'resume', id, '--json'])])
      expect([again.code, JSON.parse(again.stdout)[0].error.code]).toEqual([13, 'file_changed']);
    expect(world.patchRequests()).toEqual([]);
  });

  describe('an upload that a later run finished, in a state folder from before', () => {
    const restoreAfter = async () => {
      await world.interruptAfterTwoChunks();
      const saved = join(world.cli.home, 'saved state');
      cpSync(world.stateDir, saved, { recursive: true });
      const { record } = await world.upload();
      await world.expectUploaded(record);
      rmSync(world.stateDir, { recursive: true });
      cpSync(saved, world.stateDir, { recursive: true });
      await world.run(['wait', record.asset_uid]);
      return record;
    };

    it('is taken as uploaded, unverified if the service shows no checksum', async () => {
      const record = await restoreAfter();
      world.fault = () => ({ headers: ({ 'x-checksum-blake3': _, ...headers }) => headers });
      const again = await world.upload();
      expect([again.code, again.record]).toEqual([
        0,
        expect.objectContaining({ asset_uid: record.asset_uid, error: null, verified: null, bytes_sent: 0 }),
      ]);
      expect(await world.findAssets()).toHaveLength(1);
      expect(world.unfinishedIds()).toEqual([]);
    });

    // In strict mode, a record shows no size, by which the session that is gone is recognized as incomplete.
    it.skipIf(isStrict)(
      'is an error that names the asset if its session is gone, since this machine has not sent all of it',
      async () => {
        const record = await restoreAfter();
        world.fault = ({ method }) => (method === 'HEAD' ? respondWith(404) : undefined);
        const again = await world.upload();
        expect([again.code, again.record.error.code]).toEqual([3, 'session_unknown']);
        expect(again.record.error.hint).toContain(`mediactl get ${record.asset_uid}`);
        expect(await world.findAssets()).toHaveLength(1);
      },
    );
  });

  it('edited after all of it was sent, and the session is gone: an error, since no checksum tells the versions apart', async () => {
    world.fault = ({ method, nth }) =>
      method === 'PATCH' && nth === 5 ? { dropResponse: true } : method === 'HEAD' ? respondWith(402, {}) : undefined;
    expect((await world.upload()).code).toBe(7);
    const edited = Buffer.from(world.bytes);
    edited.fill('x', edited.length - 10);
    writeFileSync(world.path, edited);
    world.fault = ({ method }) => (method === 'HEAD' ? respondWith(404) : undefined);
    const { code, record } = await world.upload([], { clock: fastClock() });
    expect([code, record.error.code]).toEqual([13, 'file_changed']);
    expect(await world.findAssets()).toHaveLength(1);
  });

  it('touched between two runs: the content is what counts', async () => {
    await world.interruptAfterTwoChunks();
    utimesSync(world.path, 1, 1);
    const { record } = await world.upload();
    expect(record.resumed_from_bytes).toBe(2 * chunkBytes);
    await world.expectUploaded(record);
  });

  describe('after a kill in mid-chunk', () => {
    beforeEach(async () => {
      utimesSync(world.path, new Date('2026-01-01'), new Date('2026-01-01'));
      // The connection drops within the third chunk, and HEAD fails: the service has bytes that were never acknowledged.
      let cut = 0;
      world.fault = ({ method }) => {
        if (method === 'PATCH' && ++cut === 3) return { cutAfterBytes: 20_000 };
        return method === 'HEAD' ? respondWith(402, {}) : undefined;
      };
      expect((await world.upload()).code).toBe(7);
      world.fault = () => undefined;
      world.interposer.requests.length = 0;
    });
    const withoutChecksum = () => {
      world.fault = () => ({ headers: ({ 'x-checksum-blake3': _, ...headers }) => headers });
    };
    /** Copies the file as a fresh checkout does: with another inode and mtime. */
    const copyAnew = () => {
      copyFileSync(world.path, `${world.path}.new`);
      renameSync(`${world.path}.new`, world.path);
    };

    it('edited: refused before a byte is sent', async () => {
      writeFileSync(world.path, someBytes(world.bytes.length, 'edited'));
      const { code, record } = await world.upload();
      expect([code, record.error.code]).toEqual([13, 'file_changed']);
      expect(world.patchRequests()).toEqual([]);
    });

    it.each([
      ['copied there again', copyAnew],
      ['touched', () => utimesSync(world.path, 1, 1)],
    ])('%s: the content is what counts', async (_what, change) => {
      change();
      const { record } = await world.upload();
      expect(record.resumed_from_bytes).toBe(2 * chunkBytes + 20_000);
      await world.expectUploaded(record);
      expect(world.interposer.methods).not.toContain('POST');
    });

    it('from a state folder that is older than what was sent: it goes on, and the checksum decides', async () => {
      const { id } = world.storedEntry();
      const older = { offset: chunkBytes, mayBeWhole: false, prefix: undefined };
      changeEntry(world.stateDir, id, (entry) => ({ ...entry, ...older }));
      const { record } = await world.upload();
      expect(record.resumed_from_bytes).toBe(2 * chunkBytes + 20_000);
      await world.expectUploaded(record);
      expect(world.interposer.methods).not.toContain('POST');
    });

    it('edited in bytes that were sent but not acknowledged: the checksum of the service differs', async () => {
      editInSecret(2 * chunkBytes, 's');
      for (const _run of [1, 2]) {
        const { code, record } = await world.upload();
        expect([code, record.error.code]).toEqual([13, 'checksum_mismatch']);
      }
      expect(await world.findAssets()).toHaveLength(1);
    });

    it('edited in such bytes, and the service sends no checksum: the upload is unverified', async () => {
      withoutChecksum();
      editInSecret(2 * chunkBytes, 's');
      expect((await world.upload()).record).toMatchObject({ error: null, verified: null });
    });
  });
});

it('a file that claims to be empty and is not is refused before a request', async () => {
  world.path = '/proc/cpuinfo';
  const { code, record } = await world.upload();
  expect([code, record.error.message]).toEqual([2, '/proc/cpuinfo reports a size of 0 but is not empty']);
  expect(world.interposer.uploadRequests).toEqual([]);
});

describe('the checksum', () => {
  const rewriting = (digest: (real: string) => string | undefined) => {
    world.fault = ({ method }) =>
      method === 'PATCH'
        ? {
            headers: ({ 'x-checksum-blake3': real, ...headers }) => {
              const told = real === undefined ? undefined : digest(real);
              return { ...headers, ...(told !== undefined && { 'x-checksum-blake3': told }) };
            },
          }
        : undefined;
  };

  it.each([
    ['upper-case hex', (real: string) => real.toUpperCase()],
    ['base64', (real: string) => Buffer.from(real, 'hex').toString('base64')],
    ['another notation', (real: string) => `blake3:${real}`],
    ['two equal headers', (real: string) => `${real}, ${real}`],
  ])('is taken in %s', async (_form, digest) => {
    rewriting(digest);
    await world.expectUploaded((await world.upload()).record);
  });

  it('that differs ends 13, names the asset, and says so again the next time', async () => {
    rewriting(() => 'f'.repeat(64));
    const first = await world.upload();
    expect(first.code).toBe(13);
    expect(first.record.error).toMatchObject({ code: 'checksum_mismatch' });
    expect(first.record.asset_uid).toMatch(/^[0-9a-f-]{36}$/);
    const second = await world.upload();
    expect(second.record.error).toMatchObject({ code: 'checksum_mismatch' });
    expect(await world.findAssets()).toHaveLength(1);
  });

  it.each([
    ['absent', undefined],
    ['empty', ''],
    ['of 128 bits', 'f'.repeat(32)],
    ['no digest', 'md5-less'],
  ])('that is %s leaves it unverified, which scripts can tell', async (_what, told) => {
    rewriting(() => told);
    const { code, record, stderr } = await world.upload(['--progress', 'none']);
    expect([code, record.verified]).toEqual([0, null]);
    expect(stderr).toContain('unverified: the service returned no usable checksum');
    expect(stderr.includes('unreadable checksum')).toBe(told !== undefined);
    world.path = join(world.cli.home, 'other.bin');
    writeSome(world.path, 1000);
    const strict = await world.upload(['--require-checksum']);
    expect([strict.code, strict.record.error.code]).toEqual([13, 'unverified']);
  });

  it('that covers the last chunk alone leaves the file unverified, and says so', async () => {
    rewriting(() => blake3(world.bytes.subarray(4 * chunkBytes)).toString('hex'));
    const { code, record, stderr } = await world.upload();
    expect([code, record]).toEqual([0, expect.objectContaining({ verified: null, error: null })]);
    expect(stderr).toContain('the service’s checksum covers only the last chunk');
  });

  it('a file that is edited after its checksum differed becomes another asset', async () => {
    rewriting(() => 'f'.repeat(64));
    const first = await world.upload();
    world.fault = () => undefined;
    world.bytes = someBytes(world.bytes.length, 'edited');
    writeFileSync(world.path, world.bytes);
    const { record } = await world.upload();
    await world.expectUploaded(record);
    expect(record.asset_uid).not.toBe(first.record.asset_uid);
  });

  it('that was lost with the last answer is looked for once more', async () => {
    const digest = (await world.upload()).record.blake3;
    world.fault = ({ method, nth }) => {
      if (method === 'PATCH' && nth === 10) return { dropResponse: true };
      return method === 'HEAD' ? { headers: (told) => ({ ...told, 'x-checksum-blake3': digest }) } : undefined;
    };
    const { record } = await world.upload(['--force']);
    expect(record.bytes_sent).toBe(world.bytes.length);
    await world.expectUploaded(record);
  });

  it('that is missing, of bytes that are lost meanwhile: no success, and the next run sends them', async () => {
    world.fault = ({ method }) =>
      method === 'PATCH'
        ? { headers: ({ 'x-checksum-blake3': _told, ...others }) => others }
        : method === 'HEAD'
          ? { headers: (told) => ({ ...told, 'upload-offset': '1000' }) }
          : undefined;
    const { code, record } = await world.upload();
    expect([code, record.error.code]).toEqual([10, 'session_broken']);
    expect(world.storedEntry().state).toBe('open');
    world.fault = () => undefined;
    const again = await world.upload();
    expect([again.code, again.record.asset_uid]).toEqual([0, record.asset_uid]);
    expect(world.storedBytes(record.asset_uid).equals(world.bytes)).toBe(true);
  });
});
