import { appendFileSync, mkdirSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CodedError } from '../../src/client/errors.ts';
import { Cli, type CliOptions, type CliResult } from '../support/cli.ts';
import { acceleratedClock } from '../support/clock.ts';
import { FakeService, respondWithError } from '../support/fake-service.ts';
import { createLatch } from '../support/latch.ts';

const patience = { timeout: 30_000, interval: 20 };

let service: FakeService;
let cli: Cli;
let directory: string;
let watches: { stop(): Promise<CliResult> }[];
beforeEach(async () => {
  service = await FakeService.start();
  cli = new Cli(service.environment);
  directory = join(cli.home, 'drop');
  mkdirSync(directory);
  watches = [];
});
afterEach(async () => {
  for (const watch of watches) await watch.stop();
});

/** Starts a watch with a clock that runs fast; a stop is what SIGTERM does. */
function startWatch(
  args: readonly string[] = [],
  { folder = '/Drop', ...options }: CliOptions & { speed?: number; folder?: string } = {},
) {
  const controller = new AbortController();
  const clock = acceleratedClock({ speed: options.speed ?? 50 });
  const output = { stderr: '' };
  const ended = cli.run(['sync', directory, '--folder', folder, '--watch', '--log-format', 'json', ...args], {
    clock,
    signal: controller.signal,
    onStderr: (text) => {
      output.stderr = text;
    },
    ...options,
  });
  const watch = {
    clock,
    ended,
    /** Entries of the log so far. */
    log: () =>
      output.stderr
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line)),
    stop: () => {
      controller.abort(new CodedError('terminated', { code: 'terminated' }));
      return ended;
    },
  };
  watches.push(watch);
  return watch;
}

function write(path: string, text: string): string {
  const full = join(directory, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, text);
  return full;
}

/** Asserts that each pause is twice the one before, or longer on a busy machine, since its clock runs fast. */
function expectLongerPauses(times: readonly number[]): void {
  for (const [at, time] of times.slice(1).entries())
    expect(time - (times[at] as number)).toBeGreaterThanOrEqual(9_900 * 2 ** at);
}

/** Waits until the log has entries with a message: the service has a file before the watch knows that it has. */
const waitForLog = (watch: ReturnType<typeof startWatch>, message: string, count: number) =>
  vi.waitFor(() => expect(watch.log().filter((entry) => entry.message === message)).toHaveLength(count), patience);

const waitForPaths = (...paths: string[]) => vi.waitFor(() => expect(service.paths).toEqual(paths), patience);

