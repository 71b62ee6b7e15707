import { appendFile, mkdir, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { blake3 } from '@napi-rs/blake-hash';
import { expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { FakeService } from '../support/fake-service.ts';
import { Random, seedsOf } from '../support/random.ts';
import { mediactl, mediactlCommand, type StartedProcess, startProcess } from '../support/spawn.ts';

/*
 * Eight writers drop 2,000 files of every kind into a directory while the watch of it is killed ten times. In the end the
 * service has each content that stood still once, and nothing else.
 */

const writerCount = 8;
const filesPerWriter = 250;
/** Number of files that a writer has open. */
const filesAtOnce = 10;
const killCount = 10;
const minAgeMs = 1_000;

const digestOf = (content: string) => blake3(content).toString('hex');

/** Contents that the service may or must have, by what the writers did. */
class Journal {
  /** Maps the path of each file that is there in the end to the checksum of its content. */
  readonly present = new Map<string, string>();
  /** Checksums of contents that a watch may have taken, as they stood still for a while or were there in the end. */
  readonly possible = new Set<string>();
}

type Drop = { directory: string; random: Random; journal: Journal };

/** Writes a file in parts. A content before a pause that was as long as the minimum age, as under load, may be taken. */
async function writeSlowly({ directory, random, journal }: Drop, path: string, content: string): Promise<void> {
  const full = join(directory, path);
  const partCount = 1 + random.below(4);
  const partLength = Math.ceil(content.length / partCount);
  await writeFile(full, '');
  let wroteAt = performance.now();
  for (let part = 0; part < partCount; part++) {
    const before = content.slice(0, part * partLength);
    await appendFile(full, content.slice(before.length, before.length + partLength));
    if (performance.now() - wroteAt > minAgeMs * 0.9 && before !== '') journal.possible.add(digestOf(before));
    wroteAt = performance.now();
    if (part < partCount - 1) await sleep(random.below(minAgeMs / 3));
  }
}

const names = [
  'a',
  'ü é',
  '-dash',
  "q'uote",
  'name,comma',
  '.hidden',
  '100%',
  'two  spaces',
  '#hash',
  '日本',
  'x'.repeat(120),
];
const directories = ['', 'day 1/', 'day 1/cam a/', 'ü/', '-x/'];

/** Drops one file in one of the ways in which programs do. */
async function dropFile(drop: Drop, id: string): Promise<void> {
  const { directory, random, journal } = drop;
  const path = `${random.pick(directories)}${random.pick(names)} ${id}.mov`;
  const full = join(directory, path);
  const content = `${id} ${'x'.repeat(random.below(4_000))}`;
  const settle = async (end: string, text: string) => {
    journal.present.set(end, digestOf(text));
    journal.possible.add(digestOf(text));
  };
  switch (random.below(6)) {
    case 0: {
      await writeSlowly(drop, path, content);
      return settle(path, content);
    }
    case 1: {
      await writeFile(`${full}.part`, content);
      await sleep(random.below(minAgeMs / 2));
      await rename(`${full}.part`, full);
      return settle(path, content);
    }
    case 2: {
      await writeSlowly(drop, path, content);
      await utimes(full, 1_000_000_000, 1_000_000_000);
      return settle(path, content);
    }
    case 3: {
      const first = `first ${content}`;
      await writeFile(full, first);
      journal.possible.add(digestOf(first));
      await sleep(random.below(2 * minAgeMs));
      // Over the old file as a program does it, so that no half content is there.
      await writeFile(`${full}.part`, content);
      await rename(`${full}.part`, full);
      return settle(path, content);
    }
    case 4: {
      await writeFile(full, content);
      journal.possible.add(digestOf(content));
      await sleep(random.below(2 * minAgeMs));
      return rm(full);
    }
    default: {
      await writeFile(full, content);
      await sleep(random.below(2 * minAgeMs));
      const moved = `${random.pick(directories)}moved ${id}.mov`;
      await rename(full, join(directory, moved));
      return settle(moved, content);
    }
  }
}

it.each(seedsOf({ quick: 1, full: 40 }))(
  'each content that stood still in a watched directory is one complete asset though its watch is killed ten times (seed %i)',
  async (seed) => {
    const service = await FakeService.start({ shows: ['size', 'parent'] });
    const cli = new Cli(service.environment);
    const directory = join(cli.home, 'drop');
    for (const each of directories) await mkdir(dirname(join(directory, each, 'x')), { recursive: true });
    const environment = {
      ...service.environment,
      MEDIACTL_STATE_DIR: join(cli.home, 'state'),
      MEDIACTL_CONFIG_DIR: join(cli.home, 'config'),
    };
    const watchArgs = ['sync', directory, '/Drop', '--watch', '--min-age', `${minAgeMs}ms`, '--log-format', 'json'];
    const [program, ...rest] = mediactlCommand;
    const start = (): StartedProcess => startProcess(program, [...rest, ...watchArgs], environment);
    const random = new Random(seed);
    const journal = new Journal();
    let watch = start();
    let requestsUntilKill = 0;
    const killed = async () => {
      for (let kill = 0; kill < killCount; kill++) {
        requestsUntilKill = 50 + random.below(400);
        while (requestsUntilKill > 0) await sleep(10);
        watch.child.kill('SIGKILL');
        await watch.finished;
        watch = start();
      }
    };
    service.fault = () => {
      requestsUntilKill--;
      return undefined;
    };
    const writers = Array.from({ length: writerCount }, async (_, writer) => {
      const own: Drop = { directory, random: new Random(seed * 1_000 + writer), journal };
      for (let n = 0; n < filesPerWriter; n += filesAtOnce)
        await Promise.all(Array.from({ length: filesAtOnce }, (_, more) => dropFile(own, `${writer}-${n + more}`)));
    });
    const kills = killed();
    await Promise.all(writers);
    await kills;

    const uploaded = () => service.completeAssets.map((asset) => asset.blake3);
    const missing = () =>
      [...journal.present].filter(([, digest]) => !uploaded().includes(digest)).map(([path]) => path);
    /** Files whose asset has another path, as a file is renamed that the service has already. */
    const misplaced = () => {
      const paths = new Set(service.paths);
      return [...journal.present.keys()].filter((path) => !paths.has(`/Drop/${path}`));
    };
    const isComplete = () => {
      const found = new Set(uploaded());
      return [...journal.present.values()].every((digest) => found.has(digest)) && misplaced().length === 0;
    };
    const patienceEndsAt = performance.now() + 240_000;
    while (!isComplete() && performance.now() < patienceEndsAt) await sleep(200);
    watch.child.kill('SIGTERM');
    const { code, stderr } = await watch.finished;
    expect([code, missing(), misplaced()], stderr.slice(-2_000)).toEqual([0, [], []]);

    expect(new Set(uploaded()).size).toBe(uploaded().length);
    expect(uploaded().filter((digest) => !journal.possible.has(digest))).toEqual([]);
    expect(service.completeAssets.filter(({ size }) => size === 0)).toEqual([]);

    // Twice more, without a watch: nothing is left to send.
    for (let run = 0; run < 2; run++) {
      const before = service.counts['POST /upload/'];
      const again = await mediactl(['sync', directory, '/Drop', '--progress', 'none'], environment).finished;
      expect([again.code, service.counts['POST /upload/']], again.stderr).toEqual([0, before]);
    }
    // What a kill left incomplete is named: the asset of a lost creation, or of a file that was deleted meanwhile.
    const unfinished: { path: string; asset_uid: string | null }[] = await cli.json(['uploads', 'ls']);
    const toCleanUp: { asset_uid: string | null }[] = await cli.json(['uploads', 'cleanup', '--dry-run']);
    const named = new Set([...unfinished, ...toCleanUp].map(({ asset_uid }) => asset_uid));
    // A creation of which the kill took the response is named by its file, as long as that cannot be uploaded.
    const namedFiles = unfinished.filter(({ asset_uid }) => asset_uid === null).map(({ path }) => basename(path));
    const incomplete = [...service.assets.values()].filter(({ completedAt, isTrashed }) => !completedAt && !isTrashed);
    const unnamed = incomplete.filter(({ uid, name }) => !named.has(uid) && !namedFiles.includes(name));
    expect(unnamed.map(({ uid, name, size, bytes }) => ({ uid, name, size, sent: bytes.length }))).toEqual([]);
  },
  600_000,
);
