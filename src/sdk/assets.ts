import { incompleteLists, type ListGap } from '../client/api/pagination.ts';
import type { WantedChange } from '../client/changes/items.ts';
import { checkedEdit } from '../client/changes/tag-change.ts';
import { CodedError, usageError } from '../client/errors.ts';
import { isGlob } from '../client/glob.ts';
import { assertShownFilters } from '../client/library/filter-checks.ts';
import { followAssets } from '../client/library/follow-assets.ts';
import type { Library } from '../client/library/library.ts';
import { isLibraryPath } from '../client/library/library-paths.ts';
import { parsePlayables } from '../client/library/playables.ts';
import { resolvePlayback } from '../client/library/playback.ts';
import { byUid, findAssets } from '../client/library/select-assets.ts';
import { waitForAssets } from '../client/library/wait-for-assets.ts';
import { ListScope } from '../client/library/workspace-in-use.ts';
import type { AssetFilterName, AssetFilters } from '../contract/asset-filters.ts';
import type { AssetRecord } from '../contract/types.ts';
import { isUid, normalizeUid } from '../contract/uid.ts';
import { Channel } from '../shared/channel.ts';
import { startAge } from '../shared/clock.ts';
import { pluralize } from '../shared/figures.ts';
import { asText } from '../shared/json-values.ts';
import * as argument from './arguments.ts';
import type { ClientParts } from './client-parts.ts';
import { createDownload } from './downloads.ts';
import { folderUid } from './folders.ts';
import type * as Public from './public-types.ts';

const defaultWaitMs = 30 * 60_000;

/** Name of each filter in a query of the package. */
const queryNames = {
  search: 'search',
  type: 'type',
  status: 'status',
  tag: 'tag',
  parent: 'folder',
  created_after: 'createdAfter',
  created_before: 'createdBefore',
} as const satisfies Record<AssetFilterName, keyof Public.AssetQuery>;

type AssetFunctions = Public.Client['assets'];

export const createAssets = (parts: ClientParts): AssetFunctions => ({
  ...createReads(parts),
  ...createWrites(parts),
  ...createWait(parts),
  ...createFollow(parts),
  ...createMedia(parts),
});

const scopeOf = ({ workspaceInUse }: Library, { parent }: AssetFilters) =>
  new ListScope(workspaceInUse, parent === undefined ? 'list' : 'folder');

const allWorkspaces = 'the list has the assets of all workspaces';

const createReads = ({ run, iterate, warn }: ClientParts): Pick<AssetFunctions, 'list' | 'get' | 'find'> => ({
  list: (query = {}, call) =>
    iterate(call, async function* ({ library }) {
      argument.assertArgument('query', argument.assetQuery, query);
      const { limit } = query;
      const filters = await filtersOf(library, query);
      const scope = scopeOf(library, filters);
      const gaps: ListGap[] = [];
      for await (const page of library.folderReader.list(filters, { limit, onGap: (gap) => gaps.push(gap) })) {
        assertShownFilters(filters, page);
        yield* (await scope.keepOf(page)) as Public.Asset[];
      }
      if (scope.isAll) warn(call, allWorkspaces);
      const incomplete = incompleteLists(gaps);
      if (incomplete) throw incomplete;
    }),
  get: (uid, call) =>
    run(call, async ({ api }) => {
      argument.assertArgument('uid', argument.uid, uid);
      return (await api.assets.get(uid)) as Public.Asset;
    }),
  find: (nameOrPath, call) =>
    run(call, async ({ library }) => {
      argument.assertArgument('nameOrPath', argument.text, nameOrPath);
      const { found, unknownCount } = await findAssets(library, nameOrPath);
      if (unknownCount > 0)
        warn(call, `the service does not show the workspace of ${pluralize(unknownCount, 'asset')}, which may be any`);
      if (found.length === 0 && isGlob(nameOrPath) && !isLibraryPath(nameOrPath))
        warn(call, `no asset is named ${nameOrPath}; a glob begins with a folder, such as /**/${nameOrPath}`);
      return found as Public.Asset[];
    }),
});

async function filtersOf(library: Library, query: Public.AssetQuery): Promise<AssetFilters> {
  const filters: AssetFilters = { ordering: query.ordering };
  for (const [field, name] of Object.entries(queryNames)) filters[field as AssetFilterName] = query[name];
  if (query.folder !== undefined) filters.parent = (await folderUid(library, query.folder)) ?? 'root';
  return filters;
}

const createFollow = ({ iterate, signalOf, warn }: ClientParts): Pick<AssetFunctions, 'follow'> => ({
  follow: (query = {}, options = {}) =>
    iterate(
      options,
      async function* ({ api, library }) {
        argument.assertArgument('query', argument.followQuery, query);
        const { since, ...call } = options;
        const onOutage = (error: unknown) => warn(call, error instanceof Error ? error.message : String(error));
        const filters = await filtersOf(library, query);
        const scope = scopeOf(library, filters);
        const from = { clock: api.transport.clock, signal: signalOf(call), since, onOutage, scope };
        let isTold = false;
        for await (const events of followAssets(library, 'assets', filters, from)) {
          if (scope.isAll && !isTold) warn(call, allWorkspaces);
          isTold = scope.isAll;
          for (const { seen_at: seenAt, asset, ...event } of events)
            yield { ...event, seenAt, asset: asset as Public.Asset };
        }
      },
      argument.followOptions,
    ),
});

