import type { Library } from '../../library/library.ts';
import type { Candidates } from '../decide/decide.ts';
import type { FileOutcome } from '../session/file-outcome.ts';
import { type BatchDeps, type BatchRun, BatchUploader, type RunOptions, type RunResult } from './batch-uploader.ts';
import { markIdOf } from './plan.ts';

/** Inputs and callbacks that each entry point supplies for an upload run. */
export type UploadRunRequest = Omit<BatchDeps, 'api' | 'mark' | 'comparison'> & {
  library: Pick<Library, 'api' | 'folders'>;
  options: RunOptions;
  files: Candidates;
  /** Inputs that identify the run when it is repeated (see `markIdOf`); undefined for a run of one file. */
  identity?: readonly string[] | undefined;
  /** Creates the run if workers upload the files instead of this process. */
  createRun?: ((deps: BatchDeps) => BatchRun) | undefined;
};

/** An upload run that was started. */
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
export async function startUploads(request: UploadRunRequest): Promise<StartedRun> {
  const { library, options, files, identity, createRun, ...deps } = request;
  const { api } = library;
  const { baseUrl } = api.transport;
  const markId = identity && markIdOf(baseUrl, { workspace: options.workspace, identity });
  // A run of one file has no earlier receipts of its own.
  const startMark = markId === undefined ? Number.MAX_SAFE_INTEGER : ((await deps.receipts?.startMark(markId)) ?? 0);
  const complete: BatchDeps = {
    ...deps,
    api,
    mark: startMark,
    comparison: { library },
  };
  const run = createRun?.(complete) ?? new BatchUploader(options, complete);
  return {
    outcomes: run.outcomes(files),
    get result() {
      return run.result;
    },
    startMark,
    forget: async () => {
      if (markId !== undefined) await deps.receipts?.deleteMark(markId);
    },
  };
}
