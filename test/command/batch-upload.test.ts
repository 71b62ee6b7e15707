import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { UploadRecord } from '../../src/cli/uploading/upload-record.ts';
import { CodedError } from '../../src/client/errors.ts';
import { Cli } from '../support/cli.ts';
import { acceleratedClock, acceleratedClockInProcess } from '../support/clock.ts';
import { errorOf } from '../support/errors.ts';
import { dropConnection, FakeService, handleThen, respondWithError } from '../support/fake-service.ts';
import { respond, startServer } from '../support/http-server.ts';
import { writeManyFiles } from '../support/many-files.ts';

const handleThenDropConnection = handleThen(dropConnection);

async function setUp(options: Parameters<typeof FakeService.start>[0] = {}) {
  const service = await FakeService.start(options);
  const cli = new Cli(service.environment);
  const directory = join(cli.home, 'shots');
  mkdirSync(directory);
  const writeFile = (name: string, text = name) => {
    const path = join(directory, name);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, text);
    return path;
  };
  const runCli = (...args: string[]) => cli.run(args, { clock: acceleratedClockInProcess({ speed: 50 }) });
  const upload = (...args: string[]): Promise<UploadRecord[]> =>
    cli.json(['upload', ...args], { clock: acceleratedClockInProcess({ speed: 50 }) });
  return { service, cli, directory, writeFile, runCli, upload };
}

const outcomes = (items: UploadRecord[]) => items.map(({ outcome }) => outcome).sort();

describe('file identity', () => {
  it('upload treats URLs that differ only in their query as different files', async () => {
    const { service, upload } = await setUp();
    const fileServer = await startServer((request, response) => {
      const content = `content of ${request.url}`;
      const [, from = '0', to = ''] = /bytes=(\d+)-(\d*)/.exec(request.headers.range ?? '') ?? [];
      const end = Math.min(content.length - 1, to === '' ? content.length : Number(to));
      respond(response, 206, content.slice(Number(from), end + 1), {
        'content-range': `bytes ${from}-${end}/${content.length}`,
        etag: `"${request.url}"`,
      });
    });
    const urls = [1, 2, 3].map((n) => `${fileServer}/get?id=${n}`);
    expect(outcomes(await upload(...urls))).toEqual(Array(3).fill('uploaded'));
    expect(new Set(service.completeAssets.map(({ blake3 }) => blake3)).size).toBe(3);
    expect(outcomes(await upload(...urls))).toEqual(Array(3).fill('skipped'));
  });

  it('upload sends a file once, however its path is spelled, and refuses a manifest that lists it twice', async () => {
    const { cli, directory, writeFile, runCli, upload, service } = await setUp();
    const path = writeFile('sub/a.bin');
    expect(outcomes(await upload('--flatten', directory, join(directory, 'sub'), `${directory}/./sub/a.bin`))).toEqual([
      'uploaded',
    ]);
    const manifest = join(cli.home, 'm.csv');
    writeFileSync(manifest, `path,name\n${path},One\n${directory}/./sub/a.bin,Two\n`);
    const { code, stderr } = await runCli('upload', '--manifest', manifest);
    expect([code, stderr]).toEqual([2, expect.stringContaining('twice')]);
    expect(service.assets.size).toBe(1);
  });

  it('sync uploads a symbolic link beside its target as a separate file, and --prune keeps both', async () => {
    const { directory, writeFile, runCli, service } = await setUp();
    symlinkSync(writeFile('a.bin'), join(directory, 'b.bin'));
    const syncArgs = ['sync', directory, '--folder', '/F', '--prune', '--yes'];
    for (let n = 0; n < 2; n++) expect((await runCli(...syncArgs)).code).toBe(0);
    expect(service.completeAssets.map(({ name }) => name).sort()).toEqual(['a.bin', 'b.bin']);
    expect((await runCli('check', directory, '/F')).code).toBe(0);
  });

  it('upload keeps the asset of a moved file after a run in which another file failed', async () => {
    const { directory, writeFile, runCli, upload, service } = await setUp();
    const path = writeFile('a.bin');
    symlinkSync(join(directory, 'nowhere'), join(directory, 'z.bin'));
    expect((await runCli('upload', '--flatten', directory)).code).toBe(11);
    mkdirSync(join(directory, 'sub'));
    renameSync(path, join(directory, 'sub/a.bin'));
    await runCli('upload', '--flatten', directory);
    unlinkSync(join(directory, 'z.bin'));
    expect(outcomes(await upload('--flatten', directory))).toEqual(['skipped']);
    expect(service.completeAssets).toHaveLength(1);
  });

  it('upload creates an empty file again after a dropped connection, and names the possibly empty asset', async () => {
    const { directory, writeFile, runCli, service } = await setUp();
    writeFile('a empty.bin', '');
    writeFile('b.bin');
    service.fault = ({ method }) =>
      method === 'POST' && [...service.assets.values()].length === 0 ? handleThenDropConnection : undefined;
    const { code, stderr } = await runCli('upload', '--flatten', directory, '--transfers', '1');
    const [emptyAssetUid] = service.assets.keys();
    expect([code, stderr]).toEqual([0, expect.stringContaining(`asset ${emptyAssetUid} may be empty`)]);
    expect(service.completeAssets).toHaveLength(3);
  });

  it('upload exits with 14 if it cannot read the state database, and --force uploads anyway', async () => {
    const { cli, directory, writeFile, runCli, service } = await setUp();
    writeFile('a.bin');
    await runCli('upload', '--flatten', directory);
    const databaseLog = join(cli.home, 'state/receipts.db-wal');
    rmSync(databaseLog, { force: true });
    mkdirSync(databaseLog); // SQLite cannot open a directory
    expect((await runCli('upload', '--flatten', directory)).code).toBe(14);
    expect(service.completeAssets).toHaveLength(1);
    expect((await runCli('upload', '--flatten', directory, '--force')).code).toBe(0);
    expect(service.completeAssets).toHaveLength(2);
  });
});

