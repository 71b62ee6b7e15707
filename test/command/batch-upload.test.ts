import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { UploadRecord } from '../../src/cli/uploading/upload-record.ts';
import { MediactlError } from '../../src/client/errors.ts';
import { Cli } from '../support/cli.ts';
import { fastClock, optionalClock } from '../support/clock.ts';
import { errorOf } from '../support/errors.ts';
import { after, cut, FakeService, refuse } from '../support/fake-service.ts';
import { respond, startServer } from '../support/http-server.ts';
import { writeManyFiles } from '../support/many-files.ts';

async function setUp(options: Parameters<typeof FakeService.start>[0] = {}) {
  const service = await FakeService.start(options);
  const cli = new Cli(service.environment);
  const folder = join(cli.home, 'shots');
  mkdirSync(folder);
  const file = (name: string, text = name) => {
    const path = join(folder, name);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, text);
    return path;
  };
  const run = (...args: string[]) => cli.run(args, { clock: optionalClock(50) });
  const upload = (...args: string[]): Promise<UploadRecord[]> =>
    cli.json(['upload', ...args], { clock: optionalClock(50) });
  return { service, cli, folder, file, run, upload };
}

const outcomes = (items: UploadRecord[]) => items.map(({ outcome }) => outcome).sort();

describe('file identity', () => {
  it('upload treats URLs that differ only in their query as different files', async () => {
    const { service, upload } = await setUp();
    const site = await startServer((request, response) => {
      const content = `content of ${request.url}`;
      const [, from = '0', to = ''] = /bytes=(\d+)-(\d*)/.exec(request.headers.range ?? '') ?? [];
      const end = Math.min(content.length - 1, to === '' ? content.length : Number(to));
      respond(response, 206, content.slice(Number(from), end + 1), {
        'content-range': `bytes ${from}-${end}/${content.length}`,
        etag: `"${request.url}"`,
      });
    });
    const addresses = [1, 2, 3].map((n) => `${site}/get?id=${n}`);
    expect(outcomes(await upload(...addresses))).toEqual(Array(3).fill('uploaded'));
    expect(new Set(service.completeAssets.map(({ blake3 }) => blake3)).size).toBe(3);
    expect(outcomes(await upload(...addresses))).toEqual(Array(3).fill('skipped'));
  });

  it('upload sends a file once, however its path is spelled, and refuses a manifest that lists it twice', async () => {
    const { cli, folder, file, run, upload, service } = await setUp();
    const path = file('sub/a.bin');
    expect(outcomes(await upload('--flatten', folder, join(folder, 'sub'), `${folder}/./sub/a.bin`))).toEqual([
      'uploaded',
    ]);
    const manifest = join(cli.home, 'm.csv');
    writeFileSync(manifest, `path,name\n${path},One\n${folder}/./sub/a.bin,Two\n`);
    const { code, stderr } = await run('upload', '--manifest', manifest);
    expect([code, stderr]).toEqual([2, expect.stringContaining('twice')]);
    expect(service.assets.size).toBe(1);
  });

  it('upload --sync uploads a symbolic link beside its target as a separate file, and --prune keeps both', async () => {
    const { folder, file, run, service } = await setUp();
    symlinkSync(file('a.bin'), join(folder, 'b.bin'));
    const sync = ['upload', '--sync', folder, '--folder', '/F', '--prune', '--yes'];
    for (let n = 0; n < 2; n++) expect((await run(...sync)).code).toBe(0);
    expect(service.completeAssets.map(({ name }) => name).sort()).toEqual(['a.bin', 'b.bin']);
    expect((await run('check', folder, '--folder', '/F')).code).toBe(0);
  });

  it('upload reports a moved file as a duplicate after a run in which another file failed', async () => {
    const { folder, file, run, upload, service } = await setUp();
    const path = file('a.bin');
    symlinkSync(join(folder, 'nowhere'), join(folder, 'z.bin'));
    expect((await run('upload', '--flatten', folder)).code).toBe(11);
    mkdirSync(join(folder, 'sub'));
    renameSync(path, join(folder, 'sub/a.bin'));
    await run('upload', '--flatten', folder);
    unlinkSync(join(folder, 'z.bin'));
    expect(outcomes(await upload('--flatten', folder))).toEqual(['duplicate']);
    expect(service.completeAssets).toHaveLength(1);
  });

  it('upload creates an empty file again after a dropped connection, and names the possibly empty asset', async () => {
    const { folder, file, run, service } = await setUp();
    file('a empty.bin', '');
    file('b.bin');
    service.fault = ({ method }) =>
      method === 'POST' && [...service.assets.values()].length === 0 ? after(cut) : undefined;
    const { code, stderr } = await run('upload', '--flatten', folder, '--transfers', '1');
    const [lost] = service.assets.keys();
    expect([code, stderr]).toEqual([0, expect.stringContaining(`asset ${lost} may be empty`)]);
    expect(service.completeAssets).toHaveLength(3);
  });

  it('upload exits with 14 if it cannot read the state database, and --force uploads anyway', async () => {
    const { cli, folder, file, run, service } = await setUp();
    file('a.bin');
    await run('upload', '--flatten', folder);
    const log = join(cli.home, 'state/receipts.db-wal');
    rmSync(log, { force: true });
    mkdirSync(log);
    expect((await run('upload', '--flatten', folder)).code).toBe(14);
    expect(service.completeAssets).toHaveLength(1);
    expect((await run('upload', '--flatten', folder, '--force')).code).toBe(0);
    expect(service.completeAssets).toHaveLength(2);
  });
});

