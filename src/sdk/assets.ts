import type { WantedChange } from '../client/changes/items.ts';
import { checkedEdit } from '../client/changes/tag-change.ts';
import { CodedError, usageError } from '../client/errors.ts';
import { isGlob } from '../client/glob.ts';
import { assertShownFilters } from '../client/library/filter-checks.ts';
import { isLibraryPath } from '../client/library/library-paths.ts';
import { downloadMedia, resolveDownload } from '../client/library/media-download.ts';
import { parsePlayables } from '../client/library/playables.ts';
import { resolvePlayback } from '../client/library/playback.ts';
import { byUid, findAssets } from '../client/library/select-assets.ts';
import { waitForAssets } from '../client/library/wait-for-assets.ts';
import { Channel } from '../client/upload/batch/channel.ts';
import type { AssetFilterName, AssetFilters } from '../contract/asset-filters.ts';
import { systemClock } from '../contract/clock.ts';
import { pluralize } from '../contract/figures.ts';
import { asText } from '../contract/json-values.ts';
import { isUid } from '../contract/uid.ts';
import * as argument from './arguments.ts';
import type { ClientParts } from './client-parts.ts';
import { folderUid } from './folders.ts';
import type * as Public from './public-types.ts';
import { saveAs } from './save-as.ts';

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

/** Creates the functions of assets, which forward to the client. */
export const createAssets = (parts: ClientParts): AssetFunctions => ({
  ...createReads(parts),
  ...createWrites(parts),
  ...createWait(parts),
  ...createMedia(parts),
});

const createReads = ({ run, iterate, notify }: ClientParts): Pick<AssetFunctions, 'list' | 'get' | 'find'> => ({
  list: (query = {}, call) =>
    iterate(call, async function* ({ api, library }) {
      argument.assertArgument('query', argument.assetQuery, query);
      const { limit, ordering } = query;
      const filters: AssetFilters = { ordering };
      for (const [field, name] of Object.entries(queryNames)) filters[field as AssetFilterName] = query[name];
      if (query.folder !== undefined) filters.parent = (await folderUid(library, query.folder)) ?? 'root';
      for await (const page of api.assets.list(filters, { limit })) {
        assertShownFilters(filters, page);
        yield* page as Public.Asset[];
      }
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
        notify(call)({
          kind: 'warning',
          message: `the service does not show the workspace of ${pluralize(unknownCount, 'asset')}, which may be any`,
        });
      if (found.length === 0 && isGlob(nameOrPath) && !isLibraryPath(nameOrPath))
        notify(call)({
          kind: 'warning',
          message: `no asset is named ${nameOrPath}; a glob begins with a folder, such as /**/${nameOrPath}`,
        });
      return found as Public.Asset[];
    }),
});

const createWrites = ({ run }: ClientParts): Pick<AssetFunctions, 'update' | 'move' | 'trash'> => ({
  update: (uid, wanted, call) =>
    run(call, async ({ writer }) => {
      argument.assertArgument('uid', argument.uid, uid);
      argument.assertArgument('change', argument.assetChange, wanted);
      const { tags, addTags = [], removeTags = [], name, description } = wanted;
      const isTagEdit = addTags.length + removeTags.length > 0;
      if (tags && isTagEdit) throw usageError('tags cannot be combined with addTags or removeTags');
      const edit = checkedEdit(['addTags', 'removeTags'], { add: [...addTags], remove: [...removeTags] });
      const fields = { ...(name !== undefined && { name }), ...(description !== undefined && { description }) };
      const change: WantedChange = {
        fields,
        tags: tags ? { set: tags } : isTagEdit ? edit : undefined,
      };
      if (!change.tags && Object.keys(fields).length === 0) throw usageError('nothing to change');
      const label = { command: 'library', summary: 'update' };
      return (await (await writer()).edit(byUid(uid), change, label)).asset as Public.Asset;
    }),
  move: (uid, folder, call) =>
    run(call, async ({ library, writer }) => {
      argument.assertArgument('uid', argument.uid, uid);
      argument.assertArgument('folder', argument.text, folder);
      const target = await folderUid(library, folder);
      const label = { command: 'library', summary: `move to ${folder}` };
      return (await (await writer()).edit(byUid(uid), { folder: target }, label)).asset as Public.Asset;
    }),
  trash: (uid, call) =>
    run(call, async ({ writer }) => {
      argument.assertArgument('uid', argument.uid, uid);
      await (await writer()).trash(byUid(uid), { command: 'library', summary: 'move to the trash' });
    }),
});

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
            clock: systemClock,
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

const createMedia = ({ run, state, errors }: ClientParts): Pick<AssetFunctions, 'playback' | 'download'> => ({
  playback: (uid, call) =>
    run(call, async ({ api }) => {
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
  download: (uid, path, options = {}) =>
    run(
      options,
      async ({ api }) => {
        argument.assertArgument('uid', argument.uid, uid);
        argument.assertArgument('path', argument.text, path);
        const { overwrite = false, acceptRendition = false, onProgress } = options;
        const playback = await resolvePlayback(api, uid);
        const asset = await api.assets.get(uid);
        const media = await resolveDownload(api, asset, { playback, acceptsRendition: acceptRendition });
        // A download needs no receipt, so that an unusable state directory does not stop it.
        const findReceipt = async () => (await state.receiptsIfAny())?.findByAsset(uid);
        const receipt = media.isOriginal ? await findReceipt().catch(ignoreState) : undefined;
        const saved = await saveAs(path, overwrite, (file) => {
          let offset = 0;
          return downloadMedia(
            api.transport,
            { ...media, blake3: receipt?.blake3 ?? undefined },
            {
              write: async (part) => {
                await file.write(part, 0, part.length, offset);
                offset += part.length;
              },
              restart: async () => {
                await file.truncate(0);
                offset = 0;
              },
              onProgress: errors.guard(onProgress),
            },
          );
        });
        return { path, sizeBytes: saved.bytes, contentType: saved.contentType, isVerified: saved.verified };
      },
      argument.downloadOptions,
    ),
});

function ignoreState(error: unknown): undefined {
  if (!(error instanceof CodedError) || error.kind !== 'state') throw error;
}