describe('folder creation', () => {
  it('upload creates a folder only once if the connection drops during its creation', async () => {
    const { directory, writeFile, runCli, service } = await setUp();
    for (let n = 0; n < 4; n++) writeFile(`${n}.bin`);
    let wasDropped = false;
    service.fault = ({ method, path }) => {
      if (method !== 'POST' || !path.includes('/folders/') || wasDropped) return undefined; // no fault
      wasDropped = true;
      return handleThenDropConnection;
    };
    const { code } = await runCli('sync', directory, '--folder', '/F', '--transfers', '2');
    expect([code, service.folders.map(({ name }) => name)]).toEqual([0, ['F']]);
  });

  it('upload --create-folders waits until an outage ends and creates all folders', async () => {
    const { directory, writeFile, runCli, service } = await setUp();
    for (let n = 0; n < 6; n++) writeFile(`day ${n}/a.bin`, `${n}`);
    let hadOutage = false;
    service.fault = ({ path }) => {
      if (!path.includes('/folders/') || service.folders.length !== 2) return undefined;
      if (hadOutage) return undefined;
      hadOutage = true;
      service.stop();
      setTimeout(() => void service.listen(), 300);
      return undefined;
    };
    expect((await runCli('upload', directory, '--create-folders')).code).toBe(0);
    expect([hadOutage, service.completeAssets.length, service.folders.length]).toEqual([true, 6, 6]);
  });

  it('sync finds its folders again if the service trims their names', async () => {
    const { directory, writeFile, runCli, service } = await setUp({
      onNewFolder: (folder) => {
        folder.name = folder.name.trim();
      },
    });
    writeFile('cam a /a.bin');
    for (let n = 0; n < 3; n++) expect((await runCli('sync', directory, '--folder', '/F')).code).toBe(0);
    expect([service.folders.length, service.completeAssets.length]).toEqual([2, 1]);
  });
});

