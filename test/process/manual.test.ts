import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildCommandTree } from '../../src/cli/program.ts';
import { allNodes } from '../../src/cli/reference/command-node.ts';
import { describeCommand } from '../../src/cli/reference/command-tree.ts';
import { shortcuts } from '../../src/cli/shortcuts.ts';
import {
  addProfiles,
  addProgram,
  answerYes,
  createHome,
  isOfQueue,
  readyText,
  runInProcess,
  setLastUpload,
  toRunnable,
} from '../support/command-lines.ts';
import { FileServer } from '../support/file-server.ts';
import { hangMs } from '../support/hang.ts';
import { has } from '../support/has.ts';
import { waitUntil } from '../support/machines.ts';
import { commandsIn, type PageCommand, readPage, userPages } from '../support/manual.ts';
import { rawHttp } from '../support/raw-http.ts';
import type { Requirement } from '../support/requirements.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { redis, type StoreServer } from '../support/stores.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/*
 * Runs the command lines of README.md and of the manual, those of a page in its order and in one home directory, as a
 * user who has a library and the files that the pages refer to. Most run in this process, the others in bash.
 */

/** Command lines that are not run here, and where they are tested. */
const elsewhere: Record<string, string> = {
  'npm ci && npm run demo': 'test/process/demo.test.ts',
  'npm ci && npm test': 'is what runs this test',
  'npm pack && npm install --global ./mediactl-*.tgz': 'changes the machine: scripts/test-install.mjs',
  'npm install --global ./mediactl-0.1.0.tgz': 'the same',
  'npm ci && npm pack && npm install --global ./mediactl-*.tgz': 'the same',
  'mediactl uploads forget ID --queue': 'needs a file that failed: test/command/queue.test.ts',
  'mediactl login --base-url https://media.example.com': 'asks for a key: test/process/terminal.test.ts',
  'mediactl login --profile ci --base-url https://media.example.com': 'the same',
  'mediactl login --profile NAME --base-url URL': 'the same',
  'mediactl login --key-store file': 'the same',
  'mediactl upload --queue': 'only names an option: test/process/fleet-redis.test.ts',
  'npm i express bullmq@6 ioredis @bull-board/express': 'asks the network',
  'node -e …': 'needs those packages',
  'mediactl upload rclone:s3:my-bucket/rushes /Moved --create-folders': 'test/process/rclone.test.ts',
  'mediactl upload rclone:archive:2026/ /Inbox': 'test/process/rclone.test.ts',
};

/** Command lines that exit with another code than 0 here, and why. */
const codes: Record<string, { code: number; why: string }> = {
  'mediactl folders create /New --profile sandbox-read': { code: 5, why: 'the page says so' },
  'mediactl check ./rushes /Campaigns': { code: 11, why: 'the folder has an asset that is not in the directory' },
  'mediactl check ./rushes /Campaigns/2026': { code: 11, why: 'the same' },
  'mediactl check ./rushes /Campaigns/2026 --download': { code: 11, why: 'the same' },
  'mediactl assets thumb ID -o poster.jpg': { code: 3, why: 'this sandbox has no ffmpeg' },
  'mediactl assets thumb interview.mp4 -o poster.jpg': { code: 3, why: 'the same' },
};

/** Pages of scripts, in which nothing answers questions. On the others the user answers yes. */
const unattended = ['docs/scripting.md', 'docs/recipes.md', 'docs/uploading.md'];

/** Name of a command in the tables and in the report. */
const nameOf = ({ text }: PageCommand) => (text.startsWith('node -e ') ? 'node -e …' : text);
const runsElsewhere = (command: PageCommand) => Object.hasOwn(elsewhere, nameOf(command));

/** Returns what a command line needs that this machine lacks; undefined if it can run. */
const missingFor = (line: string): Requirement | undefined =>
  isOfQueue(line) && !has('redis-server')
    ? 'redis-server'
    : (['jq', 'curl'] as const).flatMap((name) => (new RegExp(`\\b${name} `).test(line) && !has(name) ? name : []))[0];

