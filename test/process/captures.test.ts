import { mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Fault, FaultProxy, type ProxiedRequest, respondWith } from '../support/fault-proxy.ts';
import { shellQuote } from '../support/pty.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';
import { Screen } from '../support/screen.ts';
import { mediactlCommand, mediactlFile } from '../support/spawn.ts';
import { renderSvg, textOfSvg } from '../support/svg-screen.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/*
 * Screen captures of the built program on real terminals of three widths, against a real sandbox. Each scene is
 * a text file in captures/ for review. `MEDIACTL_TEST_PICTURES=1 npx vitest run test/process/captures.test.ts -u`
 * updates them and the pictures of README and manual. Values that vary (rates, seconds, ports) are replaced by constants
 * of the same width.
 */

const mebibyte = 1024 * 1024;
const widths = [40, 80, 120];
/** Scenes that README and manual show, and their widths. */
const pictures: Record<string, number> = { resume: 80, table: 120, choice: 80 };

let sandbox: TestSandbox;
let home: string;
const twins: string[] = [];

beforeAll(async () => {
  // Seeded assets, the same each time.
  sandbox = await startSandbox({ strict: false, seed: 40 });
  home = temporaryFolder();
  for (const day of ['day1', 'day2']) {
    mkdirSync(join(home, 'rushes', day), { recursive: true });
    writeFileSync(join(home, 'rushes', day, 'note.txt'), day);
  }
  writeFileSync(join(home, 'rushes.mov'), Buffer.alloc(48 * mebibyte, 7));
  writeFileSync(join(home, 'harbour.mov'), '');
  truncateSync(join(home, 'harbour.mov'), 120 * mebibyte); // three chunks
  const listed = await fetch(`${sandbox.url}/api/external/v1/assets/?limit=40`, {
    headers: { authorization: `Bearer ${sandbox.key}` },
  });
  const { items } = (await listed.json()) as { items: { uid: string; type: string }[] };
  twins.push(...items.filter(({ type }) => type === 'video').map(({ uid }) => uid));
  for (const uid of twins.slice(0, 3))
    await fetch(`${sandbox.url}/api/external/v1/assets/${uid}/`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${sandbox.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Harbour at dusk' }),
    });
});
afterAll(() => sandbox.end());

const environment = (more = {}) => ({
  MEDIACTL_CONFIG_DIR: join(home, 'config'),
  MEDIACTL_STATE_DIR: join(temporaryFolder(), 'state'),
  MEDIACTL_KEY_STORE: 'file',
  MEDIACTL_API_KEY: sandbox.key,
  MEDIACTL_BASE_URL: sandbox.url,
  MEDIACTL_WORKSPACE: sandbox.workspace,
  TERM: 'xterm-256color',
  LANG: 'C.UTF-8',
  HOME: home,
  ...more,
});

/** Prints the command as typed at a prompt, then runs it. */
const typeAndRun = (...args: string[]) =>
  `echo ${shellQuote([`$ mediactl ${args.map((arg) => (/ /.test(arg) ? `"${arg}"` : arg)).join(' ')}`])}; ${mediactl(...args)}`;
const mediactl = (...args: string[]) => shellQuote([...mediactlCommand, ...args]);

const uploadOf48MiB = (chunkSize: string) =>
  `cd ${shellQuote([home])}; ${mediactl('upload', 'rushes.mov', '--chunk-size', chunkSize)}`;

/** Never responds to one chunk, so that the upload stands still for the capture. */
const stalledAt =
  (chunk: number) =>
  ({ method, nth }: ProxiedRequest): Fault | undefined =>
    method === 'PATCH' && nth === chunk ? { respond: (_response, request) => void request.resume() } : undefined;

type Scene = {
  /** Returns the command to run and the text that ends the capture. */
  commandFor(columns: number): Promise<{
    command: string;
    until: RegExp;
    environment?: object;
    /** Continues the session before the capture, such as by typing the next command. */
    act?: (screen: Screen) => Promise<void>;
  }>;
};