describe('folder creation', () => {
  it('upload creates a folder only once if the connection drops during its creation', async () => {
    const { folder, file, run, service } = await setUp();
    for (let n = 0; n < 4; n++) file(`${n}.bin`);
    let isLost = false;
    service.fault = ({ method, path }) => {
      if (method !== 'POST' || !path.includes('/folders/') || isLost) return undefined;
      isLost = true;
      return after(cut);
    };
    const { code } = await run('upload', '--sync', folder, '--folder', '/F', '--transfers', '2');
    expect([code, service.folders.map(({ name }) => name)]).toEqual([0, ['F']]);
  });

  it('upload --create-folders waits until an outage ends and creates all folders', async () => {
    const { folder, file, run, service } = await setUp();
    for (let n = 0; n < 6; n++) file(`day ${n}/a.bin`, `${n}`);
    let isAway = false;
    service.fault = ({ path }) => {
      if (!path.includes('/folders/') || service.folders.length !== 2) return undefined;
      if (isAway) return undefined;
      isAway = true;
      service.stop();
      setTimeout(() => void service.listen(), 300);
      return undefined;
    };
    expect((await run('upload', folder, '--create-folders')).code).toBe(0);
    expect([isAway, service.completeAssets.length, service.folders.length]).toEqual([true, 6, 6]);
  });

  it('upload --sync finds its folders again if the service trims their names', async () => {
    const { folder, file, run, service } = await setUp({
      onNewFolder: (folder) => {
        folder.name = folder.name.trim();
      },
    });
    file('cam a /a.bin');
    for (let n = 0; n < 3; n++) expect((await run('upload', '--sync', folder, '--folder', '/F')).code).toBe(0);
    expect([service.folders.length, service.completeAssets.length]).toEqual([2, 1]);
  });
});