describe('sync --prune', () => {
  const syncArgs = (directory: string, ...extraArgs: string[]) => [
    ...['sync', directory, '--folder', '/F', '--prune', '--yes'],
    ...extraArgs,
  ];

  it('sync --prune keeps assets that another machine uploaded, even after a comparison with the folder', async () => {
    const { cli, directory, writeFile, runCli, service } = await setUp({ shows: ['size', 'parent'] });
    writeFile('a.bin');
    writeFile('b.bin');
    await runCli(...syncArgs(directory));
    const otherMachine = { MEDIACTL_STATE_DIR: join(cli.home, 'another-machine') };
    const firstSync: UploadRecord[] = await cli.json(syncArgs(directory), { environment: otherMachine });
    expect(outcomes(firstSync)).toEqual(['same_name_and_size', 'same_name_and_size']);
    unlinkSync(join(directory, 'b.bin'));
    writeFileSync(join(directory, 'a.bin'), 'another file');
    expect((await cli.run(syncArgs(directory), { environment: otherMachine })).code).toBe(0);
    expect(service.completeAssets).toHaveLength(3);
  });

  it('sync --prune keeps the old version until the new version is ready', async () => {
    const { directory, writeFile, runCli, service } = await setUp({ readyAfterMs: 60_000 });
    const path = writeFile('a.bin');
    await runCli(...syncArgs(directory));
    for (const asset of service.assets.values()) asset.completedAt = 1; // long ago, so it is ready
    writeFileSync(path, 'edited');
    expect((await runCli(...syncArgs(directory))).code).toBe(0);
    expect(service.completeAssets).toHaveLength(2);
    for (const asset of service.assets.values()) asset.completedAt = 1; // long ago, so it is ready
    expect((await runCli(...syncArgs(directory))).code).toBe(0);
    expect(service.completeAssets).toHaveLength(1);
  });

  it('sync --prune exits with 5 and reports no deleted asset if the service refuses deletions (403)', async () => {
    const { directory, writeFile, runCli, service } = await setUp();
    const paths = [1, 2, 3].map((n) => writeFile(`${n}.bin`));
    writeFile('stays.bin');
    await runCli(...syncArgs(directory));
    for (const path of paths) unlinkSync(path);
    service.fault = ({ method }) => (method === 'DELETE' ? respondWithError(403) : undefined);
    const { code, stderr } = await runCli(...syncArgs(directory));
    expect([code, stderr]).toEqual([5, expect.not.stringContaining('moved')]);
    expect(service.completeAssets).toHaveLength(4);
  });

  it('sync --prune with --dry-run lists its deletions, and counts them and their requests', async () => {
    const { cli, directory, writeFile, runCli } = await setUp();
    const path = writeFile('a.bin');
    writeFile('stays.bin');
    await runCli(...syncArgs(directory));
    unlinkSync(path);
    const { stderr } = await runCli(...syncArgs(directory, '-n'));
    expect(stderr).toContain('1 already uploaded; 0 B, 2 requests; would move 1 asset to the trash');
    expect(await cli.json(syncArgs(directory, '-n'))).toMatchObject([
      { outcome: 'skipped' },
      { outcome: 'deleted', path, request: { method: 'DELETE' } },
    ]);
  });
});

