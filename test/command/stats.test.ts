import { expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { createLibrary, type LibraryOptions, numberedUid, testKey, workspaceUid } from '../support/fake-library.ts';
import { startRecordingServer } from '../support/recording-server.ts';

type StatsRow = {
  section: string;
  value: string | null;
  uid: string | null;
  duplicate_group: number | null;
  [total: string]: unknown;
};

/** Runs stats on a library of these assets. */
async function stats(assets: NonNullable<LibraryOptions['assets']>, ...args: string[]) {
  const service = await startRecordingServer(createLibrary({ assets, shows: ['parent'] }));
  const cli = new Cli({ MEDIACTL_BASE_URL: service.url, MEDIACTL_API_KEY: testKey, MEDIACTL_WORKSPACE: workspaceUid });
  const { code, stdout, stderr } = await cli.run(['stats', '--json', ...args]);
  expect(code).toBe(0);
  const rows: StatsRow[] = JSON.parse(stdout);
  const section = (name: string) => rows.filter((row) => row.section === name);
  return { rows, section, stderr, requests: service.requests };
}
const assetOf = (n: number, fields: object) => ({
  ...{ uid: numberedUid(n), name: `asset ${n}`, type: 'video', status: 'ready', created_at: '2026-03-01T00:00:00Z' },
  ...{ parent: null, ...fields },
});

it('stats counts assets, seconds and bytes in total, by folder, type, status and month', async () => {
  const { section } = await stats([
    assetOf(1, { size: 10, duration: 5 }),
    assetOf(2, { size: 20, duration: '7.5', type: 'audio', created_at: '2026-04-30T23:59:59Z' }),
    assetOf(3, { size: 30, status: 'failed' }),
  ]);
  expect(section('total')).toMatchObject([{ asset_count: 3, duration_seconds: 12.5, size_bytes: 60 }]);
  expect(section('folder')).toMatchObject([{ value: '/', asset_count: 3 }]);
  expect(section('type')).toMatchObject([
    { value: 'audio', size_bytes: 20 },
    { value: 'video', size_bytes: 40 },
  ]);
  expect(section('status')).toMatchObject([
    { value: 'failed', asset_count: 1 },
    { value: 'ready', asset_count: 2 },
  ]);
  expect(section('month')).toMatchObject([
    { value: '2026-03', asset_count: 2 },
    { value: '2026-04', asset_count: 1 },
  ]);
});

it('stats has a row without a value for assets that do not show a type, status or month, so that rows add up', async () => {
  const { section } = await stats([
    assetOf(1, { size: 10 }),
    assetOf(2, { size: 5, type: null, status: null, created_at: 'soon' }),
  ]);
  for (const name of ['type', 'status', 'month'])
    expect(section(name)).toMatchObject([{ asset_count: 1 }, { value: null, asset_count: 1, size_bytes: 5 }]);
});

it('stats leaves out the types if the service shows none', async () => {
  const { section } = await stats([assetOf(1, { type: undefined })]);
  expect(section('type')).toEqual([]);
});

it('stats shows the largest and longest assets, likely duplicates, and what is failed or not ready', async () => {
  const { section } = await stats([
    assetOf(1, { size: 10, duration: 5, name: 'Quay' }),
    assetOf(2, { size: 10, duration: 5, name: 'Quay copy' }),
    assetOf(3, { size: 10, duration: 6, name: 'Quay' }),
    assetOf(4, { size: 99, status: 'failed' }),
    assetOf(5, { size: 1, duration: 50, status: 'queued' }),
  ]);
  const uids = (name: string) => section(name).map(({ uid }) => uid);
  expect(uids('largest')[0]).toBe(numberedUid(4));
  expect(uids('longest')[0]).toBe(numberedUid(5));
  expect(uids('same_size_and_duration').sort()).toEqual([1, 2].map(numberedUid));
  expect(uids('same_name').sort()).toEqual([1, 3].map(numberedUid));
  expect(section('same_name').map(({ duplicate_group }) => duplicate_group)).toEqual([1, 1]);
  expect([uids('failed'), uids('not_ready')]).toEqual([[numberedUid(4)], [numberedUid(5)]]);
});

it('stats prints the number of requests, and says that the service shows no sizes', async () => {
  const many = Array.from({ length: 150 }, (_, n) => assetOf(n, { size: undefined }));
  const { section, stderr, requests } = await stats(many);
  expect(stderr).toContain('listing 150 assets: 2 requests');
  expect(stderr).toContain('the service does not show sizes or durations');
  expect(requests.filter(({ path }) => path.includes('/assets/')).length).toBe(2);
  expect(section('total')).toMatchObject([{ asset_count: 150, size_bytes: null }]);
  expect([section('largest'), section('same_size_and_duration')]).toEqual([[], []]);
});

it.each(['du', 'size', 'dupes'])('the unknown command %s leads to stats', async (word) => {
  const { code, stderr } = await new Cli().run([word]);
  expect([code, stderr]).toEqual([2, expect.stringContaining('mediactl stats')]);
});
