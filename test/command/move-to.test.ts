import {
  appendFileSync,
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { UploadRecord } from '../../src/cli/uploading/upload-record.ts';
import { CodedError } from '../../src/client/errors.ts';
import { isLinux } from '../../src/shared/platform.ts';
import { Cli } from '../support/cli.ts';
import { acceleratedClock } from '../support/clock.ts';
import { errorOf } from '../support/errors.ts';
import { FakeService, respondWithError } from '../support/fake-service.ts';
import { changeState, queryState } from '../support/state-database.ts';

let service: FakeService;
let cli: Cli;
let source: string;
let target: string;
beforeEach(async () => {
  service = await FakeService.start();
  cli = new Cli(service.environment);
  source = join(cli.home, 'exports');
  target = join(cli.home, 'uploaded');
  mkdirSync(source);
});

function write(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** Returns the paths of the files in a directory, sorted. */
const filesIn = (directory: string) =>
  existsSync(directory)
    ? readdirSync(directory, { recursive: true, withFileTypes: true })
        .filter((entry) => !entry.isDirectory())
        .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
        .sort()
    : [];

/** Returns the contents of the assets in the library, sorted. */
const contents = () => service.completeAssets.map(({ bytes }) => bytes.toString()).sort();

const sync = (...args: string[]) => ['sync', source, '/F', '--move-to', target, ...args];

/** Starts a watch that moves files. */
function startWatch() {
  const controller = new AbortController();
  const watch = {
    log: '',
    stop: () => {
      controller.abort(new CodedError('terminated', { code: 'terminated' }));
      return ended;
    },
  };
  const ended = cli.run(sync('--watch', '--log-format', 'json'), {
    clock: acceleratedClock({ speed: 50 }),
    signal: controller.signal,
    onStderr: (text) => {
      watch.log = text;
    },
  });
  return watch;
}

describe('--move-to', () => {
  it('--move-to moves each uploaded file with its subdirectory, and its record says where it is', async () => {
    write(join(source, 'a.mov'), 'a');
    write(join(source, 'day 1/b.mov'), 'b');
    const records: { outcome: string; moved_to: string }[] = await cli.json(sync());
    expect(records.map(({ outcome, moved_to }) => [outcome, moved_to]).sort()).toEqual([
      ['uploaded', join(target, 'a.mov')],
      ['uploaded', join(target, 'day 1/b.mov')],
    ]);
    expect([filesIn(source), filesIn(target)]).toEqual([[], ['a.mov', 'day 1/b.mov']]);
    expect(readFileSync(join(target, 'a.mov'), 'utf8')).toBe('a');
  });

  it('--move-to moves a file that an earlier run has uploaded and not moved', async () => {
    write(join(source, 'a.mov'), 'a');
    await cli.json(['sync', source, '/F']);
    expect((await cli.json(sync())).map(({ outcome, moved_to }: never) => [outcome, moved_to])).toEqual([
      ['skipped', join(target, 'a.mov')],
    ]);
  });

  it('--move-to says where the only file of a run was moved to, also if it was uploaded before', async () => {
    const file = write(join(source, 'one.txt'), 'one');
    await cli.run(['folders', 'create', '/F']);
    await cli.run(['upload', file, '/F']);
    const { code, stderr } = await cli.run(['sync', file, '/F', '--move-to', target]);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`; moved to ${join(target, 'one.txt')}`)]);
    expect([filesIn(source), filesIn(target)]).toEqual([[], ['one.txt']]);
  });

  it('--move-to with --wait moves a file only once its asset is ready', async () => {
    const path = write(join(source, 'a.mov'), 'a');
    let reads = 0;
    service.fault = ({ method, path: requested }) => {
      if (method === 'GET' && requested.startsWith('/assets/')) reads++;
      expect(existsSync(path)).toBe(true);
      return undefined;
    };
    await cli.json(sync('--wait'), { clock: acceleratedClock() });
    expect(reads).toBeGreaterThan(0);
    expect(filesIn(target)).toEqual(['a.mov']);
  });

  it('--move-to leaves a file whose asset failed, with the error of the processing', async () => {
    write(join(source, 'a.mov'), 'a');
    service.fault = ({ method, path }) =>
      method === 'GET' && path.startsWith('/assets/') ? respondWithError(404, 'not_found') : undefined;
    expect((await cli.run(sync('--wait', '--json'), { clock: acceleratedClock() })).code).not.toBe(0);
    expect([filesIn(source), filesIn(target)]).toEqual([['a.mov'], []]);
  });

  it('--move-to never replaces a file: the upload is kept, and the error names both files', async () => {
    write(join(source, 'a.mov'), 'new');
    write(join(target, 'a.mov'), 'old');
    const run = await cli.run(sync('--json'));
    expect([run.code, errorOf(run).code]).toEqual([6, 'already_exists']);
    expect(run.stderr).toContain(join(target, 'a.mov'));
    expect([readFileSync(join(source, 'a.mov'), 'utf8'), readFileSync(join(target, 'a.mov'), 'utf8')]).toEqual([
      'new',
      'old',
    ]);
    expect(service.paths).toEqual(['/F/a.mov']);
  });

  it('--move-to leaves a file whose upload no checksum verifies, and names it', async () => {
    write(join(source, 'a.mov'), 'a');
    await cli.json(['sync', source, '/F']);
    changeState(join(cli.home, 'state'), 'UPDATE uploads SET verified = NULL');
    const run = await cli.run(sync('--json'));
    expect([run.code, errorOf(run).code]).toEqual([13, 'unverified']);
    expect([filesIn(source), filesIn(target)]).toEqual([['a.mov'], []]);
  });

  it('--move-to leaves a link where it is', async () => {
    const original = write(join(cli.home, 'original.mov'), 'a');
    symlinkSync(original, join(source, 'link.mov'));
    expect((await cli.run(sync('--json'))).code).toBe(1);
    expect([filesIn(source), filesIn(target)]).toEqual([['link.mov'], []]);
  });

  it('a file that was moved counts neither as deleted for --prune nor as renamed', async () => {
    for (const name of ['a.mov', 'b.mov', 'c.mov']) write(join(source, name), `content of ${name}`);
    await cli.json(sync());
    const uids = service.completeAssets.map(({ uid }) => uid).sort();
    // The same bytes under another name are another file.
    write(join(source, 'again.mov'), 'content of a.mov');
    await cli.json(['sync', source, '/F', '--prune', '--yes']);
    expect(service.completeAssets.map(({ uid }) => uid)).toEqual(expect.arrayContaining(uids));
    expect(service.paths).toEqual(['/F/a.mov', '/F/again.mov', '/F/b.mov', '/F/c.mov']);
  });

  it('a later file with the name of a moved one is uploaded, and --prune keeps the asset of the first', async () => {
    write(join(source, 'a.mov'), 'monday');
    await cli.json(sync());
    rmSync(join(target, 'a.mov'));
    write(join(source, 'a.mov'), 'tuesday');
    await cli.json(['sync', source, '/F']);
    await cli.json(['sync', source, '/F', '--prune', '--yes']);
    expect(service.paths).toEqual(['/F/a.mov', '/F/a.mov']);
  });

  it('a move that was killed between its two steps is finished by the next run, and the one after that does nothing', async () => {
    write(join(source, 'a.mov'), 'a');
    await cli.json(['sync', source, '/F']);
    mkdirSync(target);
    changeState(join(cli.home, 'state'), 'UPDATE uploads SET moved_to = ?', join(target, 'a.mov'));
    linkSync(join(source, 'a.mov'), join(target, 'a.mov'));
    const requests = () => service.counts['POST /upload/'];
    const before = requests();
    expect((await cli.run(sync())).code).toBe(0);
    expect([filesIn(source), filesIn(target), requests()]).toEqual([[], ['a.mov'], before]);
    expect((await cli.run(sync())).code).toBe(0);
    expect([filesIn(target), requests()]).toEqual([['a.mov'], before]);
  });

  it('--move-to keeps a file with two names whose target leads back to it by a link', async () => {
    const path = write(join(source, 'day 1/a.mov'), 'a');
    linkSync(path, join(cli.home, 'second name.mov'));
    mkdirSync(target);
    symlinkSync(join(source, 'day 1'), join(target, 'day 1'));
    const run = await cli.run(sync('--json'));
    expect([run.code, errorOf(run).code]).toEqual([6, 'already_exists']);
    expect(readFileSync(path, 'utf8')).toBe('a');
  });

  it('--move-to leaves a file whose asset the service no longer has, and the next run uploads and moves it', async () => {
    write(join(source, 'a.mov'), 'a');
    await cli.json(['sync', source, '/F']);
    service.assets.clear();
    const run = await cli.run(sync('--json'));
    expect([run.code, errorOf(run).code]).toEqual([13, 'unverified']);
    expect([filesIn(source), filesIn(target)]).toEqual([['a.mov'], []]);
    expect((await cli.run(sync())).code).toBe(0);
    expect([filesIn(source), filesIn(target), contents()]).toEqual([[], ['a.mov'], ['a']]);
  });

  it('--move-to moves a duplicate of a verified asset of the folder, and the next run sends nothing', async () => {
    write(join(cli.home, 'other/first.mov'), 'the content');
    await cli.json(['upload', join(cli.home, 'other/first.mov'), '/F', '--create-folders']);
    write(join(source, 'second.mov'), 'the content');
    for (let run = 0; run < 2; run++) expect((await cli.run(sync('--existing', 'content'))).code).toBe(0);
    expect([filesIn(source), filesIn(target), contents()]).toEqual([[], ['second.mov'], ['the content']]);
  });

  it('two runs with --move-to at once move each file once, and their records say where it is', async () => {
    const names = Array.from({ length: 30 }, (_, n) => `${n}.mov`).sort();
    for (const name of names) write(join(source, name), `content of ${name}`);
    await cli.json(['sync', source, '/F']);
    await Promise.all([cli.run(sync()), cli.run(sync())]);
    expect([filesIn(source), filesIn(target)]).toEqual([[], names]);
    const moved = queryState(join(cli.home, 'state'), 'SELECT moved_to FROM uploads');
    expect(moved.map(({ moved_to }) => moved_to).sort()).toEqual(names.map((name) => join(target, name)).sort());
  });

  it('--move-to -n refuses an unusable directory, and creates none', async () => {
    write(join(source, 'a.mov'), 'a');
    expect((await cli.run(['sync', source, '/F', '--move-to', join(source, 'done'), '-n'])).code).toBe(2);
    expect(existsSync(join(source, 'done'))).toBe(false);
  });

  it('sync --watch --move-to moves each file, and names one that cannot be moved once until it is tried again', async () => {
    write(join(source, 'a.mov'), 'a');
    write(join(source, 'b.mov'), 'b');
    write(join(target, 'b.mov'), 'another');
    const watch = startWatch();
    await vi.waitFor(() => expect(filesIn(source)).toEqual(['b.mov']), { timeout: 20_000 });
    await vi.waitFor(() => expect(watch.log).toContain('stays where it is'), { timeout: 20_000 });
    expect((await watch.stop()).code).toBe(0);
    expect(service.paths).toEqual(['/F/a.mov', '/F/b.mov']);
    expect(readFileSync(join(target, 'b.mov'), 'utf8')).toBe('another');
  });

  it.skipIf(!isLinux)(
    '--move-to leaves a file that a program has open for writing, and names that program',
    async () => {
      const path = write(join(source, 'a.mov'), 'a');
      write(join(source, 'b.mov'), 'b');
      const descriptor = openSync(path, 'a');
      const reader = openSync(join(source, 'b.mov'), 'r');
      const run = await cli.run(sync('--json'));
      closeSync(descriptor);
      closeSync(reader);
      expect([run.code, errorOf(run).code, filesIn(source), filesIn(target)]).toEqual([
        ...[11, 'partial_failure', ['a.mov'], ['b.mov']],
      ]);
      expect(run.stderr).toContain(`(process ${process.pid}) has it open for writing`);
      expect((await cli.run(sync())).code).toBe(0);
      expect([filesIn(source), filesIn(target)]).toEqual([[], ['a.mov', 'b.mov']]);
    },
  );

  it('a file that a program went on writing to after its move is moved back and uploaded again by the next run', async () => {
    write(join(source, 'a.mov'), 'part 1,');
    await cli.json(sync());
    appendFileSync(join(target, 'a.mov'), 'part 2');
    const { code, stderr } = await cli.run(sync());
    expect([code, stderr]).toEqual([0, expect.stringContaining('since a program went on writing to it')]);
    expect([contents(), filesIn(source), filesIn(target)]).toEqual([['part 1,', 'part 1,part 2'], [], ['a.mov']]);
    expect((await cli.run(sync())).code).toBe(0);
    expect(contents()).toEqual(['part 1,', 'part 1,part 2']);
  });

  it('a file that a program writes to before the end of the run that moved it is moved back, and makes the exit code 11', async () => {
    write(join(source, 'a.mov'), 'a');
    write(join(source, 'b.mov'), 'the longer one');
    service.fault = ({ method, asset }) =>
      method === 'PATCH' && asset.name === 'b.mov'
        ? async ({ act }) => {
            await vi.waitFor(() => expect(filesIn(target)).toEqual(['a.mov']), { timeout: 20_000 });
            appendFileSync(join(target, 'a.mov'), ', and more');
            return act();
          }
        : undefined;
    const run = await cli.run(sync('--json'));
    expect([run.code, filesIn(source), filesIn(target)]).toEqual([11, ['a.mov'], ['b.mov']]);
    service.fault = () => undefined;
    expect((await cli.run(sync())).code).toBe(0);
    expect(contents()).toEqual(['a', 'a, and more', 'the longer one']);
  });

  it('a moved file that changed stays where it is if its path has another file, and is named with the command that uploads it', async () => {
    write(join(source, 'a.mov'), 'part 1,');
    await cli.json(sync());
    appendFileSync(join(target, 'a.mov'), 'part 2');
    write(join(source, 'a.mov'), 'another');
    const { code, stdout } = await cli.run(sync('--json'));
    expect([code, readFileSync(join(target, 'a.mov'), 'utf8')]).toEqual([6, 'part 1,part 2']);
    const [moved] = JSON.parse(stdout).flatMap(({ error }: UploadRecord) =>
      error?.message.includes('changed') ? error : [],
    );
    await cli.json(moved.hint.split(' ').slice(1));
    expect(contents()).toEqual(['another', 'part 1,', 'part 1,part 2']);
  });

  it.skipIf(!isLinux)('a file that somebody put in the place of a moved one stays there', async () => {
    write(join(source, 'a.mov'), 'a');
    await cli.json(sync());
    rmSync(join(target, 'a.mov'));
    write(join(target, 'a.mov'), 'edited elsewhere');
    expect((await cli.run(sync())).code).toBe(0);
    expect([filesIn(source), filesIn(target), contents()]).toEqual([[], ['a.mov'], ['a']]);
  });

  it('sync --watch --move-to moves a file back and uploads it again when its writer goes on, and the log names it', async () => {
    write(join(source, 'a.mov'), 'part 1,');
    const watch = startWatch();
    await vi.waitFor(() => expect(filesIn(target)).toEqual(['a.mov']), { timeout: 20_000 });
    appendFileSync(join(target, 'a.mov'), 'part 2');
    await vi.waitFor(() => expect(contents()).toEqual(['part 1,', 'part 1,part 2']), { timeout: 20_000 });
    await vi.waitFor(() => expect(filesIn(target)).toEqual(['a.mov']), { timeout: 20_000 });
    expect((await watch.stop()).code).toBe(0);
    expect(watch.log).toContain('is back since a program went on writing to it');
  });

  it.each([
    ['a directory inside of the source', (at: string) => ['sync', at, '/F', '--move-to', join(at, 'done')]],
    ['the source itself', (at: string) => ['sync', at, '/F', '--move-to', at]],
    ['the directory above the source', (at: string) => ['sync', at, '/F', '--move-to', dirname(at)]],
    ['a queue', (at: string) => ['sync', at, '/F', '--queue', 'redis://127.0.0.1', '--move-to', join(at, '../done')]],
    ['--force', (at: string) => ['sync', at, '/F', '--force', '--move-to', join(at, '../done')]],
  ])('--move-to with %s is refused with exit code 2, and nothing is uploaded', async (_, command) => {
    write(join(source, 'a.mov'), 'a');
    expect((await cli.run(command(source))).code).toBe(2);
    expect([service.assets.size, filesIn(source)]).toEqual([0, ['a.mov']]);
  });
});
