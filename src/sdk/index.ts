import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { Api } from '../client/api/api.ts';
import type { FolderNode } from '../client/api/folder-tree.ts';
import { waitForAssets } from '../client/api/wait-for-assets.ts';
import { writeAsset } from '../client/bulk/carry-out.ts';
import { MediactlError as ClientError, usageError } from '../client/errors.ts';
import { Transport } from '../client/http/transport.ts';
import { assertShownFilters } from '../client/library/filter-checks.ts';
import { createFolderPath, parseFolderPath } from '../client/library/folder-creation.ts';
import { Library } from '../client/library/library.ts';
import { isRootPath } from '../client/library/library-paths.ts';
import { downloadMedia, resolveDownload } from '../client/library/media-download.ts';
import { parsePlayables } from '../client/library/playables.ts';
import { resolvePlayback } from '../client/library/playback.ts';
import { byUid, findAssets } from '../client/library/select-assets.ts';
import { type WorkspaceChoice, WorkspaceInUse } from '../client/library/workspace-in-use.ts';
import { isPrimary, listWorkspaces } from '../client/library/workspaces.ts';
import { lockTimeoutError, withLock } from '../client/lock.ts';
import { Channel } from '../client/upload/batch/channel.ts';
import { StateDatabase } from '../client/upload/store/state-database.ts';
import type { AssetFilterName, AssetFilters } from '../contract/asset-filters.ts';
import { systemClock } from '../contract/clock.ts';
import { pluralize } from '../contract/figures.ts';
import { asText } from '../contract/json-values.ts';
import { isUid } from '../contract/uid.ts';
import { assertNumber, assertOptions, type ClientParts, ErrorConverter, toNotice } from './client-parts.ts';
import type * as Public from './public-types.ts';
import { MediactlError } from './public-types.ts';
import { saveAs } from './save-as.ts';
import { createUploader } from './uploads.ts';

export type * from './public-types.ts';
export { MediactlError };

const maxFolderLockMs = 60_000;
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

