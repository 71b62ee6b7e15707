import { DirectoryWatch } from '../../../client/upload/batch/directory-watch.ts';
import type { FileChooser } from '../../../client/upload/sources/file-chooser.ts';
import { fileAt } from '../../../client/upload/sources/upload-file.ts';
import { pluralize } from '../../../shared/figures.ts';
import { escapeControls } from '../../../shared/sanitize.ts';
import type { Context } from '../../context.ts';
import { hintOf } from '../../error-hints.ts';
import { createProgress } from '../../progress/progress.ts';
import { type LogFormat, RunLog } from '../../uploading/run-log.ts';
import { type RunRequest, startRun } from '../../uploading/run-uploads.ts';
import { presentRun } from '../../uploading/run-view.ts';
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
  const place = `${request.mirror?.directory} -> ${request.folders.pathOf?.(fileAt('')) ?? 'the folder'}`;
  const { rateLimiter } = (await context.api()).transport.connection;
  const progress = await createProgress(context, request.progress, {
    budget: () => rateLimiter.budget,
    isEndless: true,
    log,
  });
  const { run, close } = await startRun(
    context,
    {
      ...request,
      isEndless: true,
      createRun: (settings, ports) =>
        new DirectoryWatch(settings, ports, {
          minAgeMs,
          openSources: watch.openSources,
          onScanned: createScanReport(context),
          onState: ({ files, bytes, settling }) =>
            progress.show({
              event: 'planned',
              ...{ files_total: files, bytes_total: bytes, files_skipped: 0, files_settling: settling },
            }),
          onProblem: (error) => terminal.warn(`${error.message}; ${hintOf(error) ?? 'it is tried again'}`),
        }),
    },
    progress,
  );
  terminal.info(
    `watching ${escapeControls(place)}; a file is uploaded once it has not changed for ${pluralize(minAgeMs / 1000, 'second')}; Ctrl-C stops`,
  );
  const { result } = presentRun(context, run, { progress, log, isEndless: true, close });
  return { result, failure: () => run.result.stopReason };
}

/** Asks whether to create the folder before the watch starts, since no question can be asked later. */
async function confirmTopFolder({ folders, confirmFolders }: RunRequest): Promise<void> {
  folders.find(fileAt(''));
  await confirmFolders?.();
}

/** Reports what cannot be read in a directory, once for as long as that lasts, and what the first scan leaves out. */
function createScanReport({ terminal }: Context): (chooser: FileChooser) => void {
  let known: Set<string> | undefined;
  return ({ failures, warnings, unusedFilters }) => {
    if (!known) for (const each of [...warnings, ...unusedFilters]) terminal.warn(each);
    const found = failures.map(({ path, error }) => `${escapeControls(path)}: ${error.message}`);
    for (const each of found) if (!known?.has(each)) terminal.warn(each);
    known = new Set(found);
  };
}