describe('upload --prune', () => {
  const sync = (folder: string, ...more: string[]) => [
    'upload',
    '--sync',
    folder,
    '--folder',
    '/F',
    '--prune',
    '--yes',
    ...more,
  ];

  it('upload --prune keeps assets that another machine uploaded, even after uploads import', async () => {
    const { cli, folder, file, run, service } = await setUp();
    file('a.bin');
    file('b.bin');
    await run(...sync(folder));
    const lines = (await run('uploads', 'ls', '--finished', '--jsonl')).stdout;
    const other = { MEDIACTL_STATE_DIR: join(cli.home, 'another-machine') };
    await cli.run(['uploads', 'import', '-'], { stdin: lines, environment: other });
    unlinkSync(join(folder, 'b.bin'));
    writeFileSync(join(folder, 'a.bin'), 'another file');
    expect((await cli.run(sync(folder), { environment: other })).code).toBe(0);
    expect(service.completeAssets).toHaveLength(3);
  });

  it('upload --prune keeps the old version until the new version is ready', async () => {
    const { folder, file, run, service } = await setUp({ readyAfterMs: 60_000 });
    const path = file('a.bin');
    await run(...sync(folder));
    for (const asset of service.assets.values()) asset.completedAt = 1;
    writeFileSync(path, 'edited');
    expect((await run(...sync(folder))).code).toBe(0);
    expect(service.completeAssets).toHaveLength(2);
    for (const asset of service.assets.values()) asset.completedAt = 1;
    expect((await run(...sync(folder))).code).toBe(0);
    expect(service.completeAssets).toHaveLength(1);
  });

  it('upload --prune exits with 5 and reports no deleted asset if the service refuses deletions (403)', async () => {
    const { folder, file, run, service } = await setUp();
    const paths = [1, 2, 3].map((n) => file(`${n}.bin`));
    file('stays.bin');
    await run(...sync(folder));
    for (const path of paths) unlinkSync(path);
    service.fault = ({ method }) => (method === 'DELETE' ? refuse(403) : undefined);
    const { code, stderr } = await run(...sync(folder));
    expect([code, stderr]).toEqual([5, expect.not.stringContaining('moved')]);
    expect(service.completeAssets).toHaveLength(4);
  });

  it('upload --prune lists its deletions with --dry-run and counts them with --estimate', async () => {
    const { cli, folder, file, run } = await setUp();
    const path = file('a.bin');
    file('stays.bin');
    await run(...sync(folder));
    unlinkSync(path);
    expect(await cli.json(sync(folder, '--estimate'))).toMatchObject({ deleted_count: 1, request_count: 2 });
    expect(await cli.json(sync(folder, '-n'))).toMatchObject([
      { outcome: 'skipped' },
      { outcome: 'deleted', path, request: { method: 'DELETE' } },
    ]);
  });
});

describe('path lists and manifests', () => {
  it('upload --files-from exits with 2 for a missing path and does not expand it as a glob', async () => {
    const { cli, file, run, service } = await setUp();
    file('clip1.mov');
    const list = join(cli.home, 'list');
    writeFileSync(list, `${join(cli.home, 'shots/clip[1].mov')}\n`);
    const { code } = await run('upload', '--files-from', list);
    expect([code, service.assets.size]).toEqual([2, 0]);
  });

  it('upload --manifest applies folder and tags to all files of a directory, and refuses a name for it', async () => {
    const { cli, folder, file, upload, run, service } = await setUp();
    file('a.txt');
    file('b.txt');
    const manifest = join(cli.home, 'm.csv');
    writeFileSync(manifest, `path,folder,tags\n${folder},/X,t1\n`);
    await upload('--manifest', manifest, '--create-folders');
    const uid = service.folders.find(({ name }) => name === 'X')?.uid;
    expect(service.completeAssets.map((asset) => asset.folder)).toEqual([uid, uid]);
    expect(service.tags).toEqual([['t1'], ['t1']]);
    writeFileSync(manifest, `path,name\n${folder},Both\n`);
    expect((await run('upload', '--flatten', '--manifest', manifest)).code).toBe(2);
  });

  it('upload accepts a byte order mark in --files-from lists and manifests', async () => {
    const { cli, file, upload, service } = await setUp();
    const [a, b, c] = ['a.txt', 'b.txt', 'c.txt'].map((name) => file(name));
    const write = (name: string, text: string) => {
      writeFileSync(join(cli.home, name), `\uFEFF${text}\n`);
      return join(cli.home, name);
    };
    await upload('--files-from', write('list', `${a}`));
    await upload('--manifest', write('m.csv', `path\n${b}`));
    await upload('--manifest', write('m.jsonl', JSON.stringify({ path: c })));
    expect(service.completeAssets.map(({ name }) => name)).toEqual(['a.txt', 'b.txt', 'c.txt']);
  });

  it.each<[string, (path: string) => void, string]>([
    ['a named pipe', (path) => execFileSync('mkfifo', [path]), 'it is a named pipe'],
    ['an endless device', (path) => symlinkSync('/dev/zero', path), 'larger than 256 MiB'],
    ['an overlong line', (path) => writeFileSync(path, 'a'.repeat(1e6)), 'it contains a line of more'],
  ])('upload --files-from exits with 2 and does not hang if the list is %s', async (_, make, reason) => {
    const { cli, run } = await setUp();
    const list = join(cli.home, 'list');
    make(list);
    const { code, stderr } = await run('upload', '--files-from', list);
    expect([code, stderr]).toEqual([2, expect.stringContaining(reason)]);
  });

  it('upload --files-from never prints the password of a mistyped URL', async () => {
    const { cli, run } = await setUp();
    const list = join(cli.home, 'list');
    writeFileSync(list, ' https://user:PASSWORD@example.com/a.mp4\n');
    const ran = await run('upload', '--files-from', list, '--json');
    expect([ran.code, ran.stdout + ran.stderr]).toEqual([2, expect.not.stringContaining('PASSWORD')]);
  });
});

