import type { Command } from '@commander-js/extra-typings';
import type { Api } from '../../../client/api/api.ts';
import { exitCodes } from '../../../client/error-table.ts';
import { asMediactlError, endsTheRun, type MediactlError, partialFailure } from '../../../client/errors.ts';
import type { Orphan, Receipts } from '../../../client/upload/store/receipts.ts';
import { isAwaitingUpload } from '../../../contract/assumptions.ts';
import { pluralize } from '../../../contract/figures.ts';
import { parseTimestamp } from '../../../contract/json-values.ts';
import { escapeControls, relativeTime } from '../../../contract/sanitize.ts';
import { sessionLifetimeMs } from '../../../contract/tus.ts';
import type { Asset } from '../../../contract/types.ts';
import type { Context } from '../../context.ts';
import { type Column, listBy } from '../../output/result.ts';
import { type ActionWrapper, addExamples } from '../command.ts';
import { confirmMany, parseWriteLimit, truncateLines } from '../confirm-many.ts';

type OrphanRow = {
  asset_uid: string;
  name: string;
  path: string;
  at: string;
  /**
   * Time (ISO 8601) when the upload session ends at the latest. Until then, another user might still be uploading
   * the asset, because it was matched by name only. Null if this machine created it.
   */
  in_use_until: string | null;
  trashed: boolean;
};

export function gc(command: Command, run: ActionWrapper): void {
  addExamples(command, 'mediactl uploads gc', 'mediactl uploads gc --trash', 'mediactl uploads gc --trash --yes');
  command
    .summary('find, and trash, what uploads left unfinished')
    .description(
      'Lists assets that uploads of this machine have left without all their bytes: of answers that were lost, and of sessions that were given up. Each is looked at first: what holds a whole file is not listed. One that was found by its name alone may be somebody else’s, and is left alone for the 24 hours that its session could live. With --trash they are moved to the trash.',
    )
    .option('--trash', 'move them to the trash')
    .option('--max-delete <number>', 'with --trash, how many at most (100)')
    .action(
      run(async (context, { trash, maxDelete }) => {
        const limit = parseWriteLimit('--max-delete', maxDelete);
        const api = await context.api();
        const receipts = await context.receiptsIfAny();
        if (!receipts) return listBy(() => '', [], columns, noOrphansText);
        const left = await findIncompleteOrphans(api, receipts, context.clock.now());
        const isMeant = trash && !context.isDryRun(`move ${left.length} assets to the trash`);
        const failures = isMeant ? await moveToTrash(context, api, receipts, left, limit) : [];
        const result = listBy<OrphanRow>(({ asset_uid }) => asset_uid, left, columns, noOrphansText);
        const problem = `${failures.length} of ${left.length} assets were not moved`;
        return {
          result,
          failure: failures.length > 0 ? partialFailure(problem, failures) : undefined,
        };
      }),
    );
}

/** Returns the recorded orphans that still exist and are incomplete, and removes the others. */
async function findIncompleteOrphans(api: Api, receipts: Receipts, now: number): Promise<OrphanRow[]> {
  const left: OrphanRow[] = [];
  for (const orphan of receipts.orphans(api.transport.baseUrl.origin)) {
    const { assetUid, name, path, at, isGuessed } = orphan;
    const asset = await getIfUnfinished(api, orphan);
    if (!asset) {
      await receipts.forgetOrphan(assetUid);
      continue;
    }
    const until = (parseTimestamp(asset.created_at) ?? Date.parse(at)) + sessionLifetimeMs;
    const inUse = isGuessed && until > now ? new Date(until).toISOString() : null;
    left.push({ asset_uid: assetUid, name, path, at, in_use_until: inUse, trashed: false });
  }
  return left;
}

async function getIfUnfinished(api: Api, { assetUid }: Orphan): Promise<Asset | undefined> {
  try {
    const asset = await api.assets.get(assetUid);
    return isAwaitingUpload(asset.status) ? asset : undefined;
  } catch (error) {
    if (asMediactlError(error).exitCode === exitCodes.notFound) return undefined;
    throw error;
  }
}

async function moveToTrash(
  context: Context,
  api: Api,
  receipts: Receipts,
  all: readonly OrphanRow[],
  limit: ReturnType<typeof parseWriteLimit>,
): Promise<MediactlError[]> {
  const left = all.filter(({ in_use_until }) => in_use_until === null);
  const count = left.length;
  await confirmMany(context, {
    ...{ count, noun: 'assets', limit },
    what: `move ${pluralize(count, 'asset')} to the trash`,
    lines: async () =>
      truncateLines(
        left.map(({ asset_uid, name }) => `  ${asset_uid}  ${escapeControls(name)}`),
        count,
      ),
  });
  const failures: MediactlError[] = [];
  for (const each of left)
    try {
      await api.assets.delete(each.asset_uid);
      await receipts.forgetOrphan(each.asset_uid);
      each.trashed = true;
    } catch (thrown) {
      const error = asMediactlError(thrown);
      failures.push(error.withSubject(each.name));
      if (endsTheRun(error)) break;
    }
  return failures;
}

const noOrphansText = 'nothing was left';

const columns: Column<OrphanRow>[] = [
  { header: 'ASSET', value: ({ asset_uid }) => asset_uid, uid: 'asset' },
  { header: 'NAME', value: ({ name }) => escapeControls(name), minWidth: 12, isFirst: true },
  { header: 'PATH', value: ({ path }) => escapeControls(path), minWidth: 12, dropPriority: 2 },
  {
    header: 'SINCE',
    value: ({ at }, { isTerminal, now }) => (isTerminal ? relativeTime(at, now) : at),
    dropPriority: 1,
  },
  {
    header: 'NOW',
    value: ({ trashed: isGone, in_use_until: until }, { isTerminal, now }) => {
      if (isGone) return 'in the trash';
      if (until === null) return 'unfinished';
      return isTerminal ? `perhaps in use, ask again ${relativeTime(until, now)}` : 'perhaps in use';
    },
    noTruncate: true,
  },
];
