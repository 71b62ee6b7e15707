import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { rawHttp } from '../support/raw-http.ts';
import { fixture, startSandbox } from '../support/sandbox.ts';
import { temporaryFolder } from '../support/temporary.ts';

// A disk that is full while the service processes: a small one of its own, where one may be mounted.
const disk = temporaryFolder();
const mount = ['-t', 'tmpfs', '-o', 'size=16m', 'mediactl-test', disk];
const isMounted = process.platform === 'linux' && spawnSync('mount', mount).status === 0;
afterAll(() => {
  if (isMounted) spawnSync('umount', ['-l', disk]);
});

/** All that is free, down to the last byte. */
function fill(path: string): void {
  for (let size = 1024 * 1024; size > 0; size = Math.floor(size / 2))
    try {
      for (;;) writeFileSync(path, Buffer.alloc(size), { flag: 'a' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
}

it.skipIf(!isMounted)(
  'a full disk keeps a job waiting; with room it goes on, and nothing is lost',
  async () => {
    const log: string[] = [];
    const sandbox = await startSandbox({
      dataDir: join(disk, 'data'),
      log: (line) => log.push(line),
    });
    const filler = join(disk, 'filler');
    try {
      const { create, patch, processed } = rawHttp(() => sandbox);
      const bytes = readFileSync(fixture('clip.mp4'));
      const { asset_uid, location } = await (await create(bytes.length)).json();
      // The last byte is acknowledged, and before a segment is written there is no room any more.
      const done = patch(location, 0, bytes);
      expect((await done).status).toBe(204);
      fill(filler);
      while (!log.some((line) => /waits .* for storage: /.test(line)))
        await new Promise((resolve) => setTimeout(resolve, 20));
      rmSync(filler);
      expect(await processed(asset_uid)).toMatchObject({ status: 'ready', duration: 10 });
      const served = join(sandbox.dataDir, 'media', asset_uid);
      expect(readFileSync(join(served, 'source')).equals(bytes)).toBe(true);
      expect(existsSync(join(served, 'hls/master.m3u8'))).toBe(true);
      expect(log.filter((line) => line.endsWith(' failed'))).toEqual([]);
    } finally {
      rmSync(filler, { force: true });
      await sandbox.end();
    }
  },
);
