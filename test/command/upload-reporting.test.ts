import { copyFileSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { acceleratedClock } from '../support/clock.ts';
import { type Fault, respondWith } from '../support/fault-proxy.ts';
import { writeRandomFile } from '../support/files.ts';
import { respond } from '../support/http-server.ts';
import { forSandboxMode } from '../support/sandbox.ts';
import { databaseFile } from '../support/state-database.ts';
import { setUpUploader } from '../support/upload-setup.ts';

const setup = setUpUploader();
const stdin = 'precious'.repeat(100);

describe('output of upload', () => {
  it('upload skips a file that was uploaded before, as well as a copy of it, and names its asset', async () => {
    const { record: first } = await setup.upload();
    const { record, stderr } = await setup.upload();
    expect(record).toMatchObject({ outcome: 'skipped', verified: true, bytes_sent: 0, request_count: 0 });
    expect(stderr).toContain(`already uploaded as asset ${first.asset_uid}; --existing upload uploads it again`);
    const copy = join(setup.cli.home, 'copy.bin');
    copyFileSync(setup.path, copy);
    const copyRun = await setup.run(['upload', copy]);
    expect(copyRun.stderr).toContain(`skipped: duplicate of /${first.asset_name} (asset ${first.asset_uid})`);
    expect(setup.faultProxy.methods.filter((method) => method === 'POST')).toHaveLength(1);
  });

  it('upload exits with 11 and names the failed file even if the reader of stdout closes the pipe', async () => {
    const other = join(setup.cli.home, 'other.bin');
    writeRandomFile(other, { size: 900, seed: 'other' });
    setup.fault = ({ method, nth }) => (method === 'POST' && nth === 2 ? respondWith(413, 'too large') : undefined);
    const uploadRun = await setup.run(['upload', setup.path, other, '--json', '--transfers', '1'], {
      stdoutError: 'EPIPE',
    });
    expect(uploadRun.code).toBe(11);
    expect(uploadRun.stderr).toContain('other.bin');
  });

  it('upload exits with 2 for a usage error even if the reader of stdout closes the pipe', async () => {
    const other = join(setup.cli.home, 'other.bin');
    writeRandomFile(other, { size: 900, seed: 'other' });
    await setup.run(['upload', setup.path, other]);
    const ran = await setup.run(['upload', setup.path, other, '--name', 'one', '--jsonl'], { stdoutError: 'EPIPE' });
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('--name works with a single file')]);
  });

  it('upload names the failed file in the final error', async () => {
    const failingFile = join(setup.cli.home, 'another.bin');
    writeRandomFile(failingFile, { size: 900, seed: 'other' });
    setup.fault = ({ method, nth }) => (method === 'POST' && nth === 1 ? respondWith(413, 'too large') : undefined);
    const uploadRun = await setup.run(['upload', failingFile, setup.path, '--json', '--transfers', '1']);
    expect(uploadRun.code).toBe(11);
    expect(JSON.parse(uploadRun.stderr.trim().split('\n').at(-1) as string).error.cause).toMatch(
      /another\.bin: the upload exceeds/,
    );
  });

  it('upload warns about an empty file before it sends the file', async () => {
    const path = join(setup.cli.home, 'empty.txt');
    writeFileSync(path, '');
    const { stderr } = await setup.run(['upload', path]);
    expect(stderr).toMatch(/warning: the file is empty\n[\s\S]*uploaded/);
  });

  it('uploads ls --finished on a terminal shortens uids, and shows an asset as unchecked until wait requests its status', async () => {
    const path = join(setup.cli.home, 'broken.mp4');
    writeFileSync(path, 'not a video');
    const narrowTerminal = { tty: true, columns: 40, environment: { NO_COLOR: '1' } };
    const { stdout: table, stderr: line } = await setup.run(['upload', path], narrowTerminal);
    expect([table, line.replaceAll('\n', ' ')]).toEqual(['', expect.stringMatching(/uploaded .*broken\.mp4 to/)]);
    const list = async (options = {}) => (await setup.run(['uploads', 'ls', '--finished'], options)).stdout;
    const uid = (await list()).split('\t')[0] ?? '';
    expect((await list()).split('\t')[3]).toBe('unchecked');
    const { stdout: narrowTable, stderr } = await setup.run(['uploads', 'ls', '--finished'], narrowTerminal);
    expect(narrowTable).toMatch(new RegExp(`${uid.slice(0, 8)} +unchecked`));
    expect(narrowTable).not.toContain(uid);
    expect(stderr).toContain('mediactl wait');
    await setup.run(['wait'], { clock: acceleratedClock() });
    expect(await list(narrowTerminal)).toMatch(new RegExp(`${uid.slice(0, 8)} +failed`));
  });

  it('upload --wait prints the reason for each of the first ten assets whose processing fails, and play and download print it too', async () => {
    const paths = Array.from({ length: 12 }, (_, n) => join(setup.cli.home, `broken_${n}.mp4`));
    for (const path of paths) writeFileSync(path, `not a video: ${path}`);
    const uploadRun = await setup.run(['upload', ...paths, '--wait', '-q'], { clock: acceleratedClock() });
    const [problem, ...lines] = uploadRun.stderr.trimEnd().split('\n');
    expect([uploadRun.code, problem]).toEqual([11, 'error: 12 of 12 files were uploaded but failed afterwards']);
    const reason = forSandboxMode({ normal: '(?!its status)', strict: 'its status is failed' });
    expect(lines.slice(0, 10)).toEqual(
      lines.slice(0, 10).map(() => expect.stringMatching(`broken_.*processing failed.*: ${reason}`)),
    );
    expect(lines.slice(10)).toEqual([
      '         and 2 more',
      '  try:   check that the files play on your machine; mediactl rm ID, then the same command, sends one again',
    ]);
    const [uid = ''] = (await setup.run(['ls', '-q'])).stdout.split('\n');
    for (const args of [
      ['play', uid],
      ['play', uid, '--stream', 'hls', '--url'],
      ['download', uid],
    ]) {
      const { code, stderr } = await setup.run(args);
      expect([code, stderr]).toEqual([12, expect.stringMatching(`processing failed for asset ${uid}\n.*${reason}`)]);
    }
  });

  it('upload exits with 13 if the checksum in the HEAD response differs', async () => {
    const wrongChecksum = { 'x-checksum-blake3': '0'.repeat(64) };
    setup.fault = ({ method }) => ({
      ...(method === 'PATCH' && { headers: ({ 'x-checksum-blake3': _checksum, ...rest }) => rest }),
      ...(method === 'HEAD' && { headers: (headers) => ({ ...headers, ...wrongChecksum }) }),
    });
    const { code, record } = await setup.upload();
    expect([code, record.error.code]).toEqual([13, 'checksum_mismatch']);
  });

  it('upload --wait counts failed uploads and failed processing separately', async () => {
    const broken = join(setup.cli.home, 'broken.pdf');
    writeRandomFile(broken, { size: 900, seed: 'no PDF' });
    const large = join(setup.cli.home, 'large.bin');
    writeRandomFile(large, { size: 900, seed: 'large' });
    const readErrors = async (...paths: string[]) =>
      (await setup.run(['upload', setup.path, broken, ...paths, '--wait', '--transfers', '1'])).stderr;
    expect(await readErrors()).toContain('error: 1 of 2 files was uploaded but failed afterwards');
    setup.fault = ({ method }) => (method === 'POST' ? respondWith(413, 'too large') : undefined);
    expect(await readErrors(large)).toContain(
      'error: 1 of 3 files was not uploaded; 1 of 3 files was uploaded but failed afterwards',
    );
  });

  it('upload --wait still reports one asset as ready if the service refuses a request for the status of another', async () => {
    const secondFile = join(setup.cli.home, 'two.bin');
    writeRandomFile(secondFile, { size: 900, seed: 'two' });
    let isReported = false;
    setup.fault = ({ method, path }) => {
      if (method !== 'GET') return undefined;
      if (isReported) return respondWith(403, { error: {} });
      return {
        respond: async (response) => {
          const headers = { authorization: `Bearer ${setup.sandbox.key}` };
          type Item = { name: string; status: string };
          const body = (await (await fetch(setup.sandbox.url + path, { headers })).json()) as Item & {
            items?: Item[];
          };
          const items = body.items ?? [body];
          // Keeps the first asset in progress until one poll asks for both; that poll reports the first as ready.
          isReported = items.some(({ name }) => name === 'two.bin') && items.length > 1;
          for (const item of items) item.status = isReported && item.name !== 'two.bin' ? 'ready' : 'processing';
          respond(response, 200, body);
        },
      };
    };
    const { stdout } = await setup.run(['upload', setup.path, secondFile, '--wait', '--json']);
    const records: { path: string }[] = JSON.parse(stdout);
    expect(records.sort((a, b) => (a.path === secondFile ? 1 : b.path === secondFile ? -1 : 0))).toMatchObject([
      { asset_status: 'ready', error: null },
      { asset_status: null, error: { code: 'forbidden' } },
    ]);
  });
});