describe('path lists and manifests', () => {
  it('upload --files-from exits with 2 for a missing path and does not expand it as a glob', async () => {
    const { cli, writeFile, runCli, service } = await setUp();
    writeFile('clip1.mov');
    const pathList = join(cli.home, 'list');
    writeFileSync(pathList, `${join(cli.home, 'shots/clip[1].mov')}\n`);
    const { code } = await runCli('upload', '--files-from', pathList);
    expect([code, service.assets.size]).toEqual([2, 0]);
  });

  it('upload --manifest applies folder and tags to all files of a directory, and refuses a name for it', async () => {
    const { cli, directory, writeFile, upload, runCli, service } = await setUp();
    writeFile('a.txt');
    writeFile('b.txt');
    const manifest = join(cli.home, 'm.csv');
    writeFileSync(manifest, `path,folder,tags\n${directory},/X,t1\n`);
    await upload('--manifest', manifest, '--create-folders');
    const uid = service.folders.find(({ name }) => name === 'X')?.uid;
    expect(service.completeAssets.map((asset) => asset.folder)).toEqual([uid, uid]);
    expect(service.tags).toEqual([['t1'], ['t1']]);
    writeFileSync(manifest, `path,name\n${directory},Both\n`);
    expect((await runCli('upload', '--flatten', '--manifest', manifest)).code).toBe(2);
  });

  it('upload accepts a byte order mark in --files-from lists and manifests', async () => {
    const { cli, writeFile, upload, service } = await setUp();
    const [first, second, third] = ['a.txt', 'b.txt', 'c.txt'].map((name) => writeFile(name));
    const writeWithByteOrderMark = (name: string, text: string) => {
      writeFileSync(join(cli.home, name), `\uFEFF${text}\n`);
      return join(cli.home, name);
    };
    await upload('--files-from', writeWithByteOrderMark('list', `${first}`));
    await upload('--manifest', writeWithByteOrderMark('m.csv', `path\n${second}`));
    await upload('--manifest', writeWithByteOrderMark('m.jsonl', JSON.stringify({ path: third })));
    expect(service.completeAssets.map(({ name }) => name)).toEqual(['a.txt', 'b.txt', 'c.txt']);
  });

  it.each<[string, (path: string) => void, string]>([
    ['a named pipe', (path) => execFileSync('mkfifo', [path]), 'it is a named pipe'],
    ['an endless device', (path) => symlinkSync('/dev/zero', path), 'larger than 256 MiB'],
    ['an overlong line', (path) => writeFileSync(path, 'a'.repeat(1e6)), 'it contains a line of more'],
  ])('upload --files-from exits with 2 and does not hang if the list is %s', async (_, createList, reason) => {
    const { cli, runCli } = await setUp();
    const pathList = join(cli.home, 'list');
    createList(pathList);
    const { code, stderr } = await runCli('upload', '--files-from', pathList);
    expect([code, stderr]).toEqual([2, expect.stringContaining(reason)]);
  });

  it('upload --files-from never prints the password of a mistyped URL', async () => {
    const { cli, runCli } = await setUp();
    const pathList = join(cli.home, 'list');
    writeFileSync(pathList, ' https://user:PASSWORD@example.com/a.mp4\n');
    const result = await runCli('upload', '--files-from', pathList, '--json');
    expect([result.code, result.stdout + result.stderr]).toEqual([2, expect.not.stringContaining('PASSWORD')]);
  });
});

describe('upload --results', () => {
  it('upload --results never overwrites an input, and the results file is not uploaded', async () => {
    const { cli, directory, writeFile, runCli, upload, service } = await setUp();
    const path = writeFile('a.bin');
    const manifest = join(cli.home, 'm.csv');
    writeFileSync(manifest, `path\n${path}\n`);
    expect((await runCli('upload', '--manifest', manifest, '--results', manifest)).code).toBe(2);
    expect((await runCli('upload', path, '--results', path)).code).toBe(2);
    const hardLink = join(cli.home, 'linked.jsonl');
    linkSync(path, hardLink);
    for (const source of [path, directory])
      expect((await runCli('upload', '--flatten', source, '--results', hardLink)).code).toBe(2);
    expect(readFileSync(path, 'utf8')).toBe('a.bin');
    const resultsFile = join(directory, 'out.jsonl');
    for (let n = 0; n < 2; n++) await upload('--flatten', directory, '--results', resultsFile);
    expect(service.completeAssets.map(({ name }) => name)).toEqual(['a.bin']);
  });

  it('upload --results on a full disk uploads all files and then exits with 1', async () => {
    const { directory, runCli, service } = await setUp();
    writeManyFiles(directory, { count: 20 });
    const result = await runCli('upload', '--flatten', directory, '--results', '/dev/full', '--json');
    expect(errorOf(result)).toEqual({
      code: 'write_failed',
      exit: 1,
      hint: 'free some disk space, then run the same command again; it uploads nothing twice',
    });
    expect(result.stderr).toContain('/dev/full is incomplete');
    expect(service.completeAssets).toHaveLength(20);
  });
});

