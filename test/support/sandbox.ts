import { EventEmitter, once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createSandbox, type Sandbox } from '../../src/sandbox/create.ts';
import type { SandboxOptions } from '../../src/sandbox/options.ts';
import { readWatchScripts } from '../../src/web/watch/server/page.ts';
import { temporaryFolder } from './temporary-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export const watchScripts = await readWatchScripts(`${root}dist`);
const mediaWorker = `${root}dist/media-worker.cjs`;
export const fixturePath = (name: string) => `${root}test/fixtures/${name}`;

export type TestSandbox = Sandbox & {
  dataDir: string;
  /** API key with all scopes. */
  key: string;
  /** Resolves when this sandbox has processed the asset. */
  afterProcessing(uid: string): Promise<unknown>;
  /** Stops the sandbox; its folder is removed at the end of the run. */
  end(): Promise<void>;
};

/**
 * True in strict mode, where the sandbox returns only the fields that the specification shows. No workspace is then known
 * to be the primary one, so tests that reach assets by folder are skipped.
 */
export const isStrict = process.env.MEDIACTL_TEST_STRICT === '1';

/** Option that a change by filter needs in strict mode, where the sandbox does not show the workspace of an asset. */
export const anyWorkspace: readonly string[] = isStrict ? ['--any-workspace'] : [];

/** Returns the value to expect: strict mode omits fields that the specification does not show. */
export const forSandboxMode = <T>({ normal, strict }: { normal: T; strict: T }): T => (isStrict ? strict : normal);

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    // It has exited. macOS says EPERM while this process has not collected it.
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

/** Starts a sandbox on a free port, in its own folder; without ffmpeg unless `options` names one. */
export async function startSandbox(options: Partial<SandboxOptions> = {}): Promise<TestSandbox> {
  const dataDir = options.dataDir ?? temporaryFolder();
  const processing = new EventEmitter().setMaxListeners(0);
  const sandbox = await createSandbox({
    port: 0,
    pid: process.pid,
    node: process.execPath,
    mediaWorker,
    killGroup,
    watchScripts,
    strict: isStrict,
    ...options,
    dataDir,
    log: (line) => {
      options.log?.(line);
      const [, uid] = /^asset (\S+) (?:ready|failed)$/.exec(line) ?? [];
      if (uid) processing.emit(uid);
    },
  });
  return {
    ...sandbox,
    dataDir,
    key: sandbox.createKey('test'),
    afterProcessing: (uid) => once(processing, uid),
    end: () => sandbox.close(),
  };
}
