import type { Receipt } from '../../../client/upload/store/receipt-row.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import type { Context } from '../../context.ts';
import { sizeText, timeText } from '../../output/cells.ts';
import type { Column, ListResult } from '../../output/result.ts';
import type { OutputRecord } from '../../reference/schemas.ts';

type FinishedUpload = OutputRecord<'finished-upload'>;

const pageSize = 500;

/** Returns this machine's finished uploads to all services, from receipts without API requests. */
export async function listFinishedUploads(context: Context): Promise<ListResult> {
  const receipts = await context.state.receiptsIfAny();
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
    footer: () => (isUnchecked ? 'mediactl wait, to update the state of unchecked assets' : undefined),
  };
}

const toFinishedUpload = (receipt: Receipt): FinishedUpload => ({
  base_url: receipt.service,
  workspace_uid: receipt.workspace,
  folder_uid: receipt.folder || null,
  path: receipt.realPath,
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
  { field: 'asset_uid', value: ({ asset_uid }) => asset_uid, uid: 'asset' },
  { field: 'path', value: ({ path }) => escapeControls(path), minWidth: 18, isFirst: true },
  { field: 'size_bytes', value: ({ size_bytes }, shown) => sizeText(size_bytes, shown), minWidth: 9, dropPriority: 2 },
  {
    field: 'asset_state',
    // Only `wait` and --wait update the state of an asset.
    value: ({ asset_state }) => asset_state,
    noTruncate: true,
  },
  { field: 'finished_at', value: ({ finished_at }, shown) => timeText(finished_at, shown), dropPriority: 1 },
];