const nodes = allNodes(describeCommand(await buildCommandTree('0.0.0')));
const knownCommands = new Set([
  ...nodes.flatMap(({ path, aliases }) => [path, ...aliases]),
  ...Object.keys(shortcuts).map((name) => `mediactl ${name}`),
]);

/** Returns true for inline code that only names a command. */
const isMention = ({ text, isInline }: PageCommand) => isInline && knownCommands.has(text);

/** As `missingFor`. A line of a block needs what the lines before it need, as it may read what they write. */
const missing = (commands: readonly PageCommand[], at: number): Requirement | undefined =>
  commands
    .slice(0, at + 1)
    .filter(({ block }, other) => other === at || (block !== undefined && block === commands[at]?.block))
    .flatMap(({ text }) => missingFor(text) ?? [])[0];

/** Inline commands that an earlier page or paragraph has run. */
const seen = new Set<string>();
const pages = userPages.flatMap((page) => {
  const commands = commandsIn(readPage(page)).filter((command) => {
    if (isMention(command) || (command.isInline && seen.has(command.text))) return false;
    seen.add(command.text);
    return true;
  });
  return commands.length > 0 ? { page, commands } : [];
});

/** Pages that are run at the same time. */
const concurrency = 4;

let library: { dataDir: string; lastUpload: string };
let store: StoreServer | undefined;
let files: FileServer;
/** Exit code and stderr of each command, by page; without a code if it did not run. */
const results = new Map<string, Promise<{ code?: number; stderr: string }[]>>();
/** Sandboxes that pages started. */
const ends: (() => unknown)[] = [];

beforeAll(async () => {
  files = await FileServer.start(readFileSync(fixturePath('clip.mp4')), (close) => ends.push(close));
  const { bytes } = files;
  files.fault = ({ headers }) => (headers.range ? undefined : { respond: (response) => response.end(bytes) });
  if (has('redis-server')) store = await redis.start();
  library = await createLibrary();
  let next = 0;
  const run = async (): Promise<void> => {
    const entry = pages[next++];
    if (!entry) return;
    const running = runPage(entry);
    results.set(entry.page, running);
    await running;
    return run();
  };
  await Promise.all(Array.from({ length: concurrency }, run));
}, 3 * hangMs);
afterAll(() => Promise.all([store?.end(), ...ends.map((end) => end())]));

/** Returns a video with content of its own: a `free` box (ISO 14496-12) at its end changes nothing else. */
const clipWith = (text: string) => {
  const box = Buffer.from(`0000free${text}`);
  box.writeUInt32BE(box.length);
  return Buffer.concat([readFileSync(fixturePath('clip.mp4')), box]);
};

const filesOfHome: Record<string, string | Buffer> = {
  'library/Inbox/A001.mp4': clipWith('one'),
  'library/Inbox/A002.mp4': clipWith('two'),
  'library/Inbox/spare.mp4': clipWith('spare'),
  'library/Campaigns/2026/teaser.mp4': clipWith('teaser'),
  'library/Archive/quay.mp4': clipWith('quay'),
  'library/Old/draft.mp4': clipWith('draft'),
  'interview.mp4': clipWith('interview'),
  'rushes/day1/B001.mp4': clipWith('rushes'),
  'build/trailer.mp4': clipWith('trailer'),
  'exports/cut.mp4': clipWith('cut'),
  'list.txt': 'clip.mp4\n',
  'move.csv': 'path,name,folder,tags\nhttps://example.com/quay.mp4,Quay,/Moved,sea;night\n',
  'vimeo.json': JSON.stringify({
    data: [
      {
        name: 'Harbour',
        description: 'Ships',
        tags: [{ canonical: 'sea' }],
        download: [
          { size: 1, link: 'https://example.com/small.mp4' },
          { size: 2, link: 'https://example.com/large.mp4' },
        ],
      },
    ],
  }),
  'mux.json': JSON.stringify({ data: [{ id: 'a1', master: { url: 'https://example.com/master.mp4' } }, { id: 'a2' }] }),
};

// Pages use workspace names, which strict mode omits.
const start = (dataDir: string) =>
  startSandbox({ dataDir, strict: false, rateLimit: { limit: 100_000, windowSeconds: 3600 } });

