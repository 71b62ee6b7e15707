import { expect, it } from 'vitest';
import { Cli, type CliOptions } from '../support/cli.ts';
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
async function run(assets: NonNullable<LibraryOptions['assets']>, args: string[], options: CliOptions = {}) {
  const service = await startRecordingServer(createLibrary({ assets, shows: ['parent'] }));
  const cli = new Cli({
    NO_COLOR: '1',
    MEDIACTL_BASE_URL: service.url,
    MEDIACTL_API_KEY: testKey,
    MEDIACTL_WORKSPACE: workspaceUid,
  });
  const { code, stdout, stderr } = await cli.run(['stats', ...args], options);
  expect(code).toBe(0);
  return { stdout, stderr, requests: service.requests };
}

/** Returns the rows of stats with --json. */
async function stats(assets: NonNullable<LibraryOptions['assets']>, ...args: string[]) {
  const { stdout, stderr, requests } = await run(assets, ['--json', ...args]);
  const rows: StatsRow[] = JSON.parse(stdout);
  const section = (name: string) => rows.filter((row) => row.section === name);
  return { rows, section, stderr, requests };
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
    { value: 'video', size_bytes: 40 },
    { value: 'audio', size_bytes: 20 },
  ]);
  expect(section('status')).toMatchObject([
    { value: 'ready', asset_count: 2 },
    { value: 'failed', asset_count: 1 },
  ]);
  expect(section('month')).toMatchObject([
    { value: '2026-04', asset_count: 1 },
    { value: '2026-03', asset_count: 2 },
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

it('stats shows the largest and longest assets, and what is failed or not ready', async () => {
  const { section } = await stats([
    assetOf(4, { size: 99, status: 'failed' }),
    assetOf(5, { size: 1, duration: 50, status: 'queued' }),
  ]);
  const uids = (name: string) => section(name).map(({ uid }) => uid);
  expect(uids('largest')[0]).toBe(numberedUid(4));
  expect(uids('longest')[0]).toBe(numberedUid(5));
  expect([uids('failed'), uids('not_ready')]).toEqual([[numberedUid(4)], [numberedUid(5)]]);
});

it('stats --duplicates finds equal checksums, and equal names and sizes of assets without checksums', async () => {
  const [one, other] = ['1'.repeat(64), '2'.repeat(64)];
  const { rows, section } = await stats(
    [
      assetOf(1, { size: 10, name: 'Quay', checksum_blake3: one }),
      assetOf(2, { size: 10, name: 'Quay copy', checksum_blake3: one }),
      assetOf(3, { size: 20, name: 'Pier', checksum_blake3: one.replace(/1$/, '3') }),
      assetOf(4, { size: 20, name: 'Pier', checksum_blake3: other }),
      assetOf(5, { size: 30, name: 'Mole' }),
      assetOf(6, { size: 30, name: 'Mole' }),
      assetOf(7, { size: 31, name: 'Mole' }),
      assetOf(8, { size: 30, duration: 5, name: 'Jetty' }),
    ],
    '--duplicates',
  );
  const groups = (name: string) => section(name).map(({ uid, duplicate_group }) => [uid, duplicate_group]);
  expect(groups('same_checksum').sort()).toEqual([1, 2].map((n) => [numberedUid(n), 1]));
  expect(groups('same_name_and_size').sort()).toEqual([5, 6].map((n) => [numberedUid(n), 1]));
  expect(rows).toHaveLength(4);
});

it('stats --duplicates says so if the service shows neither checksums nor sizes', async () => {
  const { stdout, stderr } = await run([assetOf(1, {}), assetOf(2, {})], ['--duplicates', '--json']);
  expect(JSON.parse(stdout)).toEqual([]);
  expect(stderr).toContain('the service shows neither checksums nor sizes, so duplicates cannot be found');
});

it('stats --by tag counts the assets of each tag, of several tags in each, and those without tags', async () => {
  const { rows } = await stats(
    [
      assetOf(1, { size: 10, tags: ['sea', 'press'] }),
      assetOf(2, { size: 20, tags: [{ slug: 'sea' }] }),
      assetOf(3, { size: 5, tags: [] }),
    ],
    '--by',
    'tag',
  );
  expect(rows).toMatchObject([
    { section: 'tag', value: 'sea', asset_count: 2, size_bytes: 30 },
    { section: 'tag', value: '', asset_count: 1, size_bytes: 5 },
    { section: 'tag', value: 'press', asset_count: 1, size_bytes: 10 },
  ]);
});

it.each([
  ['type', 'video'],
  ['status', 'ready'],
])('stats --by %s prints only the counts of each %s', async (by, value) => {
  const { rows } = await stats([assetOf(1, { size: 10 }), assetOf(2, { size: 20 })], '--by', by);
  expect(rows).toMatchObject([{ section: by, value, asset_count: 2, size_bytes: 30 }]);
});

it('stats on a terminal has a heading for each section and up to ten lines in it, and names what shows the rest', async () => {
  const assets = Array.from({ length: 24 }, (_, n) =>
    assetOf(n, { size: 100 + (n % 12), name: `take ${n % 12}`, tags: [`tag-${n}`] }),
  );
  const { stdout } = await run(assets, [], { tty: true });
  const sections = stdout.split('\n\n').map((text) => text.trimEnd().split('\n'));
  expect(sections.map(([heading]) => heading)).toEqual([
    'Total',
    'By folder, the fullest first',
    'By type',
    'By status',
    'By month of creation, the latest first',
    'By tag',
    'Largest',
    'Likely duplicates: equal names and sizes',
  ]);
  expect(Math.max(...sections.map((lines) => lines.length))).toBe(1 + 1 + 10 + 1);
  expect(stdout).toContain('… and 14 more; all of them: mediactl stats --by tag');
  expect(stdout).toContain('… and 14 more; all of them: mediactl stats --duplicates');
  const { stdout: tags } = await run(assets, ['--by', 'tag'], { tty: true });
  expect(tags.trimEnd().split('\n')).toHaveLength(1 + 1 + 24);
});

it('stats with --fields on a terminal prints the records', async () => {
  const { stdout } = await run([assetOf(1, { size: 10 })], ['--fields', 'section,asset_count'], { tty: true });
  expect(stdout).toMatch(/^SECTION +ASSETS\ntotal +1\n/);
});

it('stats prints the number of requests, and says that the service shows no sizes', async () => {
  const many = Array.from({ length: 150 }, (_, n) => assetOf(n, { size: undefined }));
  const { section, stderr, requests } = await stats(many);
  expect(stderr).toContain('listing 150 assets: 2 requests');
  expect(stderr).toContain('the service does not show sizes or durations');
  expect(requests.filter(({ path }) => path.includes('/assets/')).length).toBe(2);
  expect(section('total')).toMatchObject([{ asset_count: 150, size_bytes: null }]);
  expect([section('largest'), section('same_name_and_size')]).toEqual([[], []]);
});

it.each([
  ['du', 'mediactl stats'],
  ['size', 'mediactl stats'],
  ['dupes', 'mediactl stats --duplicates'],
  ['tags', 'mediactl stats --by tag; mediactl tag ID --add TAG'],
])('the unknown command %s leads to %s', async (word, hint) => {
  const { code, stderr } = await new Cli().run([word]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(`try:   ${hint}\n`)]);
});
