import { itemsOf, totalOf } from '../../../client/api/pagination.ts';
import type { LibraryWriter } from '../../../client/changes/writer.ts';
import type { ErrorKind } from '../../../client/error-table.ts';
import { asCodedError, CodedError, usageError } from '../../../client/errors.ts';
import type { TransportNotice } from '../../../client/http/rate-limiter.ts';
import type { FolderNode } from '../../../client/library/folder-tree.ts';
import type { Library } from '../../../client/library/library.ts';
import { parsePlayables } from '../../../client/library/playables.ts';
import { byUid, type SelectedAsset, type SelectionPorts, selectFound } from '../../../client/library/select-assets.ts';
import { ListScope } from '../../../client/library/workspace-in-use.ts';
import type { OpenedLibrary } from '../../../client/open/open-library.ts';
import { runAll } from '../../../client/run-each.ts';
import { acknowledged, type UploadEntry } from '../../../client/upload/store/upload-entry.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { startAge } from '../../../shared/clock.ts';
import { describeRateLimit } from '../../../shared/figures.ts';
import { asObject, asText, parseTimestamp } from '../../../shared/json-values.ts';
import { displayText } from '../../../shared/sanitize.ts';
import type { CopiedLinks, FolderView, PageEvent } from '../../../web/browse/protocol.ts';
import type { AssetEdit, BrowseBackend, InterruptedUpload, Problem } from '../../../web/browse/server/backend.ts';
import type { EventBroadcaster } from '../../../web/browse/server/event-broadcaster.ts';
import type { Context } from '../../context.ts';
import { namesOfWorkspaces, selectionPorts } from '../../library/asset-ids.ts';
import { fetchFolderTree } from '../../library/folders.ts';
import { fetchPlayback } from '../../library/playback.ts';
import { findInterrupted } from '../../uploading/resumed-files.ts';
import { type DropUploader, openDropUploader } from './drop-uploader.ts';
import { PageMoves } from './page-moves.ts';
import { PageSelections } from './page-selections.ts';

export type AccountLibrary = BrowseBackend & {
  /** Waits until all uploads have stopped. @returns number of uploads that can be resumed */
  close(): Promise<number>;
};

const mediaTimeoutMs = 15_000;

type AccountLibraryOptions = Pick<BrowseBackend, 'pick'> & {
  bytesPerSecond: number | undefined;
  anyWorkspace: boolean;
};

/**
 * Opens the library of the account for the page, which is told by events while a request waits for the service.
 *
 * @throws CodedError if there is no account to use
 */
