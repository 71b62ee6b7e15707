import type { Api } from '../../../client/api/api.ts';
import {
  addToPlan,
  type Classification,
  emptyPlan,
  type FileToUpload,
  filesToUpload,
  markIdOf,
  type Plan,
  totalToSend,
} from '../../../client/upload/batch/plan.ts';
import { digestAndClose, type FoundUpload, matchContent } from '../../../client/upload/session/receipt-lookup.ts';
import { receiptKeyOf, type UploadFile } from '../../../client/upload/sources/upload-file.ts';
import type { Receipt } from '../../../client/upload/store/receipts.ts';
import { formatBytes, pluralize } from '../../../contract/figures.ts';
import { paths } from '../../../contract/paths.ts';
import { displayText, escapeControls } from '../../../contract/sanitize.ts';
import { keptOutcomes, plannedOutcomes } from '../../../contract/upload-outcomes.ts';
import type { Context } from '../../context.ts';
import { hintOf } from '../../error-hints.ts';
import { LocationNames } from '../../library/name-cache.ts';
import { type Column, listBy } from '../../output/result.ts';
import type { OutputRecord } from '../../reference/schemas.ts';
import {
  estimateCost,
  exceedsSessionLifetime,
  formatPlan,
  type PlanRecord,
  planColumns,
  toPlanRows,
} from '../../uploading/plan-view.ts';
import { assertHasFiles, type RunRequest } from '../../uploading/run-uploads.ts';
import { warnOfSkipped } from '../../uploading/sources.ts';
import { sizeText } from '../../uploading/upload-record.ts';
import {
  type PrunableAsset,
  type PruneOptions,
  type PrunePlan,
  planPrune,
  pruneRefusal,
  reportLeftOut,
  splitByLocation,
} from './prune.ts';

type PlannedFile = OutputRecord<'upload-dry-run'>;

/** Prints the totals of the files that would be sent, and the estimated cost (`--estimate`). */
export async function printPlanTotals(context: Context, request: RunRequest, pruning?: PruneOptions) {
  const { plan, outliving, prunable } = await compareFiles(context, request, pruning, () => {});
  const gone = await listPrunable(context, pruning, prunable);
  const { transport, assets } = await context.api();
  if (!transport.connection.rateLimit) await assets.page({}, 1, 0).catch(() => {}); // the key may have no read permission
  const { requests, hours, limit } = estimateCost(
    plan.comparisons + plan.requests,
    transport.connection.rateLimit,
    context.clock.now(),
  );
  const record: PlanRecord = {
    ...countsOf(plan),
    request_count: requests + 2 * gone.length, // each asset is looked up first
    size_bytes: totalToSend(plan).bytes,
    estimated_hours: hours,
    requests_per_hour: limit,
    exceeding_session_count: outliving,
    deleted_count: gone.length,
  };
  const { rateLimit } = transport.connection;
  context.terminal.info(formatPlan(plan, { rateLimit, now: context.clock.now(), isExact: true }));
  if (context.isMachineReadable) return { kind: 'record' as const, record, id: '', view: () => '' };
  return listBy(({ outcome }) => outcome, toPlanRows(record), planColumns, 'nothing to upload');
}

/** Returns the totals of a plan for which every file was compared. */
function countsOf({ totals: { sameSize: _, ...totals } }: Plan) {
  const counts = Object.entries(totals).map(([outcome, { files, bytes }]) => [
    outcome,
    { file_count: files, size_bytes: bytes },
  ]);
  return Object.fromEntries(counts) as Record<keyof typeof totals, PlanRecord['new']>;
}

/** Prints the planned outcome of each file (`--dry-run`). */
export async function printDryRun(context: Context, request: RunRequest, pruning?: PruneOptions) {
  const { baseUrl } = await context.account();
  const { workspace, about: defaults } = request.options;
  const { default: mime } = await import('mime/lite');
  const rows: PlannedFile[] = [];
  const places = new LocationNames(context);
  const duplicates = new Map<PlannedFile, Receipt>();
  const { plan, prunable } = await compareFiles(context, request, pruning, (file, decision) => {
    const outcome = decision.kind === 'sameSize' ? 'new' : decision.kind;
    const row: PlannedFile = {
      path: file.path,
      outcome,
      asset_uid: 'receipt' in decision ? decision.receipt.assetUid : null,
      size_bytes: file.sizeBytes ?? null,
      folder_uid: request.folders.find(file) ?? null,
      workspace_uid: workspace,
      content_type: file.about?.contentType ?? defaults.contentType ?? mime.getType(file.path),
      request: plannedOutcomes[outcome].isSent ? { method: 'POST', url: new URL(paths.upload(), baseUrl).href } : null,
      duplicate_of: null,
    };
    rows.push(row);
    if (decision.kind === 'duplicate') duplicates.set(row, decision.receipt);
  });
  for (const [row, { folder, name }] of duplicates) row.duplicate_of = await places.pathOf(folder, name);
  const gone = await listPrunable(context, pruning, prunable);
  for (const { realPath, assetUid, folder } of gone)
    rows.push({
      path: realPath,
      outcome: 'deleted',
      asset_uid: assetUid,
      size_bytes: null,
      folder_uid: folder || null,
      workspace_uid: workspace,
      content_type: null,
      request: { method: 'DELETE', url: new URL(paths.item('assets', assetUid), baseUrl).href },
      duplicate_of: null,
    });
  const { files, bytes: size } = totalToSend(plan);
  context.terminal.info(
    `dry run: would upload ${pluralize(files, 'file')}, ${formatBytes(size)}, in ${plan.requests + plan.comparisons} requests${gone.length > 0 ? `, and move ${pluralize(gone.length, 'asset')} to the trash` : ''}`,
  );
  const isHuman = !context.isMachineReadable && !request.verbose;
  const uids = rows.map(({ folder_uid }) => folder_uid ?? undefined);
  if (context.isHumanOutput) await places.load('folders', uids);
  const visibleRows = isHuman ? rows.filter(({ outcome }) => outcome !== 'skipped') : rows;
  return listBy(({ path }: PlannedFile) => path, visibleRows, fileColumns(places), 'nothing to upload');
}

