import type { Candidates } from '../decide/decide.ts';
import type { UploadSettings } from '../decide/upload-settings.ts';
import type { FileOutcome } from '../session/file-outcome.ts';
import { createThrottle } from '../session/throttle.ts';
import { type BatchRun, BatchUploader, type RunResult } from './batch-uploader.ts';
import { markIdOf } from './plan.ts';
import type { UploadPorts } from './upload-ports.ts';

/** The files of a run, and what identifies it. */
export type RunFiles = {
  files: Candidates;
  /** Inputs that identify the run when it is repeated (see `markIdOf`); undefined for a run of one file. */
  identity?: readonly string[] | undefined;
  /** Creates the run if workers upload the files instead of this process, or if it has no end. */
  createRun?: ((settings: UploadSettings, ports: UploadPorts) => BatchRun) | undefined;
};

export type StartedRun = {
  /** Yields the outcome of each file as it becomes known. The run goes on even if nothing reads them. */
  outcomes: AsyncGenerator<FileOutcome[]>;
  /** The result of the run; final once `outcomes` has ended. */
  readonly result: RunResult;
  /** Id of the newest receipt when the run was started for the first time. */
  startMark: number;
  /** Forgets when the run was started, since it is complete. */
  forget(): Promise<void>;
};

/**
 * Starts an upload run: the only assembly of one, for the command line, the page, the package, resumed uploads and
 * queues.
 */
export async function startUploads(
  settings: UploadSettings,
  given: UploadPorts,
  { files, identity, createRun }: RunFiles,
): Promise<StartedRun> {
  const { receipts, workspace } = given;
  const { baseUrl, clock } = given.api.transport;
  const markId = identity && markIdOf(baseUrl, { workspace, identity });
  // A run of one file has no earlier receipts of its own.
  const startMark = markId === undefined ? Number.MAX_SAFE_INTEGER : ((await receipts?.startMark(markId)) ?? 0);
  const { rateLimit } = settings;
  const throttle = given.throttle ?? (rateLimit === undefined ? undefined : createThrottle(clock, rateLimit));
  const ports: UploadPorts = { ...given, throttle, mark: startMark };
  const run = createRun?.(settings, ports) ?? new BatchUploader(settings, ports);
  return {
    outcomes: run.outcomes(files),
    get result() {
      return run.result;
    },
    startMark,
    forget: async () => {
      if (markId !== undefined) await receipts?.deleteMark(markId);
    },
  };
}
