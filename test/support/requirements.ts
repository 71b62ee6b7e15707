import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { hangMs } from './hang.ts';

/*
 * Optional requirements of tests, such as installed programs. A test names its requirements as tags. Vitest skips it if
 * one is missing, and the summary at the end of the run lists the reasons (summary-reporter.ts).
 */

/** Environment without faketime, because redis-server hangs with its library. */
const { LD_PRELOAD: _preloaded, ...environment } = process.env;

const succeeds = (command: string, ...args: string[]) =>
  spawnSync(command, args, { stdio: 'ignore', env: environment, timeout: hangMs }).status === 0;

/** Returns the paths of a program in the folders of PATH, in their order. */
export const onPath = (name: string): string[] =>
  (process.env.PATH ?? '').split(':').flatMap((folder) => (existsSync(join(folder, name)) ? join(folder, name) : []));

/** Paths of programs; empty if not installed. */
export const programPaths = {
  /** Debian's chromium, preferably the headless shell, which starts twice as fast. */
  chromium: ['chromium-headless-shell', 'chromium'].flatMap(onPath)[0] ?? '',
  python: onPath('python3').find((path) => succeeds(path, '-c', 'import tusclient')) ?? '',
  rclone: onPath('rclone')[0] ?? '',
};

/** Folder of the media files that `node scripts/media-samples.mjs` fetches. */
export const mediaSamples = 'node_modules/.cache/media-samples';

const isLinux = process.platform === 'linux';

/** Requirements by tag, each with a function that checks whether this machine meets it. */
const requirements = {
  b3sum: () => succeeds('b3sum', '--version'),
  // The compiler of the executable, which `npm run release` and `npm run test:executable` download.
  bun: () => existsSync('node_modules/.cache/bun'),
  chromium: () => programPaths.chromium !== '',
  curl: () => succeeds('curl', '--version'),
  faketime: () => succeeds('faketime', '--version'),
  ffmpeg: () => succeeds('ffmpeg', '-version') && succeeds('ffprobe', '-version'),
  fish: () => succeeds('fish', '--version'),
  'gnome-keyring': () => succeeds('dbus-run-session', '--version') && succeeds('gnome-keyring-daemon', '--version'),
  jq: () => succeeds('jq', '--version'),
  less: () => succeeds('less', '--version'),
  'media-samples': () => existsSync(mediaSamples),
  openssl: () => succeeds('openssl', 'version'),
  pdftoppm: () => succeeds('pdftoppm', '-v'),
  rclone: () => programPaths.rclone !== '',
  'redis-server': () => succeeds('redis-server', '--version'),
  // util-linux's script(1), which gives a process a pseudoterminal.
  script: () => succeeds('script', '--version'),
  shellcheck: () => succeeds('shellcheck', '--version'),
  soffice: () => succeeds('soffice', '--version'),
  strace: () => succeeds('strace', '-o', '/dev/null', 'true'),
  'systemd-analyze': () => succeeds('systemd-analyze', '--version'),
  tuspy: () => programPaths.python !== '',
  zsh: () => succeeds('zsh', '--version'),
  Linux: () => isLinux,
  /** Modes of files, which Windows does not have. */
  'file-modes': () => process.platform !== 'win32',
  /** Root with permission to mount, which containers often lack. */
  'root-mount': () =>
    isLinux && process.getuid?.() === 0 && succeeds('unshare', '-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'),
  /** User namespaces in which a process may mount, have its own pids and no network. */
  'user-namespaces': () => succeeds('unshare', '-rmpfn', 'sh', '-c', 'mount -t tmpfs none /mnt'),
  /** Response fields that the specification does not mention and strict mode omits. */
  'undocumented-fields': () => process.env.MEDIACTL_TEST_STRICT !== '1',
} satisfies Record<string, () => boolean>;

export type Requirement = keyof typeof requirements;

export const allRequirements = Object.keys(requirements) as Requirement[];

/** Returns the requirements that this machine does not meet. */
export const findMissing = (): Requirement[] => allRequirements.filter((name) => !requirements[name]());
