import { join } from 'node:path';
import { usageError } from '../../client/errors.ts';
import { findByName } from '../../client/library/find-assets.ts';
import { isGlob, isLibraryPath } from '../../client/library/library-paths.ts';
import { readTextFileOrEmpty } from '../../client/read-file.ts';
import { parentOf } from '../../contract/asset.ts';
import { formatBytes } from '../../contract/figures.ts';
import { asNumber, parseJsonOrUndefined } from '../../contract/json-values.ts';
import type { Collection } from '../../contract/paths.ts';
import { displayText, quoteForShell, relativeTime } from '../../contract/sanitize.ts';
import type { Asset } from '../../contract/types.ts';
import { isUid, isUidPrefix } from '../../contract/uid.ts';
import { minPrefix } from '../account/short-uid-store.ts';
import type { Context } from '../context.ts';
import { readInputText } from '../terminal/input.ts';
import { choose } from '../terminal/prompt.ts';
import { expandUidPrefix, selectOne } from './ambiguity.ts';
import { fetchFolderTree } from './folders.ts';
import { LocationNames } from './name-cache.ts';
import { NoAssetError } from './no-asset-error.ts';
import { isInWorkspaceInUse, keepWorkspaceInUse } from './workspaces.ts';

/** File of the state folder that holds the uid that `@last` stands for. */
export const lastUploadFile = 'last-upload';

export const idHelp = 'name, /Folder/name, uid or its first digits, or @last (the last upload)';
export const idsHelp = 'name, /Folder/name, uid, glob such as /Inbox/A00*, or @last; - for stdin';

export type IdOptions = { newest?: boolean | undefined };

/** How ids are looked up: without globs if they come from stdin. */
type IdLookup = IdOptions & { isLiteral?: boolean };

export const newestOption = ['--newest', 'if several assets have this name, use the newest'] as const;

/**
 * Resolves an id to a uid. An id is a uid, a prefix of a recently displayed uid, `@last`, an exact name, an address
 * such as `/Folder/name`, or a glob. Prompts if the id is missing or ambiguous.
 *
 * @throws MediactlError `usage` (exit 2) if it cannot prompt; `not_found` (exit 3) if no asset matches
 */
export async function resolveAssetUid(
  context: Context,
  collection: Collection,
  id: string | undefined,
  choice: IdLookup,
): Promise<string> {
  if (id === undefined) return promptForAsset(context, collection);
  if (id === '@last') return readLastUpload(context);
  const api = isUidPrefix(id) ? await context.api() : undefined;
  const expanded = api && expandUidPrefix(context, api.transport.baseUrl, 'asset', id);
  if (!expanded) return resolveUidOrName(context, collection, id, choice);
  // Prefixes this short are never displayed, so the user might mean a name.
  if (id.length < minPrefix && (await findByName(api[collection], id)).length > 0)
    throw usageError(`${id} is the name of an asset and the start of uid ${expanded}`, 'use the full uid');
  return expanded;
}

const maxChoices = 50;

async function promptForAsset(context: Context, collection: Collection): Promise<string> {
  if (!context.terminal.isInteractive)
    throw usageError('no asset given', `use one of: ${idHelp}`, 'cannot prompt: this is not an interactive terminal');
  const { items } = await (await context.api())[collection].page({}, maxChoices, 0);
  if (items.length === 0) throw usageError('there are no assets to choose from', 'mediactl upload PATH');
  const rows = await candidateRows(context, items, true);
  const named = rows.map((row, at) => [displayText(items[at]?.name), ...row]);
  return (await choose(context.terminal, 'Which asset?', items, named)).uid;
}

/** Returns table rows that help to distinguish assets with the same name. */
async function candidateRows(context: Context, assets: readonly Asset[], isTerminal: boolean): Promise<string[][]> {
  const locationNames = new LocationNames(context);
  const parents = assets.map(parentOf);
  await locationNames.load('folders', parents);
  const uids = assets.map(({ uid }) => uid);
  const shortUids = isTerminal ? await context.shortUids() : undefined;
  const short = await shortUids?.shorten('asset', uids);
  return assets.map(({ uid, created_at, size, status }, at) => {
    const count = asNumber(size);
    const folder = parents[at] === null ? '/' : locationNames.displayName(parents[at]);
    const bytes = count === undefined ? displayText(size) : formatBytes(count);
    if (!isTerminal) return [displayText(created_at), bytes, folder, displayText(status), uid];
    // Uid and folder come early, since narrow terminals truncate the end of a row.
    return [relativeTime(created_at, context.clock.now()), short?.(uid) ?? uid, folder, bytes, displayText(status)];
  });
}

async function resolveUidOrName(context: Context, collection: Collection, id: string, lookup: IdLookup) {
  if (isUid(id)) return id.toLowerCase();
  const { found } = await findMatches(context, collection, id, lookup);
  const selected = await selectMatch(context, id, found, lookup);
  // The filter of a path applies to the primary workspace, a search to all.
  if (isLibraryPath(id) || (await isInWorkspaceInUse(context, selected))) return selected.uid;
  throw noAssetNamed(id, collection, true);
}

const selectMatch = (context: Context, id: string, matches: readonly Asset[], { newest }: IdOptions) =>
  selectOne(context, {
    noun: 'asset',
    description: isGlob(id) ? `match ${id}` : isLibraryPath(id) ? `are at ${id}` : `are named ${id}`,
    matches,
    newest,
    rows: (some, isTerminal) => candidateRows(context, some, isTerminal),
    hint: 'use the uid of one of them, or --newest',
  });

