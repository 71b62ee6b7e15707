import type { Command } from '@commander-js/extra-typings';
import {
  createFolderPaths,
  editableColumns,
  sheetColumns,
  sheetRow,
  sheetValuesOf,
} from '../../../client/changes/sheet.ts';
import { writeOutput } from '../../../client/download/output-file.ts';
import { CodedError, usageError } from '../../../client/errors.ts';
import { isLibraryPath } from '../../../client/library/library-paths.ts';
import { createTableEncoder, type TableFormat, tableFormatOf } from '../../../client/table/format-table.ts';
import { parentOf } from '../../../contract/asset.ts';
import { describeScope, pluralize } from '../../../shared/figures.ts';
import { escapeControlsInLines, quoteForShell } from '../../../shared/sanitize.ts';
import { type ActionWrapper, addExamples, type FlagsOf } from '../../command.ts';
import type { Context } from '../../context.ts';
import { createFolderLookup } from '../../library/folder-lookup.ts';
import { fetchFolderTreeIfAny } from '../../library/folders.ts';
import { describeNone } from '../../library/no-asset-error.ts';
import { outputPorts } from '../../library/transfer-ports.ts';
import { noResult, type Result } from '../../output/result.ts';
import { withFilters } from '../filters.ts';
import { describeSearch, findListing, type ListRequest, parseListRequest, wordsArgument } from './list.ts';

export function exportAssets(command: Command, run: ActionWrapper): void {
  addExamples(
    command,
    'mediactl export library.csv',
    'mediactl export /Campaigns -r campaigns.csv',
    'mediactl export --tag draft --created-after 30d -o /tmp/drafts.csv',
  );
  addExportOptions(command).action(
    run(async (context, words, flags) => runExport(context, await parseExportRequest(context, words, flags))),
  );
}

function addExportOptions(command: Command) {
  const described = command
    .description(
      'Writes a table of assets, to edit in a spreadsheet program and bring back with apply. Without filters, it has all assets. A word that ends with .csv, .tsv or .jsonl is the file to write.',
    )
    .addArgument(wordsArgument());
  return withFilters(described, 'assets', 'words')
    .option('-r, --recursive', 'include the folders below the folder')
    .option('-o, --output <file>', 'file to write: .csv, .tsv or .jsonl (default: CSV to stdout)');
}

type ExportRequest = { list: ListRequest; output: string | undefined; format: TableFormat };

/** @throws CodedError `usage` (exit 2) if options conflict or the file has another extension */
async function parseExportRequest(
  context: Context,
  typed: readonly string[],
  { output: option, ...flags }: FlagsOf<typeof addExportOptions>,
): Promise<ExportRequest> {
  const { format, fields, jq } = context.settings.outputOptions;
  if (fields !== undefined || jq !== undefined)
    throw usageError(
      `export does not accept ${fields === undefined ? '--jq' : '--fields'}`,
      'mediactl ls --all --csv --fields name,size,folder, to choose the columns',
      'apply needs all columns of the table',
    );
  const { words, output } = splitFile(typed, option);
  const path = output === '-' ? undefined : output;
  if (path !== undefined && !tableFile.test(path))
    throw usageError(`--output does not accept '${path}'`, 'use a name that ends with .csv, .tsv or .jsonl');
  if (path === undefined && format === 'json')
    throw usageError('export writes a table, not a JSON array', 'use --jsonl, or -o FILE.csv');
  const printed = format === 'tsv' || format === 'jsonl' ? format : 'csv';
  const list = await parseListRequest(context, { collection: 'assets', words }, { ...flags, all: true });
  return {
    // New assets come last, so that the pages do not shift while they are read.
    list: { ...list, filters: { ...list.filters, ordering: 'created_at' } },
    output: path,
    format: path === undefined ? printed : tableFormatOf(path),
  };
}

const tableFile = /\.(?:csv|tsv|jsonl)$/i;

/** Separates the file to write, given as a word such as `library.csv`, from the words to search for. */
function splitFile(typed: readonly string[], option: string | undefined) {
  const other = typed.find((word) => /\.(?:xlsx?|ods|numbers)$/i.test(word));
  if (other) throw usageError(`export does not write ${other}`, 'use a name that ends with .csv, .tsv or .jsonl');
  const [file, second] = typed.filter((word) => tableFile.test(word) && !isLibraryPath(word));
  if (file === undefined) return { words: typed, output: option };
  const others = second ?? option;
  if (others !== undefined) throw usageError(`${file} and ${others} cannot be used together`, 'name one file to write');
  return { words: typed.filter((word) => word !== file), output: file };
}

async function runExport(context: Context, { list, output, format }: ExportRequest): Promise<Result> {
  if (output === undefined) {
    const { terminal } = context;
    await writeRows(context, list, format, (text) =>
      terminal.write(terminal.stdout.isTTY ? escapeControlsInLines(text.replaceAll('\r\n', '\n')) : text),
    );
    return noResult;
  }
  if (context.isDryRun(`write a table of assets to ${output}`)) return noResult;
  const count = await writeOutput(outputPorts(context, '-o'), { path: output }, (file) =>
    writeRows(context, list, format, (text) => file.write(Buffer.from(text))),
  );
  context.terminal.info(
    `exported ${pluralize(count, 'asset')}; edit ${editableColumns.join(', ')}, then: mediactl apply ${quoteForShell(output)}`,
  );
  return noResult;
}

/** Adds what to type to the error of an absolute path of a file, which looks like a path in the library. */
const explainFilePath = (error: unknown, path = '') =>
  error instanceof CodedError && error.kind === 'notFound' && tableFile.test(path)
    ? error.with({ hint: `-o ${quoteForShell(path)}, if it is the file to write` })
    : error;

/** Writes the table, page by page. @returns number of assets */
async function writeRows(
  context: Context,
  list: ListRequest,
  format: TableFormat,
  write: (text: string) => Promise<unknown>,
): Promise<number> {
  const encoder = createTableEncoder(format, sheetColumns, editableColumns);
  const paths = createFolderPaths(await fetchFolderTreeIfAny(context));
  const folderOf = await createFolderLookup(context);
  const exportedAt = context.clock.now();
  const { pages, scope } = await findListing(context, list).catch((error: unknown) => {
    throw explainFilePath(error, list.pattern);
  });
  let count = 0;
  await write(await encoder.head());
  for await (const page of pages) {
    const rows: ReturnType<typeof sheetRow>[] = [];
    for (const asset of page) {
      const folder = await folderOf(asset);
      // Assets listed in a folder are in the folder's workspace.
      const isInTree = folder ? paths.pathOf(folder) !== undefined : folder === null && parentOf(asset) === undefined;
      const workspace = await scope.workspaceOf(asset, isInTree ? 'folder' : undefined);
      rows.push(sheetRow(asset, sheetValuesOf(asset, paths, folder), { folder, workspace, exportedAt }));
    }
    count += page.length;
    if (rows.length > 0) await write(await encoder.rows(rows));
  }
  if (count === 0)
    context.terminal.info(describeNone('assets', list.filters, await describeSearch(context, list.words)));
  const scopeText = describeScope(scope);
  if (scopeText) context.terminal.info(scopeText);
  return count;
}