/** Creates the data folder of a sandbox with the library of a user. */
async function createLibrary() {
  const sandbox = await start(temporaryFolder());
  const { home, env } = createHome(sandbox, undefined);
  addProfiles(home, sandbox);
  addFiles(home);
  const mediactl = async (...args: string[]) =>
    (await promisify(execFile)('mediactl', args, { cwd: home, env })).stdout;
  await mediactl('upload', 'library', '--folder', '/', '--create-folders', '--wait');
  const uid = await mediactl('upload', 'interview.mp4', '--wait', '-q');
  await sandbox.end();
  return { dataDir: sandbox.dataDir, lastUpload: uid.trim() };
}

function addFiles(home: string): void {
  for (const [name, content] of Object.entries(filesOfHome)) {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), typeof content === 'string' ? toLocal(content) : content);
  }
  const anHourAgo = Date.now() / 1000 - 3600;
  utimesSync(join(home, 'exports/cut.mp4'), anHourAgo, anHourAgo);
  addProgram(home, 'aws', `echo ${new URL('/signed.mp4', files.url)}`);
}

/** Interrupts a command once it has printed a text. */
const interruptWhen = `
interrupt_when() {
  local ready=$1 log; shift; log=$(mktemp -p "$HOME")
  "$@" >"$log" 2>&1 & local pid=$!
  until grep -q "$ready" "$log" || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
  kill -INT $pid; wait $pid; local code=$?
  cat "$log" >&2; return $code
}`;

function copyOfLibrary(): string {
  const copy = temporaryFolder();
  cpSync(library.dataDir, copy, { recursive: true });
  return copy;
}

async function runPage({ page, commands }: (typeof pages)[number]) {
  const service = await start(copyOfLibrary());
  ends.push(() => service.end());
  const { home, env } = createHome(service, store);
  addFiles(home);
  // The page starts a sandbox of its own, or uses one with a profile.
  const startsSandbox = commands.some(({ text }) => text === 'mediactl sandbox start');
  if (startsSandbox) cpSync(library.dataDir, join(home, 'state/sandbox'), { recursive: true });
  else addProfiles(home, service);
  setLastUpload(home, library.lastUpload, service.url);
  if (startsSandbox) ends.push(() => spawnSync(join(home, 'bin/mediactl'), ['sandbox', 'stop'], { cwd: home, env }));
  const variables: Record<string, string | undefined> = {
    ...env,
    MEDIACTL_FFMPEG: 'none',
  };
  const isAttended = !unattended.includes(page);
  if (isAttended) answerYes(home);
  const clip = readFileSync(join(home, 'clip.mp4'));
  const shell = new Shell(home, variables);
  ends.push(() => shell.end());
  const results: { code?: number; stderr: string }[] = [];
  for (const [at, command] of commands.entries()) {
    if (runsElsewhere(command) || missing(commands, at)) {
      results.push({ stderr: '' });
      continue;
    }
    const typed = toTyped(command, { home, service });
    Object.assign(variables, exportedBy(typed));
    results.push(
      (!shell.hasMoved && (await runInProcess(isAttended ? `${typed} --yes` : typed, variables, clip))) ||
        (await shell.run(typed)),
    );
    if (/^mediactl (?:upload|sync) /.test(typed)) await allProcessed(service);
  }
  return results;
}

/** Waits until a service has processed its assets, as a user does before a line that plays or downloads one. */
async function allProcessed(service: TestSandbox): Promise<void> {
  const { call } = rawHttp(() => service);
  await waitUntil(async () => {
    const { items } = await (await call('GET', '/assets/?status=processing&limit=1')).json();
    return items.length === 0;
  });
}