/** Returns the assets that the run would move to the trash. Warns if the run would refuse to. */
async function listPrunable(context: Context, pruning?: PruneOptions, prunable?: PrunePlan): Promise<PrunableAsset[]> {
  if (!pruning || !prunable) return [];
  reportLeftOut(context, prunable);
  const refusal = pruneRefusal(pruning, prunable);
  if (!refusal) return (await splitByLocation(context, prunable)).inside;
  context.terminal.warn(`${refusal.message}; ${hintOf(refusal)}`);
  return [];
}

/** Compares all files with the receipts, by size and mtime and, if that is not conclusive, by checksum. */
async function compareFiles(
  context: Context,
  request: RunRequest,
  pruning: PruneOptions | undefined,
  onFile: (file: UploadFile, decision: Classification) => void,
) {
  const { sources, options, receipts, singleFileOption, rateLimit } = request;
  const { baseUrl } = await context.account();
  const startMark =
    (await receipts?.findMark(
      markIdOf(baseUrl, { workspace: request.options.workspace, identity: request.identity }),
    )) ?? Number.MAX_SAFE_INTEGER;
  const tools = { ...request, api: await context.api(), signal: context.signal };
  const moved = new Set<string>();
  const plan = emptyPlan();
  const unread = emptyPlan();
  let outliving = 0;
  try {
    const onUploaded = (_: unknown, file: UploadFile, found: FoundUpload) => {
      const { receipt } = found;
      onFile(file, found);
      if (receipt.realPath !== file.realPath) moved.add(receipt.assetUid);
    };
    const files = await filesToUpload(sources.files(), unread, { ...options, ...tools }, onUploaded);
    const { comparisons, adopted } = unread;
    for (const outcome of keptOutcomes) plan.totals[outcome] = unread.totals[outcome];
    Object.assign(plan, { comparisons, adopted });
    for (const [file, known] of files) {
      const decision = (await matchFile(file, tools.api, request, startMark)) ?? withoutMatch(known);
      addToPlan(plan, decision, file, options.chunkBytes);
      if (!('receipt' in decision) && exceedsSessionLifetime(file.sizeBytes ?? 0, rateLimit)) outliving++;
      onFile(file, decision);
    }
  } finally {
    await sources.close();
  }
  assertHasFiles(plan, sources, singleFileOption);
  await request.confirmFolders?.();
  warnOfSkipped(context, { skipped: sources.skipped(), failures: sources.failures });
  const prunable =
    pruning && receipts && (await planPrune(context, pruning, { receipts, startMark, moved, adopted: plan.adopted }));
  return { plan, outliving, prunable };
}

/** Returns the decision for a file whose content no receipt has. */
const withoutMatch = ({ kind }: FileToUpload): FileToUpload => ({ kind: kind === 'changed' ? 'changed' : 'new' });

async function matchFile(
  file: UploadFile,
  api: Api,
  { sources, folders, options: { workspace, force, duplicates }, receipts }: RunRequest,
  mark: number,
): Promise<FoundUpload | undefined> {
  const key = receiptKeyOf(file, { service: api.transport.baseUrl.origin, workspace, folders });
  if (!key || !receipts || force) return undefined;
  const content = { sizeBytes: file.sizeBytes ?? 0, digest: () => digestAndClose(sources.open(file.path)) };
  return (await matchContent({ api, receipts }, key, content, { duplicates, mark })).match;
}

const fileColumns = (places: LocationNames): Column<PlannedFile>[] => [
  { header: 'PATH', value: ({ path }) => escapeControls(path), minWidth: 18 },
  { header: 'OUTCOME', value: ({ outcome }) => outcome, noTruncate: true },
  { header: 'SIZE', value: ({ size_bytes }, shown) => sizeText(size_bytes, shown), minWidth: 9 },
  { header: 'FOLDER', value: ({ folder_uid }) => places.displayName(folder_uid ?? undefined), minWidth: 12 },
  { header: 'DUPLICATE OF', value: ({ duplicate_of }) => displayText(duplicate_of), minWidth: 12, terminalOnly: true },
  { header: 'CONTENT TYPE', value: ({ content_type }) => displayText(content_type), minWidth: 12 },
];
