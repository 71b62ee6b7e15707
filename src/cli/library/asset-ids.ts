import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AssetsApi } from '../../client/api/assets.ts';
import { MediactlError, usageError } from '../../client/errors.ts';
import { readTextFileOrEmpty } from '../../client/read-file.ts';
import { parentOf } from '../../contract/asset.ts';
import { formatBytes } from '../../contract/figures.ts';
import { asNumber, asText, parseJsonOrUndefined } from '../../contract/json-values.ts';
import type { Collection } from '../../contract/paths.ts';
import { displayText, relativeTime } from '../../contract/sanitize.ts';
import type { Asset } from '../../contract/types.ts';
import { isUid, isUidPrefix } from '../../contract/uid.ts';
import { minPrefix } from '../account/short-uid-store.ts';
import type { Context } from '../context.ts';
import { readInputText } from '../terminal/input.ts';
import { choose } from '../terminal/prompt.ts';
import { expandUidPrefix, selectOne } from './ambiguity.ts';
import { LocationNames } from './name-cache.ts';

const lastUploadPath = (stateDir: string) => join(stateDir, 'last-upload');

export const idHelp = 'uid or its first 6 digits, name, or @last (the last upload)';

export type IdOptions = { newest?: boolean | undefined };

export const newestOption = ['--newest', 'of several of that name, the one created last'] as const;

/**
 * Resolves an id to a uid. An id is a uid, a prefix of a recently displayed uid, `@last` or an exact name. Prompts
 * if the id is missing or ambiguous.
 *
 * @throws MediactlError `usage` (exit 2) if it cannot prompt; `not_found` (exit 3) if no asset matches
 */
export async function resolveAssetUid(
  context: Context,
  collection: Collection,
  id: string | undefined,
  choice: IdOptions,
): Promise<string> {
  if (id === undefined) return promptForAsset(context, collection);
  if (id === '@last') return readLastUpload(context);
  const api = isUidPrefix(id) ? await context.api() : undefined;
  const expanded = api && expandUidPrefix(context, api.transport.baseUrl, 'asset', id);
  if (!expanded) return resolveUidOrName(context, collection, id, choice);
  // Prefixes this short are never displayed, so the user might mean a name.
  if (id.length < minPrefix && (await findByName(api[collection], id)).length > 0)
    throw usageError(`${id} is a name, and the beginning of ${expanded}`, 'give the whole uid');
  return expanded;
}

const maxChoices = 50;

async function promptForAsset(context: Context, collection: Collection): Promise<string> {
  if (!context.terminal.isInteractive)
    throw usageError('which asset?', `give an id: ${idHelp}`, 'cannot ask: this is not an interactive terminal');
  const { items } = await (await context.api())[collection].page({}, maxChoices, 0);
  if (items.length === 0) throw usageError('there is no asset to choose', 'mediactl upload PATH sends one');
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
    const about = [count === undefined ? displayText(size) : formatBytes(count), folder, displayText(status)];
    if (!isTerminal) return [displayText(created_at), ...about, uid];
    // The uid comes early, since narrow terminals truncate the end of a row.
    return [relativeTime(created_at, context.clock.now()), short?.(uid) ?? uid, ...about];
  });
}

async function resolveUidOrName(context: Context, collection: Collection, id: string, { newest }: IdOptions) {
  // An empty id, for example from an unset shell variable, would match an asset without a name.
  if (id.trim() === '') throw usageError('an id is empty', idHelp);
  if (isUid(id)) return id.toLowerCase();
  const matches = await findByName((await context.api())[collection], id);
  if (matches.length === 0)
    throw new MediactlError(`no asset is called ${id}`, {
      code: 'not_found',
      reason: isUidPrefix(id)
        ? 'no uid shown here recently begins with that'
        : /^[0-9a-f]{3,5}$/i.test(id)
          ? 'for the beginning of a uid, type six digits or more'
          : 'it is not a uid either (a uid is a UUID)',
      hint: `mediactl ${collection} ls ${quoteForShell(id)}`,
    });
  const { uid } = await selectOne(context, {
    noun: 'asset',
    description: `are called ${id}`,
    matches,
    newest,
    rows: (some, isTerminal) => candidateRows(context, some, isTerminal),
    hint: 'give the uid of one of them, or --newest',
  });
  return uid;
}

export const quoteForShell = (text: string) =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** Resolves the ids given for `ID...`, without duplicates. For `-`, reads ids or JSON lines with a `uid` from stdin. */
export async function resolveAssetUids(
  context: Context,
  collection: Collection,
  ids: readonly string[],
  choice: IdOptions,
): Promise<string[]> {
  if (ids.length === 0) return [await resolveAssetUid(context, collection, undefined, choice)];
  const uids: string[] = [];
  for (const id of ids) {
    if (id !== '-') uids.push(await resolveAssetUid(context, collection, id, choice));
    // On stdin, `@last` and uid prefixes are taken as names, since an asset can be named like that.
    else
      for (const each of parseIds(await readInputText(context.terminal, '-')))
        uids.push(await resolveUidOrName(context, collection, each, choice));
  }
  if (uids.length === 0) throw usageError('no ids on stdin', 'one uid a line, or JSON lines');
  return [...new Set(uids)];
}

function parseIds(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter(Boolean).map((line) => {
    if (!line.startsWith('{')) return line;
    const { uid } = parseRecord(line);
    if (typeof uid === 'string') return uid;
    throw usageError(`a line on stdin has no uid: ${line.slice(0, 60)}`, 'JSON lines with a uid');
  });
}

/** Maximum number of search hits to scan for a name, so that a search does not use up the rate limit. */
const maxSearchHits = 2_000;

/** Returns all assets with exactly this name. A name without letters or digits cannot be searched for. */
async function findByName(assets: AssetsApi, name: string): Promise<Asset[]> {
  const filters = /[\p{L}\p{N}]/u.test(name) ? { search: name } : {};
  const found: Asset[] = [];
  let count = 0;
  for await (const page of assets.list(filters, { limit: maxSearchHits + 1 })) {
    count += page.length;
    found.push(...page.filter((asset) => asText(asset.name) === name));
  }
  // An unscanned asset may have the same name.
  if (count > maxSearchHits && found.length < 2)
    throw usageError(
      `more than ${maxSearchHits} assets would have to be looked at to find those called ${name}`,
      `give a uid: mediactl assets ls --search '${name}'`,
    );
  return found;
}

export async function saveLastUpload(context: Context, uid: string): Promise<void> {
  const { profile, baseUrl } = await context.account();
  const last = { uid, profile, base_url: baseUrl.origin };
  await writeFile(lastUploadPath(context.stateDir), JSON.stringify(last), { mode: 0o600 });
}

async function readLastUpload(context: Context): Promise<string> {
  const { profile, baseUrl } = await context.account();
  const last = parseRecord(readTextFileOrEmpty(lastUploadPath(context.stateDir)));
  if (typeof last.uid !== 'string' || !isUid(last.uid))
    throw usageError('@last: nothing was uploaded from here yet', 'mediactl upload PATH');
  // The same profile can have a new address, for example if a sandbox changes its port.
  const { origin } = baseUrl;
  if (last.base_url !== origin && last.profile !== profile)
    throw usageError(
      `@last is on another service: ${last.base_url}`,
      'mediactl assets ls, and give a uid or name',
      `this account is at ${origin}`,
    );
  return last.uid;
}

const parseRecord = (text: string) => (parseJsonOrUndefined(text) ?? {}) as Record<string, unknown>;
