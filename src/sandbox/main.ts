import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ArgumentError } from './argument-error.ts';
import { readArguments } from './arguments.ts';
import { createSandbox, type Sandbox } from './create.ts';
import { findFfmpeg, findPdftoppm } from './media/find-tools.ts';
import { FolderTaken } from './store/folder-lock.ts';

/**
 * The sandbox as a program: `node sandbox.cjs --data DIR …`, as `arguments.ts` reads it. Tells where
 * it runs in DIR/server.json and its keys in DIR/credentials.json (both 0600); logs to stdout.
 * ffmpeg is the one that MEDIACTL_FFMPEG names (`none` for none), else the one on PATH; pdftoppm is
 * the one on PATH.
 */
async function main(): Promise<void> {
  process.umask(0o077); // whatever is written is this user's alone
  const given = process.argv.slice(2);
  const options = readArguments(given);
  const { dataDir } = options;
  const serverFile = join(dataDir, 'server.json');
  const sandbox = await createSandbox({
    ...options,
    pid: process.pid,
    mediaWorker: join(__dirname, 'media-worker.cjs'),
    node: process.execPath,
    ffmpeg: await findFfmpeg(process.env.MEDIACTL_FFMPEG, process.env.PATH),
    pdftoppm: await findPdftoppm(process.env.PATH),
    killGroup,
    playerScript: readFileSync(join(__dirname, 'player.js'), 'utf8'),
    log: (line) => void process.stdout.write(`${new Date().toISOString()} ${line}\n`),
  });
  writeCredentials(join(dataDir, 'credentials.json'), sandbox);
  const { url, workspace } = sandbox;
  const started_at = new Date().toISOString();
  // What a later start is compared with: the options of the service itself.
  const told = given.filter(
    (each, at) => !/^--(data|port)/.test(each) && !/^--(data|port)$/.test(given[at - 1] ?? ''),
  );
  const running = { pid: process.pid, url, workspace, started_at, told };
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

/** 2 where what it was told is at fault, as for mediactl itself. */
main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  const misread = (error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS');
  if (error instanceof FolderTaken) process.exit(3);
  process.exit(error instanceof ArgumentError || misread ? 2 : 1);
});
