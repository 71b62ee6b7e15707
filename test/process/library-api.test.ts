import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { pseudoRandomBytes } from '../support/files.ts';
import { waitForStderr } from '../support/machines.ts';
import { offlineNpm, packWithDependencies } from '../support/packed.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { mediactl, mediactlFile, startProcess } from '../support/spawn.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const MiB = 2 ** 20;

let sandbox: TestSandbox;
/** Folder of a program that has installed the packed package. */
let project: string;

beforeAll(async () => {
  sandbox = await startSandbox({ strict: false, rateLimit: { limit: 100_000, windowSeconds: 3600 } });
  project = temporaryFolder();
  writeFileSync(join(project, 'package.json'), '{"name":"program","private":true}');
  const install = ['install', packWithDependencies(), '--no-audit', '--no-fund', '--ignore-scripts'];
  execFileSync('npm', install, { cwd: project, env: { ...process.env, ...offlineNpm(project) }, stdio: 'ignore' });
  mkdirSync(join(project, 'node_modules/@types'));
  for (const name of ['node', '../undici-types'])
    symlinkSync(join(repository, 'node_modules/@types', name), join(project, 'node_modules/@types', name));
  return () => sandbox.end();
});

const accountOf = (service = sandbox) => ({
  MEDIACTL_BASE_URL: service.url,
  MEDIACTL_API_KEY: service.key,
  MEDIACTL_WORKSPACE: service.workspace,
});

/** Hides the warning of Node.js 22 that its SQLite is experimental. */
const withoutWarning = '--disable-warning=ExperimentalWarning';

/** Runs a program in a folder of its own, with an empty home directory. */
function runProgram(code: string, cwd: string) {
  const file = join(project, `program-${readdirSync(project).length}.mjs`);
  writeFileSync(file, code);
  const environment = { ...accountOf(), HOME: join(cwd, 'home'), NODE_OPTIONS: withoutWarning };
  return startProcess(process.execPath, [file], environment, cwd);
}

const createClientCode = `import { createClient, MediactlError } from 'mediactl';
const { MEDIACTL_BASE_URL: baseUrl, MEDIACTL_API_KEY: apiKey } = process.env;
const client = createClient({ baseUrl, apiKey, stateDir: 'state' });
`;

