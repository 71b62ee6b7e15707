import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { isStrict, startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { mediactl, mediactlCommand, startProcess } from '../support/spawn.ts';

/*
 * A sync that moves its files is killed at one moment, and then run twice. No file stays but such as the run names with a
 * command, after which it moves, too.
 */

type KillMoment = [when: 'before' | 'after', what: 'creation' | 'chunk' | 'move', nth: number];

const moments: KillMoment[] = [
  ['after', 'creation', 4],
  ['before', 'chunk', 2],
  ['after', 'chunk', 1],
  ['after', 'chunk', 3],
  ['before', 'chunk', 8],
  ['after', 'chunk', 6],
  ['after', 'chunk', 10],
  ['after', 'chunk', 12],
  ['after', 'move', 1],
  ['after', 'move', 6],
];

const fileCount = 12;
const filesIn = (directory: string) => (existsSync(directory) ? readdirSync(directory).sort() : []);

/** Kills an upload at a moment. @returns the directories, and a function that runs a command on the same machine */
async function killAt(sandbox: TestSandbox, [when, what, nth]: KillMoment, number: number) {
  let count = 0;
  let kill = () => {};
  const kinds = { creation: /^POST .*\/upload\/$/, chunk: /^PATCH .*\/upload\//, move: /^$/ };
  const proxy = await FaultProxy.start(sandbox.url, ({ method, path }) => {
    if (count >= nth || !kinds[what].test(`${method} ${path}`) || ++count < nth) return undefined;
    if (when === 'after') return { beforeResponse: () => kill(), dropResponse: true };
    kill();
    return { respond: (response) => void response.destroy() };
  });
  const cli = new Cli();
  const environment = {
    MEDIACTL_API_KEY: sandbox.key,
    MEDIACTL_BASE_URL: proxy.url,
    MEDIACTL_WORKSPACE: sandbox.workspace,
    MEDIACTL_STATE_DIR: join(cli.home, 'state'),
    MEDIACTL_CONFIG_DIR: join(cli.home, 'config'),
  };
  const [source, target] = [join(cli.home, 'in'), join(cli.home, 'up')];
  mkdirSync(source);
  for (let n = 0; n < fileCount; n++) writeFileSync(join(source, `${n}.md`), `# text ${n} of ${number}`);
  const folder = `/Kill-${number}`;
  const command = ['sync', source, folder, '--create-folders', '--move-to', target, '--progress', 'none'];
  const [program, ...rest] = mediactlCommand;
  const run = startProcess(program, [...rest, ...command], environment);
  kill = () => void run.child.kill('SIGKILL');
  if (what === 'move') {
    const ended = { isEnded: false };
    run.finished.finally(() => {
      ended.isEnded = true;
    });
    while (filesIn(target).length < nth && !ended.isEnded) await sleep(1);
    kill();
  }
  await run.finished;
  return { source, target, folder, command, run: (args: string[]) => mediactl(args, environment).finished };
}

it.skipIf(isStrict)(
  'after a kill of sync --move-to at each of ten moments, the same command twice moves each file, or names it with a command that helps',
  async () => {
    const sandbox = await startSandbox({ rateLimit: { limit: 100_000, windowSeconds: 3600 } });
    const check = async (moment: KillMoment, number: number) => {
      const { source, target, folder, command, run } = await killAt(sandbox, moment, number);
      const about = `killed ${moment.join(' ')}`;
      await run(command);
      const again = await run([...command, '--json']);
      const left = filesIn(source);
      expect(again.stdout, `${about}: ${again.stderr}`).not.toBe('');
      const named = (JSON.parse(again.stdout) as { path: string; error: { hint: string } | null }[]).filter(
        ({ error }) => error,
      );
      expect(named.map(({ path }) => path).sort(), `${about}: ${again.stderr}`).toEqual(
        left.map((name) => join(source, name)),
      );
      for (const { error } of named) {
        const [, helps = ''] = /^(mediactl check .* --download),/.exec(error?.hint ?? '') ?? [];
        await run(helps.split(' ').slice(1));
      }
      if (left.length > 0) await run(command);
      expect([filesIn(source), filesIn(target).length], about).toEqual([[], fileCount]);
      const { stdout } = await run(['check', target, folder, '--download', '--matches', '--json']);
      const outcomes = (JSON.parse(stdout) as { path: string; outcome: string }[]).filter(({ path }) =>
        path.startsWith(target),
      );
      expect(
        outcomes.map(({ outcome }) => outcome),
        about,
      ).toEqual(Array(fileCount).fill('match'));
    };
    const queue = [...moments.entries()];
    const lane = async () => {
      for (let next = queue.shift(); next; next = queue.shift()) await check(next[1], next[0]);
    };
    await Promise.all([lane(), lane(), lane()]).finally(() => sandbox.end());
  },
  300_000,
);