/** A person at a shell's prompt stops an upload, kills it, and types the same command again. */
async function uploadKilledAndResumed(): ReturnType<Scene['commandFor']> {
  const bin = temporaryFolder();
  symlinkSync(mediactlFile, join(bin, 'mediactl'));
  const upload = 'mediactl upload harbour.mov\r';
  return {
    command: `cd ${shellQuote([home])}; PATH=${shellQuote([bin])}:$PATH PS1='$ ' exec bash --norc --noprofile -i`,
    until: /verified\n[\s\S]*\n\$$/,
    environment: await faulty(stalledAt(2)),
    act: async (screen) => {
      await screen.waitForText(/^\$$/);
      screen.type(upload);
      await screen.waitForText(/83%[\s\S]*ETA/);
      screen.type('\x1a'); // Ctrl-Z
      await screen.waitForText(/Stopped[\s\S]*\n\$$/);
      screen.type('kill -9 %1; sleep 1\r'); // the shell reports the end of a job between two commands
      await screen.waitForText(/Killed[\s\S]*\n\$$/);
      screen.type(upload);
    },
  };
}

/** Returns the environment of an empty service with faults. */
async function faulty(plan: (seen: ProxiedRequest) => Fault | undefined) {
  const service = await startSandbox();
  onTestFinished(() => service.end());
  return {
    MEDIACTL_BASE_URL: (await FaultProxy.start(service.url, plan)).url,
    MEDIACTL_API_KEY: service.key,
    MEDIACTL_WORKSPACE: service.workspace,
  };
}

const scenes: Record<string, Scene> = {
  upload: {
    commandFor: async (columns) => ({
      command: uploadOf48MiB('10MiB'),
      // All 30 MiB are sent; below 60 columns, sizes are not shown.
      until: columns < 60 ? /62%[\s\S]*ETA/ : /62%[\s\S]*30\.0 MiB of[\s\S]*ETA/,
      environment: await faulty(stalledAt(3)),
    }),
  },
  resume: { commandFor: uploadKilledAndResumed },
  'rate-limited': {
    commandFor: async () => ({
      command: uploadOf48MiB('20MiB'),
      until: /retrying in/,
      environment: await faulty(({ method, nth }) =>
        method === 'PATCH' && nth === 2 ? respondWith(429, { error: {} }, { 'retry-after': '1799' }) : undefined,
      ),
    }),
  },
  outage: {
    commandFor: async () => ({
      command: uploadOf48MiB('20MiB'),
      until: /retrying in [1-9]/,
      environment: await faulty(({ method, nth }) =>
        (method === 'PATCH' && nth >= 2) || method === 'HEAD'
          ? respondWith(503, { error: {} }, { 'retry-after': '59' })
          : undefined,
      ),
    }),
  },
  table: { commandFor: async () => ({ command: typeAndRun('ls', '--limit', '8', '--type', 'video'), until: /\n\$$/ }) },
  tree: { commandFor: async () => ({ command: typeAndRun('folders', 'tree'), until: /\n\$$/ }) },
  choice: {
    commandFor: async () => ({ command: typeAndRun('get', 'Harbour at dusk'), until: /Which one\?[\s\S]*\d{2}/ }),
  },
  error: {
    commandFor: async () => ({
      command: `${typeAndRun('ls', '--pretty')}; ${typeAndRun('get', 'nosuch.mp4')}`,
      until: /nosuch[\s\S]*try[\s\S]*\n\$$/,
    }),
  },
  help: { commandFor: async () => ({ command: typeAndRun('rm', '--help'), until: /\n\$$/ }) },
  topic: { commandFor: async () => ({ command: typeAndRun('help', 'scripting'), until: /\n\$$/ }) },
  question: {
    commandFor: async () => ({
      command: `cd ${shellQuote([home])}; ${typeAndRun('upload', 'rushes', '/News/2026/11')}`,
      until: /\[y\/N\]/,
    }),
  },
};
/** Scenes of text, without columns that a narrow terminal leaves out. */
const texts = ['help', 'topic', 'error', 'question'];

