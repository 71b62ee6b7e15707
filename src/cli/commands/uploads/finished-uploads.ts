import type { Command } from '@commander-js/extra-typings';
import { usageError } from '../../../client/errors.ts';
import type { Receipt } from '../../../client/upload/store/receipts.ts';
import { formatBytes } from '../../../contract/figures.ts';
import { isJsonObject } from '../../../contract/json-values.ts';
import { escapeControls, relativeTime } from '../../../contract/sanitize.ts';
import { isUid } from '../../../contract/uid.ts';
import type { Context } from '../../context.ts';
import type { Column, ListResult } from '../../output/result.ts';
import { noResult, record } from '../../output/result.ts';
import { readInputText } from '../../terminal/input.ts';
import { type ActionWrapper, addExamples } from '../command.ts';

/** Finished upload, as printed by `uploads ls --done` and read by `uploads import`. */
type FinishedUpload = {
  service: string;
  workspace: string;
  /** Folder uid; null for the top level. */
  folder: string | null;
  path: string;
  size_bytes: number;
  mtime_ns: string;
  blake3: string;
  verified: boolean | null;
  asset_uid: string;
  session_uid: string;
  name: string;
  state: 'pending' | 'ready' | 'failed';
  reason: string | null;
  at: string;
};

const pageSize = 500;

/** Returns this machine's finished uploads to all services, from receipts without API requests. */
export async function listFinishedUploads(context: Context): Promise<ListResult> {
  const receipts = await context.receiptsIfAny();
  let isUnchecked = false;
  const pages = function* () {
    let page: FinishedUpload[] = [];
    for (const receipt of receipts?.all() ?? []) {
      isUnchecked ||= receipt.state === 'pending';
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
    empty: 'nothing was uploaded from this machine',
    footer: () => (isUnchecked ? 'mediactl uploads wait checks those not checked' : undefined),
  };
}

const toFinishedUpload = ({ folder, ...receipt }: Receipt): FinishedUpload => ({
  service: receipt.service,
  workspace: receipt.workspace,
  folder: folder || null,
  path: receipt.path,
  size_bytes: receipt.sizeBytes,
  mtime_ns: receipt.mtimeNs,
  blake3: receipt.blake3,
  verified: receipt.verified,
  asset_uid: receipt.assetUid,
  session_uid: receipt.sessionUid,
  name: receipt.name,
  state: receipt.state,
  reason: receipt.reason,
  at: receipt.at,
});

const doneColumns: Column<FinishedUpload>[] = [
  { header: 'ASSET', value: ({ asset_uid }) => asset_uid, uid: 'asset' },
  { header: 'PATH', value: ({ path }) => escapeControls(path), minWidth: 18, isFirst: true },
  {
    header: 'SIZE',
    value: ({ size_bytes: size }, { isTerminal }) => (isTerminal ? formatBytes(size) : String(size)),
    minWidth: 9,
    dropPriority: 2,
  },
  {
    header: 'STATE',
    // Only `uploads wait` and --wait update the state of an asset.
    value: ({ state }, { isTerminal }) => (isTerminal && state === 'pending' ? 'not checked' : state),
    noTruncate: true,
  },
  {
    header: 'SENT',
    value: ({ at }, { isTerminal, now }) => (isTerminal ? relativeTime(at, now) : at),
    dropPriority: 1,
  },
];

export function importDone(command: Command, run: ActionWrapper): void {
  addExamples(
    command,
    'ssh studio mediactl uploads ls --done --jsonl | mediactl uploads import -',
    'mediactl uploads import sent.jsonl',
  );
  command
    .summary('take over what another machine has sent')
    .description(
      'Takes what uploads ls --done --jsonl printed on another machine, so that this one does not send it again. What this machine knows already stays as it is.',
    )
    .argument('<file>', 'JSON lines; - for stdin')
    .action(
      run(async (context, file) => {
        const lines = (await readInputText(context.terminal, file)).split('\n');
        const found = lines.flatMap((line, at) => (line.trim() === '' ? [] : [parseImportedReceipt(line, at + 1)]));
        if (context.isDryRun(`take over ${found.length} uploads`)) return noResult;
        const receipts = await context.receipts();
        const imported = await receipts.import(found);
        return record({ read: found.length, imported }, '', () => [
          ['read', String(found.length)],
          ['imported', String(imported)],
        ]);
      }),
    );
}

/**
 * Parses a line for `uploads import`.
 *
 * @throws MediactlError `usage` (exit 2) with the line number; nothing is imported
 */
function parseImportedReceipt(line: string, at: number): Receipt {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw importLineError(at, 'it is not JSON');
  }
  if (!isJsonObject(value)) throw importLineError(at, 'it is not a JSON object');
  const done = value as Partial<FinishedUpload>;
  const text = (name: keyof FinishedUpload, isValid = (_: string) => true): string => {
    const found = done[name];
    if (typeof found === 'string' && isValid(found)) return found;
    throw importLineError(at, `its ${name} is not what mediactl writes`);
  };
  const { verified = null, folder, size_bytes: size, reason } = done;
  if (!Number.isSafeInteger(size) || Number(size) < 0) throw importLineError(at, 'its size_bytes is not a size');
  if (verified !== null && typeof verified !== 'boolean')
    throw importLineError(at, 'its verified is neither true, false nor null');
  return {
    service: text('service', (url) => URL.canParse(url) && new URL(url).origin === url),
    workspace: text('workspace', isUid),
    folder: folder === null ? '' : text('folder', isUid),
    path: text('path', (path) => path !== '' && !/\p{Cc}/u.test(path)),
    sizeBytes: Number(size),
    mtimeNs: text('mtime_ns', (version) => version !== ''),
    blake3: text('blake3', (digest) => /^[0-9a-f]{64}$/.test(digest)),
    verified,
    assetUid: text('asset_uid', isUid),
    sessionUid: text('session_uid'),
    name: text('name'),
    state: text('state', (state) => ['pending', 'ready', 'failed'].includes(state)) as Receipt['state'],
    reason: typeof reason === 'string' ? reason : null,
    at: text('at', (time) => !Number.isNaN(Date.parse(time))),
  };
}

const importLineError = (line: number, reason: string) =>
  usageError(
    `line ${line} is not a finished upload`,
    'mediactl uploads ls --done --jsonl prints them; nothing was taken over',
    reason,
  );