export async function openAccountLibrary(
  context: Context,
  broadcaster: EventBroadcaster,
  { bytesPerSecond, anyWorkspace, pick }: AccountLibraryOptions,
): Promise<AccountLibrary> {
  const onNotice = (notice: TransportNotice) => broadcaster.publish(toWaitingEvent(notice));
  const { api: plain, forCall } = await context.open();
  const opened = forCall({ onNotice });
  const { api, library } = opened;
  const { playback } = await context.mediaApi();
  const { transport } = api;
  let drops: Promise<DropUploader> | undefined;
  const getDropUploader = () => {
    drops ??= openDropUploader(context, plain, bytesPerSecond).catch((error) => {
      drops = undefined; // retry on the next file
      throw error;
    });
    return drops;
  };
  const ports = pagePorts(context, anyWorkspace);
  const selections = new PageSelections(library, ports);
  return {
    ...pageChanges(context, opened, selections, ports),
    baseUrl: transport.baseUrl,
    listAssets: async (query, limit, offset, { isBackground, signal: requestSignal }) => {
      const signal = AbortSignal.any([context.signal, requestSignal]);
      // A poll that waits for its share of the rate limit holds up nothing that the user does.
      const how = isBackground ? ({ lane: 'background' } as const) : ({ lane: 'interactive', onNotice } as const);
      const { folderReader } = opened.forCall({ ...how, signal }).library;
      const page = await folderReader.page(query, limit, offset);
      const items = itemsOf<AssetRecord>(page);
      selections.remember(items);
      return { items, total: totalOf(page, api.names) };
    },
    keepOwn: async ({ parent }, items) => {
      const scope = new ListScope(library.workspaceInUse, parent === undefined ? 'list' : 'folder');
      return { kept: await scope.keepOf(items), isAll: scope.isAll };
    },
    get: (uid) => api.assets.get(uid),
    resolveSelection: (selection) => selections.resolve(selection),
    fetchLinks: (uids) => fetchLinks(context, uids),
    pick,
    fetchFolders: async () =>
      (await fetchFolderTree(context, { mayPrompt: false, isFresh: true })).tree.roots.map(toFolderView),
    fetchPlayback: (uid) => fetchPlayback(context, uid),
    fetchMedia: (url, maxBytes) =>
      playback.fetchSmall(url, { maxBytes, timeoutMs: mediaTimeoutMs, interruption: context.signal }),
    uploadFile: async (file, bytes, onProgress) => (await getDropUploader()).send(file, bytes, onProgress),
    interrupted: async () => (await findInterrupted(context)).map(toInterrupted),
    resumeUpload: async (id, onProgress) =>
      (await getDropUploader()).resume(await findToResume(context, id), onProgress),
    budget: () => transport.connection.rateLimiter.budget,
    toProblem: (error) => toProblem(context, error),
    close: async () => (await (await drops?.catch(() => undefined))?.close()) ?? 0,
  };
}

/** Returns the changes that the page makes: of one asset, or the folder of several. */
function pageChanges(
  context: Context,
  opened: OpenedLibrary,
  selections: PageSelections,
  ports: SelectionPorts,
): Pick<BrowseBackend, 'update' | 'trash' | 'move' | 'undoMove'> {
  const { library, writer } = opened;
  const moves = new PageMoves(context, opened, selections, ports);
  const select = (uid: string) => {
    selections.forget(uid);
    return selectToChange(library, uid, ports);
  };
  return {
    update: async (uid, change) => {
      const ageMs = startAge(context.clock);
      return editAsset(await writer(), await select(uid), change, ageMs);
    },
    trash: async (uid, seen) => {
      const label = { command: 'browse', summary: 'move to the trash', ageMs: startAge(context.clock) };
      await (await writer()).trash(await select(uid), label, seen);
    },
    move: (uids, folder) => moves.move(uids, folder),
    undoMove: (id) => moves.undo(id),
  };
}

async function findToResume(context: Context, id: string): Promise<UploadEntry> {
  const entry = (await findInterrupted(context)).find((each) => each.id === id);
  if (!entry) throw usageError('this upload is finished, or another process is sending it');
  return entry;
}

const toInterrupted = (entry: UploadEntry): InterruptedUpload => ({
  id: entry.id,
  name: displayText(entry.metadata.filename),
  sizeBytes: entry.file.sizeBytes,
  sentBytes: acknowledged(entry),
});

/** Changes an asset. @throws CodedError `write_ignored` if the service does not show whether it applied the change */
async function editAsset(
  writer: LibraryWriter,
  asset: SelectedAsset,
  { folder, tags, from, ...fields }: AssetEdit,
  ageMs: () => number,
): Promise<AssetRecord> {
  const changed = [...Object.keys(fields), ...(tags ? ['tags'] : []), ...(folder !== undefined ? ['folder'] : [])];
  if (changed.length === 0) throw usageError('nothing to change');
  const label = { command: 'browse', summary: `set ${changed.join(', ')}`, ageMs };
  const isSet = ([field]: [string, unknown]) => field in fields || (field === 'folder' && folder !== undefined);
  const seen = Object.fromEntries(Object.entries(from ?? {}).filter(isSet));
  const { asset: written, unverifiable } = await writer.edit(asset, { fields, tags, folder }, label, seen);
  if (unverifiable.length === 0) return written;
  throw new CodedError('cannot tell whether the service applied the change', {
    code: 'write_ignored',
    reason: `the asset’s record does not show ${unverifiable.join(', ')}`,
  });
}