/** Returns the variables that a line exports with plain values. */
const exportedBy = (line: string): Record<string, string> =>
  /^export [^$`\n]+$/.test(line)
    ? Object.fromEntries([...line.matchAll(/ (\w+)=(\S*)/g)].map(([, name, value]) => [name, value]))
    : {};

/** A shell in which the lines of a page run, one after the other. */
class Shell {
  /** True once a line has changed the working directory. */
  hasMoved = false;
  readonly #child: ChildProcess;
  readonly #home: string;
  readonly #ended: Promise<void>;
  #output = '';
  #onOutput = () => {};

  constructor(home: string, env: Record<string, string | undefined>) {
    this.#home = home;
    this.#child = spawn('bash', [], { cwd: home, env, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#ended = new Promise((resolve) => this.#child.once('close', () => resolve()));
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text;
        this.#onOutput();
      });
    this.#child.stdin?.write(`set -o pipefail; ${interruptWhen}\n`);
  }

  /** Runs a line, or a script of several. @returns its exit code and stderr; no code if the shell has ended */
  async run(line: string): Promise<{ code?: number; stderr: string }> {
    const [script, errors] = [join(this.#home, 'line.sh'), join(this.#home, 'line.stderr')];
    this.hasMoved ||= /^cd /m.test(line);
    writeFileSync(script, line);
    this.#output = '';
    const exitCode = new Promise<number>((resolve) => {
      this.#onOutput = () => {
        const [, code] = /^exit code (\d+)$/m.exec(this.#output) ?? [];
        if (code !== undefined) resolve(Number(code));
      };
    });
    const command = line.includes('\n') ? 'bash line.sh' : line;
    this.#child.stdin?.write(`{ ${command}\n} <"$HOME/clip.mp4" >/dev/null 2>"${errors}"; echo "exit code $?"\n`);
    const code = await Promise.race([exitCode, this.#ended]);
    return code === undefined ? { stderr: this.#output } : { code, stderr: readText(errors) };
  }

  end(): Promise<void> {
    this.#child.stdin?.end();
    return this.#ended;
  }
}

const readText = (path: string) => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

/** Replaces the addresses of a web server by those of a local one. */
const toLocal = (text: string) => text.replaceAll('https://example.com', new URL(files.url).origin);

/** Returns what a user types for a command of a page. */
function toTyped({ text, isInline }: PageCommand, { home, service }: { home: string; service: TestSandbox }): string {
  const line = toRunnable(toLocal(text), { home, sandbox: service, store, uid: library.lastUpload }).replace(
    'MEDIACTL_API_KEY=…',
    `MEDIACTL_API_KEY=${service.key}`,
  );
  const filled = isInline ? fillPlaceholders(line) : line;
  // The worker of an earlier line has ended.
  if (/uploads watch/.test(filled)) return `( mediactl worker & ${filled}; e=$?; kill %1; exit $e )`;
  const ready = readyText(filled);
  return ready ? `interrupt_when '${ready}' ${filled}` : filled;
}

const placeholders = (): [RegExp, string][] => [
  [/\brm ID\b/, 'rm /Inbox/spare.mp4'],
  [/\bID\b/, library.lastUpload],
  [/\bFILE\b/, './clip.mp4'],
  [/\bNAME\b/, 'staging'],
  [/\bDOMAIN\b/, 'www.example.com'],
  [/\bWORDS\b/, 'quay'],
  [/\bADDRESS\b/, "'http://127.0.0.1:4000/b/any/?search=quay'"],
];

const fillPlaceholders = (line: string) =>
  placeholders()
    .reduce((filled, [pattern, by]) => filled.replace(pattern, by), line)
    .replace(/\bURL\b/, files.url);

it('commands that are not run, or fail, are on a page still', () => {
  const all = pages.flatMap(({ commands }) => commands.map(nameOf));
  for (const line of [...Object.keys(elsewhere), ...Object.keys(codes)]) expect(all).toContain(line);
});

for (const { page, commands } of pages)
  describe(page, () => {
    for (const [at, command] of commands.entries())
      if (!runsElsewhere(command))
        it(nameOf(command), async ({ skip }) => {
          const { text } = command;
          const reason = missing(commands, at);
          skip(reason !== undefined, reason);
          const result = (await results.get(page))?.[at];
          const expected = codes[text]?.code ?? 0;
          expect(result).toEqual({ code: expected, stderr: result?.code === expected ? result.stderr : '' });
        });
  });