export const createClient: typeof Public.createClient = (options) => {
  const { baseUrl, apiKey, stateDir } = options;
  const errors = new ErrorConverter(apiKey);
  try {
    assertOptions(options);
  } catch (error) {
    throw errors.toPublic(error);
  }
  const onNotice = errors.guard(options.onNotice);
  const closing = new AbortController();
  const signalOf = (call: Public.CallOptions = {}) => {
    const signals = [closing.signal, options.signal, call.signal].filter((signal) => signal !== undefined);
    const signal = AbortSignal.any(signals);
    setMaxListeners(0, signal); // each concurrent request listens
    return signal;
  };
  const notify = (call: Public.CallOptions = {}) => (call.onNotice ? errors.guard(call.onNotice) : onNotice);
  const transport = new Transport({
    baseUrl: new URL(baseUrl),
    apiKey,
    clock: systemClock,
    userAgent: `mediactl/${packageJson.version} (library)${options.userAgent ? ` ${options.userAgent}` : ''}`,
    requestTimeoutMs: options.requestTimeoutMs ?? 30_000,
    maxWaitMs: options.maxWaitMs ?? 60_000,
    proxy: options.proxy,
  });
  const root = new Api(transport, options.fieldNames ?? {}, () => workspaceInUse.primary());
  const apiFor = (call?: Public.CallOptions) =>
    root.withObserver({ signal: signalOf(call), onNotice: (notice) => notify(call)(toNotice(notice)) });
  const workspaceInUse = new WorkspaceInUse(apiFor, async () => workspaceChoice(options));
  let opened: Promise<StateDatabase> | undefined;
  const database = () => {
    const warn = (message: string) => onNotice({ kind: 'warning', message });
    opened ??= stateDir
      ? StateDatabase.open(stateDir, { clock: systemClock, signal: closing.signal, warn }, 'write')
      : StateDatabase.openInMemory();
    opened.catch(() => {
      opened = undefined;
    });
    return opened;
  };
  let lastCreation: Promise<unknown> = Promise.resolve();
  const library = (call?: Public.CallOptions): Library =>
    new Library({
      api: apiFor(call),
      signal: signalOf(call),
      workspaceInUse,
      withLock: (work) => {
        const path = join(stateDir ?? '', 'folders.lock');
        const request = { path, waitMs: maxFolderLockMs, signal: signalOf(call), busy: () => lockTimeoutError(path) };
        const mine = lastCreation.then(() => (stateDir ? withLock(request, work) : work()));
        lastCreation = mine.catch(() => {});
        return mine;
      },
      onFoldersChanged: async () => {},
    });
  const parts: ClientParts = { options, apiFor, signalOf, notify, library, database, errors };
  const inWorkspace = async (call?: Public.CallOptions) => (await library(call).folders()).tree;
  /** Returns the uid of a folder; null for the top level. */
  const folderUid = async (folder: string, call?: Public.CallOptions): Promise<string | null> => {
    if (isUid(folder)) return folder.toLowerCase();
    if (isRootPath(folder)) return null;
    const [found, another] = (await inWorkspace(call)).findByPath(folder);
    if (found && !another) return found.folder.uid;
    const problem = another ? 'is ambiguous' : 'does not exist';
    throw new ClientError(`folder ${folder} ${problem}`, { code: another ? 'usage' : 'not_found' });
  };

  /** Runs a call. An aborted one rejects with the reason of its signal, and any other with a MediactlError. */
  const run = async <T>(call: Public.CallOptions | undefined, work: () => Promise<T>): Promise<T> => {
    const signal = signalOf(call);
    signal.throwIfAborted();
    transport.connection.renewWaitBudget();
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      throw errors.callbackError(error) ?? errors.toPublic(error);
    }
  };
  const iterate = async function* <T>(call: Public.CallOptions | undefined, work: () => AsyncIterable<T>) {
    const iterator = work()[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { done, value } = await run(call, () => iterator.next());
        if (done) return;
        yield value as T;
      }
    } finally {
      await iterator.return?.();
    }
  };

  const assets: Public.Client['assets'] = {
    list: ({ limit, ordering, ...query } = {}, call) =>
      iterate(call, async function* () {
        const filters: AssetFilters = { ordering };
        for (const [field, name] of Object.entries(queryNames)) filters[field as AssetFilterName] = query[name];
        if (query.folder !== undefined) filters.parent = (await folderUid(query.folder, call)) ?? 'root';
        const { assets: api } = apiFor(call);
        for await (const page of api.list(filters, { limit })) {
          assertShownFilters(filters, page);
          yield* page as Public.Asset[];
        }
      }),
    get: (uid, call) => run(call, () => apiFor(call).assets.get(uid)),
    find: (nameOrPath, call) =>
      run(call, async () => {
        const { found, unknownCount } = await findAssets(library(call), nameOrPath);
        if (unknownCount > 0)
          notify(call)({
            kind: 'warning',
            message: `the service does not show the workspace of ${pluralize(unknownCount, 'asset')}, which may be any`,
          });
        return found as Public.Asset[];
      }),
    update: (uid, { tags, addTags = [], removeTags = [], name, description }, call) =>
      run(call, async () => {
        const { assets: api } = apiFor(call);
        const isEdit = addTags.length + removeTags.length > 0;
        if (tags && isEdit) throw usageError('tags cannot be combined with addTags or removeTags');
        const fields = {
          ...(name !== undefined && { name }),
          ...(description !== undefined && { description }),
          ...(tags && api.tagFields([...tags])),
          ...(isEdit && api.tagEditFields(await api.get(uid), { add: [...addTags], remove: [...removeTags] })),
        };
        if (Object.keys(fields).length === 0) throw usageError('nothing to change');
        const { asset, unverifiable = [] } = await writeAsset(apiFor(call), byUid(uid), fields);
        if (unverifiable.length > 0)
          notify(call)({
            kind: 'warning',
            message: `the service does not show whether it changed ${unverifiable.join(', ')}`,
          });
        return asset as Public.Asset;
      }),
    move: (uid, folder, call) =>
      run(call, async () => {
        const { assets: api } = apiFor(call);
        const [asset, target] = [await api.get(uid), await folderUid(folder, call)];
        const { asset: moved } = await writeAsset(apiFor(call), byUid(uid, asset), api.folderFields(asset, target));
        if (stateDir) await (await receiptsOf()).moveAsset(uid, target ?? '');
        return moved as Public.Asset;
      }),
    trash: (uid, call) =>
      run(call, async () => {
        await writeAsset(apiFor(call), byUid(uid), null);
        if (stateDir) await (await receiptsOf()).forgetAsset(uid);
      }),
    wait: (uids, { timeoutMs = defaultWaitMs, ...call } = {}) =>
      iterate(call, async function* () {
        assertNumber('timeoutMs', timeoutMs, 0);
        const settled = new Channel<Public.WaitResult>();
        const work = async () => {
          for (const uid of uids.filter((each) => !isUid(each)))
            settled.push({ uid, error: errors.toPublic(usageError(`${uid} is not a uid`)) });
          await waitForAssets(apiFor(call).assets, uids.filter(isUid), {
            clock: systemClock,
            timeoutMs,
            signal: signalOf(call),
            rateLimiterState: () => transport.connection.rateLimiter.state,
            onResult: (uid, outcome) =>
              settled.push(
                outcome instanceof ClientError ? { uid, error: errors.toPublic(outcome) } : { uid, asset: outcome },
              ),
          });
        };
        for await (const results of settled.streamWhile(work)) yield* results;
      }),
    playback: (uid, call) =>
      run(call, async () => {
        const { info, player } = await resolvePlayback(apiFor(call), uid);
        const urls = parsePlayables(info, transport.baseUrl).urls.map(({ kind, url, expiresAt }) => ({
          kind,
          url: url.href,
          expiresAt: asText(expiresAt),
        }));
        const isBlocked = Boolean(info.blocked) && info.blocked !== 'false';
        return { type: asText(info.type) ?? '', isBlocked, urls, playbackToken: player.playback_token };
      }),
    download: (uid, path, { overwrite = false, acceptRendition = false, onProgress, ...call } = {}) =>
      run(call, async () => {
        const api = apiFor(call);
        const playback = await resolvePlayback(api, uid);
        const media = await resolveDownload(api, await api.assets.get(uid), {
          playback,
          acceptsRendition: acceptRendition,
        });
        const receipt = stateDir && media.isOriginal ? await findReceipt(uid) : undefined;
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
      }),
  };
  const receiptsOf = async () => {
    const { Receipts } = await import('../client/upload/store/receipts.ts');
    return new Receipts(await database());
  };
  /** A download needs no receipt, so that an unusable state directory does not stop it. */
  const findReceipt = async (uid: string) => {
    try {
      return await (await receiptsOf()).findByAsset(uid);
    } catch (error) {
      if (error instanceof ClientError && error.kind === 'state') return undefined;
      throw error;
    }
  };
  const uploader = createUploader(parts);
  let closed: Promise<void> | undefined;
  return {
    assets,
    folders: {
      list: (call) => run(call, async () => (await inWorkspace(call)).all.map(toFolder)),
      ensure: (path, call) =>
        run(call, async () => toFolder((await createFolderPath(library(call), parseFolderPath(path), true)).node)),
    },
    workspaces: {
      list: (call) =>
        run(call, async () =>
          (await listWorkspaces(apiFor(call))).map((each) => ({
            uid: each.uid,
            name: asText(each.name) ?? each.uid,
            isPrimary: isPrimary(each),
          })),
        ),
    },
    upload: (path, call) => run(call, () => uploader.upload(path, call)),
    uploadDirectory: (path, call) => iterate(call, () => uploader.uploadDirectory(path, call)),
    get rateLimit() {
      const budget = transport.connection.rateLimiter.budget;
      return budget && { limit: budget.limit, remaining: budget.left, resetsAt: new Date(budget.resetAt) };
    },
    close: () => {
      closed ??= (async () => {
        closing.abort(errors.toPublic(new ClientError('the client was closed', { code: 'interrupted' })));
        await uploader.ended();
        await (await opened?.catch(() => undefined))?.close();
        await transport.close();
      })();
      return closed;
    },
  };
};

/** Returns the workspace that the options choose. */
const workspaceChoice = ({ workspace, primaryWorkspace }: Public.ClientOptions): WorkspaceChoice => ({
  configured: workspace,
  primary: primaryWorkspace,
  selectByName: async (all, name) => {
    const [found, another] = all.filter((each) => asText(each.name) === name);
    if (found && !another) return found;
    throw usageError(`${another ? 'several workspaces are' : 'no workspace is'} named ${name}`);
  },
  selectAny: () => {
    throw usageError('no workspace is primary', undefined, 'pass the uid of a workspace to createClient');
  },
  notPrimary: ({ uid }, primary) =>
    usageError(
      `workspace ${uid} is not ${primary ? '' : 'known to be '}the primary one, so its assets cannot be listed by folder`,
      undefined,
      primary ? undefined : 'if it is, pass its uid as primaryWorkspace to createClient',
    ),
});

const toFolder = ({ folder, name, path, parent }: FolderNode): Public.Folder => ({
  uid: folder.uid,
  name,
  path,
  parent: parent?.folder.uid ?? null,
});
