import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { Cli, type CliOptions } from '../support/cli.ts';
import { createLibrary, type LibraryOptions, numberedUid, testKey, workspaceUid } from '../support/fake-library.ts';
import { startRecordingServer } from '../support/recording-server.ts';

/* Previews and prompts of deletions, since the API cannot restore what is in the trash. */

const assetOf = (n: number, fields: object = {}) => ({
  ...{ uid: numberedUid(n), name: `take ${n}.mp4`, type: 'video', status: 'ready', size: 2048 },
  ...{ created_at: '2026-03-01T11:00:00Z', parent: null, ...fields },
});

/** Runs a command on a library of these assets. */
async function run(args: readonly string[], assets: NonNullable<LibraryOptions['assets']>, options: CliOptions = {}) {
  const service = await startRecordingServer(createLibrary({ assets, shows: ['parent'] }));
  const cli = new Cli({ MEDIACTL_BASE_URL: service.url, MEDIACTL_API_KEY: testKey, MEDIACTL_WORKSPACE: workspaceUid });
  const result = await cli.run(args, options);
  return { ...result, deleted: service.requests.filter(({ method }) => method === 'DELETE').length };
}

it('rm of many assets leaves no listener at the signal that interrupts it', async () => {
  const assets = Array.from({ length: 12 }, (_, n) => assetOf(n));
  const { signal } = new AbortController();
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on('warning', onWarning);
  const { code, deleted } = await run(['rm', ...assets.map(({ uid }) => uid), '--yes'], assets, {
    signal,
    inProcess: 'counts the listeners of its signal',
  });
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', onWarning);
  expect([code, deleted]).toEqual([0, 12]);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  expect(warnings).toEqual([]);
});

it('the question of rm lists each asset by name, folder, size and date, and says that the API cannot restore them', async () => {
  const assets = Array.from({ length: 12 }, (_, n) => assetOf(n));
  const { code, stderr, deleted } = await run(['rm', '--search', 'take'], assets, { tty: true, stdin: 'n\n' });
  expect([code, deleted]).toEqual([130, 0]);
  for (const { name } of assets)
    expect(stderr).toMatch(new RegExp(`^${name.replace('.', '\\.')} +/ +2\\.0 KiB +2026-03-01$`, 'm'));
  expect(stderr).toContain('Move 12 assets to the trash? The API cannot restore them. [y/N]');
});

it('the question of rm reads the assets that were given by uid, and asks all the same about one that is gone', async () => {
  const uids = [numberedUid(1), numberedUid(2)];
  const { stderr } = await run(['rm', ...uids], [assetOf(1)], { tty: true, stdin: 'n\n' });
  expect(stderr).toMatch(/^take 1\.mp4 +\/ +2\.0 KiB/m);
  expect(stderr).toMatch(new RegExp(`^${uids[1]}$`, 'm'));
  expect(stderr).toContain('Move 2 assets to the trash?');
});

it('the question of rm lists 100 of many assets and names -n, which lists all of them', async () => {
  const assets = Array.from({ length: 230 }, (_, n) => assetOf(n));
  const asked = await run(['rm', '--search', 'take'], assets, { tty: true, stdin: 'n\n' });
  expect(asked.stderr.match(/^take \d+\.mp4/gm)).toHaveLength(100);
  expect(asked.stderr).toContain('… and 130 more; -n lists all of them');
  expect(asked.stderr).toContain('This would move 230 assets to the trash; the API cannot restore them. Type 230');
  const dryRun = await run(['rm', '--search', 'take', '--max-changes', '300', '-n'], assets, { tty: true });
  expect([dryRun.code, dryRun.deleted]).toEqual([0, 0]);
  expect(dryRun.stdout.match(/^take \d+\.mp4 .*2\.0 KiB +2026-03-01$/gm)).toHaveLength(230);
});

it('rm -n in a pipe lists the name, folder, size and date of each asset after its request', async () => {
  const { stdout, stderr, deleted } = await run(['rm', numberedUid(1), numberedUid(2), '-n'], [assetOf(1), assetOf(2)]);
  const row = (n: number) =>
    expect.stringMatching(
      new RegExp(`^DELETE\thttp\\S+${numberedUid(n)}/\t\ttake ${n}\\.mp4\t/\t2048\t2026-03-01T11:00:00Z$`),
    );
  expect(stdout.trimEnd().split('\n')).toEqual([row(1), row(2)]);
  expect(stderr).toContain('dry run: would move 2 assets to the trash, with 2 requests; the API cannot restore them');
  expect(deleted).toBe(0);
  const json = await run(['rm', numberedUid(1), '-n', '--json'], [assetOf(1)]);
  expect(JSON.parse(json.stdout)).toMatchObject([
    { method: 'DELETE', name: 'take 1.mp4', folder: '/', size_bytes: 2048, created_at: '2026-03-01T11:00:00Z' },
  ]);
});

it('the question of history --resume says that the API cannot restore what it moves to the trash', async () => {
  const assets = [assetOf(1), assetOf(2)];
  let isDown = false;
  const respond = createLibrary({ assets, shows: ['parent'] });
  const service = await startRecordingServer((request) => {
    isDown ||= request.method === 'DELETE';
    return isDown && request.method === 'DELETE' ? { status: 401, body: { error: {} } } : respond(request);
  });
  const cli = new Cli({ MEDIACTL_BASE_URL: service.url, MEDIACTL_API_KEY: testKey, MEDIACTL_WORKSPACE: workspaceUid });
  await cli.run(['rm', ...assets.map(({ uid }) => uid), '--yes']);
  const [{ change_id }] = await cli.json(['history']);
  const { code, stderr } = await cli.run(['history', change_id, '--resume'], { tty: true, stdin: 'n\n' });
  expect([code, stderr]).toEqual([
    130,
    expect.stringMatching(
      /Move 2 assets to the trash that change \S+ has not read before\? The API cannot restore them\./,
    ),
  ]);
});
