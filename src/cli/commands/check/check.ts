import { statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { digestOfDownload } from '../../../client/download/transfer.ts';
import { CodedError, usageError } from '../../../client/errors.ts';
import { isRootPath } from '../../../client/library/library-paths.ts';
import { findAssets } from '../../../client/library/select-assets.ts';
import {
  type CheckedDirectory,
  type CheckedFile,
  checkDirectory,
} from '../../../client/upload/decide/check-directory.ts';
import { checkFiles } from '../../../client/upload/decide/check-files.ts';
import type { DecideNotice } from '../../../client/upload/decide/decision.ts';
import { choiceFrom, type FileChoice, FileChooser } from '../../../client/upload/sources/file-chooser.ts';
import { realPathOf } from '../../../client/upload/sources/upload-file.ts';
import { parentOf } from '../../../contract/asset.ts';
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
    'mediactl check ./clip.mp4',
    'mediactl check ./rushes /Campaigns/2026 --download',
    'mediactl check ./rushes /Campaigns/2026 --matches --csv > proof.csv',
  );
  addChoiceOptions(
    command
      .description(
        'Compares a directory with a folder, subdirectories included, and lists what is missing or differs, on either side, as the next sync would find it. Compares single files with a folder, or else with each folder that they were uploaded to, or that has an asset of their name. A file matches if it is known to be its asset: this machine uploaded or downloaded it, the service shows its checksum, or --download has compared the bytes. What was not compared is counted by itself. Exit code 11 unless every file matches.',
      )
      .argument('<path...>', `directory or files to compare; then the folder to compare with: ${folderHelp}`)
      .option('--download', 'download each asset and compare it byte by byte')
      .option('--matches', 'also list the files that match, and what shows it'),
  ).action(
    run((context, args, { download = false, matches = false, ...flags }) => {
      const { directory, files, folder = context.settings.folder } = splitPaths(args);
      const choice = choiceFrom(flags);
      if (directory !== undefined)
        return runCheck(context, { directory, folder: folder ?? '/', download, listsMatches: matches, choice });
      if (download) throw usageError('--download compares a directory', 'mediactl check DIR /FOLDER --download');
      return runCheckFiles(context, { files, folder, choice });
    }),
  );
};

/** Separates a folder of the library, which may be the last argument, from what is on this machine. */
function splitPaths(args: readonly string[]): { directory?: string; files: readonly string[]; folder?: string } {
  const [first = '', folder, ...others] = args;
  const found = statSync(first, { throwIfNoEntry: false });
  if (!found) throw usageError(`${first} does not exist`, 'mediactl check DIRECTORY /FOLDER');
  if (found.isDirectory()) {
    if (others.length > 0) throw usageError('check compares one directory', 'mediactl check DIRECTORY /FOLDER');
    return { directory: first, files: [], ...(folder !== undefined && { folder }) };
  }
  const last = args.at(-1) as string;
  // A directory is no file to compare: `/` is the top level of the library, and `/tmp` may be a folder of it.
  const isFile = statSync(last, { throwIfNoEntry: false })?.isDirectory() === false;
  return isFile ? { files: args } : { files: args.slice(0, -1), folder: last };
}

export type CheckRequest = {
  directory: string;
  folder: string;
  choice: FileChoice;
  /** True to download each asset and compare its bytes. */
  download: boolean;
  listsMatches: boolean;
};

export async function runCheck(context: Context, request: CheckRequest): Promise<CommandOutcome> {
  const { directory, choice } = request;
  const own = context.ownFiles;
  const chooser = new FileChooser(choice, { own, names: choiceNames });
  const { tree } = await fetchFolderTree(context);
  const top = isRootPath(request.folder) ? undefined : await resolveFolder(context, tree, request.folder);
  const progress = request.download ? await createProgress(context, 'auto') : undefined;
  const ports = progress && (await transferPorts(context, progress));
  const found = await checkDirectory(directory, chooser, {
    ...{ library: await context.library(), top, own, signal: context.signal },
    receipts: await (request.download ? context.state.receipts() : context.state.receiptsIfAny()),
    store: await context.state.uploadsIfAny(),
    onDecideNotice: (notice) => reportDecideNotice(context, notice),
    readContent: ports && ((asset) => digestOfDownload(ports, asset)),
    onNotCompared: ({ path }, reason) => context.terminal.warn(`${escapeControls(path)} was not compared: ${reason}`),
  }).finally(() => progress?.close());
  warnOfLeftOut(context, chooser);
  for (const unused of chooser.unusedFilters) context.terminal.warn(unused);
  return answer(context, chooser, found, {
    isListed: ({ outcome }) => request.listsMatches || outcome !== 'match',
    nextStepFor: (differences) => nextStep(request, differences, found),
  });
}

