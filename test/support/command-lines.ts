import { chmodSync, copyFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cli } from './cli.ts';
import { inherited } from './environment.ts';
import { fixturePath, type TestSandbox } from './sandbox.ts';
import { mediactlFile } from './spawn.ts';
import type { StoreServer } from './stores.ts';
import { temporaryFolder } from './temporary-folder.ts';

/* What command lines of the help and the manual need to run: files, profiles, and stand-ins for other programs. */

/** Address of the queue in command lines. */
const queueInLines = 'redis://queue.lan';

/** Stand-ins for programs of which only the invocation is tested. */
const standIns = {
  mpv: 'case "$1" in http*) exit 0 ;; *) exit 1 ;; esac',
  ffmpeg: 'cat in.mov',
  ssh: 'shift; exec "$@"',
};

/** Replaces `mediactl` on PATH by a script that adds `--yes`. */
export function answerYes(home: string): void {
  rmSync(join(home, 'bin/mediactl'));
  addProgram(home, 'mediactl', `exec '${mediactlFile}' "$@" --yes`);
}

/** Creates a home directory with the files that command lines refer to, and `mediactl` on PATH. */
export function createHome(sandbox: TestSandbox, store: StoreServer | undefined) {
  const home = temporaryFolder();
  for (const folder of ['bin', 'config', 'state', 'rushes', '.zfunc', '.config/fish/completions'])
    mkdirSync(join(home, folder), { recursive: true, mode: 0o700 });
  symlinkSync(mediactlFile, join(home, 'bin/mediactl'));
  copyFileSync(fixturePath('clip.mp4'), join(home, 'clip.mp4'));
  for (const name of ['in.mov', 'a.mp4', 'b.mp4']) copyFileSync(fixturePath('clip.mp4'), join(home, name));
  copyFileSync(fixturePath('still.jpg'), join(home, 'rushes/still.jpg'));
  copyFileSync(fixturePath('clip.mp4'), join(home, 'rushes/clip.mov'));
  writeFileSync(join(home, 'shots.csv'), 'path,name\nclip.mp4,Quay\n');
  writeFileSync(join(home, 'sent.jsonl'), '');
  writeFileSync(join(home, 'key.txt'), sandbox.key);
  writeFileSync(join(home, 'queue-url.txt'), `${queueInLines}\n`);
  writeFileSync(join(home, 'domains.txt'), 'news.example.com\n');
  for (const [program, script] of Object.entries(standIns)) addProgram(home, program, script);
  const env = {
    ...inherited,
    PATH: `${join(home, 'bin')}:${process.env.PATH}`,
    HOME: home,
    SHELL: '/bin/bash',
    MEDIACTL_CONFIG_DIR: join(home, 'config'),
    MEDIACTL_STATE_DIR: join(home, 'state'),
    MEDIACTL_KEY_STORE: 'file',
    ...(store && { MEDIACTL_QUEUE: store.address }),
  };
  return { home, env };
}

export function addProgram(home: string, name: string, script: string): void {
  writeFileSync(join(home, 'bin', name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(home, 'bin', name), 0o755);
}

/** Writes the profiles `default`, which is current, `staging` and `production`. */
export function addProfiles(home: string, sandbox: TestSandbox): void {
  const profile = { baseUrl: sandbox.url, key: sandbox.key, keyStore: 'file', workspace: sandbox.workspace };
  const profiles = { default: profile, staging: profile, production: profile };
  writeFileSync(join(home, 'config/config.json'), JSON.stringify({ current: 'default', profiles }), { mode: 0o600 });
}

/** Makes an asset the one that `@last` stands for. */
export const setLastUpload = (home: string, uid: string, baseUrl: string) =>
  writeFileSync(join(home, 'state/last-upload'), JSON.stringify({ uid, base_url: baseUrl }));

export type Replacements = { home: string; sandbox: TestSandbox; store: StoreServer | undefined; uid: string };

/** Replaces the names of services, directories and assets in a command line by those of this test. */
export const toRunnable = (line: string, { home, sandbox, store, uid }: Replacements): string =>
  line
    .replaceAll('https://media.example.com', sandbox.url)
    .replace(/\bUID\b/, uid)
    // ports may be in use here
    .replaceAll('sandbox start', 'sandbox start --port 0')
    .replace('--port 0 --port 4600', '--port 0')
    .replace('--port 8123', '--port 0')
    .replaceAll(queueInLines, store?.address ?? queueInLines)
    .replaceAll(/\/mnt\/(?:media|nas)/g, home)
    .replaceAll('/Volumes/media', home);

/** Returns true if a line needs the store of a queue. */
export const isOfQueue = (line: string) =>
  /--queue|mediactl worker|uploads (?:watch|retry)/.test(line) || line.includes(queueInLines);

/**
 * Returns the arguments of a line that is one mediactl command; undefined if a shell would do more with the line than
 * split it and remove quotes.
 */
function argumentsOf(line: string): string[] | undefined {
  if (!/^mediactl (?:[\w@%+=:,./ -]|'[^'\n]*'|"[^"$`\\\n]*")+$/.test(line)) return undefined;
  const words = line.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? [];
  return words.slice(1).map((word) => word.replace(/'([^']*)'|"([^"]*)"/g, '$1$2'));
}

let plainLines = 0;
/** The last run in this process. The next one waits for it, since a process has one working directory. */
let lastRun: Promise<unknown> = Promise.resolve();

/**
 * Runs a line in this process if it is one mediactl command that ends by itself. One line in ten is left to the shell.
 *
 * @param environment from `createHome`, and more
 * @returns undefined if the line is for a shell
 */
export async function runInProcess(
  line: string,
  environment: Record<string, string | undefined>,
  stdin: Buffer | string = '',
): Promise<{ code: number; stderr: string } | undefined> {
  const args = argumentsOf(line);
  if (!args || readyText(line) || plainLines++ % 10 === 0) return undefined;
  const home = environment.HOME as string;
  const run = lastRun.then(async () => {
    const outside = process.cwd();
    process.chdir(home);
    try {
      const { code, stderr } = await new Cli(environment).run(args, { cwd: home, stdin });
      return { code, stderr };
    } finally {
      process.chdir(outside);
    }
  });
  lastRun = run.catch(() => {});
  return run;
}

/** Commands that run until they are interrupted, and the text that they print when ready. */
const endless = { 'mediactl browse': 'http://', 'mediactl worker': 'it reads files below' };

/** Returns the text that a command prints when it is ready to be interrupted; undefined for one that ends by itself. */
export const readyText = (line: string) => Object.entries(endless).find(([start]) => line.startsWith(start))?.[1];
