import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createSandbox, type Sandbox } from './create.ts';
import { findFfmpeg } from './media/find-ffmpeg.ts';
import { defaults, type Theme, themes } from './options.ts';

/**
 * The sandbox as a program: `node sandbox.cjs --data DIR [--port N] [--auto-play] [--theme THEME]`.
 * Tells where it runs in DIR/server.json and its keys in DIR/credentials.json (both 0600); logs to
 * stdout. ffmpeg is the one that MEDIACTL_FFMPEG names, else the one on PATH.
 */
async function main(): Promise<void> {
  process.umask(0o077); // whatever is written is this user's alone
  const { values } = parseArgs({
    options: {
      data: { type: 'string' },
      port: { type: 'string', default: String(defaults.port) },
      'auto-play': { type: 'boolean', default: defaults.player.autoPlay },
      theme: { type: 'string', default: defaults.player.theme },
    },
  });
  const dataDir = values.data;
  if (!dataDir) throw new Error('--data is required');
  const player = { autoPlay: values['auto-play'], theme: asTheme(values.theme) };
  const serverFile = join(dataDir, 'server.json');
  const sandbox = await createSandbox({
    dataDir,
    port: Number(values.port),
    pid: process.pid,
    mediaWorker: join(__dirname, 'media-worker.cjs'),
    ffmpeg: await findFfmpeg(process.env.MEDIACTL_FFMPEG, process.env.PATH),
    killGroup,
    playerScript: readFileSync(join(__dirname, 'player.js'), 'utf8'),
    player,
    log: (line) => void process.stdout.write(`${new Date().toISOString()} ${line}\n`),
  });
  writeCredentials(join(dataDir, 'credentials.json'), sandbox);
  const { url, workspace } = sandbox;
  const started_at = new Date().toISOString();
  const running = { pid: process.pid, url, workspace, started_at, player };
  writeWhole(serverFile, running);
  process.stdout.write(`${running.started_at} listening on ${url}\n`);
  const stop = async () => {
    rmSync(serverFile, { force: true });
    await sandbox.close();
    process.exit(0);
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // else it is gone
  }
}

function asTheme(text: string): Theme {
  const theme = themes.find((each) => each === text);
  if (!theme) throw new Error(`--theme is one of ${themes.join(', ')}`);
  return theme;
}

/** Made once: keys are kept as hashes, so a lost one cannot be told again. */
function writeCredentials(path: string, sandbox: Sandbox): void {
  if (holdsKeys(path)) return;
  const keys = {
    all: sandbox.createKey('all scopes'),
    read: sandbox.createKey('read only', ['Read Assets']),
    write: sandbox.createKey('read and write', ['Read Assets', 'Write Assets']),
  };
  writeWhole(path, { keys });
}

function holdsKeys(path: string): boolean {
  try {
    return typeof JSON.parse(readFileSync(path, 'utf8')).keys.all === 'string';
  } catch {
    return false; // none, or half of one: new keys are made
  }
}

/** Nobody reads half of it, and a kill leaves none. */
function writeWhole(path: string, value: unknown): void {
  writeFileSync(`${path}.tmp`, JSON.stringify(value, null, 2), { mode: 0o600 });
  renameSync(`${path}.tmp`, path);
}

main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
