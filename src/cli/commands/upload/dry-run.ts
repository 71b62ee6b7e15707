import { addToPlan, decideFiles, emptyPlan, markIdOf } from '../../../client/upload/batch/plan.ts';
import { Decider } from '../../../client/upload/decide/decide.ts';
import type { Decision, LocalRecord } from '../../../client/upload/decide/decision.ts';
import { leftOutPath } from '../../../client/upload/sources/file-chooser.ts';
import type { UploadFile } from '../../../client/upload/sources/upload-file.ts';
import type { MovedReceipt } from '../../../client/upload/store/receipt-moves.ts';
import { paths } from '../../../contract/paths.ts';
import { pluralize } from '../../../shared/figures.ts';
import { displayText, escapeControls } from '../../../shared/sanitize.ts';
import type { Context } from '../../context.ts';
import { hintOf } from '../../error-hints.ts';
import { LocationNames } from '../../library/name-cache.ts';
import { sizeText } from '../../output/cells.ts';
import { type Column, listBy } from '../../output/result.ts';
import { formatPlan, warnOfSlowUpload } from '../../uploading/plan-view.ts';
import { addEmptySources } from '../../uploading/run-summary.ts';
import { assertHasFiles, emptySourcesOf, type PreparedRun, warnOfUnusedFilters } from '../../uploading/run-uploads.ts';
import { warnOfLeftOut } from '../../uploading/sources.ts';
import { truncateLines } from '../confirm-many.ts';
import { createRows, emptyRow, type PlannedFile } from './dry-run-rows.ts';
import {
  type PrunableAsset,
  type PruneOptions,
  type PrunePlan,
  planPrune,
  pruneRefusal,
  reportLeftOut,
  splitByLocation,
} from './prune.ts';
import type { UploadRequest } from './upload-request.ts';

export async function printDryRun(
  context: Context,
  request: UploadRequest,
  prepared: PreparedRun,
  pruning: PruneOptions | undefined,
) {
  const { sources, ports } = prepared;
  const { transport, assets } = ports.api;
  const { workspace } = ports;
  const places = new LocationNames(context);
  const rows: PlannedFile[] = [];
  const duplicates = new Map<PlannedFile, { folder: string; name: string }>();
  const toRow = await createRows(context, request.settings, ports);
  const { plan, prunable } = await decideFinally(context, request, prepared, pruning, (file, decision) => {
    const row = toRow(file, decision);
    rows.push(row);
    if (decision.action === 'keep' && decision.outcome === 'duplicate') duplicates.set(row, decision.receipt);
  });
  for (const [row, { folder, name }] of duplicates) row.duplicate_of = await places.pathOf(folder, name);
  const gone = await listPrunable(context, pruning, prunable);
  for (const { realPath, assetUid, folder } of gone)
    rows.push({
      ...emptyRow(realPath, 'deleted', workspace),
      ...{ asset_uid: assetUid, folder_uid: folder || null },
      request: { method: 'DELETE', url: new URL(paths.item('assets', assetUid), transport.baseUrl).href },
    });
  for (const left of sources.chooser.leftOut)
    rows.push({ ...emptyRow(leftOutPath(left), 'left_out', workspace), left_by: left.by });
  plan.requests += 2 * gone.length; // each asset is looked up first
  const { connection } = transport;
  if (!connection.rateLimit) await assets.page({}, 1, 0).catch(() => {}); // the key may have no read permission
  const totals = formatPlan(plan, connection.rateLimit, context.clock.now());
  const deleted = gone.length > 0 ? `; would move ${pluralize(gone.length, 'asset')} to the trash` : '';
  context.terminal.info(`dry run: ${totals}${deleted}`);
  warnOfSlowUpload(context, plan, request.settings);
  const isHuman = !context.isMachineReadable && !request.verbose;
  const uids = rows.map(({ folder_uid }) => folder_uid ?? undefined);
  if (context.isHumanOutput) await places.load('folders', uids);
  const visibleRows = isHuman ? rows.filter(({ outcome }) => !['skipped', 'left_out'].includes(outcome)) : rows;
  return {
    result: listBy(({ path }: PlannedFile) => path, visibleRows, fileColumns(places), 'nothing to upload'),
    failure: addEmptySources(undefined, emptySourcesOf(sources)),
  };
}