/** The examples of docs/library-api.md as one program, whose module format the file's extension decides. */
function programOfPage(): string {
  const page = readFileSync(join(repository, 'docs/library-api.md'), 'utf8');
  const blocks = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);
  // The first is the introduction, and a section says what the library does not have.
  expect(page.match(/^## /gm)).toHaveLength(blocks.length);
  const imports = /^import .*;\n/gm;
  const bodies = blocks.map((code) => code.replace(imports, ''));
  return `${blocks.flatMap((code) => code.match(imports) ?? []).join('')}
    async function main(): Promise<void> { ${bodies.join('\n')} }
    void main();`;
}

/** Writes the program of the page and compiles it under `tsc --strict`. @returns what the compiler reports */
function compilePage(file: string, ...args: readonly string[]): string {
  writeFileSync(join(project, file), programOfPage());
  const tsc = join(repository, 'node_modules/typescript/bin/tsc');
  const strict = ['--ignoreConfig', '--strict', '--skipLibCheck', 'false', '--target', 'es2022', '--types', 'node'];
  return spawnSync(process.execPath, [tsc, file, ...strict, ...args], { cwd: project, encoding: 'utf8' }).stdout;
}

it.each([
  ['an ES module', 'nodenext', 'nodenext', 'mts'],
  ['a CommonJS module', 'nodenext', 'nodenext', 'cts'],
  ['an ES module for a bundler', 'esnext', 'bundler', 'mts'],
  ['a CommonJS module for a bundler', 'preserve', 'bundler', 'cts'],
])('the examples of docs/library-api.md compile under tsc --strict as %s', (_what, module, resolution, extension) => {
  const file = `examples-${module}.${extension}`;
  expect(compilePage(file, '--module', module, '--moduleResolution', resolution, '--noEmit')).toBe('');
});

it.each(['mts', 'cts'])('the examples of docs/library-api.md run as a program compiled from .%s', async (extension) => {
  const service = await startSandbox({ strict: false });
  onTestFinished(() => service.end());
  const cwd = temporaryFolder();
  mkdirSync(join(cwd, 'renders'));
  mkdirSync(join(cwd, 'downloads'));
  cpSync(fixturePath('clip.mp4'), join(cwd, 'renders/clip.mp4'));
  writeFileSync(join(cwd, 'renders/notes.md'), `notes ${extension}`);
  writeFileSync(join(cwd, 'renders/skipped.txt'), 'not uploaded');
  writeFileSync(join(cwd, 'large.bin'), pseudoRandomBytes(8 * MiB, extension));
  const file = `run.${extension}`;
  expect(compilePage(file, '--module', 'nodenext', '--outDir', project)).toBe('');
  const compiled = join(project, file.replace('ts', 'js'));
  const { code, stdout, stderr } = await startProcess(
    process.execPath,
    [compiled],
    { ...accountOf(service), MEDIACTL_STATE_DIR: join(cwd, 'state') },
    cwd,
  ).finished;
  expect([code, stderr.match(/^\w*Error: .*/m)]).toEqual([0, null]);
  const lines = stdout.trim().split('\n');
  expect(lines[0]).toMatch(/^[0-9a-f-]{36} true$/);
  expect(lines.at(-1)).toBe('not_found 404 false');
  expect(stdout).toContain('clip.mp4');
  expect(readFileSync(join(cwd, 'report.csv'), 'utf8')).toContain(',"notes.md"');
  expect(readdirSync(join(cwd, 'downloads'))).toContain('clip.mp4');
  expect(lines.slice(-10, -1)).toEqual([
    'status 200 longest clip.mp4',
    'restricted true news.example.com',
    'moved to /Campaigns/Spring',
    'workspace Main has 1',
    'workspace Archive has 0',
    expect.stringMatching(/^followed new /),
    expect.stringMatching(/^followed ready /),
    '2 of 2 match',
    expect.stringMatching(/^copies downloaded(?:,downloaded)+$/),
  ]);
  const [uid = ''] = (lines[0] ?? '').split(' ');
  const environment = { ...accountOf(service), MEDIACTL_STATE_DIR: join(cwd, 'state'), HOME: join(cwd, 'home') };
  const nameOfFirst = async () => {
    const { stdout: record } = await mediactl(['get', uid, '--json'], environment, cwd).finished;
    return JSON.parse(record)[0].name;
  };
  expect(await nameOfFirst()).toBe('Interview, final cut');
  expect((await mediactl(['undo', '--yes'], environment, cwd).finished).stderr).toContain('update; 1 item');
  const undo = await mediactl(['undo', '--yes'], environment, cwd).finished;
  expect([undo.code, await nameOfFirst()]).toEqual([0, 'clip.mp4']);
});

it('an upload by the library changes nothing of its process and writes only to its state directory', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'clip.bin'), pseudoRandomBytes(3 * MiB, 'guest'));
  const code = `import fs from 'node:fs';
    import v8 from 'node:v8';
    const snapshot = () => JSON.stringify({
      fs: Object.values(fs).filter((value) => typeof value === 'function').map(String),
      process: ['cwd', 'chdir', 'emitWarning', 'exit', 'kill'].map((name) => String(process[name])),
      listeners: process.eventNames().map((name) => [String(name), process.listenerCount(name)]),
      flags: v8.cachedDataVersionTag(),
    });
    const before = snapshot();
    ${createClientCode}
    const phases = new Set();
    const { outcome } = await client.upload('clip.bin', { chunkBytes: 2 ** 20, onProgress: ({ phase }) => phases.add(phase) });
    await client.close();
    fs.writeFileSync('result.json', JSON.stringify({ outcome, phases: [...phases], isSame: snapshot() === before }));`;
  const { code: exitCode, stdout, stderr } = await runProgram(code, cwd).finished;
  expect([exitCode, stdout, stderr]).toEqual([0, '', '']);
  expect(JSON.parse(readFileSync(join(cwd, 'result.json'), 'utf8'))).toEqual({
    outcome: 'uploaded',
    phases: ['started', 'sending', 'done'],
    isSame: true,
  });
  expect(readdirSync(cwd).sort()).toEqual(['clip.bin', 'result.json', 'state']);
});

it('the package leaves the settings of a zod that the program uses alone', async () => {
  const code = `import 'mediactl';\nconsole.log(JSON.stringify(globalThis.__zod_globalConfig ?? {}));`;
  const { stdout, stderr } = await runProgram(code, temporaryFolder()).finished;
  expect([stdout, stderr]).toEqual(['{}\n', '']);
});