/**
 * Returns the assets with this name or address, or those that match a glob if none has the glob as its name.
 *
 * @throws MediactlError `not_found` (exit 3) if there are none
 */
async function findMatches(
  context: Context,
  collection: Collection,
  id: string,
  { isLiteral = false }: IdLookup,
): Promise<{ found: Asset[]; isExact: boolean; relativeDirs?: ReadonlyMap<Asset, string> }> {
  // An empty id, for example from an unset shell variable, would match an asset without a name.
  if (id.trim() === '') throw usageError('an id is empty', idHelp);
  const isPath = isLibraryPath(id);
  if (!isPath) {
    const all = await findByName((await context.api())[collection], id);
    const found = await keepWorkspaceInUse(context, all);
    if (found.length === 0) throw noAssetNamed(id, collection, all.length > 0);
    return { found, isExact: true };
  }
  const [{ findAssetsByPath }, { noAssetAt, noticeFolderCount }] = await Promise.all([
    import('../../client/library/find-assets.ts'),
    import('./asset-paths.ts'),
  ]);
  const { tree } = await fetchFolderTree(context);
  const filters = collection === 'videos' ? { type: 'video' } : {};
  const onFolderCount = (count: number) => noticeFolderCount(context, count);
  const { assets } = await context.api(); // the list of videos has no filter by folder
  const matches = await findAssetsByPath(assets, id, tree, { isLiteral, filters, onFolderCount });
  if (matches.found.length === 0) throw noAssetAt(id, tree);
  return matches;
}

const noAssetNamed = (id: string, collection: Collection, isInOtherWorkspace: boolean) =>
  new NoAssetError(id, `no asset is named ${id}`, {
    code: 'not_found',
    details: { id },
    reason: isInOtherWorkspace
      ? 'one of that name is in another workspace; its uid works in any'
      : isUidPrefix(id)
        ? 'no recently shown uid begins with it'
        : /^[0-9a-f]{3,5}$/i.test(id)
          ? 'to abbreviate a uid, type at least six digits'
          : 'it is not a uid either',
    hint: isGlob(id)
      ? `a glob begins with a folder: ${quoteForShell(`/**/${id}`)} matches in all folders`
      : `mediactl ${collection === 'assets' ? 'ls' : 'videos ls'} ${quoteForShell(id)}`,
  });

/**
 * Asset that an id stands for. `asset` is its record if it was listed to find it. `relativeDir` are the folders between
 * the fixed part of a glob and the asset, such as `day 1/cam a`.
 */
export type ResolvedAsset = { uid: string; asset?: Asset; relativeDir?: string | undefined };

/**
 * Resolves the ids given for `ID...`, without duplicates. A glob stands for all assets that match, and then `hasGlob`
 * is true. For `-`, reads ids or JSON lines with a `uid` from stdin.
 */
export async function resolveAssets(
  context: Context,
  collection: Collection,
  ids: readonly string[],
  choice: IdOptions,
): Promise<{ assets: ResolvedAsset[]; hasGlob: boolean }> {
  const resolved = new Map<string, ResolvedAsset>();
  const add = (asset: ResolvedAsset) => resolved.set(asset.uid, asset);
  let hasGlob = false;
  if (ids.length === 0) add({ uid: await resolveAssetUid(context, collection, undefined, choice) });
  for (const id of ids) {
    if (isGlob(id)) {
      const { found, isExact, relativeDirs } = await findMatches(context, collection, id, choice);
      if (!isExact && choice.newest)
        throw usageError('--newest cannot be used with a glob', 'give the name or the uid of one asset');
      hasGlob ||= !isExact;
      for (const asset of isExact ? [await selectMatch(context, id, found, choice)] : found)
        add({ uid: asset.uid, asset, relativeDir: relativeDirs?.get(asset) });
    } else if (id !== '-') add({ uid: await resolveAssetUid(context, collection, id, choice) });
    // On stdin, `@last`, globs and uid prefixes are taken as names, since an asset can be named like that.
    else
      for (const each of parseIds(await readInputText(context.terminal, '-')))
        add({ uid: await resolveUidOrName(context, collection, each, { ...choice, isLiteral: true }) });
  }
  if (resolved.size === 0) throw usageError('no ids on stdin', 'give one uid per line, or JSON lines');
  return { assets: [...resolved.values()], hasGlob };
}

/** Returns the uids of `resolveAssets`. */
export const resolveAssetUids = async (...input: Parameters<typeof resolveAssets>): Promise<string[]> =>
  (await resolveAssets(...input)).assets.map(({ uid }) => uid);

function parseIds(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter(Boolean).map((line) => {
    if (!line.startsWith('{')) return line;
    const { uid } = parseRecord(line);
    if (typeof uid === 'string') return uid;
    throw usageError(`a line on stdin has no uid: ${line.slice(0, 60)}`, 'JSON lines with a uid');
  });
}

async function readLastUpload(context: Context): Promise<string> {
  const { profile, baseUrl } = await context.account();
  const last = parseRecord(readTextFileOrEmpty(join(context.stateDir, lastUploadFile)));
  if (typeof last.uid !== 'string' || !isUid(last.uid))
    throw usageError('@last: nothing has been uploaded from this machine yet', 'mediactl upload PATH');
  // The same profile can have a new address, for example if a sandbox changes its port.
  const { origin } = baseUrl;
  if (last.base_url !== origin && last.profile !== profile)
    throw usageError(
      `@last is on another service: ${last.base_url}`,
      'use a uid or name: mediactl ls',
      `this account is at ${origin}`,
    );
  return last.uid;
}

const parseRecord = (text: string) => (parseJsonOrUndefined(text) ?? {}) as Record<string, unknown>;