describe('sync --watch', () => {
  it('sync --watch uploads files that are there and files that come later, in their subfolders, until it is stopped', async () => {
    write('first.mov', 'first');
    const watch = startWatch();
    await waitForPaths('/Drop/first.mov');
    write('day 1/second.mov', 'second');
    await waitForPaths('/Drop/day 1/second.mov', '/Drop/first.mov');
    await waitForLog(watch, 'uploaded, verified', 2);

    const { code } = await watch.stop();

    expect(code).toBe(0);
    expect(watch.log().at(-1)).toMatchObject({ level: 'info', message: expect.stringMatching(/^2 uploaded; /) });
    expect((await cli.json(['sync', directory, '/Drop'])).map(({ outcome }: never) => outcome)).toEqual([
      'skipped',
      'skipped',
    ]);
  });

  it('sync --watch takes a file once its size and change time stood still, though cp -p gave it an old modification time', async () => {
    const copied = write('copied.mov', 'part 1,');
    utimesSync(copied, 1_000_000_000, 1_000_000_000);
    const watch = startWatch(['--min-age', '50s'], { speed: 10 }); // also longer than a busy machine takes for the looks
    await vi.waitFor(() => expect(watch.clock.sleptMs.length).toBeGreaterThan(3), patience);
    expect(service.assets.size).toBe(0);
    appendFileSync(copied, 'part 2');
    utimesSync(copied, 1_000_000_000, 1_000_000_000);
    await waitForPaths('/Drop/copied.mov');
    expect(service.completeAssets.map(({ size }) => size)).toEqual(['part 1,part 2'.length]);
  });

  it('sync --watch uploads a file again when its writer goes on after a long pause, and the log names both assets', async () => {
    const path = write('long.mov', 'a');
    const watch = startWatch();
    await waitForPaths('/Drop/long.mov');
    await waitForLog(watch, 'uploaded, verified', 1);
    const [first] = service.completeAssets;
    appendFileSync(path, 'b');
    await waitForPaths('/Drop/long.mov', '/Drop/long.mov');
    await waitForLog(watch, 'uploaded, verified', 2);
    const second = service.completeAssets.find(({ uid }) => uid !== first?.uid);
    await watch.stop();
    const entries = watch.log().filter((entry) => entry.path === path);
    expect(entries.map(({ message }) => message)).toContain(
      `previously uploaded as asset ${first?.uid}, which is kept`,
    );
    expect(entries.at(-1)).toMatchObject({ message: 'uploaded, verified', asset_uid: second?.uid });
  });

  it.each(['longer than before', 'changed, of equal size'])(
    'sync --watch uploads a file anew that changed while its upload was interrupted: %s',
    async (how) => {
      const path = write('a.mov', 'the first content');
      service.fault = ({ method }) => (method === 'PATCH' ? respondWithError(400, 'bad_request') : undefined);
      await cli.run(['sync', directory, '/Drop']);
      expect([service.assets.size, service.completeAssets]).toEqual([1, []]);
      service.fault = () => undefined;
      writeFileSync(path, how === 'longer than before' ? 'another content, longer' : 'the other content');
      startWatch();
      await waitForPaths('/Drop/a.mov');
      expect(service.assets.size).toBeLessThanOrEqual(2);
    },
  );

  it('sync --watch leaves out unfinished names and empty files, and takes a file that is renamed into place', async () => {
    const part = write('clip.mov.part', 'clip');
    const empty = write('empty.mov', '');
    const watch = startWatch();
    await vi.waitFor(() => expect(watch.clock.sleptMs.length).toBeGreaterThan(30), patience);
    expect(service.assets.size).toBe(0);
    renameSync(part, join(directory, 'clip.mov'));
    await waitForPaths('/Drop/clip.mov');
    writeFileSync(empty, 'no longer');
    await waitForPaths('/Drop/clip.mov', '/Drop/empty.mov');
  });

  it('sync --watch moves the asset of a file that is renamed or moved to another directory', async () => {
    const path = write('a.mov', 'a');
    startWatch();
    await waitForPaths('/Drop/a.mov');
    const [uploaded] = service.completeAssets;
    mkdirSync(join(directory, 'day 1'));
    renameSync(path, join(directory, 'day 1/b.mov'));
    await waitForPaths('/Drop/day 1/b.mov');
    expect(service.completeAssets.map(({ uid }) => uid)).toEqual([uploaded?.uid]);
  });

  it('sync --watch makes one asset of a file that is renamed while it is sent, under its last name', async () => {
    const path = write('a.mov', 'a');
    const { opened: isRenamed, open: rename } = createLatch();
    const { opened: isSent, open: send } = createLatch();
    service.fault = ({ method }) =>
      method === 'PATCH'
        ? async ({ act }) => {
            send();
            await isRenamed;
            return act();
          }
        : undefined;
    const watch = startWatch();
    await isSent;
    renameSync(path, join(directory, 'b.mov'));
    const seen = watch.clock.now();
    await vi.waitFor(() => expect(watch.clock.now() - seen).toBeGreaterThan(60_000), patience);
    rename();
    await waitForPaths('/Drop/b.mov');
    expect(service.assets.size).toBe(1);
  });

  it('sync --watch waits longer and longer for a file that another process is sending', async () => {
    const path = write('a.mov', 'a');
    const { opened: mayFinish, open: finish } = createLatch();
    const { opened: isSent, open: send } = createLatch();
    service.fault = ({ method }) =>
      method === 'PATCH'
        ? async ({ act }) => {
            send();
            await mayFinish;
            return act();
          }
        : undefined;
    const other = cli.run(['upload', path, '/Drop', '--create-folders']);
    await isSent;
    const watch = startWatch([], { speed: 200 });
    const times = () =>
      watch.log().flatMap(({ error, time }) => (error?.code === 'upload_in_progress' ? [Date.parse(time)] : []));
    await vi.waitFor(() => expect(times().length).toBeGreaterThan(3), patience);
    expectLongerPauses(times());
    finish();
    expect((await other).code).toBe(0);
    await watch.stop();
    expect(service.paths).toEqual(['/Drop/a.mov']);
  });

  it('sync --watch sends no request in an hour in which nothing changes', async () => {
    write('a.mov', 'a');
    const watch = startWatch([], { speed: 2_000 });
    await waitForPaths('/Drop/a.mov');
    const [requests, startedAt] = [service.requestCount, watch.clock.now()];
    await vi.waitFor(() => expect(watch.clock.now() - startedAt).toBeGreaterThan(3_600_000), patience);
    expect(service.requestCount - requests).toBe(0);
  });

  it('sync --watch goes on after an outage, and tries a file that was refused again, less and less often', async () => {
    write('a.mov', 'a');
    let refusals = 0;
    service.fault = ({ method, path }) => {
      if (method !== 'POST' || path !== '/upload/' || refusals === 3) return undefined;
      refusals++;
      return respondWithError(400, 'bad_request');
    };
    const watch = startWatch([], { speed: 200 });
    await waitForPaths('/Drop/a.mov');
    const failed = watch.log().filter(({ level }) => level === 'error');
    expect(failed).toHaveLength(3);
    expectLongerPauses(failed.map(({ time }) => Date.parse(time)));
  });

  it('sync --watch ends with exit code 4 when the service rejects its key', async () => {
    const watch = startWatch();
    service.fault = () => respondWithError(401, 'unauthorized');
    write('a.mov', 'a');
    expect((await watch.ended).code).toBe(4);
  });

  it('sync --watch reports a directory that cannot be read once, and goes on when it is there again', async () => {
    const watch = startWatch();
    await vi.waitFor(() => expect(watch.clock.sleptMs.length).toBeGreaterThan(2), patience);
    const away = join(cli.home, 'away');
    renameSync(directory, away);
    const problems = () => watch.log().filter(({ level }) => level === 'warn');
    await vi.waitFor(() => expect(problems()).toHaveLength(1), patience);
    renameSync(away, directory);
    write('a.mov', 'a');
    await waitForPaths('/Drop/a.mov');
    expect(problems()).toHaveLength(1);
  });

  it.each([
    ['/Drop', ''],
    ['/Drop/day 1', 'day 1/'],
  ])('sync --watch says that its folder %s is gone, and creates it again', async (folder, below) => {
    write(`${below}a.mov`, 'a');
    const watch = startWatch();
    await waitForPaths(`${folder}/a.mov`);
    const [gone] = service.folders.splice(
      service.folders.findIndex(({ name }) => folder.endsWith(name)),
      1,
    );
    for (const asset of service.assets.values()) asset.isTrashed ||= asset.folder === gone?.uid;
    write(`${below}b.mov`, 'b');
    await vi.waitFor(() => expect(service.paths).toContain(`${folder}/b.mov`), patience);
    // A folder below is created silently, as any that is missing, if the watch has just read the folders again.
    const problems = watch.log().filter(({ level }) => level !== 'info');
    if (below === '') expect(JSON.stringify(problems)).toContain(folder);
  });

  it('sync --watch ends with exit code 3 and names its folder if that was given by uid and is gone', async () => {
    const uid = '00000000-0000-4000-8000-0000000f01de';
    service.folders.push({ uid, name: 'Drop', parent: undefined });
    const watch = startWatch([], { folder: uid });
    write('a.mov', 'a');
    await waitForPaths('/Drop/a.mov');
    service.folders.length = 0;
    write('b.mov', 'b');
    const { code, stderr } = await watch.ended;
    expect([code, stderr]).toEqual([3, expect.stringContaining('folder /Drop does not exist')]);
  });

  it('sync --watch follows its folder to another name', async () => {
    write('a.mov', 'a');
    const watch = startWatch();
    await waitForPaths('/Drop/a.mov');
    Object.assign(service.folders[0] ?? {}, { name: 'Inbox' });
    const seen = watch.clock.now();
    await vi.waitFor(() => expect(watch.clock.now() - seen).toBeGreaterThan(60_000), patience);
    write('day 1/b.mov', 'b');
    await waitForPaths('/Inbox/a.mov', '/Inbox/day 1/b.mov');
  });

  it('sync --watch --dry-run shows what the first run would do, and ends', async () => {
    write('a.mov', 'a');
    const { code, stdout } = await cli.run(['sync', directory, '/Drop', '--watch', '--dry-run', '--jsonl']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ outcome: 'new' });
    expect(service.assets.size).toBe(0);
  });

  it.each([
    [['--prune', '--folder', '/Drop', '--yes'], /--watch and --prune cannot be used together/],
    [['--queue', 'redis://127.0.0.1'], /--watch and --queue cannot be used together/],
    [['--results', 'out.csv'], /--watch and --results cannot be used together/],
    [['--checksum'], /--watch and --checksum cannot be used together/],
  ])('sync --watch %j is refused with exit code 2', async (args, message) => {
    const { code, stderr } = await cli.run(['sync', directory, '--watch', ...args]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    expect(service.assets.size).toBe(0);
  });

  it('--log-format without --watch is refused', async () => {
    const { code, stderr } = await cli.run(['sync', directory, '/Drop', '--log-format', 'json']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--log-format needs --watch')]);
  });
});

it('sync of a folder to a directory is refused, and names the download that does that', async () => {
  const { code, stderr } = await cli.run(['sync', '/Rushes', directory]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(`mediactl download /Rushes -d ${directory}`)]);
});
