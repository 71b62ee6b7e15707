import { mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { respond, startServer } from '../support/http-server.ts';
import { executable, mediactl } from '../support/spawn.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const MiB = 1024 * 1024;
const uidOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

it('uploading 30 files needs no more memory than uploading one', { tags: 'Linux' }, async () => {
  let uploadCount = 0;
  let peakMiB = 0;
  const service = await startServer(async (request, response) => {
    const status = readFileSync(`/proc/${started.child.pid}/status`, 'utf8');
    peakMiB = Math.max(peakMiB, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024);
    if (request.method === 'POST') {
      const uid = uidOf(++uploadCount);
      const location = `/api/external/v1/upload/${uid}/`;
      return respond(response, 201, { uid, asset_uid: uid, location }, { location });
    }
    if (request.method === 'GET') return respond(response, 200, { items: [] });
    let receivedBytes = 0;
    for await (const part of request) receivedBytes += part.length;
    respond(response, 204, undefined, { 'upload-offset': String(receivedBytes || 7 * MiB) });
  });
  const home = temporaryFolder();
  const folder = join(home, 'files');
  mkdirSync(folder);
  for (let n = 0; n < 30; n++) {
    const path = join(folder, `${n}.bin`);
    writeFileSync(path, String(n));
    truncateSync(path, 7 * MiB);
  }
  const started = mediactl(['upload', '--flatten', folder, '-q'], {
    MEDIACTL_API_KEY: 'a-key',
    MEDIACTL_BASE_URL: service,
    MEDIACTL_WORKSPACE: uidOf(0),
    MEDIACTL_STATE_DIR: join(home, 'state'),
    MEDIACTL_CONFIG_DIR: join(home, 'config'),
  });
  const { code, stdout } = await started.finished;
  expect([code, stdout.trim().split('\n').length]).toEqual([0, 30]);
  expect(peakMiB).toBeGreaterThan(40);
  // The executable's runtime collects garbage later.
  expect(peakMiB).toBeLessThan(executable ? 280 : 220);
});
