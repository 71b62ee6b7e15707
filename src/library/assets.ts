import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Api } from '../api/api.ts';
import type { AssetsApi } from '../api/assets.ts';
import type { Context } from '../context.ts';
import { exitCodes, MediactlError, usageError } from '../errors.ts';
import { readInputText } from '../terminal/input.ts';
import type { Collection } from '../wire/paths.ts';
import { jsonIn, textIn } from '../wire/reading.ts';
import type { Asset } from '../wire/types.ts';
import { isUid } from '../wire/uid.ts';
import { onlyOne } from './names.ts';

/** The newest asset that this machine uploaded, for `@last`. */
const lastUploadPath = (stateDir: string) => join(stateDir, 'last-upload');

export const idHelp = 'uid, exact name, or @last (the newest asset uploaded from here)';

/** The service and the profile whose assets an id is looked for among. */
type Library = { api: Api; profile: string };

/** The uid for what a person typed: a uid as it is, `@last`, or an exact name. */
export const assetUid = (context: Context, collection: Collection, id: string) =>
  assetUidIn(context, () => own(context), id, collection);

const own = async (context: Context): Promise<Library> => ({
  api: await context.api(),
  profile: (await context.account()).profile,
});

/** The uid for what a person typed, among assets that need not be the account's own. */
export async function assetUidIn(
  context: Context,
  open: () => Promise<Library>,
  id: string,
  collection: Collection,
): Promise<string> {
  if (id === '@last') return lastUpload(context, await open());
  return uidOrNamed(open, id, collection);
}

async function uidOrNamed(
  open: () => Promise<Library>,
  id: string,
  collection: Collection,
): Promise<string> {
  // An unset variable of a script must not mean the asset without a name.
  if (id.trim() === '') throw usageError('an id is empty', idHelp);
  if (isUid(id)) return id.toLowerCase();
  const found = await named((await open()).api[collection], id);
  if (found.length > 0) return onlyOne('asset', id, found).uid;
  throw new MediactlError(`no asset is called ${id}`, {
    code: 'not_found',
    exitCode: exitCodes.notFound,
    reason: 'it is not a uid either, which is a UUID',
    hint: `mediactl ${collection} ls --search '${id}'`,
  });
}

/** The ids of `ID...`; `-` stands for stdin: uids, one a line, or JSON lines with a `uid`. */
export async function assetUids(
  context: Context,
  collection: Collection,
  ids: readonly string[],
): Promise<string[]> {
  const uids: string[] = [];
  for (const id of ids) {
    if (id !== '-') uids.push(await assetUid(context, collection, id));
    // What a listing names is a name, also where somebody called an asset `@last`.
    else
      for (const each of idsIn(await readInputText(context.terminal, '-')))
        uids.push(await uidOrNamed(() => own(context), each, collection));
  }
  if (uids.length === 0) throw usageError('no ids on stdin', 'one uid a line, or JSON lines');
  return [...new Set(uids)];
}

function idsIn(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter(Boolean).map((line) => {
    if (!line.startsWith('{')) return line;
    const { uid } = recordIn(line);
    if (typeof uid !== 'string')
      throw usageError(`a line on stdin has no uid: ${line.slice(0, 60)}`, 'JSON lines with a uid');
    return uid;
  });
}

/** Hits that are looked through for a name; more would eat the request budget. */
const mostHits = 2_000;

/** All assets of that name: search narrows it down, where it has a word to go by. */
async function named(assets: AssetsApi, name: string): Promise<Asset[]> {
  const filters = /[\p{L}\p{N}]/u.test(name) ? { search: name } : {};
  const found: Asset[] = [];
  let count = 0;
  for await (const page of assets.list(filters, { limit: mostHits + 1 })) {
    count += page.length;
    found.push(...page.filter((asset) => textIn(asset.name) === name));
  }
  // One more that is not looked at may be called so too.
  if (count > mostHits && found.length < 2) throw tooManyHits(name);
  return found;
}

const tooManyHits = (name: string) =>
  usageError(
    `more than ${mostHits} assets would have to be looked at to find those called ${name}`,
    `give a uid: mediactl assets ls --search '${name}'`,
  );

/** Remembers the newest upload, and whose it is. */
export async function keepLastUpload(context: Context, uid: string): Promise<void> {
  const { profile, baseUrl } = await context.account();
  const last = { uid, profile, base_url: baseUrl.origin };
  await writeFile(lastUploadPath(context.stateDir), JSON.stringify(last), { mode: 0o600 });
}

async function lastUpload({ stateDir }: Context, { api, profile }: Library): Promise<string> {
  const last = recordIn(await readFile(lastUploadPath(stateDir), 'utf8').catch(() => '{}'));
  if (typeof last.uid !== 'string' || !isUid(last.uid))
    throw usageError('@last: nothing was uploaded from here yet', 'mediactl upload PATH');
  // A profile's service may move, as a sandbox does from port to port.
  const { origin } = api.transport.baseUrl;
  if (last.base_url !== origin && last.profile !== profile)
    throw usageError(
      `@last is on another service: ${last.base_url}`,
      'mediactl assets ls, and give a uid or name',
      `this account is at ${origin}`,
    );
  return last.uid;
}

const recordIn = (text: string) => (jsonIn(text) ?? {}) as Record<string, unknown>;
