import type { Command } from '@commander-js/extra-typings';
import { usageError } from '../../../client/errors.ts';
import { readTable, type TableRow } from '../../../client/table/read-table.ts';
import type { Receipt } from '../../../client/upload/store/receipts.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import { isUid } from '../../../contract/uid.ts';
import { type ActionWrapper, addExamples } from '../../command.ts';
import type { Context } from '../../context.ts';
import { type Column, type ListResult, noResult, type Result, record } from '../../output/result.ts';
import type { OutputRecord } from '../../reference/schemas.ts';
import { readInput } from '../../terminal/input.ts';
import { sizeText, timeText } from '../../uploading/upload-record.ts';

/** Finished upload, as printed by `uploads export` and `uploads ls --finished`, and read by `uploads import`. */
type FinishedUpload = OutputRecord<'finished-upload'>;

const pageSize = 500;

/** Returns this machine's finished uploads to all services, from receipts without API requests. */
export async function listFinishedUploads(context: Context): Promise<ListResult> {
  const receipts = await context.receiptsIfAny();
  let isUnchecked = false;
  const pages = async function* () {
    let page: FinishedUpload[] = [];
    for await (const receipt of receipts?.all() ?? []) {
      isUnchecked ||= receipt.state === 'unchecked';
      page.push(toFinishedUpload(receipt));
      if (page.length < pageSize) continue;
      yield page;
      page = [];
    }
    yield page;
  };
  return {
    kind: 'list',
    pages: pages(),
    columns: doneColumns,
    id: ({ asset_uid }: FinishedUpload) => asset_uid,
    empty: 'no uploads from this machine yet',
    footer: () => (isUnchecked ? 'mediactl wait updates the state of unchecked assets' : undefined),
  };
}

const toFinishedUpload = (receipt: Receipt): FinishedUpload => ({
  base_url: receipt.service,
  workspace_uid: receipt.workspace,
  folder_uid: receipt.folder || null,
  path: receipt.path,
  size_bytes: receipt.sizeBytes,
  source_version: receipt.mtimeNs,
  blake3: receipt.blake3,
  verified: receipt.verified,
  asset_uid: receipt.assetUid,
  session_uid: receipt.sessionUid,
  asset_name: receipt.name,
  asset_state: receipt.state,
  reason: receipt.reason,
  finished_at: receipt.at,
});

const doneColumns: Column<FinishedUpload>[] = [
  { header: 'ASSET', value: ({ asset_uid }) => asset_uid, uid: 'asset' },
  { header: 'PATH', value: ({ path }) => escapeControls(path), minWidth: 18, isFirst: true },
  { header: 'SIZE', value: ({ size_bytes }, shown) => sizeText(size_bytes, shown), minWidth: 9, dropPriority: 2 },
  {
    header: 'STATE',
    // Only `wait` and --wait update the state of an asset.
    value: ({ asset_state }) => asset_state,
    noTruncate: true,
  },
  { header: 'FINISHED', value: ({ finished_at }, shown) => timeText(finished_at, shown), dropPriority: 1 },
];

export function exportDone(command: Command, run: ActionWrapper): void {
  addExamples(
    command,
    'mediactl uploads export > sent.jsonl',
    'ssh studio mediactl uploads export | mediactl uploads import -',
  );
  command
    .summary('export the upload history of this machine')
    .description(
      'Prints the upload history of this machine as JSON lines. Import it on another machine, or into another state folder (MEDIACTL_STATE_DIR), with uploads import.',
    )
    .action(run(async (context) => ({ ...(await listFinishedUploads(context)), defaultFormat: 'jsonl' })));
}

export function importDone(command: Command, run: ActionWrapper): void {
  addExamples(
    command,
    'ssh studio mediactl uploads export | mediactl uploads import -',
    'mediactl uploads import sent.jsonl',
  );
  command
    .summary('import the upload history of another machine')
    .description(
      'Imports the output of uploads export from another machine, so that this one does not upload the same files again. Does not replace existing entries.',
    )
    .argument('<file>', 'JSON lines; - for stdin')
    .action(run(async (context, file) => runImport(context, await parseImportRequest(context, file))));
}

export type ImportRequest = { receipts: Receipt[] };

/** @param file path, or `-` for stdin @throws MediactlError `usage` (exit 2) with the number of a wrong line */
export async function parseImportRequest({ terminal }: Context, file: string): Promise<ImportRequest> {
  const receipts: Receipt[] = [];
  const { columns, rows } = await readTable(await readInput(terminal, file), file === '-' ? 'stdin' : file);
  if (columns?.length) throw importLineError(1, 'it is not a JSON object');
  for await (const row of rows) receipts.push(parseImportedReceipt(row));
  return { receipts };
}

export async function runImport(context: Context, { receipts }: ImportRequest): Promise<Result> {
  const read = receipts.length;
  if (context.isDryRun(`import ${read} uploads`)) return noResult;
  const imported = await (await context.receipts()).import(receipts);
  return record({ read, imported }, '', () => [
    ['read', String(read)],
    ['imported', String(imported)],
  ]);
}

const isText = (value: unknown) => typeof value === 'string';
const matches = (isValid: (text: string) => boolean) => (value: unknown) => typeof value === 'string' && isValid(value);

/** Checks of a record's fields, because another program might have written it. */
const fieldChecks: Record<Exclude<keyof FinishedUpload, 'reason'>, (value: unknown) => boolean> = {
  base_url: matches((url) => URL.canParse(url) && new URL(url).origin === url),
  workspace_uid: matches(isUid),
  folder_uid: (value) => value === null || matches(isUid)(value),
  path: matches((path) => path !== '' && !/\p{Cc}/u.test(path)),
  size_bytes: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
  source_version: matches((version) => version !== ''),
  blake3: (value) => value === null || matches((digest) => /^[0-9a-f]{64}$/.test(digest))(value),
  verified: (value = null) => value === null || typeof value === 'boolean',
  asset_uid: matches(isUid),
  session_uid: isText,
  asset_name: isText,
  asset_state: (value) => ['unchecked', 'ready', 'failed'].includes(value as string),
  finished_at: matches((time) => !Number.isNaN(Date.parse(time))),
};

/** @throws MediactlError `usage` (exit 2) with the line number; nothing is imported */
function parseImportedReceipt({ line, cells: value }: TableRow): Receipt {
  for (const [name, isValid] of Object.entries(fieldChecks))
    if (!isValid(value[name])) throw importLineError(line, `its ${name} is invalid`);
  const done = value as FinishedUpload;
  return {
    service: done.base_url,
    workspace: done.workspace_uid,
    folder: done.folder_uid ?? '',
    path: done.path,
    sizeBytes: done.size_bytes,
    mtimeNs: done.source_version,
    blake3: done.blake3,
    ctimeNs: null,
    verified: null, // this machine has not compared the content
    assetUid: done.asset_uid,
    sessionUid: done.session_uid,
    name: done.asset_name,
    state: done.asset_state,
    reason: isText(done.reason) ? done.reason : null,
    at: done.finished_at,
  };
}

const importLineError = (line: number, reason: string) =>
  usageError(
    `line ${line} is not a finished upload`,
    'use the output of mediactl uploads export; nothing was imported',
    reason,
  );
