import { expect, it } from 'vitest';
import type { UploadRecord } from '../../src/cli/uploading/upload-record.ts';
import { plannedOutcomes } from '../../src/shared/upload-outcomes.ts';
import { seedsOf } from '../support/random.ts';
import { databaseContents } from '../support/state-database.ts';
import { buildState, filesToUpload, generateState, kindNames, type PlannedFile } from '../support/upload-states.ts';

/* What `upload -n` says of a directory is what the run does, for generated states of it. */

const statesInCi = 60;
const rows = seedsOf({ quick: 15, ci: statesInCi }).map((seed) => generateState(seed));

const describeRow = ({ isSync, existing, isChecksum, kinds, shows, seed }: (typeof rows)[number]) =>
  `seed ${seed}: ${isSync ? 'sync' : 'upload'} ${existing ?? 'default'}${isChecksum ? ' checksum' : ''}, ${shows.join(' ')}: ${kinds.join(', ')}`;

const ranked = <T extends { path: string }>(records: readonly T[]) =>
  [...records].sort((a, b) => (a.path < b.path ? -1 : 1));

/** Returns what the run must report of a file if the preview was right. */
function expectedOf({ path, outcome, asset_uid, size_bytes }: PlannedFile) {
  if (!plannedOutcomes[outcome].isSent) return { path, outcome, asset_uid, code: undefined };
  // A new asset has a uid that the preview cannot know.
  return {
    path,
    outcome: 'uploaded',
    asset_uid: outcome === 'resumed' ? asset_uid : 'new',
    code: undefined,
    size_bytes,
  };
}

/** Returns how many requests were sent to each endpoint between two counts. */
const differences = (before: Record<string, number>, after: Record<string, number>) =>
  Object.fromEntries(
    Object.entries(after).flatMap(([endpoint, count]) => {
      const made = count - (before[endpoint] ?? 0);
      return made > 0 ? [[endpoint, made]] : [];
    }),
  );

/**
 * Requests that a plan does not count: the workspaces and folders, which are looked up before a file is decided, and
 * folders that are created, which happens once for many files. All others are counted: lists and records of assets, by
 * which files are compared; POST, HEAD and PATCH of uploads.
 */
const isUncounted = (endpoint: string) => endpoint.includes('/workspaces/');

const statedRequests = (stderr: string) => Number(/^dry run: .* ([\d,]+) requests?$/m.exec(stderr)?.[1]);

it.each(rows.map((row) => [describeRow(row), row] as const))('upload -n says what the run does: %s', async (_, row) => {
  const { service, directory, stateDir, runWith } = await buildState(row);
  const [state, known, counts] = [databaseContents(stateDir), [...service.assets.keys()], { ...service.counts }];
  const preview = await runWith(['-n', '--json']);
  expect(databaseContents(stateDir)).toEqual(state);
  for (const endpoint of Object.keys(differences(counts, service.counts))) expect(endpoint).toMatch(/^(?:GET|HEAD) /);
  const planned: PlannedFile[] = JSON.parse(preview.stdout);
  expect(planned.map(({ path }) => path).sort()).toEqual(filesToUpload(directory));

  const before = { ...service.counts };
  const run = await runWith(['--json']);
  const records: UploadRecord[] = JSON.parse(run.stdout);
  const resumed = planned.flatMap(({ outcome, path }) => (outcome === 'resumed' ? [path] : []));
  const isNewUid = ({ path, asset_uid, outcome }: UploadRecord) =>
    outcome === 'uploaded' && !resumed.includes(path) && !known.includes(asset_uid ?? '');
  const ran = records.map((record) => {
    const { path, outcome, asset_uid, error, size_bytes } = record;
    const common = { path, outcome, asset_uid: isNewUid(record) ? 'new' : asset_uid, code: error?.code };
    return outcome === 'uploaded' ? { ...common, size_bytes } : common;
  });
  expect(ranked(ran)).toEqual(ranked(planned.map(expectedOf)));
  const made = Object.entries(differences(before, service.counts));
  const counted = made.filter(([endpoint]) => !isUncounted(endpoint)).reduce((sum, [, count]) => sum + count, 0);
  // A folder that moves along is changed and read again. A change that waits, as for other files, reads its asset again.
  const folderMoves = made.find(([endpoint]) => endpoint.startsWith('PATCH /workspaces/'))?.[1] ?? 0;
  const changes = planned.filter(({ outcome }) => outcome === 'moved').length;
  const more = statedRequests(preview.stderr) - counted - 2 * folderMoves;
  expect([more, made]).toEqual([expect.toSatisfy((count: number) => count >= 0 && count <= changes), made]);
});

it('the generated states have each kind of file at least five times in CI, and each option', () => {
  const states = Array.from({ length: statesInCi }, (_, at) => generateState(at + 1));
  const all = states.flatMap(({ kinds }) => kinds);
  for (const kind of kindNames) expect(all.filter((each) => each === kind).length, kind).toBeGreaterThanOrEqual(5);
  const options = states.map(({ existing, isSync }) => `${existing} ${isSync}`);
  expect(new Set(options).size).toBe(11); // sync has no --existing upload
});
