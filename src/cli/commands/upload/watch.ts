import { asCodedError } from '../../../client/errors.ts';
import { DirectoryWatch, type WatchState } from '../../../client/upload/batch/directory-watch.ts';
import { fileAt, type UploadFile } from '../../../client/upload/sources/upload-file.ts';
import { pluralize } from '../../../contract/figures.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import type { Context } from '../../context.ts';
import { hintOf } from '../../error-hints.ts';
import { createProgress, type ProgressDisplay } from '../../progress/progress.ts';
import { displayEndless } from '../../uploading/endless-run.ts';
import { type LogFormat, RunLog } from '../../uploading/run-log.ts';
import { type RunRequest, startRun } from '../../uploading/run-uploads.ts';
import type { UploadSources } from '../../uploading/sources.ts';

type DirectoryWatchRequest = {
  /** Time in milliseconds for which a file must stand still. */
  minAgeMs: number;
  logFormat: LogFormat | undefined;
  /** Opens the directory for one scan. */
  openSources(): Promise<UploadSources>;
};

/** Uploads the new and changed files of a directory until it is stopped, each once it stands still. */
export async function watchDirectory(context: Context, watch: DirectoryWatchRequest, request: RunRequest) {
  const { terminal } = context;
  const { minAgeMs, logFormat } = watch;
  await confirmTopFolder(request);
  const log = logFormat && new RunLog(context, null, logFormat);
  let state: WatchState = { files: 0, bytes: 0, settling: 0 };
  const place = `${request.mirror?.directory} -> ${request.folders.pathOf?.(fileAt('')) ?? 'the folder'}`;
  const standing = () => (state.settling > 0 ? `watching; ${state.settling} still changing` : 'watching');
  const progress = await createView(context, log, request, standing);
  const failures = new Failures(context);
  const { run, close } = await startRun(
    context,
    {
      ...request,
      isEndless: true,
      createRun: (deps) =>
        new DirectoryWatch(request.options, deps, {
          minAgeMs,
          listFiles: () => failures.listFiles(watch),
          onState: (now) => {
            state = now;
            progress.show({ event: 'planned', files_total: now.files, bytes_total: now.bytes, files_skipped: 0 });
          },
          onProblem: (error) => terminal.warn(`${error.message}; ${hintOf(error) ?? 'it is tried again'}`),
        }),
    },
    progress,
  );
  terminal.info(
    `watching ${escapeControls(place)}; a file is uploaded once it has not changed for ${pluralize(minAgeMs / 1000, 'second')}; Ctrl-C stops`,
  );
  const result = displayEndless(context, run.outcomes, {
    log,
    close: async () => {
      progress.close();
      await close();
    },
  });
  return { result, failure: () => run.result.stopReason };
}

/** Asks whether to create the folder before the watch starts, since no question can be asked later. */
async function confirmTopFolder({ folders, confirmFolders }: RunRequest): Promise<void> {
  folders.find(fileAt(''));
  await confirmFolders?.();
}

async function createView(
  context: Context,
  log: RunLog | undefined,
  { progress }: Pick<RunRequest, 'progress'>,
  standing: () => string,
): Promise<ProgressDisplay> {
  if (log) return { hidesSummary: true, show: (event) => 'path' in event && log.event(event), close: () => {} };
  const { rateLimiter } = (await context.api()).transport.connection;
  const mode = progress === 'auto' && !context.terminal.canAnimate ? 'none' : progress;
  return createProgress(context, mode, { budget: () => rateLimiter.budget, isEndless: true, standing });
}

/** Reports what cannot be read in a directory, once for as long as that lasts. */
class Failures {
  readonly #context: Context;
  #known = new Set<string>();

  constructor(context: Context) {
    this.#context = context;
  }

  async *listFiles({ openSources }: Pick<DirectoryWatchRequest, 'openSources'>): AsyncGenerator<UploadFile> {
    const sources = await openSources();
    yield* sources.files();
    const found = sources.failures.map(({ path, error }) => `${escapeControls(path)}: ${asCodedError(error).message}`);
    for (const each of found) if (!this.#known.has(each)) this.#context.terminal.warn(each);
    this.#known = new Set(found);
  }
}
