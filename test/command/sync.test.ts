import { mkdirSync, renameSync, rmSync, statSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { acceleratedClock } from '../support/clock.ts';
import { errorOf } from '../support/errors.ts';
import { FakeService, respondWithError } from '../support/fake-service.ts';
import { changeState } from '../support/state-database.ts';

let service: FakeService;
let cli: Cli;
let directory: string;
beforeEach(async () => {
  service = await FakeService.start();
  cli = new Cli(service.environment);
  directory = join(cli.home, 'rushes');
  for (const [path, text] of Object.entries({
    'top.bin': 'top',
    'day 1/a.bin': 'a',
    'day 1/cam/b.bin': 'b',
    'day 2/c.bin': 'c',
  })) {
    mkdirSync(join(directory, path, '..'), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
});

const assetNames = () => service.completeAssets.map(({ name }) => name).sort();
const syncCommand = (...args: string[]) => ['sync', directory, '--folder', '/Rushes', ...args];
const checkCommand = (...args: string[]) => ['check', directory, '/Rushes', ...args];

/** Returns the path of a folder, such as `/Rushes/day 1/cam`. */
function pathOf(uid: string | undefined): string {
  const folder = service.folders.find((each) => each.uid === uid);
  return folder ? `${pathOf(folder.parent)}/${folder.name}` : '';
}

describe('sync', () => {
  it('sync mirrors the directory tree, creates each folder once, and skips everything in the next run', async () => {
    await cli.json(syncCommand());
    expect(assetNames()).toEqual(['a.bin', 'b.bin', 'c.bin', 'top.bin']);
    expect(service.paths).toEqual([
      '/Rushes/day 1/a.bin',
      '/Rushes/day 1/cam/b.bin',
      '/Rushes/day 2/c.bin',
      '/Rushes/top.bin',
    ]);
    // Once before, and once each to check the first new folder at the top level and the first nested one.
    expect(service.counts['GET /workspaces/:uid/folders/']).toBe(3);
    expect(service.counts['POST /workspaces/:uid/folders/']).toBe(4);
    const before = service.requestCount;
    expect((await cli.json(syncCommand())).map(({ outcome }: never) => outcome)).toEqual(Array(4).fill('skipped'));
    expect(service.requestCount - before).toBe(1);
  });

  it('sync sends a file whose content was uploaded under another path', async () => {
    await cli.json(syncCommand());
    renameSync(join(directory, 'top.bin'), join(directory, 'day 2/moved.bin'));
    await cli.json(syncCommand());
    expect(assetNames()).toContain('moved.bin');
  });

  it('--prune trashes the assets of deleted and edited files, but no assets of other uploads', async () => {
    await cli.json(syncCommand());
    const [otherUpload] = await cli.json([
      'upload',
      join(directory, 'top.bin'),
      '--existing',
      'upload',
      '--folder',
      '/Rushes/day 2',
    ]);
    unlinkSync(join(directory, 'day 1/a.bin'));
    rmSync(join(directory, 'day 2'), { recursive: true });
    writeFileSync(join(directory, 'top.bin'), 'edited');
    const unconfirmed = await cli.run(syncCommand('--prune'));
    expect([unconfirmed.code, unconfirmed.stderr]).toEqual([2, expect.stringContaining('--yes')]);
    expect(service.completeAssets).toHaveLength(5);
    const limitedRun = await cli.run(syncCommand('--prune', '--yes', '--max-changes', '2'));
    expect([limitedRun.code, limitedRun.stderr]).toEqual([2, expect.stringContaining('3 assets match')]);
    expect((await cli.run(syncCommand('--prune', '--yes'))).code).toBe(0);
    expect(assetNames()).toEqual(['b.bin', 'top.bin', 'top.bin']);
    expect(service.assets.get(otherUpload.asset_uid)?.isTrashed).toBe(false);
    expect((await cli.run(syncCommand('--prune', '--yes'))).code).toBe(0);
    expect(service.completeAssets).toHaveLength(3);
  });

  it('--prune trashes nothing if an upload failed, and nothing in another folder', async () => {
    await cli.json(syncCommand());
    await cli.json(['sync', directory, '--folder', '/Elsewhere']);
    unlinkSync(join(directory, 'day 1/a.bin'));
    writeFileSync(join(directory, 'new.bin'), 'new');
    service.fault = ({ method, path }) =>
      method === 'POST' && path === '/upload/' ? respondWithError(413) : undefined;
    expect((await cli.run(syncCommand('--prune', '--yes'))).code).not.toBe(0);
    expect(service.completeAssets).toHaveLength(8);
    service.fault = () => undefined;
    expect((await cli.run(syncCommand('--prune', '--yes'))).code).toBe(0);
    const remaining = service.completeAssets.filter(({ name }) => name === 'a.bin');
    expect(remaining.map(({ folder: uid }) => pathOf(uid))).toEqual(['/Elsewhere/day 1']);
  });

  it('--prune keeps the assets of files that are excluded or uploaded through a symbolic link', async () => {
    await cli.json(syncCommand());
    const link = join(cli.home, 'link');
    symlinkSync(directory, link);
    const args = ['sync', link, '--folder', '/Rushes', '--exclude', '*.bin', '--prune'];
    writeFileSync(join(directory, 'note.txt'), 'note');
    expect((await cli.run([...args, '--yes'])).code).toBe(0);
    expect(assetNames()).toEqual(['a.bin', 'b.bin', 'c.bin', 'note.txt', 'top.bin']);
  });

  it.each([
    [['sync', 'x', '--prune'], '--prune needs a folder'],
    [['sync', 'x', 'y'], 'a sync needs one directory'],
    [['sync', 'x', '--existing', 'upload'], 'Allowed choices are content, file, name, anywhere.'],
    [['sync', 'x', '--max-changes', '5'], '--max-changes needs --prune'],
  ])('mediactl exits with 2 and says why it rejects the arguments %j', async (args, words) => {
    const { code, stderr } = await cli.run(args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
  });
});

describe('check', () => {
  const differences = async () => {
    const { code, stdout } = await cli.run(checkCommand('--json'));
    const records: { outcome: string; path: string }[] = JSON.parse(stdout);
    return [code, Object.fromEntries(records.map(({ outcome, path }) => [basename(path), outcome]))];
  };

  it('check exits with 11 and lists missing and changed files, and exits with 0 without differences', async () => {
    await cli.json(syncCommand());
    expect(await differences()).toEqual([0, {}]);
    writeFileSync(join(directory, 'new.bin'), 'new');
    writeFileSync(join(directory, 'top.bin'), 'edited');
    unlinkSync(join(directory, 'day 2/c.bin'));
    for (const asset of service.assets.values()) if (asset.name === 'a.bin') asset.isTrashed = true;
    expect(await differences()).toEqual([
      11,
      { 'new.bin': 'missing_remotely', 'top.bin': 'changed', 'c.bin': 'missing_locally', 'a.bin': 'missing_remotely' },
    ]);
  });

  const assetOf = (name: string) => {
    const asset = [...service.assets.values()].find((each) => each.name === name && !each.isTrashed);
    return asset ?? expect.unreachable(`no asset has the name ${name}`);
  };

  it('check and sync exit with 11 and name the asset and the next step if processing has failed', async () => {
    await cli.json(syncCommand());
    const failed = assetOf('a.bin');
    failed.fields.status = 'failed';
    failed.fields.failure_reason = 'unknown codec';
    const checked = await cli.run(checkCommand('--json'));
    expect(JSON.parse(checked.stdout)).toMatchObject([{ outcome: 'failed', asset_uid: failed.uid }]);
    expect(errorOf(checked)).toEqual({
      code: 'check_failed',
      exit: 11,
      hint: `check that the files whose processing failed play on your machine; mediactl rm ${failed.uid}, then mediactl sync ${directory} /Rushes, to upload missing and changed files`,
    });
    const before = service.requestCount;
    const synced = await cli.run(syncCommand('--json'));
    const error = { code: 'processing_failed', cause: 'unknown codec', exit_code: 12 };
    const failures = JSON.parse(synced.stdout).filter(({ error }: { error: unknown }) => error);
    expect(failures).toMatchObject([{ outcome: 'skipped', asset_uid: failed.uid, error }]);
    expect(failures[0].error.hint).toContain(`mediactl rm ${failed.uid}`);
    expect(errorOf(synced)).toEqual({
      code: 'partial_failure',
      exit: 11,
      hint: expect.stringContaining('mediactl rm ID'),
    });
    expect(service.requestCount - before).toBe(2); // the folders, and the failed asset
    await cli.json(['rm', failed.uid, '--yes']);
    expect((await cli.run(syncCommand())).code).toBe(0);
    expect(await differences()).toEqual([0, {}]);
  });

  it('sync says nothing of an asset whose processing had failed and that is ready now', async () => {
    await cli.json(syncCommand());
    assetOf('a.bin').fields.status = 'failed';
    expect((await cli.run(checkCommand())).code).toBe(11);
    assetOf('a.bin').fields.status = 'ready';
    expect((await cli.run(syncCommand())).code).toBe(0);
    expect((await cli.run(syncCommand())).code).toBe(0);
  });

  it('sync --prune trashes the asset of a deleted file although the processing of another file has failed', async () => {
    await cli.json(syncCommand());
    assetOf('a.bin').fields.status = 'failed';
    expect((await cli.run(checkCommand())).code).toBe(11);
    unlinkSync(join(directory, 'top.bin'));
    expect((await cli.run(syncCommand('--prune', '--yes'))).code).toBe(11);
    expect(assetNames()).toEqual(['a.bin', 'b.bin', 'c.bin']);
  });

  it.each([
    ['another type and size', { shows: ['size'] as const, contentType: 'audio/wav', bytes: 4 }, 'unverified'],
    ['no size and type in its record', { shows: [], contentType: undefined, bytes: 4 }, 'same_name'],
    [
      'another size than the file, by its record',
      { shows: ['size'] as const, contentType: 'audio/wav', bytes: 5 },
      'different',
    ],
    [
      'the size and type of its record',
      { shows: ['size'] as const, contentType: 'application/pdf', bytes: 10 },
      'different',
    ],
  ])(
    'check --download of audio, which the service returns with %s, has the right outcome',
    async (_what, of, outcome) => {
      const { shows, contentType, bytes } = of;
      const playback = { type: 'audio', source: { url: 'HERE/media/sound' } }; // returns "some bytes" as application/pdf
      service = await FakeService.start({ shows: [...shows], playback });
      cli = new Cli(service.environment);
      const sound = join(cli.home, 'sound');
      mkdirSync(sound);
      writeFileSync(join(sound, 'a.wav'), 'x'.repeat(bytes));
      await cli.json(['upload', sound, '--folder', '/Sound', '--create-folders']);
      assetOf('a.wav').fields.content_type = contentType;
      if (outcome === 'different' && bytes === 5) writeFileSync(join(sound, 'a.wav'), 'xxxx');
      const environment = { MEDIACTL_STATE_DIR: join(cli.home, 'another-machine') };
      const checked = await cli.run(['check', sound, '/Sound', '--download', '--json'], { environment });
      expect([checked.code, JSON.parse(checked.stdout)]).toMatchObject([11, [{ outcome }]]);
      if (outcome !== 'different')
        expect(checked.stderr).toContain('was not compared: the service returned a rendition of asset');
      if (outcome === 'unverified') {
        expect(errorOf(checked).hint).toContain('a rendition cannot be compared');
      }
    },
  );

  it('check does not call a file failed because the asset of another machine that has its name has failed', async () => {
    await cli.json(syncCommand());
    assetOf('a.bin').fields.status = 'failed';
    const { stdout } = await cli.run(checkCommand('--json'), {
      environment: { MEDIACTL_STATE_DIR: join(cli.home, 'another-machine') },
    });
    const outcomes = JSON.parse(stdout).map(({ outcome }: { outcome: string }) => outcome);
    expect(outcomes).toEqual(Array(4).fill('same_name'));
  });

  it.each([
    ['unverified', ['size'] as const],
    ['same_name', [] as const],
  ])(
    'check reports files of the same name that another machine uploaded as %s if records show %j',
    async (outcome, shows) => {
      service = await FakeService.start({ shows: [...shows] });
      cli = new Cli({ ...service.environment });
      await cli.json(syncCommand());
      const checkRun = await cli.run(checkCommand('--json'), {
        environment: { MEDIACTL_STATE_DIR: join(cli.home, 'another-machine') },
      });
      const records: { outcome: string }[] = JSON.parse(checkRun.stdout);
      expect([checkRun.code, records.map((each) => each.outcome)]).toEqual([11, Array(4).fill(outcome)]);
      expect(checkRun.stderr).toContain('0 of 4 files match; 4 files not compared');
      expect(errorOf(checkRun)).toEqual({
        code: 'check_failed',
        exit: 11,
        hint: `mediactl check ${directory} /Rushes --download, to compare them byte by byte`,
      });
    },
  );
});

describe('upload plans, globs and manifests', () => {
  it('upload -n prints counts, bytes and requests, and sends nothing', async () => {
    await cli.json(['upload', join(directory, 'top.bin')]);
    writeFileSync(join(directory, 'copy.bin'), 'top');
    const preview = ['upload', '--flatten', directory, '-n'];
    // To compare: the list of the folder, and one request to see that the service filters by folder.
    expect((await cli.run(preview)).stderr).toContain(
      `dry run: 5 files: 1 already uploaded, 4 new; 6 B, ${8 + 2} requests\n`,
    );
    expect(service.assets.size).toBe(1);
    const remaining = (await cli.json(preview)).map((row: { outcome: string; remaining_bytes: number }) => [
      row.outcome,
      row.remaining_bytes,
    ]);
    expect(Object.fromEntries(remaining)).toEqual({ skipped: 0, new: 1 });
    expect((await cli.run([...preview, '--limit-rate', '1'])).stderr).not.toContain('24 hours');
    writeFileSync(join(directory, 'long.bin'), Buffer.alloc(90_000));
    expect((await cli.run([...preview, '--limit-rate', '1'])).stderr).toContain('longer than 24 hours');
  });

  it('upload -n says how long the requests take if that is more than minutes', async () => {
    service = await FakeService.start({ limit: { requests: 10, windowMs: 3_600_000 } });
    cli = new Cli(service.environment);
    const { stderr } = await cli.run(['upload', '--flatten', directory, '-n']);
    expect(stderr).toMatch(/4 new; 6 B, 9 requests, about 0\.9 h at 10 requests per hour\n/);
  });

  it('upload --existing upload -n counts uploaded files as new', async () => {
    const path = join(directory, 'top.bin');
    await cli.json(['upload', path]);
    expect((await cli.run(['upload', path, '--existing', 'upload', '-n'])).stderr).toContain(
      '1 file: 1 new; 3 B, 2 requests',
    );
    expect(await cli.json(['upload', path, '--existing', 'upload', '--dry-run'])).toMatchObject([
      { outcome: 'new', asset_uid: null, remaining_bytes: 3 },
    ]);
  });

  it('upload expands a glob that the shell did not expand, including ** and braces', async () => {
    const filesOf = async (glob: string) =>
      (await cli.json(['upload', join(directory, glob), '-n']))
        .map(({ path }: { path: string }) => basename(path))
        .sort();
    expect(await filesOf('*.bin')).toEqual(['top.bin']);
    expect(await filesOf('**/*.bin')).toEqual(['a.bin', 'b.bin', 'c.bin', 'top.bin']);
    expect(await filesOf('day {1,2}/?.bin')).toEqual(['a.bin', 'c.bin']);
    const withoutMatch = await cli.run(['upload', join(directory, '*.mov')]);
    expect([withoutMatch.code, withoutMatch.stderr]).toEqual([2, expect.stringContaining('no files found')]);
  });

  it('upload --manifest reads names, folders and tags from CSV or JSON lines', async () => {
    const [a, b] = ['day 1/a.bin', 'day 1/cam/b.bin'].map((path) => join(directory, path));
    const csv = join(cli.home, 'shots.csv');
    writeFileSync(
      csv,
      `\ufeffpath,name,description,folder,tags\r\n"${a}","Quay, dusk","two\nlines",/Harbour,"sea;night"\r\n${b},,,,\r\n`,
    );
    const args = ['upload', '--manifest', csv, '--create-folders', '--folder', '/Other'];
    expect((await cli.json(args)).map(({ outcome }: never) => outcome)).toEqual(['uploaded', 'uploaded']);
    const assetPaths = service.completeAssets.map(({ name, folder: uid }) => `${pathOf(uid)}/${name}`).sort();
    expect(assetPaths).toEqual(['/Harbour/Quay, dusk', '/Other/b.bin']);
    expect(service.tags).toEqual([['sea', 'night']]);
    const jsonl = join(cli.home, 'shots.jsonl');
    writeFileSync(jsonl, `${JSON.stringify({ path: join(directory, 'top.bin'), tags: ['x'] })}\n`);
    await cli.json(['upload', '--manifest', jsonl]);
    expect(service.tags).toEqual([['sea', 'night'], ['x']]);
  });

  it('a manifest may have short rows, empty cells after the last column, and columns without a name and a cell at the end', async () => {
    const [a, b, c] = ['top.bin', 'day 1/a.bin', 'c.bin'].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(c, 'third');
    const csv = join(cli.home, 'short.csv');
    writeFileSync(csv, `path,name,tags,,\n${a},Quay,sea,,\n${b}\n${c},,,,,,\n`);
    const uploaded = await cli.json(['upload', '--manifest', csv]);
    expect(uploaded.map(({ outcome }: never) => outcome)).toEqual(['uploaded', 'uploaded', 'uploaded']);
    expect(service.completeAssets.map(({ name }) => name).sort()).toEqual(['Quay', 'a.bin', 'c.bin']);
  });

  it.each([
    ['path,color\nx,red\n', 'columns: path, name, description, folder, tags, content_type'],
    ['file,title\nx,y\n', 'did you mean path, name? columns: path, name'],
    ['path,title,caption\nx,y,z\n', 'unknown columns title, caption'],
    ['path,__proto__\nx,red\n', 'try:   columns: path, name'],
    ['path,nmae\nx,y\n', 'did you mean name? columns: path, name'],
    ['path,\nx,y\n', 'a cell has no column'],
    ['path,__proto__\nx,red\n', 'unknown column __proto__'],
    ['name\nx\n', 'the header has no column path'],
    ['path,name\nx,One, two\n', 'line 2'],
    ['path,name\nx,One, two\n', 'put a cell that contains "," in quotes'],
    ['path,name\n,x\n', 'the path is missing'],
    ['{"path":1}\n{"path"\n', 'line 2'],
    ['path\nx\nx\n', 'lists x twice'],
  ])('upload --manifest exits with 2 and says why it rejects the manifest %j', async (text, words) => {
    const path = join(cli.home, 'bad');
    writeFileSync(path, text);
    const { code, stderr } = await cli.run(['upload', '--manifest', path]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
    expect(service.requestCount).toBe(0);
  });
});

it('upload --min-age reports files whose time is in the future, instead of skipping them until then', async () => {
  const { ctimeMs } = statSync(join(directory, 'top.bin'));
  const options = { clock: { ...acceleratedClock(), now: () => ctimeMs - 86_400_000 } };
  const ran = await cli.run(syncCommand('--create-folders', '--min-age', '1h'), options);
  expect([ran.code, assetNames()]).toEqual([11, []]);
  expect(ran.stderr).toContain('top.bin has a time in the future');
  const single = await cli.run(['upload', join(directory, 'top.bin'), '--min-age', '1h', '--json'], options);
  expect([single.code, JSON.parse(single.stdout)[0].error.code]).toEqual([11, 'clock_skew']);
  expect(assetNames()).toEqual([]);
});

it('upload --min-age skips files that changed recently, even if their modification time is old', async () => {
  for (const path of ['top.bin', 'day 1/a.bin']) utimesSync(join(directory, path), 1, 1); // as cp -p does
  // A minute after the files have changed, according to the clock of the file system.
  const now = () => statSync(join(directory, 'top.bin')).ctimeMs + 60_000;
  const options = { clock: { ...acceleratedClock(), now } };
  const ran = await cli.run(syncCommand('--create-folders', '--min-age', '1h'), options);
  expect([ran.code, assetNames()]).toEqual([0, []]);
  expect(ran.stderr).toContain('4 files that changed recently, which may still be written');
  const single = await cli.run(['upload', join(directory, 'top.bin'), '--min-age', '1h'], options);
  expect([single.code, assetNames()]).toEqual([0, []]);
  await cli.run(syncCommand('--create-folders', '--min-age', '30s'), options);
  expect(assetNames()).toEqual(['a.bin', 'b.bin', 'c.bin', 'top.bin']);
});

it('sync sends a file of a renamed directory again if the processing of its asset has failed', async () => {
  const shows = await FakeService.start({ shows: ['size', 'parent'] });
  const user = new Cli(shows.environment);
  const [before, after] = [join(user.home, 'takes'), join(user.home, 'takes 2')];
  mkdirSync(before);
  for (const name of ['failed.bin', 'kept.bin']) writeFileSync(join(before, name), name);
  await user.json(['sync', before, '/']);
  changeState(
    join(user.home, 'state'),
    "UPDATE uploads SET processing = 'failed', reason = 'not a video' WHERE path LIKE '%failed.bin'",
  );
  renameSync(before, after);
  const records: { path: string; outcome: string }[] = await user.json(['sync', after, '/']);
  const outcomes = Object.fromEntries(records.map(({ path, outcome }) => [basename(path), outcome]));
  expect(outcomes).toEqual({ 'failed.bin': 'uploaded', 'kept.bin': 'skipped' });
});