describe('upload --results', () => {
  it('upload --results never overwrites an input, and the results file is not uploaded', async () => {
    const { cli, folder, file, run, upload, service } = await setUp();
    const path = file('a.bin');
    const manifest = join(cli.home, 'm.csv');
    writeFileSync(manifest, `path\n${path}\n`);
    expect((await run('upload', '--manifest', manifest, '--results', manifest)).code).toBe(2);
    expect((await run('upload', path, '--results', path)).code).toBe(2);
    const linked = join(cli.home, 'linked.jsonl');
    linkSync(path, linked);
    for (const source of [path, folder])
      expect((await run('upload', '--flatten', source, '--results', linked)).code).toBe(2);
    expect(readFileSync(path, 'utf8')).toBe('a.bin');
    const out = join(folder, 'out.jsonl');
    for (let n = 0; n < 2; n++) await upload('--flatten', folder, '--results', out);
    expect(service.completeAssets.map(({ name }) => name)).toEqual(['a.bin']);
  });

  it('upload --results on a full disk uploads all files and then exits with 1', async () => {
    const { folder, run, service } = await setUp();
    writeManyFiles(folder, 20);
    const ran = await run('upload', '--flatten', folder, '--results', '/dev/full', '--json');
    expect(errorOf(ran)).toEqual({
      code: 'write_failed',
      exit: 1,
      hint: 'free some disk space, then run the same command again; it uploads nothing twice',
    });
    expect(ran.stderr).toContain('/dev/full is incomplete');
    expect(service.completeAssets).toHaveLength(20);
  });
});

describe('stopped uploads', () => {
  it('an upload that stops at 402 reports each file as a record or as remaining', async () => {
    const { folder, cli, service } = await setUp();
    writeManyFiles(folder, 12);
    let creations = 0;
    service.fault = ({ method, path }) => {
      if (method !== 'POST' || path !== '/upload/') return undefined;
      creations++;
      return creations <= 3 ? cut : creations > 6 ? refuse(402) : undefined;
    };
    const args = ['upload', '--flatten', folder, '--json', '--transfers', '1'];
    const { code, stdout, stderr } = await cli.run(args, { clock: fastClock(50) });
    expect(code).toBe(7);
    const { error } = JSON.parse(stderr.trimEnd().split('\n').at(-1) as string);
    expect(JSON.parse(stdout).length + error.details.files_remaining_count).toBe(12);
  });

  it('upload reports every file in records and events if the search for empty assets fails (503)', async () => {
    const { folder, cli, service } = await setUp();
    writeManyFiles(folder, 6);
    let creations = 0;
    service.fault = ({ method, path }) => {
      // Fails only the list of the newest assets, in which empty ones are searched.
      if (method === 'GET' && path.includes('ordering=')) return refuse(503);
      return method === 'POST' && path === '/upload/' && ++creations <= 2 ? after(cut) : undefined;
    };
    const args = ['upload', '--flatten', folder, '--json', '--progress', 'json', '--max-wait', '30s'];
    const { code, stdout, stderr } = await cli.run(args, { clock: fastClock(200) });
    expect([code, outcomes(JSON.parse(stdout))]).toEqual([0, Array(6).fill('uploaded')]);
    const events = stderr
      .split('\n')
      .flatMap((line) => (line.startsWith('{"event') || line.startsWith('{"path') ? [JSON.parse(line)] : []));
    const finished = events.filter(({ event }) => event === 'finished');
    expect(finished.map(({ outcome }) => outcome)).toEqual(Array(6).fill('uploaded'));
    const notices = events.flatMap(({ event, message }) => (event === 'warning' ? [message] : []));
    expect(notices.filter((message) => message.includes('may have left an empty asset'))).toHaveLength(2);
  });

  it('upload --wait exits with 5 if the key cannot read assets, after it has uploaded files', async () => {
    const { folder, run, service } = await setUp();
    writeManyFiles(folder, 4);
    service.fault = ({ method }) => (method === 'GET' ? refuse(403) : undefined);
    expect((await run('upload', '--flatten', folder, '--wait')).code).toBe(5);
    expect(service.completeAssets.length).toBeGreaterThan(0);
  });

  it('uploads resume ID finishes an interrupted upload --force of a file that was uploaded before', async () => {
    const { file, cli, run, upload, service } = await setUp();
    const path = file('a.bin', 'x'.repeat(3000));
    await upload(path);
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    let patches = 0;
    service.fault = ({ method }) => {
      if (method === 'PATCH' && ++patches === 2)
        stop.abort(new MediactlError('interrupted', { code: 'interrupted', exitCode: 130 }));
      return undefined;
    };
    const args = ['upload', path, '--force', '--chunk-size', '1000'];
    const { code } = await cli.run(args, { signal: stop.signal });
    expect(code).toBe(130);
    const [{ id }] = await cli.json(['uploads', 'ls']);
    const resumed = JSON.parse((await run('uploads', 'resume', id, '--json')).stdout);
    expect(outcomes(resumed)).toEqual(['uploaded']);
    expect(await cli.json(['uploads', 'ls'])).toEqual([]);
  });
});