const createWrites = ({
  run,
  labelOf,
  errors,
  options,
}: ClientParts): Pick<AssetFunctions, 'update' | 'updateAll' | 'move' | 'trash'> => ({
  update: (uid, wanted, call) =>
    run(call, async ({ library, writer }) => {
      argument.assertArgument('uid', argument.uid, uid);
      const change = await changeOf(library, wanted);
      return (await (await writer()).edit(byUid(uid), change, labelOf('update'))).asset as Public.Asset;
    }),
  updateAll: (uids, wanted, call) =>
    run(
      call,
      async ({ api, library, writer }) => {
        argument.assertArgument('uids', argument.validUids, uids);
        const change = await changeOf(library, wanted);
        const readMs = startAge(api.transport.clock);
        const assets = await writer();
        const planned = new Map(call?.planned?.map((record) => [normalizeUid(record.uid), record as AssetRecord]));
        const selected = uids.map((uid) => byUid(uid, planned.get(normalizeUid(uid))));
        const keepsOldValues = options.history === true || planned.size > 0;
        const { items } = await assets.plan(selected, change, { keepsOldValues });
        const label = labelOf(`update ${pluralize(items.length, 'asset')}`);
        const ageMs = planned.size > 0 ? () => Number.POSITIVE_INFINITY : readMs;
        const { results } = await assets.change({ ...label, items, ageMs });
        return results.map(({ item: { uid }, value, error }) =>
          error ? { uid, error: errors.toPublic(error) } : { uid, asset: { uid, ...value?.asset } as Public.Asset },
        );
      },
      argument.updateAllOptions,
    ),
  move: (uid, folder, call) =>
    run(call, async ({ library, writer }) => {
      argument.assertArgument('uid', argument.uid, uid);
      argument.assertArgument('folder', argument.text, folder);
      const target = await folderUid(library, folder);
      const label = labelOf(`move to ${folder}`);
      return (await (await writer()).edit(byUid(uid), { folder: target }, label)).asset as Public.Asset;
    }),
  trash: (uid, call) =>
    run(call, async ({ writer }) => {
      argument.assertArgument('uid', argument.uid, uid);
      await (await writer()).trash(byUid(uid), labelOf('move to the trash'));
    }),
});

async function changeOf(library: Library, wanted: Public.AssetChange): Promise<WantedChange> {
  argument.assertArgument('change', argument.assetChange, wanted);
  const { tags, addTags = [], removeTags = [], name, description, folder } = wanted;
  const isTagEdit = addTags.length + removeTags.length > 0;
  if (tags && isTagEdit) throw usageError('tags cannot be combined with addTags or removeTags');
  const edit = checkedEdit(['addTags', 'removeTags'], { add: [...addTags], remove: [...removeTags] });
  const fields = { ...(name !== undefined && { name }), ...(description !== undefined && { description }) };
  const change: WantedChange = {
    fields,
    tags: tags ? { set: tags } : isTagEdit ? edit : undefined,
    folder: folder === undefined ? undefined : await folderUid(library, folder),
  };
  if (!change.tags && folder === undefined && Object.keys(fields).length === 0) throw usageError('nothing to change');
  return change;
}

const createWait = ({ iterate, errors, signalOf }: ClientParts): Pick<AssetFunctions, 'wait'> => ({
  wait: (uids, options = {}) =>
    iterate(
      options,
      async function* ({ api }) {
        argument.assertArgument('uids', argument.uids, uids);
        const { timeoutMs = defaultWaitMs, ...call } = options;
        const settled = new Channel<Public.WaitResult>();
        const work = async () => {
          for (const uid of uids.filter((each) => !isUid(each)))
            settled.push({ uid, error: errors.toPublic(usageError(`${uid} is not a uid`)) });
          await waitForAssets(api.assets, uids.filter(isUid), {
            clock: api.transport.clock,
            timeoutMs,
            signal: signalOf(call),
            rateLimiterState: () => api.transport.connection.rateLimiter.state,
            onResult: (uid, outcome) =>
              settled.push(
                outcome instanceof CodedError
                  ? { uid, error: errors.toPublic(outcome) }
                  : { uid, asset: outcome as Public.Asset },
              ),
          });
        };
        for await (const results of settled.streamWhile(work)) yield* results;
      },
      argument.waitOptions,
    ),
});

const createMedia = (parts: ClientParts): Pick<AssetFunctions, 'playback' | 'download'> => ({
  playback: (uid, call) =>
    parts.run(call, async ({ api }) => {
      argument.assertArgument('uid', argument.uid, uid);
      const { info, player } = await resolvePlayback(api, uid);
      const urls = parsePlayables(info, api.transport.baseUrl).urls.map(({ kind, url, expiresAt }) => ({
        kind,
        url: url.href,
        expiresAt: asText(expiresAt),
      }));
      const isBlocked = Boolean(info.blocked) && info.blocked !== 'false';
      return { type: asText(info.type) ?? '', isBlocked, urls, playbackToken: player.playback_token };
    }),
  download: createDownload(parts),
});