it('upload does not suggest uploads resume if it cannot store its state', async () => {
  mkdirSync(databaseFile(setup.stateDir), { recursive: true });
  setup.fault = ({ method, nth }) => (method === 'PATCH' && nth === 2 ? respondWith(402, { error: {} }) : undefined);
  const { code, record } = await setup.upload(['--force']);
  expect([code, record.error.hint]).toEqual([7, expect.stringContaining('run the same command again')]);
  expect(record.error.hint).not.toContain('uploads resume');
});

describe('unfinished uploads of stdin', () => {
  const checksumMismatch: Fault = { headers: (headers) => ({ ...headers, 'x-checksum-blake3': '0'.repeat(64) }) };

  it('upload of stdin suggests uploads resume after a checksum mismatch, and uploads forget --all keeps the temporary copy without --yes', async () => {
    setup.fault = ({ method }) => (method === 'PATCH' ? checksumMismatch : undefined);
    const { stdout } = await setup.run(['upload', '-', '--json'], { stdin });
    const { hint } = JSON.parse(stdout)[0].error;
    expect((await setup.run(['uploads', 'forget', '--all'])).code).toBe(2);
    expect(setup.spoolFiles()).toHaveLength(1);
    setup.fault = () => undefined;
    const command = /mediactl (uploads resume \w+)/.exec(hint)?.[1] as string;
    const resumeRun = await setup.run([...command.split(' '), '--json']);
    expect(JSON.parse(resumeRun.stdout)).toMatchObject([{ verified: true, error: null }]);
    expect([setup.spoolFiles(), setup.unfinishedIds()]).toEqual([[], []]);
  });

  it('uploads forget --all --yes deletes the temporary copy of stdin', async () => {
    setup.fault = ({ method }) => (method === 'PATCH' ? respondWith(402, { error: {} }) : undefined);
    await setup.run(['upload', '-'], { stdin });
    expect((await setup.run(['uploads', 'forget', '--all'])).code).toBe(2);
    expect((await setup.run(['uploads', 'forget', '--all', '--yes'])).code).toBe(0);
    expect([setup.spoolFiles(), setup.unfinishedIds()]).toEqual([[], []]);
  });

  it('uploads ls lists and uploads forget deletes a temporary copy of stdin that has no stored upload', async () => {
    mkdirSync(databaseFile(setup.stateDir), { recursive: true });
    setup.fault = ({ method }) => (method === 'PATCH' ? respondWith(402, { error: {} }) : undefined);
    const { stdout } = await setup.run(['upload', '-', '--json', '--force'], { stdin });
    const [id] = setup.spoolFiles();
    expect(JSON.parse(stdout)[0].error.hint).toContain(`state/spool/${id}`);
    rmdirSync(databaseFile(setup.stateDir));
    const anHourLater = acceleratedClock();
    anHourLater.advance(3_600_000);
    const lsRun = await setup.run(['uploads', 'ls', '--json'], { clock: anHourLater });
    expect(JSON.parse(lsRun.stdout)).toMatchObject([{ id, state: 'planned' }]);
    for (const which of [id as string, '--all']) {
      const { stderr } = await setup.run(['uploads', 'resume', which], { clock: anHourLater });
      expect(stderr).toContain(`mediactl upload ${join(setup.cli.home, 'state/spool', id as string)} --name NAME`);
    }
    await setup.run(['uploads', 'forget', '--all', '--yes'], { clock: anHourLater });
    expect(setup.spoolFiles()).toEqual([]);
  });
});
