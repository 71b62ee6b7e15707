import { copyFileSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fastClock } from '../support/clock.ts';
import { writeSome } from '../support/files.ts';
import { respond } from '../support/http-server.ts';
import { type Fault, respondWith } from '../support/interposer.ts';
import { unlessStrict } from '../support/sandbox.ts';
import { databaseFile } from '../support/state-database.ts';
import { setUpUploader } from '../support/upload-setup.ts';

const world = setUpUploader();
const stdin = 'precious'.repeat(100);

describe('what is told', () => {
  it('what was uploaded before is told so, with its asset', async () => {
    const { record: first } = await world.upload();
    const { record, stderr } = await world.upload();
    expect(record).toMatchObject({ outcome: 'skipped', verified: true, bytes_sent: 0, request_count: 0 });
    expect(stderr).toContain(`already uploaded as asset ${first.asset_uid}; --force uploads it again`);
    const copy = join(world.cli.home, 'copy.bin');
    copyFileSync(world.path, copy);
    const same = await world.run(['upload', copy]);
    expect(same.stderr).toContain(`a duplicate of /${first.asset_name} (asset ${first.asset_uid})`);
    expect(world.interposer.methods.filter((method) => method === 'POST')).toHaveLength(1);
  });

  it('a reader that leaves hides no failure', async () => {
    const other = join(world.cli.home, 'other.bin');
    writeSome(other, 900, 'other');
    world.fault = ({ method, nth }) => (method === 'POST' && nth === 2 ? respondWith(413, 'too large') : undefined);
    const ran = await world.run(['upload', world.path, other, '--json', '--transfers', '1'], {
      stdoutError: 'EPIPE',
    });
    expect(ran.code).toBe(11);
    expect(ran.stderr).toContain('other.bin');
  });

  it('a reader that leaves hides no error of the run', async () => {
    const other = join(world.cli.home, 'other.bin');
    writeSome(other, 900, 'other');
    await world.run(['upload', world.path, other]);
    const ran = await world.run(['upload', world.path, other, '--name', 'one', '--jsonl'], { stdoutError: 'EPIPE' });
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('--name works with a single file')]);
  });

  it('a failure is named, though it is the first that is told', async () => {
    const other = join(world.cli.home, 'another.bin');
    writeSome(other, 900, 'other');
    world.fault = ({ method, nth }) => (method === 'POST' && nth === 1 ? respondWith(413, 'too large') : undefined);
    const ran = await world.run(['upload', other, world.path, '--json', '--transfers', '1']);
    expect(ran.code).toBe(11);
    expect(JSON.parse(ran.stderr.trim().split('\n').at(-1) as string).error.cause).toMatch(
      /another\.bin: the upload exceeds/,
    );
  });

  it('an empty file is called so before it is sent', async () => {
    const path = join(world.cli.home, 'empty.txt');
    writeFileSync(path, '');
    const { stderr } = await world.run(['upload', path]);
    expect(stderr).toMatch(/warning: the file is empty\n[\s\S]*uploaded/);
  });

  it('on a terminal uploads ls --finished has short uids, and does not claim what it did not ask', async () => {
    const path = join(world.cli.home, 'broken.mp4');
    writeFileSync(path, 'not a video');
    const narrow = { tty: true, columns: 40, environment: { NO_COLOR: '1' } };
    const { stdout: table } = await world.run(['upload', path], narrow);
    expect(table).toMatch(/PATH +RESULT/);
    const list = async (options = {}) => (await world.run(['uploads', 'ls', '--finished'], options)).stdout;
    const uid = (await list()).split('\t')[0] ?? '';
    expect((await list()).split('\t')[3]).toBe('unchecked');
    const { stdout: shown, stderr } = await world.run(['uploads', 'ls', '--finished'], narrow);
    expect(shown).toMatch(new RegExp(`${uid.slice(0, 8)} +unchecked`));
    expect(shown).not.toContain(uid);
    expect(stderr).toContain('mediactl wait');
    await world.run(['wait'], { clock: fastClock() });
    expect(await list(narrow)).toMatch(new RegExp(`${uid.slice(0, 8)} +failed`));
  });

  it('a batch whose processing failed names each reason, and play and download say it too', async () => {
    const paths = Array.from({ length: 12 }, (_, n) => join(world.cli.home, `broken_${n}.mp4`));
    for (const path of paths) writeFileSync(path, `not a video: ${path}`);
    const ran = await world.run(['upload', ...paths, '--wait', '-q'], { clock: fastClock() });
    const [problem, ...lines] = ran.stderr.trimEnd().split('\n');
    expect([ran.code, problem]).toEqual([11, 'error: 12 of 12 files were uploaded but failed afterwards']);
    const reason = unlessStrict('(?!its status)', 'its status is failed');
    expect(lines.slice(0, 10)).toEqual(
      lines.slice(0, 10).map(() => expect.stringMatching(`broken_.*processing failed.*: ${reason}`)),
    );
    expect(lines.slice(10)).toEqual([
      '         and 2 more',
      '  try:   check that the file plays on your machine, then upload it again with upload --force',
    ]);
    const [uid = ''] = (await world.run(['ls', '-q'])).stdout.split('\n');
    for (const args of [
      ['play', uid],
      ['play', uid, '--stream', 'hls', '--url'],
      ['download', uid],
    ]) {
      const { code, stderr } = await world.run(args);
      expect([code, stderr]).toEqual([12, expect.stringMatching(`processing failed for asset ${uid}\n.*${reason}`)]);
    }
  });

  it('a checksum that HEAD tells and that differs is no success', async () => {
    const wrong = { 'x-checksum-blake3': '0'.repeat(64) };
    world.fault = ({ method }) => ({
      ...(method === 'PATCH' && { headers: ({ 'x-checksum-blake3': _told, ...rest }) => rest }),
      ...(method === 'HEAD' && { headers: (headers) => ({ ...headers, ...wrong }) }),
    });
    const { code, record } = await world.upload();
    expect([code, record.error.code]).toEqual([13, 'checksum_mismatch']);
  });

  it('what failed before and after the upload is counted apart', async () => {
    const broken = join(world.cli.home, 'broken.pdf');
    writeSome(broken, 900, 'no PDF');
    const large = join(world.cli.home, 'large.bin');
    writeSome(large, 900, 'large');
    const ended = async (...paths: string[]) =>
      (await world.run(['upload', world.path, broken, ...paths, '--wait', '--transfers', '1'])).stderr;
    expect(await ended()).toContain('error: 1 of 2 files was uploaded but failed afterwards');
    world.fault = ({ method }) => (method === 'POST' ? respondWith(413, 'too large') : undefined);
    expect(await ended(large)).toContain(
      'error: 1 of 3 files was not uploaded; 1 of 3 files was uploaded but failed afterwards',
    );
  });

  it('a wait that ends for one asset leaves those that were ready as they are', async () => {
    const two = join(world.cli.home, 'two.bin');
    writeSome(two, 900, 'two');
    let isTold = false;
    world.fault = ({ method, path }) => {
      if (method !== 'GET') return undefined;
      if (isTold) return respondWith(403, { error: {} });
      return {
        respond: async (response) => {
          const headers = { authorization: `Bearer ${world.sandbox.key}` };
          type Item = { name: string; status: string };
          const found = (await (await fetch(world.sandbox.url + path, { headers })).json()) as Item & {
            items?: Item[];
          };
          const items = found.items ?? [found];
          // Keeps the first asset in progress until one poll asks for both; that poll reports the first as ready.
          isTold = items.some(({ name }) => name === 'two.bin') && items.length > 1;
          for (const item of items) item.status = isTold && item.name !== 'two.bin' ? 'ready' : 'processing';
          respond(response, 200, found);
        },
      };
    };
    const { stdout } = await world.run(['upload', world.path, two, '--wait', '--json']);
    const records: { path: string }[] = JSON.parse(stdout);
    expect(records.sort((a, b) => (a.path === two ? 1 : b.path === two ? -1 : 0))).toMatchObject([
      { asset_status: 'ready', error: null },
      { asset_status: null, error: { code: 'forbidden' } },
    ]);
  });
});