it('an aborted call rejects with the reason of its signal, and a client without a state directory writes no file', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'clip.bin'), pseudoRandomBytes(8 * MiB, 'abort'));
  const code = `${createClientCode.replace(", stateDir: 'state'", '')}
    const reason = new Error('enough');
    const results = await Promise.all([
      client.upload('clip.bin', { limitRate: 2 ** 20, signal: AbortSignal.timeout(300) }).catch((error) => error.name),
      client.assets.get('x', { signal: AbortSignal.abort(reason) }).catch((error) => error === reason),
      client.assets.list({}, { signal: AbortSignal.abort(reason) }).next().catch((error) => error === reason),
    ]);
    await client.close();
    console.log(JSON.stringify(results));`;
  const { stdout, stderr } = await runProgram(code, cwd).finished;
  expect([stderr, JSON.parse(stdout)]).toEqual(['', ['TimeoutError', true, true]]);
  expect(readdirSync(cwd)).toEqual(['clip.bin']);
});

it('a program ends after an abort in the last bytes of a file, and its client can be closed twice', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'clip.bin'), pseudoRandomBytes(500_000, 'last bytes'));
  const code = `${createClientCode}
    const abort = new AbortController();
    const stopAtFirstByte = ({ phase }) => phase === 'sending' && abort.abort();
    const call = { signal: abort.signal, onProgress: stopAtFirstByte };
    console.log(await client.upload('clip.bin', call).catch((error) => error.name));
    await Promise.all([client.close(), client.close()]);
    console.log(await client.assets.get('x').catch((error) => error.code));`;
  const { code: exitCode, stdout, stderr } = await runProgram(code, cwd).finished;
  expect([exitCode, stdout, stderr]).toEqual([0, 'AbortError\ninterrupted\n', '']);
});

const slowUploadCode = `${createClientCode}
  await client.upload('clip.bin', { chunkBytes: 2 ** 20, limitRate: 4 * 2 ** 20,
    onProgress: ({ acknowledgedBytes }) => acknowledgedBytes > 2 ** 20 && console.error('sending') });`;

it('the command line resumes an upload of the library that was killed', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'clip.bin'), pseudoRandomBytes(12 * MiB, 'library first'));
  const program = runProgram(slowUploadCode, cwd);
  await waitForStderr(program, 'sending');
  program.child.kill('SIGKILL');
  await program.finished;
  const environment = { ...accountOf(), MEDIACTL_STATE_DIR: join(cwd, 'state') };
  const { stdout } = await mediactl(['upload', 'clip.bin', '--json'], environment, cwd).finished;
  const [{ outcome, resumed_from_bytes }] = JSON.parse(stdout);
  expect([outcome, resumed_from_bytes >= MiB]).toEqual(['uploaded', true]);
});

it('the library resumes an upload of the command line that was killed', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'interview.bin'), pseudoRandomBytes(12 * MiB, 'command line first'));
  const environment = { ...accountOf(), MEDIACTL_STATE_DIR: join(cwd, 'state') };
  const args = ['upload', 'interview.bin', '--chunk-size', '1MiB', '--limit-rate', '4MiB', '--progress', 'json'];
  const command = mediactl(args, environment, cwd);
  await waitForStderr(command, '"event":"progress","offset_bytes":2097152');
  command.child.kill('SIGKILL');
  await command.finished;
  const code = `${createClientCode}
    const { outcome, resumedFromBytes } = await client.upload('interview.bin');
    await client.close();
    console.log(JSON.stringify([outcome, resumedFromBytes >= 2 ** 20]));`;
  const { stdout, stderr } = await runProgram(code, cwd).finished;
  expect([stderr, JSON.parse(stdout)]).toEqual(['', ['uploaded', true]]);
});

it('two programs that upload one directory with one state directory send each file once', async () => {
  const cwd = temporaryFolder();
  mkdirSync(join(cwd, 'rushes/day 1'), { recursive: true });
  for (let n = 0; n < 20; n++)
    writeFileSync(join(cwd, `rushes/day 1/${n}.bin`), pseudoRandomBytes(200_000, `two ${n}`));
  const code = `${createClientCode}
    const results = [];
    for await (const { upload, error } of client.uploadDirectory('rushes', { folder: '/Two' }))
      results.push(upload?.outcome ?? error.code);
    await client.close();
    console.log(JSON.stringify(results));`;
  const runs = await Promise.all([1, 2].map(() => runProgram(code, cwd).finished));
  const outcomes = runs.flatMap(({ stdout }) => JSON.parse(stdout) as string[]);
  expect(outcomes.filter((outcome) => outcome === 'uploaded')).toHaveLength(20);
  expect(outcomes.filter((outcome) => !['uploaded', 'skipped', 'upload_in_progress'].includes(outcome))).toEqual([]);
  const list = await mediactl(['ls', '/Two/day 1', '--all', '--json'], accountOf(), cwd).finished;
  expect(JSON.parse(list.stdout)).toHaveLength(20);
});

