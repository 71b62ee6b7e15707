import { mkdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Fault, FaultProxy, type ProxiedRequest, respondWith } from '../support/fault-proxy.ts';
import { writeRandomFile } from '../support/files.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { mediactlCommand, startProcess } from '../support/spawn.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.end());

let home: string;
let path: string;
let bytes: Buffer;
let proxy: FaultProxy;
let fault: (seen: ProxiedRequest) => Fault | undefined;
const chunkCount = 24;
beforeEach(async () => {
  home = temporaryFolder();
  mkdirSync(join(home, 'state'));
  // A name of its own: a file of the same name and size as an asset is not uploaded.
  path = join(home, `${basename(home)}.bin`);
  bytes = writeRandomFile(path, { size: chunkCount * 64 * 1024, seed: home });
  fault = () => undefined;
  proxy = await FaultProxy.start(sandbox.url, (seen) => fault(seen));
});

/** Runs the upload under a program that simulates another machine. */
async function uploadUnder(program: string, ...args: string[]) {
  const command = [...args, ...mediactlCommand, 'upload', path, '--json', '--chunk-size', '64KiB'];
  const finished = await startProcess(program, command, {
    LD_PRELOAD: undefined, // that program sets the clock, also under faketime
    MEDIACTL_CONFIG_DIR: join(home, 'config'),
    MEDIACTL_STATE_DIR: join(home, 'state'),
    MEDIACTL_API_KEY: sandbox.key,
    MEDIACTL_BASE_URL: proxy.url,
    MEDIACTL_WORKSPACE: sandbox.workspace,
  }).finished;
  return { ...finished, record: finished.stdout ? JSON.parse(finished.stdout)[0] : undefined };
}

const storedBytes = (uid: string) => readFileSync(join(sandbox.dataDir, 'media', uid, 'source'));

describe('wrong clock', { tags: 'faketime' }, () => {
  it.each([
    ['+25h', '+0h'],
    ['+0h', '+25h'],
    ['+0h', '-25h'],
    ['-25h', '+25h'],
  ])('an upload resumes at the acknowledged offset if the clock is off by %s and then by %s', async (before, after) => {
    fault = ({ method, nth }) => (method === 'PATCH' && nth === 3 ? respondWith(402, { error: {} }) : undefined);
    const first = await uploadUnder('faketime', '-f', before);
    expect(first.code).toBe(7); // no credit: the third chunk got 402
    fault = () => undefined;
    proxy.requests.length = 0;
    const second = await uploadUnder('faketime', '-f', after);
    expect([second.code, second.stderr]).toEqual([0, expect.anything()]);
    expect(second.record).toMatchObject({ verified: true, resumed_from_bytes: 2 * 64 * 1024 });
    expect(storedBytes(second.record.asset_uid).equals(bytes)).toBe(true);
    expect(proxy.methods).not.toContain('POST');
  });
});

describe('slow disk', { tags: 'strace' }, () => {
  it('an upload does not sync its state to a slow disk for every chunk', async () => {
    const trace = join(home, 'trace');
    const { code, record } = await uploadUnder(
      'strace',
      ...['-f', '-qq', '-y', '-o', trace],
      ...['-e', 'trace=fsync,fdatasync', '-e', 'inject=fsync,fdatasync:delay_exit=100000'],
    );
    expect(code).toBe(0);
    expect(storedBytes(record.asset_uid).equals(bytes)).toBe(true);
    const syncs = readFileSync(trace, 'utf8').match(/\w+sync\(.*/g) ?? [];
    // The log of the database: before the creation, before the first and the last chunk, and when it is done.
    expect(syncs.filter((sync) => /^fdatasync\(.*receipts\.db-wal>/.test(sync))).toHaveLength(4);
    expect(syncs.length).toBeLessThan(chunkCount);
  });
});
