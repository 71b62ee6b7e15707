import { stat } from 'node:fs/promises';
import { createContentReader } from '../../../client/download/compare-bytes.ts';
import { CodedError, usageError } from '../../../client/errors.ts';
import { isRootPath } from '../../../client/library/library-paths.ts';
import {
  type CheckedDirectory,
  type CheckedFile,
  checkDirectory,
} from '../../../client/upload/decide/check-directory.ts';
import { choiceFrom, type FileChoice, FileChooser } from '../../../client/upload/sources/file-chooser.ts';
import { pluralize } from '../../../shared/figures.ts';
import { type CheckOutcome, checkOutcomes } from '../../../shared/file-evidence.ts';
import { escapeControls, quoteForShell } from '../../../shared/sanitize.ts';
import { addExamples, type CommandDefinition, type CommandOutcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { fetchFolderTree, folderHelp, resolveFolder } from '../../library/folders.ts';
import { transferPorts } from '../../library/transfer-ports.ts';
import { type Column, listBy } from '../../output/result.ts';
import { createProgress } from '../../progress/progress.ts';
import type { OutputRecord } from '../../reference/schemas.ts';
import { reportDecideNotice } from '../../uploading/plan-view.ts';
import { addChoiceOptions, choiceNames, warnOfLeftOut } from '../../uploading/sources.ts';

export const check: CommandDefinition = (command, run) => {
  addExamples(
    command,
    'mediactl check ./rushes /Campaigns/2026',
    'mediactl check ./rushes /Campaigns/2026 --download',
    'mediactl check ./rushes /Campaigns/2026 --matches --csv > proof.csv',
  );
  addChoiceOptions(
    command
      .description(
        'Compares a directory with a folder, subdirectories included, and lists what is missing or differs, on either side, as the next sync would find it. A file matches if it is known to be its asset: this machine uploaded or downloaded it, the service shows its checksum, or --download has compared the bytes. What was not compared is counted by itself. Exit code 11 unless every file matches.',
      )
      .argument('<directory>', 'directory to compare')
      .argument('[folder]', `folder to compare it with: ${folderHelp}`)
      .option('--download', 'download each asset and compare it byte by byte')
      .option('--matches', 'also list the files that match, and what shows it'),
  ).action(
    run((context, directory, path, { download = false, matches = false, ...choice }) => {
      const folder = path ?? context.settings.folder ?? '/';
      return runCheck(context, { directory, folder, download, listsMatches: matches, choice: choiceFrom(choice) });
    }),
  );
};

/** Directory to compare with a folder, which is given by uid or path. */
export type CheckRequest = {
  directory: string;
  folder: string;
  choice: FileChoice;
  /** True to download each asset and compare its bytes. */
  download: boolean;
  /** True to list the files that match, too. */
  listsMatches: boolean;
};

export async function runCheck(context: Context, request: CheckRequest): Promise<CommandOutcome> {
  const { directory, choice } = request;
  const isDirectory = await stat(directory).catch(() => undefined);
  if (!isDirectory?.isDirectory()) throw usageError(`${directory} is not a directory`, 'mediactl check DIRECTORY');
  const own = context.ownFiles;
  const chooser = new FileChooser(choice, { own, names: choiceNames });
  const { tree } = await fetchFolderTree(context);
  const top = isRootPath(request.folder) ? undefined : await resolveFolder(context, tree, request.folder);
  const progress = request.download ? await createProgress(context, 'auto') : undefined;
  const found = await checkDirectory(directory, chooser, {
    ...{ library: await context.library(), top, own, signal: context.signal },
    receipts: await (request.download ? context.state.receipts() : context.state.receiptsIfAny()),
    store: await context.state.uploadsIfAny(),
    onDecideNotice: (notice) => reportDecideNotice(context, notice),
    readContent: progress && createContentReader(await transferPorts(context, progress)),
    onNotCompared: ({ path }, reason) => context.terminal.warn(`${escapeControls(path)} was not compared: ${reason}`),
  }).finally(() => progress?.close());
  warnOfLeftOut(context, chooser);
  for (const unused of chooser.unusedFilters) context.terminal.warn(unused);
  const { summary, problem } = summarize(found);
  context.terminal.info(summary);
  const differences = found.checked.filter(({ outcome }) => outcome !== 'match');
  const listed = request.listsMatches ? found.checked : differences;
  return {
    result: listBy(({ asset_uid }) => asset_uid ?? '', listed.map(toRecord), columns, ''),
    failure:
      differences.length + chooser.failures.length > 0
        ? new CodedError(problem, { code: 'check_failed', hint: nextStep(request, differences, found) })
        : undefined,
  };
}

/** Returns the line that counts all files, and the words for those that do not match. */
function summarize({ fileCount, checked }: CheckedDirectory): { summary: string; problem: string } {
  const count = (what: (typeof checkOutcomes)[CheckOutcome]['counts']) =>
    checked.filter(({ outcome }) => checkOutcomes[outcome].counts === what).length;
  const [uncompared, different] = [count('not_compared'), count('difference')];
  const problem = [
    ...(uncompared > 0 ? [`${pluralize(uncompared, 'file')} not compared`] : []),
    ...(different > 0 || uncompared === 0 ? [pluralize(different, 'difference')] : []),
  ].join('; ');
  return { summary: `${count('match')} of ${fileCount} files match; ${problem}`, problem };
}

const toRecord = ({ evidence, ...found }: CheckedFile): OutputRecord<'check'> => ({
  ...found,
  evidence: evidence?.kind ?? null,
  found_at: evidence?.foundAt ?? null,
});

/** Maximum number of assets that a next step names. */
const maxNamedAssets = 3;

/** Returns the next step: what a person has to look at first, then what a sync mends, then the rest. */
function nextStep(
  { directory, folder, download }: CheckRequest,
  differences: readonly CheckedFile[],
  { ownFailed }: Pick<CheckedDirectory, 'ownFailed'>,
): string {
  const has = (...kinds: CheckOutcome[]) => differences.some(({ outcome }) => kinds.includes(outcome));
  const both = `${quoteForShell(directory)} ${quoteForShell(folder)}`;
  const sync = `mediactl sync ${both}, to upload missing and changed files`;
  const compare = `mediactl check ${both} --download, to compare them byte by byte`;
  if (ownFailed.size > 0) {
    const uids = ownFailed.size > maxNamedAssets ? 'ID' : [...ownFailed].join(' ');
    return `check that the files whose processing failed play on your machine; mediactl rm ${uids}, then ${sync}`;
  }
  if (has('same_name') && !download) return compare;
  if (has('missing_remotely', 'changed', 'different', 'same_name', 'renamed')) return sync;
  if (has('unverified'))
    return download
      ? 'mediactl wait, if they are not ready yet, then run the same command again; a rendition cannot be compared'
      : compare;
  if (has('failed')) return 'mediactl get ID, to see why an asset could not be processed';
  return has('moved')
    ? 'mediactl mv ID /FOLDER, to move an asset back'
    : `mediactl download ${quoteForShell(folder)} -d ${quoteForShell(directory)}, to fetch what is not here`;
}

const columns: Column<OutputRecord<'check'>>[] = [
  { field: 'outcome', value: ({ outcome }) => outcome, noTruncate: true },
  { field: 'path', value: ({ path }) => escapeControls(path), minWidth: 18 },
  { field: 'evidence', value: ({ evidence }) => evidence ?? '', minWidth: 10 },
  { field: 'found_at', value: ({ found_at }) => found_at ?? '' },
  { field: 'asset_uid', value: ({ asset_uid }) => asset_uid ?? '', uid: 'asset' },
];