it('a file of which no entry can be stored is not said to be resumable', async () => {
  mkdirSync(databaseFile(world.stateDir), { recursive: true });
  world.fault = ({ method, nth }) => (method === 'PATCH' && nth === 2 ? respondWith(402, { error: {} }) : undefined);
  const { code, record } = await world.upload(['--force']);
  expect([code, record.error.hint]).toEqual([7, expect.stringContaining('run the same command again')]);
  expect(record.error.hint).not.toContain('uploads resume');
});

describe('what came on stdin', () => {
  const mismatching: Fault = {
    headers: (headers) => ({ ...headers, 'x-checksum-blake3': '0'.repeat(64) }),
  };

  it('of which the service holds another version is sent again by the hint, and not forgotten unasked', async () => {
    world.fault = ({ method }) => (method === 'PATCH' ? mismatching : undefined);
    const { stdout } = await world.run(['upload', '-', '--json'], { stdin });
    const { hint } = JSON.parse(stdout)[0].error;
    expect((await world.run(['uploads', 'forget', '--all'])).code).toBe(2);
    expect(world.spoolFiles()).toHaveLength(1);
    world.fault = () => undefined;
    const command = /mediactl (uploads resume \w+ --force)/.exec(hint)?.[1] as string;
    const again = await world.run([...command.split(' '), '--json']);
    expect(JSON.parse(again.stdout)).toMatchObject([{ verified: true, error: null }]);
    expect([world.spoolFiles(), world.unfinishedIds()]).toEqual([[], []]);
  });

  it('is forgotten with its entry', async () => {
    world.fault = ({ method }) => (method === 'PATCH' ? respondWith(402, { error: {} }) : undefined);
    await world.run(['upload', '-'], { stdin });
    expect((await world.run(['uploads', 'forget', '--all'])).code).toBe(2);
    expect((await world.run(['uploads', 'forget', '--all', '--yes'])).code).toBe(0);
    expect([world.spoolFiles(), world.unfinishedIds()]).toEqual([[], []]);
  });

  it('where no entry can be stored is kept, said, listed and forgotten', async () => {
    mkdirSync(databaseFile(world.stateDir), { recursive: true });
    world.fault = ({ method }) => (method === 'PATCH' ? respondWith(402, { error: {} }) : undefined);
    const { stdout } = await world.run(['upload', '-', '--json', '--force'], { stdin });
    const [id] = world.spoolFiles();
    expect(JSON.parse(stdout)[0].error.hint).toContain(`state/spool/${id}`);
    rmdirSync(databaseFile(world.stateDir));
    const later = fastClock();
    later.advance(3_600_000);
    const listed = await world.run(['uploads', 'ls', '--json'], { clock: later });
    expect(JSON.parse(listed.stdout)).toMatchObject([{ id, state: 'planned' }]);
    for (const which of [id as string, '--all']) {
      const { stderr } = await world.run(['uploads', 'resume', which], { clock: later });
      expect(stderr).toContain(`mediactl upload '${join(world.cli.home, 'state/spool', id as string)}'`);
    }
    await world.run(['uploads', 'forget', '--all', '--yes'], { clock: later });
    expect(world.spoolFiles()).toEqual([]);
  });
});
