import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assumptions } from '../../src/contract/assumptions.ts';
import { Cli } from '../support/cli.ts';
import { pseudoRandomBytes } from '../support/files.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';

/*
 * Acceptance tests: the behavior that mediactl requires of a service. They run against the service of
 * MEDIACTL_ACCEPTANCE_URL with the key in MEDIACTL_ACCEPTANCE_KEY (`npm run test:acceptance`), or against a sandbox.
 * They create a folder, delete it at the end, and print which assumptions (docs/assumptions.md) held.
 */

const { MEDIACTL_ACCEPTANCE_URL: url, MEDIACTL_ACCEPTANCE_KEY: key, MEDIACTL_ACCEPTANCE_READ_ONLY } = process.env;
const isReadOnly = MEDIACTL_ACCEPTANCE_READ_ONLY === '1';
const folder = `/mediactl acceptance ${process.pid}-${Date.now().toString(36)}`;

let sandbox: TestSandbox | undefined;
let cli: Cli;
beforeAll(async () => {
  sandbox = url === undefined ? await startSandbox() : undefined;
  cli = new Cli({ MEDIACTL_BASE_URL: url ?? sandbox?.url, MEDIACTL_API_KEY: key ?? sandbox?.key });
});
afterAll(async () => {
  if (!isReadOnly) await cli.run(['rm', '-r', folder, '--yes', '--max-changes', '1000']);
  await sandbox?.end();
  const failed = assumptions.filter(({ id }) => outcomes.get(id) === false).map(({ id }) => id);
  const held = assumptions.filter(({ id }) => outcomes.get(id)).map(({ id }) => id);
  process.stdout.write(`Assumptions that held: ${held.join(', ')}; that did not: ${failed.join(', ') || 'none'}\n`);
});

/** Maps each tested assumption to whether it held every time. */
const outcomes = new Map<string, boolean>();

/** Declares a check that relies on assumptions. */
function check(name: string, assumptionIds: readonly string[], verify: () => Promise<void>) {
  it(name, { timeout: 300_000 }, async () => {
    let isHeld = false;
    try {
      await verify();
      isHeld = true;
    } finally {
      for (const id of assumptionIds) outcomes.set(id, isHeld && outcomes.get(id) !== false);
    }
  });
}

/** Runs a command and expects an exit code. @returns its output */
async function runMediactl(args: readonly string[], { exitCode = 0 } = {}) {
  const ran = await cli.run(args);
  expect([ran.code, ran.stderr], args.join(' ')).toEqual([exitCode, expect.any(String)]);
  return ran;
}
const writeFileNamed = (name: string, content: string | Buffer) => {
  const path = join(cli.home, name);
  writeFileSync(path, content);
  return path;
};
const uploadFile = async (name: string, content: string | Buffer) =>
  (await cli.json(['upload', writeFileNamed(name, content), folder, '--create-folders', '--existing', 'upload']))[0];

describe('read-only checks', () => {
  check('the service accepts the API key and returns rate limits', ['A23'], async () => {
    const checks: { check: string; status: string }[] = await cli.json(['doctor']);
    expect(checks.filter(({ status }) => status === 'failed')).toEqual([]);
  });
  check('the service refuses a wrong API key with 401', [], async () => {
    const { code } = await cli.run(['ls'], { environment: { MEDIACTL_API_KEY: 'not-a-key' } });
    expect(code).toBe(4);
  });
  check('the service has one primary workspace', ['A10'], async () => {
    const workspaces: { is_primary?: boolean }[] = await cli.json(['workspaces', 'ls']);
    expect(workspaces.filter(({ is_primary }) => is_primary).length).toBe(1);
  });
  check('the service lists as many assets as it counts', ['A01'], async () => {
    const count = Number((await runMediactl(['ls', '--count'])).stdout);
    expect((await cli.json(['ls', '--all'])).length).toBe(count);
  });
  check('the service applies the status filter', ['A11'], async () => {
    const { stderr } = await runMediactl(['ls', '--status', 'ready', '--json']);
    expect(stderr).not.toContain('ignored a filter');
  });
  check('the service returns the folder tree and lists the top level', ['A02', 'A03', 'A26'], async () => {
    await runMediactl(['folders', 'tree', '--json']);
    await runMediactl(['ls', '/', '--json']);
  });
  check('the service returns no asset for an unknown uid', [], async () => {
    await runMediactl(['get', '00000000-0000-4000-8000-000000000000'], { exitCode: 3 });
  });
});