describe('stopped uploads', () => {
  it('an upload that stops at 402 reports each file as a record or as remaining', async () => {
    const { directory, cli, service } = await setUp();
    writeManyFiles(directory, { count: 12 });
    let createRequests = 0;
    service.fault = ({ method, path }) => {
      if (method !== 'POST' || path !== '/upload/') return undefined;
      createRequests++;
      return createRequests <= 3 ? dropConnection : createRequests > 6 ? respondWithError(402) : undefined;
    };
    const args = ['upload', '--flatten', directory, '--json', '--transfers', '1'];
    const { code, stdout, stderr } = await cli.run(args, { clock: acceleratedClock({ speed: 50 }) });
    expect(code).toBe(7);
    const { error } = JSON.parse(stderr.trimEnd().split('\n').at(-1) as string);
    expect(JSON.parse(stdout).length + error.details.files_remaining_count).toBe(12);
  });

  it('upload reports every file in records and events if the search for empty assets fails (503)', async () => {
    const { directory, cli, service } = await setUp();
    writeManyFiles(directory, { count: 6 });
    let createRequests = 0;
    service.fault = ({ method, path }) => {
      // Fails only the list of the newest assets, in which empty ones are searched.
      if (method === 'GET' && path.includes('ordering=')) return respondWithError(503);
      return method === 'POST' && path === '/upload/' && ++createRequests <= 2 ? handleThenDropConnection : undefined;
    };
    const args = ['upload', '--flatten', directory, '--json', '--progress', 'json', '--max-wait', '30s'];
    const { code, stdout, stderr } = await cli.run(args, { clock: acceleratedClock({ speed: 200 }) });
    expect([code, outcomes(JSON.parse(stdout))]).toEqual([0, Array(6).fill('uploaded')]);
    const events = stderr
      .split('\n')
      .flatMap((line) => (line.startsWith('{"event') || line.startsWith('{"path') ? [JSON.parse(line)] : []));
    const finished = events.filter(({ event }) => event === 'finished');
    expect(finished.map(({ outcome }) => outcome)).toEqual(Array(6).fill('uploaded'));
    const warnings = events.flatMap(({ event, message }) => (event === 'warning' ? [message] : []));
    expect(warnings.filter((message) => message.includes('may have left an empty asset'))).toHaveLength(2);
  });

  it('upload --wait exits with 5 if the key cannot read assets, after it has uploaded files', async () => {
    const { directory, runCli, service } = await setUp();
    writeManyFiles(directory, { count: 4 });
    service.fault = ({ method }) => (method === 'GET' ? respondWithError(403) : undefined);
    expect((await runCli('upload', '--flatten', directory, '--wait')).code).toBe(5);
    expect(service.completeAssets.length).toBeGreaterThan(0);
  });

  it('uploads resume ID finishes an interrupted upload --existing upload of a file that was uploaded before', async () => {
    const { writeFile, cli, runCli, upload, service } = await setUp();
    const path = writeFile('a.bin', 'x'.repeat(3000));
    await upload(path);
    const interruption = new AbortController();
    onTestFinished(() => interruption.abort());
    let patchRequests = 0;
    service.fault = ({ method }) => {
      if (method === 'PATCH' && ++patchRequests === 2)
        interruption.abort(new CodedError('interrupted', { code: 'interrupted' }));
      return undefined;
    };
    const args = ['upload', path, '--existing', 'upload', '--chunk-size', '1000'];
    const { code } = await cli.run(args, { signal: interruption.signal });
    expect(code).toBe(130);
    const [{ id }] = await cli.json(['uploads', 'ls']);
    const resumed = JSON.parse((await runCli('uploads', 'resume', id, '--json')).stdout);
    expect(outcomes(resumed)).toEqual(['uploaded']);
    expect(await cli.json(['uploads', 'ls'])).toEqual([]);
  });
});