it('upload opens one connection with --transfers 1, and at most eight more with --transfers 8', async () => {
  const { folder, upload, service } = await setUp();
  writeManyFiles(folder, 24);
  await upload('--flatten', folder, '--transfers', '1');
  expect(service.connections.size).toBe(1);
  await upload('--flatten', folder, '--force', '--transfers', '8');
  expect(service.connections.size).toBeLessThanOrEqual(1 + 8);
});

it('upload --create-folders exits with 2 if --reserve-requests equals the rate limit', async () => {
  const { folder, run } = await setUp({ limit: { requests: 50, windowMs: 60_000 } });
  writeManyFiles(folder, 3);
  const { code, stderr } = await run(
    'upload',
    folder,
    '--reserve-requests',
    '50',
    '--create-folders',
    '--folder',
    '/F',
  );
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining('--reserve-requests 50 allows no requests: the rate limit is 50'),
  ]);
});

it('upload exits with 2 if --reserve-requests exceeds a rate limit that was not known before', async () => {
  const { folder, run } = await setUp({ limit: { requests: 50, windowMs: 3_000_000 } });
  writeManyFiles(folder, 3);
  const { code, stderr } = await run('upload', '--flatten', folder, '--reserve-requests', '5000');
  expect([code, stderr]).toEqual([2, expect.stringContaining('--reserve-requests 5000 allows no requests')]);
});

it.each([
  ['plain', 9],
  ['plain', 1],
  ['none', 9],
  ['none', 1],
  ['json', 9],
])('upload --progress %s of %i file(s) reports the rate limit when the wait begins', async (mode, files) => {
  const { folder, cli } = await setUp({ limit: { requests: 3, windowMs: 3_000_000 } });
  writeManyFiles(folder, files);
  const interrupted = new AbortController();
  const ends = (text: string) => {
    if (/rate limit reached; waiting \d\d:\d\d, until \d\d:\d\d|"rate_limited","until"/.test(text))
      interrupted.abort(new MediactlError('interrupted', { code: 'interrupted', exitCode: 130 }));
  };
  const args = ['upload', '--flatten', folder, '--progress', mode, '--wait'];
  const { code, stderr } = await cli.run(args, { signal: interrupted.signal, onStderr: ends });
  expect([code, stderr.match(/rate limit reached/g)?.length]).toEqual([130, mode === 'json' ? undefined : 1]);
});

it('check exits with 11 for an asset that the service lost, and the next upload sends the file again', async () => {
  const { folder, file, run, upload, service } = await setUp();
  file('a.bin');
  const sync = ['--sync', folder, '--folder', '/F'];
  await upload(...sync);
  for (const asset of service.assets.values()) asset.isTrashed = true;
  expect((await run('check', folder, '--folder', '/F')).code).toBe(11);
  expect(outcomes(await upload(...sync))).toEqual(['uploaded']);
  expect((await run('check', folder, '--folder', '/F')).code).toBe(0);
  const notDirectory = await run('check', join(folder, 'a.bin'), '--folder', '/F');
  expect([notDirectory.code, notDirectory.stderr]).toEqual([2, expect.stringContaining('not a directory')]);
});
