import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Cli } from './cli.ts';
import { inherited } from './environment.ts';
import { FileServer } from './file-server.ts';
import { hangMs } from './hang.ts';
import { has } from './has.ts';
import { waitUntil } from './machines.ts';
import { startRedis } from './redis-server.ts';
import { fixturePath, startSandbox, type TestSandbox } from './sandbox.ts';
import { mediactlFile } from './spawn.ts';
import { temporaryFolder } from './temporary-folder.ts';

/* Runs the command lines of documentation, as a user who has the library, files and programs that they refer to. */

/** Fixtures that all users read and none of them changes. */
export type Fixtures = {
  /** Data folder of a sandbox with the library of a new user. */
  library: string;
  /** The last upload to the library, and a playback token for it. */
  uid: string;
  token: string;
  /** Origin of a web server that has a video at each address. */
  origin: string;
  /** Address of a queue's store; undefined if this machine has none. */
  store: string | undefined;
  end(): Promise<unknown>;
};

/** Assets of the library, besides the last upload. */
const assets = [
  'Inbox/A001.mp4',
  'Inbox/A002.mp4',
  'Inbox/spare.mp4',
  'Campaigns/2026/intro',
  'Campaigns/2026/teaser.mp4',
  'Archive/quay.mp4',
  'Old/draft.mp4',
];

export async function createFixtures(): Promise<Fixtures> {
  const ends: (() => unknown)[] = [];
  const files = await FileServer.start(clipWith('web'), (close) => ends.push(close));
  const store = has('redis-server') ? await startRedis() : undefined;
  const end = () => Promise.all([store?.end(), ...ends.map((each) => each())]);
  const library = temporaryFolder();
  const fixtures = { library, uid: '', token: '', origin: new URL(files.url).origin, store: store?.address, end };
  const owner = await DocumentationUser.start(fixtures, { name: 'owner' });
  const type = async (line: string) => {
    const { code, stdout, stderr } = await owner.run(line);
    if (code !== 0) throw new Error(`${line}: ${stderr}`);
    return stdout.trim();
  };
  for (const name of assets) owner.createFiles({ [`library/${name}`]: clipWith(name) });
  owner.createFiles({ 'interview.mp4': clipWith('interview') });
  await type('mediactl upload library --folder / --create-folders');
  const uid = await type('mediactl upload interview.mp4 -q');
  const token = await type('mediactl assets player-data @last --show-token --jq .playback_token');
  await owner.end();
  return { ...fixtures, library: owner.service.dataDir, uid, token };
}

const clip = readFileSync(fixturePath('clip.mp4'));

/** Returns a video with content of its own: a `free` box (ISO 14496-12) at its end changes nothing else. */
function clipWith(text: string): Buffer {
  const box = Buffer.from(`0000free${text}`);
  box.writeUInt32BE(box.length);
  return Buffer.concat([clip, box]);
}

type UserOptions = {
  name: string;
  /** True to answer every prompt with yes. By default no prompt is answered. */
  answersYes?: boolean;
  /** Starts sandboxes, the first of them with the library. Otherwise the user has profiles for a service. */
  startsSandbox?: boolean;
};

/** A user who types the command lines of one page, with a home directory and a service of their own. */
export class DocumentationUser {
  readonly service: TestSandbox;
  readonly #home = temporaryFolder();
  readonly #options: UserOptions;
  /** Maps placeholders of the documentation to values of this test. */
  readonly #replacements: [RegExp | string, string][];
  /** Environment variables, which lines change. */
  #variables: Record<string, string | undefined>;

