import type { Command } from '@commander-js/extra-typings';
import type { Api } from '../../../client/api/api.ts';
import { asCodedError, CodedError, ignoreNotFound, partialFailure } from '../../../client/errors.ts';
import { listWorkspaces } from '../../../client/library/workspaces.ts';
import { findEmptyAssets, listLostCreations } from '../../../client/upload/session/lost-creations.ts';
import type { Receipts } from '../../../client/upload/store/receipts.ts';
import { isAwaitingUpload, mayLackBytes } from '../../../contract/assumptions.ts';
import { sessionHours } from '../../../contract/limits.ts';
import { sessionLifetimeMs } from '../../../contract/tus.ts';
import { startAge } from '../../../shared/clock.ts';
import { parseTimestamp } from '../../../shared/json-values.ts';
import { relativeTime } from '../../../shared/sanitize.ts';
import { type ActionWrapper, addExamples, type CommandOutcome } from '../../command.ts';
import type { Context } from '../../context.ts';
import { type Column, listBy } from '../../output/result.ts';
import { maxChangesOption, parseWriteLimit, trashAssets, type WriteLimit } from '../confirm-many.ts';

type OrphanRow = {
  asset_uid: string;
  asset_name: string;
  path: string;
  created_at: string;
  /**
   * Time (ISO 8601) when the upload session ends at the latest. Until then, another user might still be uploading
   * the asset, because it was matched by name only. Null if this machine created it.
   */
  protected_until: string | null;
  deleted: boolean;
};

export function cleanup(command: Command, run: ActionWrapper): void {
  addExamples(
    command,
    'mediactl uploads cleanup',
    'mediactl uploads cleanup --trash',
    'mediactl uploads cleanup --trash --yes',
  );
  command
    .summary('find and trash incomplete assets')
    .description(
      `Lists incomplete assets left behind by interrupted uploads from this machine. Complete assets are never listed. With --trash, moves them to the trash. An asset that was matched only by name could belong to another user, so it is kept for ${sessionHours} hours, until its upload session has expired.`,
    )
    .option('--trash', 'move the assets to the trash')
    .option(...maxChangesOption)
    .action(
      run((context, { trash = false, maxChanges }) =>
        runCleanup(context, { trash, limit: parseWriteLimit(maxChanges) }),
      ),
    );
}

type CleanupRequest = { trash: boolean; limit: WriteLimit };

export async function runCleanup(context: Context, { trash, limit }: CleanupRequest): Promise<CommandOutcome> {
  const api = await context.api();
  const ageMs = startAge(context.clock);
  const receipts = await context.state.receiptsIfAny();
  const orphans = receipts ? await findIncompleteOrphans(context, api, receipts) : [];
  let failures: CodedError[] = [];
  if (receipts && trash && !context.isDryRun(`move ${orphans.length} assets to the trash`)) {
    const unused = orphans.filter(({ protected_until }) => protected_until === null);
    const assets = unused.map((row) => ({ assetUid: row.asset_uid, label: row.asset_name, row }));
    const service = api.transport.baseUrl.origin;
    // Somebody may have sent the file meanwhile.
    const beforeItem = async ({ assetUid, label }: (typeof assets)[number]) => {
      const asset = await api.assets.get(assetUid).catch(ignoreNotFound);
      if (!asset || isAwaitingUpload(asset.status)) return undefined;
      throw new CodedError(`${label} was kept`, { code: 'changed_meanwhile', reason: 'it is no longer incomplete' });
    };
    ({ failures } = await trashAssets(
      context,
      assets,
      { command: 'uploads cleanup', limit, ageMs, beforeItem },
      async ({ assetUid, row }) => {
        await receipts.forgetOrphan(service, { assetUid, path: row.path, at: row.created_at });
        row.deleted = true;
      },
    ));
  }
  const problem = `${failures.length} of ${orphans.length} assets were not moved to the trash`;
  return {
    result: listBy<OrphanRow>(({ asset_uid }) => asset_uid, orphans, columns, 'no incomplete assets'),
    failure: failures.length > 0 ? partialFailure(problem, failures) : undefined,
  };
}

/** Returns the recorded orphans that still exist and are incomplete, and removes the others. */
async function findIncompleteOrphans(context: Context, api: Api, receipts: Receipts): Promise<OrphanRow[]> {
  const service = api.transport.baseUrl.origin;
  await searchLostCreations(context, api, receipts);
  const left: OrphanRow[] = [];
  for (const orphan of await receipts.orphans(service)) {
    const { assetUid, name, path, at, isGuessed } = orphan;
    if (assetUid === null) continue; // of another account
    const asset = await api.assets.get(assetUid).catch(ignoreNotFound);
    const mayBeEmpty = isGuessed ? mayLackBytes(asset?.status) : isAwaitingUpload(asset?.status);
    if (!asset || !mayBeEmpty) {
      await receipts.forgetOrphan(service, orphan);
      continue;
    }
    const until = (parseTimestamp(asset.created_at) ?? Date.parse(at)) + sessionLifetimeMs;
    // A clock that is wrong, here or there, must not end the protection.
    const now = context.clock.now() + api.transport.connection.clockSkewMs;
    const isInUse = (isGuessed && until > now) || !isAwaitingUpload(asset.status);
    const protected_until = isInUse ? new Date(until).toISOString() : null;
    left.push({ asset_uid: assetUid, asset_name: name, path, created_at: at, protected_until, deleted: false });
  }
  return left;
}

/** Searches the empty assets of lost creations. Forgets those for which there are too many newer assets. */
async function searchLostCreations(context: Context, api: Api, receipts: Receipts): Promise<void> {
  const service = api.transport.baseUrl.origin;
  if ((await listLostCreations(receipts, service)).length === 0) return;
  const workspaces = (await listWorkspaces(api).catch(ignoreRefusal))?.map(({ uid }) => uid);
  await findEmptyAssets({ api, receipts, store: await context.state.uploads() }, workspaces);
  for (const creation of await listLostCreations(receipts, service, workspaces)) {
    const { name, path, at } = creation;
    context.terminal.warn(
      `${path}: there are too many assets since ${at} to search all; an empty one may be named ${name}`,
    );
    await receipts.forgetOrphan(service, creation);
  }
}

/** Returns undefined for a key that may not list workspaces, so that the creations of any are searched. */
function ignoreRefusal(error: unknown): undefined {
  if (!['notFound', 'forbidden'].includes(asCodedError(error).kind)) throw error;
}

const columns: Column<OrphanRow>[] = [
  { field: 'asset_uid', uid: 'asset' },
  { field: 'asset_name', minWidth: 12, isFirst: true },
  { field: 'path', minWidth: 12, dropPriority: 2 },
  { field: 'created_at', dropPriority: 1 },
  {
    header: 'STATUS',
    value: ({ deleted: isGone, protected_until: until }, { isTerminal, now }) => {
      if (isGone) return 'in the trash';
      if (until === null) return 'unfinished';
      return isTerminal ? `perhaps in use, check again ${relativeTime(until, now)}` : 'perhaps in use';
    },
    noTruncate: true,
  },
];
