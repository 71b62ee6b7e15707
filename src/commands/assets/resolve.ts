import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Api } from '../../api/api.ts';
import type { AssetsApi } from '../../api/assets.ts';
import type { Context } from '../../context.ts';
import { exitCodes, MediactlError, usageError } from '../../errors.ts';
import type { Collection } from '../../wire/paths.ts';
import type { Asset } from '../../wire/types.ts';
import { parsedJson, readInputText } from '../input.ts';
import { isUid, onlyOne } from '../names.ts';

/** The newest asset that this machine uploaded, for `@last`. */
const lastUploadPath = (stateDir: string) => join(stateDir, 'last-upload');

export const idHelp = 'uid, exact name, or @last (the newest asset uploaded from here)';

/** Whose assets an id is one of. */
type Library = { api: Api; profile: string };

/** The uid for what a person typed: a uid as it is, `@last`, or an exact name. */
export const assetUid = (context: Context, collection: Collection, id: string) =>
  assetUidIn(
    context,
    async () => ({ api: await context.api(), profile: (await context.account()).profile }),
    id,
    collection,
  );

/** The same among assets that need not be the account's. */
export async function assetUidIn(
  context: Context,
  open: () => Promise<Library>,
  id: string,
  collection: Collection,
): Promise<string> {
  if (isUid(id)) return id.toLowerCase();
  const library = await open();
  if (id === '@last') return lastUpload(context, library);
  const found = await named(library.api[collection], id);
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
    const given = id === '-' ? idsIn(await readInputText(context, '-')) : [id];
    for (const each of given) uids.push(await assetUid(context, collection, each));
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

async function named(assets: AssetsApi, name: string): Promise<Asset[]> {
  const found: Asset[] = [];
  for await (const page of assets.list({ search: name }, { limit: 200 }))
    found.push(...page.filter((asset) => asset.name === name));
  return found;
}

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

const recordIn = (text: string) => (parsedJson(text) ?? {}) as Record<string, unknown>;