it('the library continues a download of a folder that was killed, and then the command line fetches nothing', async () => {
  const cwd = temporaryFolder();
  const environment = { ...accountOf(), MEDIACTL_STATE_DIR: join(cwd, 'state') };
  mkdirSync(join(cwd, 'rushes/day 1'), { recursive: true });
  for (let n = 0; n < 8; n++) writeFileSync(join(cwd, `rushes/day 1/${n}.bin`), pseudoRandomBytes(1000 + n, `${n}`));
  writeFileSync(join(cwd, 'rushes/large.bin'), pseudoRandomBytes(48 * MiB, 'killed download'));
  const upload = await mediactl(['sync', 'rushes', '/Killed', '--wait'], environment, cwd).finished;
  expect(upload.code, upload.stderr).toBe(0);
  const code = `${createClientCode}
    const outcomes = [];
    let first;
    const onProgress = ({ path, phase, receivedBytes }) => {
      if (!path.endsWith('large.bin') || phase !== 'receiving') return;
      first ??= receivedBytes;
      if (receivedBytes > 24 * 2 ** 20 && receivedBytes < 32 * 2 ** 20) console.error('half');
    };
    for await (const { outcome } of client.downloadFolder('/Killed', 'home', { onProgress })) outcomes.push(outcome);
    await client.close();
    console.log(JSON.stringify([outcomes.length, outcomes.includes('failed'), (first ?? 0) >= 16 * 2 ** 20]));`;
  const killed = runProgram(code, cwd);
  await waitForStderr(killed, 'half');
  killed.child.kill('SIGKILL');
  await killed.finished;
  const results: unknown[] = [];
  for (let run = 0; run < 2; run++) results.push(JSON.parse((await runProgram(code, cwd).finished).stdout));
  expect(results).toEqual([
    [9, false, true],
    [9, false, false],
  ]);
  const again = await mediactl(['download', '/Killed', '-d', 'home', '--json'], environment, cwd).finished;
  const outcomes = (JSON.parse(again.stdout) as { outcome: string }[]).map(({ outcome }) => outcome);
  expect(new Set(outcomes)).toEqual(new Set(['skipped']));
  for (const name of ['large.bin', 'day 1/3.bin'])
    expect(readFileSync(join(cwd, 'home', name)).equals(readFileSync(join(cwd, 'rushes', name)))).toBe(true);
});

it('fromProfile opens the profile of the command line, with its workspace and history', async () => {
  const cwd = temporaryFolder();
  const environment = { MEDIACTL_CONFIG_DIR: join(cwd, 'config'), MEDIACTL_STATE_DIR: join(cwd, 'state'), HOME: cwd };
  const run = (args: string[]) => mediactl(args, environment, cwd).finished;
  const login = startProcess(
    'sh',
    [
      '-c',
      `echo "$KEY" | "${mediactlFile}" login --with-key --profile ours --base-url ${sandbox.url} --key-store file`,
    ],
    { ...environment, KEY: sandbox.key },
    cwd,
  );
  expect((await login.finished).code).toBe(0);
  expect((await run(['workspaces', 'use', 'Archive'])).code).toBe(0);
  writeFileSync(join(cwd, 'ours.txt'), 'ours');
  const code = `import { fromProfile } from 'mediactl';
    const client = await fromProfile('ours', { userAgent: 'tagger' });
    const { uid } = await client.upload('ours.txt');
    await client.assets.update(uid, { name: 'renamed.txt' });
    await client.close();
    console.log((await fromProfile('theirs').catch((error) => error)).code);
    const other = { workspace: '${sandbox.workspace}' };
    console.log((await (await fromProfile('ours', other)).assets.find('renamed.txt')).length);`;
  const file = join(project, 'of-profile.mjs');
  writeFileSync(file, code);
  const program = startProcess(
    process.execPath,
    [file],
    { ...environment, MEDIACTL_API_KEY: 'not-the-key', NODE_OPTIONS: withoutWarning },
    cwd,
  );
  const { stdout, stderr } = await program.finished;
  expect([stdout, stderr]).toEqual(['not_logged_in\n0\n', '']);
  const [change] = JSON.parse((await run(['history', '--json'])).stdout);
  expect([change.command, change.profile]).toEqual(['library (tagger)', 'ours']);
  expect((await run(['undo', '--yes'])).code).toBe(0);
  expect(JSON.parse((await run(['ls', 'ours.txt', '--json'])).stdout)).toHaveLength(1);
});