  private constructor(fixtures: Fixtures, service: TestSandbox, options: UserOptions) {
    this.service = service;
    this.#options = options;
    const home = this.#home;
    const queue = `${fixtures.store}#${options.name.replace(/\W/g, '-')}`;
    this.#replacements = [
      ['https://media.example.com', service.url],
      ['https://example.com', fixtures.origin],
      ['MEDIACTL_API_KEY=…', `MEDIACTL_API_KEY=${service.key}`],
      ['redis://queue.lan', queue],
      [/\/mnt\/(?:media|nas)|\/Volumes\/media/g, home],
      [/ --port \d+/g, ''],
      [/sandbox start|browse --no-open/g, '$& --port 0'], // ports may be in use here
      [/\brm ID\b/g, 'rm /Inbox/spare.mp4'],
      [/\b(?:UID|ID)\b/g, fixtures.uid],
      [/\bTOKEN\b/g, fixtures.token],
      [/\bFILE\b/g, './clip.mp4'],
      [/\bNAME\b/g, 'staging'],
      [/\bDOMAIN\b/g, 'www.example.com'],
      [/\bWORDS\b/g, 'quay'],
      [/\bURL\b/g, `${fixtures.origin}/day1.mp4`],
    ];
    this.#variables = {
      ...inherited,
      PATH: `${join(home, 'bin')}:${process.env.PATH}`,
      HOME: home,
      PWD: home,
      SHELL: '/bin/bash',
      MEDIACTL_CONFIG_DIR: join(home, 'config'),
      MEDIACTL_STATE_DIR: join(home, 'state'),
      MEDIACTL_KEY_STORE: 'file',
      MEDIACTL_FFMPEG: 'none',
      ...(fixtures.store && { MEDIACTL_QUEUE: queue }),
    };
  }

  static async start(fixtures: Fixtures, options: UserOptions): Promise<DocumentationUser> {
    const dataDir = temporaryFolder();
    cpSync(fixtures.library, dataDir, { recursive: true });
    // Lines use workspace names, which strict mode omits.
    const service = await startSandbox({ dataDir, strict: false, rateLimit: { limit: 100_000, windowSeconds: 3600 } });
    const user = new DocumentationUser(fixtures, service, options);
    user.createFiles(user.#filesFor(fixtures));
    const anHourAgo = Date.now() / 1000 - 3600;
    utimesSync(join(user.#home, 'exports/cut.mp4'), anHourAgo, anHourAgo);
    if (options.startsSandbox) cpSync(fixtures.library, join(user.#home, 'state/sandbox'), { recursive: true });
    return user;
  }

  #filesFor({ uid, token, origin }: Fixtures): Record<string, string | Buffer> {
    const { url: baseUrl, key, workspace } = this.service;
    const profile = { baseUrl, key, keyStore: 'file', workspace };
    const profiles = { default: profile, staging: profile, production: profile };
    const vimeo = { name: 'Harbour', description: 'Ships', tags: [{ canonical: 'sea' }] };
    const download = ['small', 'large'].map((name, size) => ({ size, link: `${origin}/${name}.mp4` }));
    const yes = this.#options.answersYes ? '--yes' : '';
    return {
      // Stand-ins for programs of which only the invocation is tested.
      'bin/mpv': '#!/bin/sh\ncase "$1" in http*) exit 0 ;; *) exit 1 ;; esac',
      'bin/ffmpeg': '#!/bin/sh\ncat in.mov',
      'bin/ssh': '#!/bin/sh\nshift; exec "$@"',
      'bin/aws': `#!/bin/sh\necho ${origin}/signed.mp4`,
      'bin/mediactl': `#!/bin/sh\nexec '${mediactlFile}' "$@" ${yes}`,
      'state/last-upload': JSON.stringify({ uid, base_url: baseUrl }),
      'clip.mp4': clip,
      'in.mov': clip,
      'a.mp4': clip,
      'b.mp4': clip,
      // Files of a clone.
      ...Object.fromEntries(
        ['clip.mp4', 'still.jpg', 'tone.mp3'].map((name) => [`test/fixtures/${name}`, readFileSync(fixturePath(name))]),
      ),
      'rushes/still.jpg': readFileSync(fixturePath('still.jpg')),
      'rushes/clip.mov': clip,
      'rushes/day1/B001.mp4': clipWith('rushes'),
      'build/trailer.mp4': clipWith('trailer'),
      'exports/cut.mp4': clipWith('cut'),
      'names.csv': `uid;name;description\n${uid};Quay;NONE\n`,
      'list.txt': 'clip.mp4\n',
      'shots.csv': 'path,name\nclip.mp4,Quay\n',
      'move.csv': `path,name,folder,tags\n${origin}/quay.mp4,Quay,/Moved,sea;night\n`,
      'vimeo.json': JSON.stringify({ data: [{ ...vimeo, download }] }),
      'mux.json': JSON.stringify({ data: [{ id: 'a1', master: { url: `${origin}/master.mp4` } }, { id: 'a2' }] }),
      'sent.jsonl': '',
      'key.txt': key,
      'token.txt': token,
      'queue-url.txt': 'redis://queue.lan\n',
      'domains.txt': 'news.example.com\n',
      ...(!this.#options.startsSandbox && { 'config/config.json': JSON.stringify({ current: 'default', profiles }) }),
    };
  }

  createFiles(files: Record<string, string | Buffer>): void {
    for (const [name, content] of Object.entries(files)) {
      const path = join(this.#home, name);
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      writeFileSync(path, content, { mode: 0o700 });
    }
  }

  /** Runs a command line, or a script of several lines: in this process if it is one command, otherwise in bash. */
  async run(line: string): Promise<{ code: number; stdout: string; stderr: string }> {
    const typed = this.#replacements.reduce((text, [from, to]) => text.replaceAll(from, to), line);
    const args = argumentsOf(typed);
    const result = args ? await this.#runInProcess(args) : await this.#runInBash(typed);
    if (/^mediactl (?:upload|sync) /.test(line)) await this.#allProcessed();
    return result;
  }

  #runInProcess(args: readonly string[]) {
    const run = lastRun.then(async () => {
      const outside = process.cwd();
      const cwd = this.#variables.PWD as string;
      process.chdir(cwd);
      try {
        const answers = this.#options.answersYes ? ['--yes'] : [];
        return await new Cli(this.#variables).run([...args, ...answers], { cwd, stdin: clip });
      } finally {
        process.chdir(outside);
      }
    });
    lastRun = run.catch(() => {});
    return run;
  }

  /** Runs a line in bash, and keeps its variables and its directory for later lines. */
  async #runInBash(line: string) {
    const prepare = `set -a -o pipefail; trap 'env -0 >"$HOME/variables"' EXIT; exec <"$HOME/clip.mp4"`;
    const options = { cwd: this.#variables.PWD, env: this.#variables, timeout: hangMs };
    const result = await promisify(execFile)('bash', ['-c', `${prepare}\n${scriptOf(line)}`], options).then(
      (output) => ({ code: 0, ...output }),
      (error: { code: number; stdout: string; stderr: string }) => error,
    );
    const variables = readFileSync(join(this.#home, 'variables'), 'utf8').matchAll(/([^=\0]+)=([^\0]*)\0/g);
    this.#variables = Object.fromEntries([...variables].map(([, name, value]) => [name, value]));
    return result;
  }

  /** Waits until the service has processed its assets, as a user does before a line that plays or downloads one. */
  async #allProcessed(): Promise<void> {
    const url = `${this.service.url}/api/external/v1/assets/?status=processing`;
    const headers = { authorization: `Bearer ${this.service.key}` };
    await waitUntil(async () => {
      const { items } = (await (await fetch(url, { headers })).json()) as { items: unknown[] };
      return items.length === 0;
    });
  }

  async end(): Promise<void> {
    if (this.#options.startsSandbox) await this.run('mediactl sandbox stop');
    await this.service.end();
  }
}

/** The last run in this process. The next one waits for it, since a process has one working directory. */
let lastRun: Promise<unknown> = Promise.resolve();

/**
 * Returns the arguments of a line that is one mediactl command which ends by itself; undefined if a shell would do more
 * with the line than split it and remove quotes.
 */
function argumentsOf(line: string): string[] | undefined {
  if (!/^mediactl (?:[\w@%+=:,./# -]|'[^'\n]*'|"[^"$`\\\n]*")+$/.test(line) || scriptOf(line) !== line)
    return undefined;
  const words = line.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? [];
  return words.slice(1).map((word) => word.replace(/'([^']*)'|"([^"]*)"/g, '$1$2'));
}

/** Commands that run until they are interrupted, and a text that they print when ready. */
const endless = { browse: 'http:', 'queue work': 'it reads files below', 'sync ./exports': 'a file is uploaded once' };

/** Returns a script for a line: it interrupts a command that is endless, and runs a worker for one that waits for it. */
function scriptOf(line: string): string {
  if (/queue watch|--queue .*--wait/.test(line)) return `mediactl queue work & ${line}; code=$?; kill $!; exit $code`;
  const [, ready] = Object.entries(endless).find(([name]) => line.startsWith(`mediactl ${name}`)) ?? [];
  if (!ready) return line;
  return `exec 3< <(exec 2>&1; exec ${line}); sed '/${ready}/q' <&3 >&2; kill -INT $!; cat <&3 >&2; wait $!`;
}
