import type { Context } from '../../context.ts';
import { Places } from '../../library/places.ts';
import { bytes, counted } from '../../terminal/figures.ts';
import { cell, printable } from '../../terminal/printable.ts';
import { type Column, listBy } from '../../terminal/result.ts';
import { digestOf, knownByContent, mayBeKnown } from '../../upload/known.ts';
import { count, emptyPlan, type Judgement, judge, type Plan, toSend } from '../../upload/plan.ts';
import type { Receipt, ReceiptKey, Receipts } from '../../upload/receipts.ts';
import { keyOf, type Wanted } from '../../upload/wanted.ts';
import { paths } from '../../wire/paths.ts';
import {
  costOf,
  outlivesSession,
  type PlanRecord,
  planColumns,
  planLine,
  planRows,
} from './plan-view.ts';
import { assertSomething, type RunRequest } from './run-uploads.ts';
import type { Gone } from './sync.ts';

type PlannedFile = {
  path: string;
  /** What becomes of it; `there` and `same` (content) send nothing, `gone` is moved to the trash. */
  outcome: 'new' | 'changed' | 'there' | 'same' | 'gone';
  /** The asset that is there. */
  asset_uid: string | null;
  /** Null for stdin, whose length nobody knows before. */
  size_bytes: number | null;
  /** Uid; null for the top level, and for one that would be made. */
  folder: string | null;
  workspace: string;
  content_type: string | null;
  /** Null where nothing would be sent. */
  request: string | null;
};

/** --plan: what would be sent in figures, and what it takes. */
export async function planned(context: Context, request: RunRequest, gone: readonly Gone[]) {
  const { plan, same, outliving } = await look(context, request, () => {});
  const { transport, assets } = await context.api();
  if (!transport.rateLimit) await assets.page({}, 1, 0).catch(() => {}); // a key may write and not read
  const { requests, hours, limit } = costOf(plan, transport.rateLimit, context.clock.now());
  const record: PlanRecord = {
    ...{ there: plan.there, changed: plan.changed, same, new: plan.new },
    ...{
      requests: requests + gone.length,
      bytes: toSend(plan).bytes,
      hours,
      limit,
      outlive_sessions: outliving,
    },
    gone: gone.length,
  };
  context.terminal.say(planLine(plan, transport.rateLimit, context.clock.now(), same.files, true));
  if (context.settings.shape.format !== 'human')
    return { kind: 'record' as const, record, id: '', view: () => '' };
  return listBy(({ kind }) => kind, planRows(record), planColumns, 'nothing to upload');
}

/** --dry-run: what would become of each file. */
export async function dryRun(context: Context, request: RunRequest, gone: readonly Gone[]) {
  const { baseUrl } = await context.account();
  const { workspace, about: all } = request.options;
  const { default: mime } = await import('mime/lite');
  const rows: PlannedFile[] = [];
  const { plan } = await look(context, request, (file, { outcome, assetUid }) => {
    const isSent = outcome === 'new' || outcome === 'changed';
    rows.push({
      path: file.path,
      outcome,
      asset_uid: assetUid ?? null,
      size_bytes: file.sizeBytes ?? null,
      folder: request.folders.find(file) ?? null,
      workspace,
      content_type: file.about?.contentType ?? all.contentType ?? mime.getType(file.path),
      request: isSent ? `POST ${new URL(paths.upload(), baseUrl)}` : null,
    });
  });
  for (const { path, assetUid, folder } of gone)
    rows.push({
      ...{ path, outcome: 'gone', asset_uid: assetUid, size_bytes: null, folder: folder || null },
      ...{ workspace, content_type: null },
      request: `DELETE ${new URL(paths.item('assets', assetUid), baseUrl)}`,
    });
  const { files, bytes: size } = toSend(plan);
  context.terminal.say(
    `dry run: would upload ${counted(files, 'file')}, ${bytes(size)}, in ${plan.requests} requests${gone.length > 0 ? `, and move ${gone.length} assets to the trash` : ''}`,
  );
  const isPerson = context.settings.shape.format === 'human' && !request.verbose;
  const places = new Places(context);
  const uids = rows.map(({ folder }) => folder ?? undefined);
  if (context.isForPerson) await places.learn('folders', uids);
  const shown = isPerson ? rows.filter(({ outcome }) => outcome !== 'there') : rows;
  return listBy(({ path }: PlannedFile) => path, shown, fileColumns(places), 'nothing to upload');
}

type Decision = { outcome: PlannedFile['outcome']; assetUid?: string };

/** Every file against the receipts; where they cannot tell by size and time, it is read. */
async function look(
  context: Context,
  { sources, folders, options, receipts: all, isForOne, rateLimit }: RunRequest,
  tell: (file: Wanted, decision: Decision) => void,
) {
  const { workspace, again, chunkBytes, same: sameAction } = options;
  const service = (await context.account()).baseUrl.origin;
  const receipts = again ? undefined : all;
  const before = sameAction === 'skip' ? Number.MAX_SAFE_INTEGER : undefined;
  const plan: Plan = emptyPlan();
  const same = { files: 0, bytes: 0 };
  let outliving = 0;
  try {
    for await (const file of sources.files()) {
      const key = keyOf(file, { service, workspace, folders });
      const judged = judge(file, key, receipts);
      const decision =
        judged.kind === 'there' || !key || !receipts
          ? judged
          : await judgeByContent(file, judged, key, receipts, sources, before);
      if (decision.kind === 'same') {
        same.files++;
        same.bytes += file.sizeBytes ?? 0;
      } else count(plan, decision, file, chunkBytes);
      const isSent = decision.kind === 'new' || decision.kind === 'changed';
      if (isSent && outlivesSession(file.sizeBytes ?? 0, rateLimit)) outliving++;
      tell(file, {
        outcome: decision.kind === 'alike' ? 'new' : decision.kind,
        ...('receipt' in decision && { assetUid: decision.receipt.assetUid }),
      });
    }
  } finally {
    await sources.close();
  }
  assertSomething(plan, sources, isForOne);
  for (const kind of sources.passedOver()) context.terminal.warn(`left out: ${kind}`);
  for (const { path, error } of sources.failures)
    context.terminal.warn(`${printable(path)}: ${error.message}`);
  return { plan, same, outliving };
}

type Judged = Judgement | { kind: 'same'; receipt: Receipt };

async function judgeByContent(
  file: Wanted,
  judged: Judgement,
  key: ReceiptKey,
  receipts: Receipts,
  { open }: RunRequest['sources'],
  before: number | undefined,
): Promise<Judged> {
  const unknown: Judged = { kind: judged.kind === 'changed' ? 'changed' : 'new' };
  const sizeBytes = file.sizeBytes ?? 0;
  if (!mayBeKnown(receipts, key, sizeBytes)) return unknown;
  const source = await open(file.path);
  try {
    const blake3 = await digestOf({ source });
    return knownByContent(receipts, key, sizeBytes, blake3, before) ?? unknown;
  } finally {
    await source.close();
  }
}

const fileColumns = (places: Places): Column<PlannedFile>[] => [
  { header: 'PATH', value: ({ path }) => printable(path), least: 18 },
  { header: 'WOULD BE', value: ({ outcome }) => outcome, whole: true },
  {
    header: 'SIZE',
    value: ({ size_bytes: size }, { isTerminal }) =>
      size === null ? '' : isTerminal ? bytes(size) : String(size),
    least: 9,
  },
  { header: 'FOLDER', value: ({ folder }) => places.of(folder ?? undefined), least: 12 },
  { header: 'CONTENT TYPE', value: ({ content_type }) => cell(content_type), least: 12 },
];