/** Prints the counts, and returns the listed files, and the failure if not all match. */
function answer(
  context: Context,
  chooser: FileChooser,
  found: Omit<CheckedDirectory, 'ownFailed'>,
  words: { isListed(file: CheckedFile): boolean; nextStepFor(differences: readonly CheckedFile[]): string | undefined },
): CommandOutcome {
  const { summary, problem } = summarize(found);
  context.terminal.info(summary);
  const differences = found.checked.filter(({ outcome }) => outcome !== 'match');
  const isMatch = differences.length + chooser.failures.length === 0;
  return {
    result: listBy(({ asset_uid }) => asset_uid ?? '', found.checked.filter(words.isListed).map(toRecord), columns, ''),
    failure: isMatch
      ? undefined
      : new CodedError(problem, { code: 'check_failed', hint: words.nextStepFor(differences) }),
  };
}

/**
 * Files to compare with what is directly in a folder; without one, in each folder that they were uploaded to, or that has
 * an asset of their name.
 */
type CheckFilesRequest = { files: readonly string[]; folder: string | undefined; choice: FileChoice };

async function runCheckFiles(context: Context, { files, folder, choice }: CheckFilesRequest): Promise<CommandOutcome> {
  const own = context.ownFiles;
  const chooser = new FileChooser(choice, { own, names: choiceNames });
  const library = await context.library();
  const { tree, workspace } = await fetchFolderTree(context);
  const { origin } = library.api.transport.baseUrl;
  const deps = {
    ...{ library, own, signal: context.signal },
    receipts: await context.state.receiptsIfAny(),
    store: await context.state.uploadsIfAny(),
    onDecideNotice: (notice: DecideNotice) => reportDecideNotice(context, notice),
  };
  const isAny = folder === undefined;
  const given = isAny || isRootPath(folder) ? undefined : await resolveFolder(context, tree, folder);
  const topsOf = async (file: string) => {
    if (!isAny) return [given];
    const { found } = await findAssets(library, basename(file));
    const uploads = (await deps.receipts?.listOf(origin, workspace, await realPathOf(file))) ?? [];
    const known = uploads.map(({ folder }) => folder).filter((folder) => folder === '' || tree.find(folder));
    const folders = [...found.map((asset) => parentOf(asset) ?? ''), ...known];
    const tops = new Set(folders.map((folder) => tree.find(folder)));
    return tops.size > 0 ? [...tops] : [undefined];
  };
  const checked: CheckedFile[] = [];
  for (const file of files) {
    const found: CheckedFile[] = [];
    for (const top of await topsOf(file)) found.push(...(await checkFiles([file], chooser, { ...deps, top })));
    const best = found.find(({ outcome }) => outcome === 'match') ?? found[0];
    if (best) checked.push(best);
  }
  warnOfLeftOut(context, chooser);
  const nextStepFor = (differences: readonly CheckedFile[]) => nextStepOfFiles(differences, folder);
  return answer(context, chooser, { fileCount: checked.length, checked }, { isListed: () => true, nextStepFor });
}

/** Returns the next step: an upload if it would send a file, else the comparison of bytes. */
function nextStepOfFiles(differing: readonly CheckedFile[], folder = '/FOLDER'): string | undefined {
  if (differing.length === 0) return undefined; // what cannot be read is named above
  const missing = differing.filter(({ outcome }) => outcome !== 'unverified');
  const paths = missing.map(({ path }) => quoteForShell(path)).join(' ');
  if (missing.length > 0) return `mediactl upload ${paths} ${quoteForShell(folder)}`;
  const names = differing.map(({ path }) => `--include ${quoteForShell(basename(path))}`).join(' ');
  const directory = quoteForShell(dirname(differing[0]?.path ?? ''));
  return `mediactl check ${directory} ${quoteForShell(folder)} --download ${names}, to compare them byte by byte`;
}

/** Returns the line that counts all files, and the words for those that do not match. */
function summarize({ fileCount, checked }: Omit<CheckedDirectory, 'ownFailed'>): { summary: string; problem: string } {
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

const renames = 'rename and move the assets of renamed files';

const maxNamedAssets = 3;

/** Returns the next step: what a person has to look at first, then what a sync mends, then the rest. */
function nextStep(
  { directory, folder, download }: CheckRequest,
  differences: readonly CheckedFile[],
  { ownFailed }: Pick<CheckedDirectory, 'ownFailed'>,
): string {
  const has = (...kinds: CheckOutcome[]) => differences.some(({ outcome }) => kinds.includes(outcome));
  const both = `${quoteForShell(directory)} ${quoteForShell(folder)}`;
  const sends = has('missing_remotely', 'changed', 'different', 'same_name', 'failed');
  const purposes = [...(sends ? ['upload missing and changed files'] : []), ...(has('renamed') ? [renames] : [])];
  const sync = `mediactl sync ${both}, to ${purposes.join(' and ')}`;
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
  { field: 'outcome', noTruncate: true },
  { field: 'path', minWidth: 18 },
  { field: 'evidence', minWidth: 10 },
  { field: 'found_at' },
  { field: 'asset_uid', uid: 'asset' },
];