/** Replaces uids after the word "asset", where a line may end between the two. */
const maskUids = (text: string) =>
  text.replace(/(?<=asset\s+)[0-9a-f-]{8,36}/g, (uid) => uid.replace(/[0-9a-f]/g, '0'));

/** Replaces values that differ from run to run by constants of the same width. */
const maskVaryingValues = (line: string) =>
  line
    .replace(/ {2} *[\d.]+ [KMG]?i?B\/s/, (rate) => `  ${'12.0 MiB/s'.padStart(rate.length - 2)}`)
    .replace(/ {2} *ETA [\d:]+s?/, (eta) => `  ${'ETA 2s'.padStart(eta.length - 2)}`)
    .replace(/127\.0\.0\.1:\d+/, (host) => 'media.example.com'.slice(0, host.length))
    .replace(/\d{4}-\d\d-\d\d/, '2026-03-01')
    .replace(/retrying in [\d:]+s?/, 'retrying in 29:59')
    .replace(/[0-9a-f]{16}/, '0123456789abcdef');

describe('captures', { tags: ['script', 'undocumented-fields'] }, () => {
  for (const [name, { commandFor }] of Object.entries(scenes))
    for (const columns of widths)
      it(`the scene "${name}" on a terminal of ${columns} columns matches its capture`, async () => {
        const { command, until, environment: more, act } = await commandFor(columns);
        const screen = new Screen(`${command}; printf '$ '; sleep 60`, environment(more), { columns });
        await act?.(screen);
        await screen.waitForText(until);
        const { lines, cells } = screen;
        screen.kill();
        if (process.env.MEDIACTL_TEST_PICTURES && pictures[name] === columns) {
          mkdirSync('docs/images', { recursive: true });
          writeFileSync(`docs/images/${name}.svg`, renderSvg(`mediactl in a terminal: ${name}`, cells));
        }
        for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
        const text = maskUids(lines.map(maskVaryingValues).join('\n'));
        await expect(`${text}\n`).toMatchFileSnapshot(`captures/${name}-${columns}.txt`);
      });
});

it.each(Object.entries(pictures))('the picture of the scene "%s" shows its capture of %i columns', (name, columns) => {
  const shown = textOfSvg(readFileSync(`docs/images/${name}.svg`, 'utf8'))
    .map(maskVaryingValues)
    .join('\n');
  const captured = readFileSync(join(import.meta.dirname, `captures/${name}-${columns}.txt`), 'utf8');
  expect(`${maskUids(shown)}\n`.replaceAll(' ', '')).toBe(captured.replaceAll(' ', ''));
});

it.each(texts)('no word of the scene "%s" is broken at the edge of a narrow terminal', (name) => {
  const wordsOf = (columns: number) => {
    const text = readFileSync(join(import.meta.dirname, `captures/${name}-${columns}.txt`), 'utf8');
    // The shell prints the command line, and breaks it anywhere.
    return text.replace(/^\$ mediactl[\s\S]*?(?=\n[A-Za-z0-9])/gm, '').split(/\s+/);
  };
  const wordsOfWideTerminal = new Set(wordsOf(120));
  for (const columns of [40, 80]) expect(wordsOf(columns).filter((word) => !wordsOfWideTerminal.has(word))).toEqual([]);
});

describe('window size', { tags: 'script' }, () => {
  it('upload redraws one progress line when the terminal is resized, without leftover fragments', async () => {
    const stalling = environment(await faulty(stalledAt(3)));
    const screen = new Screen(`${uploadOf48MiB('10MiB')}; sleep 60`, stalling, { columns: 110 });
    await screen.waitForText(/62%[\s\S]*ETA/); // 30 of 48 MiB
    for (const columns of [70, 44, 90, 41, 120]) {
      screen.resize(columns);
      // There is exactly one progress line, at full width.
      await screen.waitForText(/^.*asset[\s\S]*\n {2}[█▒░]+ +62%.*ETA \S+$/m);
      await expect.poll(() => screen.lines.filter((line) => line.includes('█'))).toHaveLength(1);
      expect(Math.max(...screen.lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
    }
    screen.kill();
  });
});
