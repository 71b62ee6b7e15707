import { DirectoryWatch } from '../../../client/upload/batch/directory-watch.ts';
import type { UploadPorts } from '../../../client/upload/batch/upload-ports.ts';
import type { UploadSettings } from '../../../client/upload/decide/upload-settings.ts';
import type { FileChooser } from '../../../client/upload/sources/file-chooser.ts';
import { fileAt } from '../../../client/upload/sources/upload-file.ts';
import { pluralize } from '../../../shared/figures.ts';
import { escapeControls } from '../../../shared/sanitize.ts';
import type { Context } from '../../context.ts';
import { hintOf } from '../../error-hints.ts';
import { createProgress } from '../../progress/progress.ts';
import { startLog } from '../../uploading/run-log.ts';
import { type PreparedRun, startRun } from '../../uploading/run-uploads.ts';
import { presentRun } from '../../uploading/run-view.ts';
import { openSources, type SourceRequest } from '../../uploading/sources.ts';
import type { WatchChoice } from './upload-request.ts';

/** Uploads the new and changed files of a directory until it is stopped, each once it stands still. */
export async function watchDirectory(
  context: Context,
  { minAgeMs, logFormat }: WatchChoice,
  request: SourceRequest,
  prepared: PreparedRun,
) {
  const { terminal } = context;
  await confirmTopFolder(prepared);
  const log = logFormat && startLog(context, null, logFormat);
  const { mirror, folders } = prepared.ports;
  const place = `${mirror} -> ${folders.pathOf?.(fileAt('')) ?? 'the folder'}`;
  const { rateLimiter } = (await context.api()).transport.connection;
  const progress = await createProgress(context, request.progress, {
    budget: () => rateLimiter.budget,
    isEndless: true,
    log,
  });
  const createRun = (settings: UploadSettings, ports: UploadPorts) =>
    new DirectoryWatch(settings, asksNothing(context, ports), {
      minAgeMs,
      openSources: () => openSources(context, request),
      onScanned: createScanReport(context),
      onState: ({ files, bytes, settling }) =>
        progress.show({
          event: 'planned',
          ...{ files_total: files, bytes_total: bytes, files_skipped: 0, files_settling: settling },
        }),
      onProblem: (error) => terminal.warn(`${error.message}; ${hintOf(error) ?? 'it is tried again'}`),
    });
  const { run, close } = await startRun(context, request, { ...prepared, createRun }, progress);
  terminal.info(
    `watching ${escapeControls(place)}; a file is uploaded once it has not changed for ${pluralize(minAgeMs / 1000, 'second')}; Ctrl-C stops`,
  );
  const view = { progress, log, isEndless: true, close };
  const { result } = presentRun(context, run.outcomes, { ...view, result: () => run.result });
  return { result, failure: () => run.result.stopReason };
}

/** Returns the ports of a run that has no end: it prints no plan, and asks nothing. */
const asksNothing = ({ settings }: Context, ports: UploadPorts): UploadPorts => ({
  ...ports,
  onPlan: undefined,
  confirmNewAsset: async (refusal) => {
    if (!settings.yes) throw refusal;
  },
});

/** Asks whether to create the folder before the watch starts, since no question can be asked later. */
async function confirmTopFolder({ ports, confirmFolders }: PreparedRun): Promise<void> {
  ports.folders.find(fileAt(''));
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
