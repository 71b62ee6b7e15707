import {
  appendFileSync,
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeSync,
} from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { FakeService } from '../support/fake-service.ts';
import { Random, seedsOf } from '../support/random.ts';
import { mediactl, mediactlCommand, type ProcessResult, startProcess } from '../support/spawn.ts';

/*
 * Twenty programs write to a watched directory: they pause, go on, replace and truncate, while the watch moves what it has
 * uploaded and is killed. In the end each byte that a program has closed is in the library, or its file is named.
 */

const writerCount = 20;
const stepsPerWriter = 5;
const killCount = 2;
const minAgeMs = 1_000;
const patienceMs = 120_000;

type Directories = { source: string; target: string; beside: string };

/** Returns the paths of the files below a directory. */
const filesBelow = (directory: string): string[] =>
  existsSync(directory)
    ? readdirSync(directory, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
    : [];

/** Writes to a file in the ways of programs. @returns the inodes of the files that it has closed and that are still there */
async function write({ source, target, beside }: Directories, random: Random, id: number): Promise<Set<number>> {
  const path = `${random.pick(['', 'day 1/'])}${id}.mov`;
  const [full, moved] = [join(source, path), join(target, path)];
  const written = new Set<number>();
  let part = 0;
  const content = () => `part ${++part} of ${id} ${'x'.repeat(random.below(2_000))}\n`;
  const pause = () => sleep(random.below(2.5 * minAgeMs));
  const close = (descriptor: number) => {
    closeSync(descriptor);
    for (const each of [full, moved]) if (existsSync(each)) written.add(statSync(each).ino);
  };
  await mkdir(dirname(full), { recursive: true });
  for (let step = 0; step < stepsPerWriter; step++) {
    switch (random.below(5)) {
      case 0: {
        // Writes, pauses with the file open, and goes on, wherever the file is then.
        const descriptor = openSync(full, 'a');
        writeSync(descriptor, content());
        await pause();
        if (random.chance(0.8)) writeSync(descriptor, content());
        close(descriptor);
        break;
      }
      case 1: {
        const descriptor = openSync(full, 'w'); // truncates
        writeSync(descriptor, content());
        await pause();
        writeSync(descriptor, content());
        close(descriptor);
        break;
      }
      case 2: {
        const temporary = join(beside, String(id));
        await writeFile(temporary, content());
        if (existsSync(full)) written.delete(statSync(full).ino);
        await rename(temporary, full);
        written.add(statSync(full).ino);
        break;
      }
      case 3:
        // A program that the system does not show, as on another machine, goes on writing to the moved file.
        if (existsSync(moved)) appendFileSync(moved, content());
        break;
      default: {
        const descriptor = openSync(full, 'a');
        writeSync(descriptor, content());
        close(descriptor);
      }
    }
    await pause();
  }
  return written;
}

async function runSeed(seed: number): Promise<void> {
  const service = await FakeService.start({ shows: ['size', 'parent'] });
  const cli = new Cli(service.environment);
  const [source, target, beside] = ['drop', 'uploaded', 'beside'].map((name) => join(cli.home, name)) as [
    string,
    string,
    string,
  ];
  for (const each of [source, target, beside]) await mkdir(each);
  const state = { MEDIACTL_STATE_DIR: join(cli.home, 'state'), MEDIACTL_CONFIG_DIR: join(cli.home, 'config') };
  const environment = { ...service.environment, ...state };
  const command = ['sync', source, '/Drop', '--move-to', target];
  const watchArgs = [...command, '--watch', '--min-age', `${minAgeMs}ms`, '--log-format', 'json'];
  const [program, ...rest] = mediactlCommand;
  const start = () => startProcess(program, [...rest, ...watchArgs], environment);
  const random = new Random(seed);
  const ended: ProcessResult[] = [];
  let log = '';
  let watch = start();
  const follow = () => watch.child.stderr?.on('data', (chunk: Buffer) => (log += String(chunk)));
  follow();
  const writers = Array.from({ length: writerCount }, (_, id) =>
    write({ source, target, beside }, new Random(seed * 1_000 + id), id),
  );
  for (let kill = 0; kill < killCount; kill++) {
    await sleep(2_000 + random.below(4_000));
    watch.child.kill('SIGKILL');
    ended.push(await watch.finished);
    watch = start();
    follow();
  }
  const written = (await Promise.all(writers)).flatMap((inodes) => [...inodes]);

  const contents = () => new Set(service.completeAssets.map(({ bytes }) => String(bytes)));
  /** Files whose content is not in the library, and those that were neither moved nor named. */
  const left = () => {
    const uploaded = contents();
    const problems = log.split('\n').filter((line) => /"level":"(?:error|warn)"/.test(line));
    const isNamed = (path: string) => problems.some((line) => line.includes(path));
    const unsent = [...filesBelow(source), ...filesBelow(target)].filter(
      (path) => !uploaded.has(readFileSync(path, 'utf8')),
    );
    return {
      unsent: unsent.filter((path) => path.startsWith(source) || !isNamed(path)),
      unnamed: filesBelow(source).filter((path) => !isNamed(path)),
    };
  };
  const isSettled = () => left().unsent.length + left().unnamed.length === 0;
  const patienceEndsAt = performance.now() + patienceMs;
  while (!isSettled() && performance.now() < patienceEndsAt) await sleep(200);
  watch.child.kill('SIGTERM');
  ended.push(await watch.finished);
  expect(left(), `seed ${seed}: ${log.slice(-3_000)}`).toEqual({ unsent: [], unnamed: [] });
  const inodes = new Set([...filesBelow(source), ...filesBelow(target)].map((path) => statSync(path).ino));
  expect(
    written.filter((inode) => !inodes.has(inode)),
    `seed ${seed}`,
  ).toEqual([]);

  // Twice more without a watch: nothing is left to send.
  for (let run = 0; run < 2; run++) {
    const before = service.counts['POST /upload/'];
    const again = await mediactl([...command, '--progress', 'none'], environment).finished;
    expect(service.counts['POST /upload/'], `seed ${seed}: ${again.stderr}`).toBe(before);
  }
}

it('each byte that one of twenty writers closes is in the library, or its file is named, though the watch moves files and is killed', async () => {
  const seeds = seedsOf({ quick: 4, full: 20 });
  while (seeds.length > 0) await Promise.all(seeds.splice(0, 4).map(runSeed));
}, 900_000);
