import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { writeRandomFile } from '../support/files.ts';
import { isStrict, startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { mediactl } from '../support/spawn.ts';

/* A download of a folder is killed when a part of its bytes has arrived, and then run twice. */

const largeBytes = 48 * 1024 * 1024;
const smallFiles = 30;

let sandbox: TestSandbox;
let account: Record<string, string>;
let source: string;
beforeAll(async () => {
  sandbox = await startSandbox({ rateLimit: { limit: 100_000, windowSeconds: 3600 } });
  account = {
    MEDIACTL_API_KEY: sandbox.key,
    MEDIACTL_BASE_URL: sandbox.url,
    MEDIACTL_WORKSPACE: sandbox.workspace,
    MEDIACTL_KEY_STORE: 'file',
  };
  const cli = new Cli(account);
  source = join(cli.home, 'source');
  for (let n = 0; n < smallFiles; n++) {
    const path = join(source, `day ${n % 4}/cam ${n % 3}/ü ${n}.bin`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `content of ${n}`.repeat(n + 1));
  }
  writeRandomFile(join(source, 'day 1/large.bin'), { size: largeBytes, seed: 'large' });
  const { code, stderr } = await cli.run(['sync', source, '/Killed', '--wait']);
  if (code !== 0) throw new Error(stderr);
});
afterAll(() => sandbox.end());

const filesIn = (directory: string) => {
  try {
    return readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  } catch {
    return [];
  }
};

/** Returns the number of bytes in a directory. A file may be gone or renamed meanwhile. */
const bytesIn = (directory: string) =>
  filesIn(directory).reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);

const contentsOf = (directory: string) =>
  new Map(filesIn(directory).map((path) => [path.slice(directory.length + 1), readFileSync(path).toString('base64')]));

it.skipIf(isStrict).each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])(
  'download of a folder that is killed after %i tenths of its bytes ends the same when it is run again, and then fetches nothing',
  async (tenths) => {
    const cli = new Cli(account);
    const target = join(cli.home, 'home');
    const environment = {
      ...account,
      MEDIACTL_STATE_DIR: join(cli.home, 'state'),
      MEDIACTL_CONFIG_DIR: join(cli.home, 'config'),
    };
    const args = ['download', '/Killed', '-d', target, '--json', '--progress', 'none'];
    const killed = mediactl(args, environment);
    let isOver = false;
    const ended = killed.finished.then(() => {
      isOver = true;
    });
    while (!isOver && bytesIn(target) <= (tenths * largeBytes) / 10) await sleep(2);
    killed.child.kill('SIGKILL');
    await ended;

    const first = await mediactl(args, environment).finished;
    expect(first.code, first.stderr).toBe(0);
    expect(contentsOf(target)).toEqual(contentsOf(source));
    const second = await mediactl(args, environment).finished;
    expect(second.code, second.stderr).toBe(0);
    const outcomes = (JSON.parse(second.stdout) as { outcome: string }[]).map(({ outcome }) => outcome);
    expect(outcomes).toEqual(Array(smallFiles + 1).fill('skipped'));
  },
);
