import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Receipts } from '../../src/client/upload/store/receipts.ts';
import { bundle } from '../support/bundle.ts';
import { startProcess } from '../support/spawn.ts';
import { databaseFile, queryState } from '../support/state-database.ts';
import { SyncedState, straceArguments } from '../support/synced-state.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { openEntry } from '../support/upload-store-suite.ts';

/*
 * Power failures right after a write: a program ends itself once the write has resolved, and the disk then has only what
 * was synced until then.
 */

const receipt: Parameters<Receipts['save']>[0] = {
  ...{ service: 'http://a', workspace: 'w', folder: '', realPath: '/a', sizeBytes: 1, mtimeNs: '1', ctimeNs: null },
  ...{ blake3: 'b3', verified: true, assetUid: 'asset', sessionUid: 'session', name: 'a' },
  ...{ state: 'unchecked', reason: null, about: null, at: '2026-01-01T00:00:00.000Z' },
};
const plan = {
  command: 'tag',
  summary: 'add tag sea',
  service: 'http://a',
  workspace: null,
  profile: null,
  requestCount: 1,
};
const item = { kind: 'asset', uid: 'uid', name: 'a', before: { name: 'a' }, after: { name: 'b' } };

/** Runs statements under strace, in a program that then ends as if the power failed. @returns its state folder, and the trace */
async function runUntilPowerLoss(statements: string): Promise<{ state: string; trace: string }> {
  const folder = temporaryFolder();
  const [program, state, trace] = ['program.mjs', 'state', 'trace'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(state);
  const contents = `
    import { rename, writeFile } from 'node:fs/promises';
    import { ChangeHistory } from './src/client/changes/change-history.ts';
    import { syncFolder } from './src/client/state-files.ts';
    import { Receipts } from './src/client/upload/store/receipts.ts';
    import { StateDatabase } from './src/client/state/state-database.ts';
    import { LocalUploadStore } from './src/client/upload/store/upload-store.ts';
    import { systemClock } from './src/shared/clock.ts';
    const [entry, receipt, plan, item] = ${JSON.stringify([openEntry, receipt, plan, item])};
    const database = await StateDatabase.open('state');
    const [store, receipts, history] = [
      new LocalUploadStore(database), new Receipts(database), new ChangeHistory(database, systemClock),
    ];
    ${statements}
    process.kill(process.pid, 'SIGKILL');`;
  await bundle(contents, program);
  const { signal, stderr } = await startProcess(
    'strace',
    [...straceArguments(trace), process.execPath, program],
    {},
    folder,
  ).finished;
  expect(signal, stderr).toBe('SIGKILL');
  return { state, trace };
}

it.each([
  [
    'the receipt that replaces the entry of an upload',
    'await store.lock(entry.id); await store.write(entry); await store.finish(entry, receipt);',
    "SELECT 1 FROM uploads WHERE state = 'done' AND asset = 'asset'",
  ],
  [
    'a receipt without an entry',
    'await receipts.save(receipt);',
    "SELECT 1 FROM uploads WHERE state = 'done' AND asset = 'asset'",
  ],
  [
    'a receipt of what another machine has uploaded',
    'await receipts.adopt([receipt]);',
    "SELECT 1 FROM uploads WHERE state = 'done' AND asset = 'asset' AND imported = 1",
  ],
  [
    'the plan of a change',
    'await history.create(plan, [item]);',
    "SELECT 1 FROM changes JOIN change_items ON change_id = id WHERE uid = 'uid' AND change_items.state = 'pending'",
  ],
  [
    'the mark of an item that is about to be written',
    "const { change, items } = await history.create(plan, [item]); await history.setItemState(change.id, items, 'unknown', null, true);",
    "SELECT 1 FROM changes JOIN change_items ON change_id = id WHERE uid = 'uid' AND change_items.state = 'unknown'",
  ],
])(
  'a power failure right after it was written leaves %s on the disk',
  { tags: 'strace' },
  async (_what, statements, sql) => {
    const { state, trace } = await runUntilPowerLoss(statements);
    new SyncedState(trace).restoreDatabase(databaseFile(state));
    expect(queryState(state, sql)).toHaveLength(1);
  },
);

it('syncFolder syncs the folder, so that a renamed file keeps its name after a power failure', {
  tags: 'strace',
}, async () => {
  const { state, trace } = await runUntilPowerLoss(`
    await writeFile('state/file.part', 'content');
    await rename('state/file.part', 'state/file');
    await syncFolder('state');`);
  const calls = readFileSync(trace, 'latin1').replace(/(?:\\x[0-9a-f]{2})+/g, (bytes) =>
    Buffer.from(bytes.replaceAll('\\x', ''), 'hex').toString(),
  );
  const afterRename = calls.slice(calls.indexOf('"state/file")'));
  expect(afterRename).toMatch(new RegExp(`fsync\\(\\d+<${state}>\\) += 0`));
});