/** Returns the assets that the run would move to the trash. Warns if the run would refuse to. */
async function listPrunable(context: Context, pruning?: PruneOptions, prunable?: PrunePlan): Promise<PrunableAsset[]> {
  if (!pruning || !prunable) return [];
  reportLeftOut(context, prunable);
  const kept = prunable.doubtful.map(({ message, explanation: { reason } }) => `  ${message}: ${reason}`);
  if (kept.length > 0)
    context.terminal.info(
      ['--prune keeps assets whose files may not be deleted:', ...truncateLines(kept, kept.length)].join('\n'),
    );
  const refusal = pruneRefusal(pruning, prunable);
  if (!refusal) return (await splitByLocation(context, prunable)).inside;
  context.terminal.warn(`${refusal.message}; ${hintOf(refusal)}`);
  return [];
}

/** Decides all files as the run would, which reads those whose content may show that they are uploaded. */
async function decideFinally(
  context: Context,
  { settings, queue }: UploadRequest,
  { sources, ports, identity, confirmFolders }: PreparedRun,
  pruning: PruneOptions | undefined,
  onFile: (file: UploadFile, decision: Decision) => void,
) {
  const { workspace, receipts } = ports;
  const { chunkBytes } = settings;
  const { baseUrl } = await context.account();
  const markId = markIdOf(baseUrl, { workspace, identity });
  const startMark = (await receipts?.findMark(markId)) ?? Number.MAX_SAFE_INTEGER;
  const { signal } = context;
  // Workers do not know this machine's records.
  const store = queue ? undefined : await context.state.uploadsIfAny();
  const decider = new Decider(settings, { ...ports, mark: startMark, store }, !queue);
  const plan = emptyPlan();
  const moved: MovedReceipt[] = [];
  const addMoved = (decision: Decision) => {
    for (const each of decision.action === 'keep' ? decision.records : [])
      if (each.record === 'moved') moved.push(each);
  };
  let records: LocalRecord[];
  try {
    const decided = await decideFiles(sources.files(), emptyPlan(), decider, settings, signal, ({ file }, kept) => {
      addToPlan(plan, kept, file, chunkBytes);
      addMoved(kept);
      onFile(file, kept);
    });
    ({ records } = decided);
    for (const [file, before] of [...decided.files, ...decided.followed]) {
      const decision = await decider.decideFinally(file, before);
      addMoved(decision);
      addToPlan(plan, decision, file, chunkBytes);
      onFile(file, decision);
    }
    plan.comparisons = decider.requests;
  } finally {
    await sources.close();
  }
  assertHasFiles(plan, sources, settings);
  await confirmFolders?.();
  warnOfLeftOut(context, sources.chooser);
  const adopted = records.flatMap((each) => (each.record === 'adopted' ? [each.receipt] : []));
  const prunable = pruning && receipts && (await planPrune(context, pruning, { receipts, startMark, moved, adopted }));
  warnOfUnusedFilters(context, sources);
  return { plan, prunable };
}

const fileColumns = (places: LocationNames): Column<PlannedFile>[] => [
  {
    field: 'path',
    value: ({ path, moved_from: old }) => escapeControls(old === null ? path : `${old} -> ${path}`),
    minWidth: 18,
  },
  { field: 'outcome', noTruncate: true },
  { field: 'size_bytes', minWidth: 9 },
  {
    field: 'remaining_bytes',
    value: ({ outcome, remaining_bytes }, shown) => (outcome === 'resumed' ? sizeText(remaining_bytes, shown) : ''),
    minWidth: 9,
    terminalOnly: true,
  },
  { header: 'FOLDER', value: ({ folder_uid }) => places.displayName(folder_uid ?? undefined), minWidth: 12 },
  {
    field: 'changes',
    value: ({ changes }) => Object.keys(changes ?? {}).join(', '),
    minWidth: 12,
    terminalOnly: true,
  },
  { field: 'duplicate_of', minWidth: 12, terminalOnly: true },
  {
    field: 'error',
    value: ({ error }) => displayText(error?.cause ?? error?.message),
    minWidth: 18,
    terminalOnly: true,
  },
  { field: 'content_type', minWidth: 12 },
];