describe.skipIf(isReadOnly)('write checks', () => {
  let uid = '';

  check('the service creates, renames and moves a folder', ['A02'], async () => {
    await runMediactl(['folders', 'create', '-p', `${folder}/one`]);
    await runMediactl(['folders', 'rename', `${folder}/one`, 'two']);
    await runMediactl(['folders', 'create', `${folder}/three`]);
    await runMediactl(['mv', `${folder}/two`, `${folder}/three`]);
    await runMediactl(['ls', `${folder}/three/two`]);
  });
  check('mediactl refuses a folder name with a slash', [], async () => {
    await runMediactl(['folders', 'rename', `${folder}/three`, 'a/b'], { exitCode: 2 });
  });
  check('the service stores an upload and confirms its checksum', [], async () => {
    const record = await uploadFile('notes.md', `# ${folder}`);
    expect(record).toMatchObject({ outcome: 'uploaded', verified: true });
    uid = record.asset_uid;
  });
  check('the service stores an upload of several chunks', [], async () => {
    const path = writeFileNamed('large.bin', pseudoRandomBytes(300_000, folder));
    const [record] = await cli.json(['upload', path, folder, '--chunk-size', '64KiB', '--existing', 'upload']);
    expect(record).toMatchObject({ outcome: 'uploaded', verified: true });
  });
  check('mediactl skips an uploaded file that has a receipt', [], async () => {
    const [record] = await cli.json(['upload', join(cli.home, 'notes.md'), folder]);
    expect(record).toMatchObject({ outcome: 'skipped', asset_uid: uid });
  });
  check('mediactl on another machine does not upload the same file again', ['A28'], async () => {
    const environment = { MEDIACTL_STATE_DIR: join(cli.home, 'another machine') };
    const [record] = await cli.json(['upload', join(cli.home, 'notes.md'), folder], { environment });
    expect(['same_name_and_size', 'skipped']).toContain(record.outcome);
  });
  check('the service processes an uploaded asset', ['A11'], async () => {
    await runMediactl(['wait', uid, '--timeout', '4m']);
  });
  check('the service finds an asset by its name and its path', ['A26'], async () => {
    expect((await cli.json(['get', `${folder}/notes.md`]))[0].uid).toBe(uid);
    const assets: { uid: string }[] = await cli.json(['ls', folder, '--all']);
    expect(assets.map((asset) => asset.uid)).toContain(uid);
  });
  check('the service renames an asset', ['A08'], async () => {
    await runMediactl(['rename', uid, 'renamed.md']);
    expect((await cli.json(['get', uid]))[0].name).toBe('renamed.md');
  });
  check('the service adds and removes a tag of an asset', ['A08'], async () => {
    await runMediactl(['tag', uid, '--add', 'mediactl-acceptance']);
    await runMediactl(['tag', uid, '--remove', 'mediactl-acceptance']);
  });
  check('the service moves an asset to another folder', ['A20'], async () => {
    await runMediactl(['mv', uid, `${folder}/three`]);
    await runMediactl(['mv', uid, folder]);
  });
  check('the service returns the uploaded bytes in a download', ['A27'], async () => {
    const [saved] = await cli.json(['download', uid, '-o', join(cli.home, 'back.md')]);
    expect(saved.verified).toBe(true);
  });
  check('the service returns a playback URL that can be fetched', [], async () => {
    await runMediactl(['play', uid, '--probe']);
  });
  check('the service does not return a deleted asset', [], async () => {
    await runMediactl(['rm', uid, '--yes']);
    await runMediactl(['get', uid], { exitCode: 3 });
  });
  check('the service deletes folders and their contents', ['A04'], async () => {
    await runMediactl(['rm', '-r', folder, '--yes']);
    const { stdout } = await runMediactl(['folders', 'tree', '--json']);
    expect(stdout).not.toContain(folder.slice(1));
  });
});
