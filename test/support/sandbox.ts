import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createSandbox, type Sandbox } from '../../src/sandbox/create.ts';
import type { SandboxOptions } from '../../src/sandbox/options.ts';
import { temporaryFolder } from './temporary.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export const playerScript = readFileSync(`${root}dist/player.js`, 'utf8');
const browseScript = readFileSync(`${root}dist/browse.js`, 'utf8');
const mediaWorker = `${root}dist/media-worker.cjs`;
export const fixture = (name: string) => `${root}test/fixtures/${name}`;

export type TestSandbox = Sandbox & {
  dataDir: string;
  /** A key with all scopes. */
  key: string;
  /** Stops it; its folder goes with the run. */
  end(): Promise<void>;
};

/** What tests run the sandbox as: everything it knows, or what the specification shows. */
export const isStrict = process.env.MEDIACTL_TEST_STRICT === '1';

/** What a test sees of a field that the specification does not show; in strict mode, what instead. */
export const unshown = <T>(seen: T, instead: T): T => (isStrict ? instead : seen);

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** A sandbox on a free port, in a folder of its own; without ffmpeg unless told which. */
export async function startSandbox(options: Partial<SandboxOptions> = {}): Promise<TestSandbox> {
  const dataDir = options.dataDir ?? temporaryFolder();
  const sandbox = await createSandbox({
    port: 0,
    pid: process.pid,
    node: process.execPath,
    mediaWorker,
    killGroup,
    playerScript,
    browseScript,
    strict: isStrict,
    ...options,
    dataDir,
  });
  return {
    ...sandbox,
    dataDir,
    key: sandbox.createKey('test'),
    end: () => sandbox.close(),
  };
}