/** Selects an asset to change. @throws CodedError `usage` if it is in another workspace */
async function selectToChange(library: Library, uid: string, ports: SelectionPorts): Promise<SelectedAsset> {
  const unread = { uid };
  const [asset] = await selectFound(library, [unread], { foundBy: 'list', ports });
  if (asset) return asset.record === unread ? byUid(uid) : asset;
  throw usageError('this asset is in another workspace', undefined, 'the page changes the workspace in use only');
}

async function fetchLinks(context: Context, uids: readonly string[]): Promise<CopiedLinks> {
  const { baseUrl } = (await context.api()).transport;
  const fetchLink = async (uid: string) => {
    const { info } = await fetchPlayback(context, uid);
    return parsePlayables(info, baseUrl).urls.slice(0, 1);
  };
  const links = (await runAll(uids, fetchLink, context)).flat();
  if (links.length === 0) throw usageError('none of these assets has anything to play');
  const times = links.flatMap(({ expiresAt }) => parseTimestamp(expiresAt) ?? []);
  return {
    text: links.map(({ url }) => url.href).join('\n'),
    count: links.length,
    until: times.length > 0 ? Math.min(...times) : null,
    unplayableCount: uids.length - links.length,
  };
}

/** Words of the page for an asset that is to be changed. */
const pagePorts = (context: Context, anyWorkspace: boolean): SelectionPorts => ({
  ...selectionPorts(context, 'assets', {}),
  onUnknown: async (doubt) => {
    if (anyWorkspace || doubt.purpose === 'read') return;
    const hint = 'mediactl browse --any-workspace, to start a page that changes it all the same';
    const reason = `it may be ${namesOfWorkspaces(doubt)}; ${hint}`;
    throw usageError('the service does not show the workspace of this asset', undefined, reason);
  },
  onLeftOut: () => {},
});

const toFolderView = ({ folder, name, path, children }: FolderNode): FolderView => ({
  uid: folder.uid,
  name,
  path,
  children: children.map(toFolderView),
});

function toWaitingEvent(notice: TransportNotice): PageEvent {
  if (notice.kind === 'resumed') return { kind: 'going on' };
  const why = notice.kind === 'rate-limited' ? describeRateLimit(notice.kept) : notice.reason;
  return { kind: 'waiting', until: notice.untilMs, why };
}

/** Next steps for users of the page, where they differ from those of the command line. */
const pageHints: { [Kind in ErrorKind]?: string } = {
  unauthenticated: 'stop this page with Ctrl-C in its terminal, sign in again there, and start it again',
  forbidden: 'use an API key that has this scope',
  quota: 'top up the balance or free some storage, then try again',
  unreachable: 'try again in a moment',
};

const gatewayHint = 'check any proxy or firewall between this machine and the service';

/** Converts an error for the web page, with a next step in the page's own words. */
function toProblem({ terminal }: Context, thrown: unknown): Problem {
  const { message, kind, explanation } = asCodedError(thrown);
  const { code, status, reason, isUnattributed, details } = explanation;
  const redacted = (text: string) => terminal.redactor.redact(terminal.redactor.nameProfile(text));
  const hint = isUnattributed ? gatewayHint : pageHints[kind];
  const isConflict = code === 'changed_meanwhile';
  const defaultStatus = isConflict ? 409 : kind === 'usage' ? 400 : kind === 'notFound' ? 404 : 502;
  const present = isConflict ? asText(asObject(details).present) : undefined;
  return {
    status: status !== undefined && status >= 400 ? status : defaultStatus,
    problem: redacted(message),
    ...(reason !== undefined && { reason: redacted(reason) }),
    ...(hint && { hint }),
    ...(present !== undefined && { present }),
  };
}