it('upload opens one connection with --transfers 1, and at most eight more with --transfers 8', async () => {
  const { directory, upload, service } = await setUp();
  writeManyFiles(directory, { count: 24 });
  await upload('--flatten', directory, '--transfers', '1');
  expect(service.connections.size).toBe(1);
  await upload('--flatten', directory, '--existing', 'upload', '--transfers', '8');
  expect(service.connections.size).toBeLessThanOrEqual(1 + 8);
});

it('upload --create-folders exits with 2 if --reserve-requests equals the rate limit', async () => {
  const { directory, runCli } = await setUp({ limit: { requests: 50, windowMs: 60_000 } });
  writeManyFiles(directory, { count: 3 });
  const { code, stderr } = await runCli(
    'upload',
    directory,
    '--reserve-requests',
    '50',
    '--create-folders',
    '--folder',
    '/F',
  );
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining('a reserve of 50 requests allows none: the rate limit is 50'),
  ]);
});

it.each(['upload', 'sync'])(
  '%s ends with exit code 9 where it would wait longer than a --max-wait that is given',
  async (verb) => {
    const { directory, runCli } = await setUp({ limit: { requests: 8, windowMs: 3_000_000 } });
    writeManyFiles(directory, { count: 9 });
    const { code, stderr } = await runCli(verb, directory, '/', '--max-wait', '5s');
    expect([code, stderr]).toEqual([9, expect.stringMatching(/would exceed the maximum wait[\s\S]*--max-wait/)]);
    expect(stderr).not.toContain('the response to a creation was lost'); // no creation was sent
  },
);

it('upload exits with 2 if --reserve-requests exceeds a rate limit that was not known before', async () => {
  const { directory, runCli } = await setUp({ limit: { requests: 50, windowMs: 3_000_000 } });
  writeManyFiles(directory, { count: 3 });
  const { code, stderr } = await runCli('upload', '--flatten', directory, '--reserve-requests', '5000');
  expect([code, stderr]).toEqual([2, expect.stringContaining('a reserve of 5000 requests allows none')]);
});

it.each([
  ['plain', 9],
  ['plain', 1],
  ['none', 9],
  ['none', 1],
  ['json', 9],
])('upload --progress %s of %i file(s) reports the rate limit when the wait begins', async (mode, fileCount) => {
  const { directory, cli } = await setUp({ limit: { requests: 3, windowMs: 3_000_000 } });
  writeManyFiles(directory, { count: fileCount });
  const interruption = new AbortController();
  const interruptAtRateLimit = (text: string) => {
    if (/rate limit reached.*; waiting \d\d:\d\d, until \d\d:\d\d|"rate_limited","until"/.test(text))
      interruption.abort(new CodedError('interrupted', { code: 'interrupted' }));
  };
  const args = ['upload', '--flatten', directory, '--progress', mode, '--wait'];
  const { code, stderr } = await cli.run(args, { signal: interruption.signal, onStderr: interruptAtRateLimit });
  expect([code, stderr.match(/rate limit reached/g)?.length]).toEqual([130, 1]);
});

it('check exits with 11 for an asset that the service lost, and the next upload sends the file again', async () => {
  const { directory, writeFile, runCli, service } = await setUp();
  writeFile('a.bin');
  const syncArgs = ['sync', directory, '--folder', '/F', '--json'];
  await runCli(...syncArgs);
  for (const asset of service.assets.values()) asset.isTrashed = true;
  expect((await runCli('check', directory, '/F')).code).toBe(11);
  expect(outcomes(JSON.parse((await runCli(...syncArgs)).stdout))).toEqual(['uploaded']);
  expect((await runCli('check', directory, '/F')).code).toBe(0);
  const file = await runCli('check', join(directory, 'a.bin'), '/F');
  expect([file.code, file.stderr]).toEqual([0, expect.stringContaining('1 of 1 files match')]);
});
