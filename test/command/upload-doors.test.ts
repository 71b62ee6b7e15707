import { cpSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { UploadRecord } from '../../src/cli/uploading/upload-record.ts';
import { createClient } from '../../src/sdk/index.ts';
import { plannedOutcomes } from '../../src/shared/upload-outcomes.ts';
import { signIn } from '../support/browse.ts';
import { testKey, workspaceUid } from '../support/fake-library.ts';
import { has } from '../support/has.ts';
import { seedsOf } from '../support/random.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import {
  assetsOf,
  buildState,
  filesToUpload,
  generateState,
  type Kind,
  kindNames,
  type PlannedFile,
  takeSnapshot,
} from '../support/upload-states.ts';

/* The command, the package, the page and the queue leave the same assets, for generated states of a directory. */

type State = Awaited<ReturnType<typeof buildState>>;

/** States of files of these kinds. The page and the package have no sync and no --checksum. */
const statesWithout = (...excluded: Kind[]) =>
  seedsOf({ quick: 3, ci: 10, first: 101 })
    .map((seed) => {
      const row = generateState(
        seed,
        kindNames.filter((kind) => !excluded.includes(kind)),
      );
      return { ...row, isSync: false, isChecksum: false, existing: 'content' as const };
    })
    .map((row) => [`seed ${row.seed}, ${row.shows.join(' ')}: ${row.kinds.join(', ')}`, row] as const);

/** Expects that another way to upload a state leaves the assets that the command leaves. */
async function expectSameAssets(
  row: Parameters<typeof buildState>[0],
  upload: (state: State, stateDir: string) => Promise<void>,
) {
  const state = await buildState(row);
  const { service, cli, stateDir, runWith } = state;
  const restore = takeSnapshot(service);
  const copy = join(cli.home, 'copy');
  cpSync(stateDir, copy, { recursive: true });
  await runWith([]);
  const byCommand = assetsOf(service);
  restore();
  await upload(state, copy);
  expect(assetsOf(service)).toEqual(byCommand);
}

async function uploadByPackage({ service, directory }: State, stateDir: string): Promise<void> {
  const client = createClient({ baseUrl: service.url, apiKey: testKey, workspace: workspaceUid, stateDir });
  onTestFinished(() => client.close());
  const options = { folder: '/Rushes', exclude: ['*.tmp'], chunkBytes: 1024, existing: 'content' } as const;
  for await (const _ of client.uploadDirectory(directory, options));
}

/** Drops the files onto the page one after the other, each when the one before it has ended. */
async function dropOnPage({ service, cli, directory }: State, stateDir: string): Promise<void> {
  const stop = new AbortController();
  let onAddress = (_: string) => {};
  const address = new Promise<string>((resolve) => {
    onAddress = resolve;
  });
  const ended = cli.run(['browse', '--no-open'], {
    environment: { MEDIACTL_STATE_DIR: stateDir },
    signal: stop.signal,
    onStdout: (text) => text.includes('\n') && onAddress(text.split('\n')[0] as string),
  });
  try {
    const { fetchPage } = await signIn(await address);
    const events = (await fetchPage('events')).body?.pipeThrough(new TextDecoderStream()) ?? [];
    const folder = service.folders.find(({ name }) => name === 'Rushes')?.uid ?? '';
    const files = filesToUpload(directory);
    const send = async (path: string | undefined) => {
      if (path === undefined) return;
      const body = readFileSync(path);
      const below = relative(directory, dirname(path));
      const query = new URLSearchParams({ id: path, name: basename(path), below, folder, size: String(body.length) });
      await fetchPage(`uploads?${query}`, { method: 'POST', body });
    };
    let [text, at] = ['', 0];
    await send(files[at]);
    for await (const part of events) {
      text += part;
      const last = files[at] as string;
      const hasEnded = text.split('\n').some((line) => {
        if (!line.startsWith('data:')) return false;
        const { upload } = JSON.parse(line.slice('data:'.length));
        return upload?.id === last && !['taking', 'sending', 'waiting'].includes(upload.state);
      });
      if (!hasEnded) continue;
      if (++at === files.length) break;
      await send(files[at]);
    }
  } finally {
    stop.abort();
    await ended;
  }
}

describe('the package and the page', () => {
  it.each(statesWithout())('uploadDirectory leaves the assets that upload leaves: %s', (_, row) =>
    expectSameAssets(row, uploadByPackage),
  );

  const excludedOnPage: Kind[] = [
    // The page refuses an empty file (test/process/browse-page.test.ts).
    'empty',
    // Nor that it is the file at the path that the uncompared receipt names, which might have other content.
    'not compared',
    // Each dropped file is a run of its own, which finds the receipt of the file before it. A run of both sends both.
    'twin',
  ];
  it.each(statesWithout(...excludedOnPage))('the page leaves the assets that upload leaves: %s', (_, row) =>
    expectSameAssets(row, dropOnPage),
  );
});

describe('the queue', { tags: ['redis-server'] }, () => {
  let redis: RedisServer;
  beforeAll(async () => {
    if (has('redis-server')) redis = await startRedis();
  });
  afterAll(() => redis?.end());

  /** Previews the upload with a queue, and uploads the files with a worker on the same machine. */
  async function uploadByQueue({ cli, directory, runWith }: State, stateDir: string, name: string): Promise<void> {
    const queue = ['--queue', `${redis.address}#${name}`];
    const machine = basename(stateDir);
    const planned: PlannedFile[] = JSON.parse((await runWith([...queue, '-n', '--json'], machine)).stdout);
    const stop = new AbortController();
    const worker = cli.run(['queue', 'work', ...queue, '--root', directory], {
      environment: { MEDIACTL_STATE_DIR: stateDir },
      signal: stop.signal,
    });
    const run = await runWith([...queue, '--wait', '--json'], machine).finally(() => stop.abort());
    await worker;
    expect(run.stdout, run.stderr).not.toBe('');
    const records: UploadRecord[] = JSON.parse(run.stdout);
    const expected = planned.map(({ path, outcome }) => {
      const { isSent } = plannedOutcomes[outcome];
      return [path, isSent ? 'uploaded' : outcome];
    });
    expect(Object.fromEntries(records.map(({ path, outcome }) => [path, outcome]))).toEqual(
      Object.fromEntries(expected),
    );
  }

  it.each(statesWithout())('upload -n --queue says which files upload --queue queues: %s', async (_, row) => {
    const state = await buildState(row);
    await uploadByQueue(state, state.stateDir, `preview-${row.seed}`);
  });

  const excludedInQueue: Kind[] = [
    // The machine that queues a file does not read it (docs/workers.md), and knows it by path and times alone.
    ...(['touched', 'duplicate', 'copied', 'renamed'] as const),
  ];
  it.each(statesWithout(...excludedInQueue))('the queue leaves the assets that upload leaves: %s', (_, row) =>
    expectSameAssets(row, (state, stateDir) => uploadByQueue(state, stateDir, `assets-${row.seed}`)),
  );
});
