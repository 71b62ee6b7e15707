import { join } from 'node:path';
import type { AssetsApi } from '../../api/assets.ts';
import type { Context } from '../../context.ts';
import { exitCodes, MediactlError, usageError } from '../../errors.ts';
import type { Collection } from '../../wire/paths.ts';
import type { Asset } from '../../wire/types.ts';
import { readInputText } from '../input.ts';
import { isUid, onlyOne } from '../names.ts';

/** The newest asset that this machine uploaded, for `@last`. */
export const lastUploadPath = (stateDir: string) => join(stateDir, 'last-upload');

export const idHelp = 'uid, exact name, or @last (the newest asset uploaded from here)';

/** The uid for what a person typed: a uid as it is, `@last`, or an exact name. */
export const assetUid = (context: Context, collection: Collection, id: string) =>
  assetUidIn(context, async () => (await context.api())[collection], id, collection);

/** The same, where a name is looked for among assets that need not be the account's. */
export async function assetUidIn(
  context: Context,
  assets: () => Promise<AssetsApi>,
  id: string,
  collection: Collection,
): Promise<string> {
  if (isUid(id)) return id.toLowerCase();
  if (id === '@last') return lastUpload(context);
  const found = await named(await assets(), id);
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
    const uid = uidIn(line);
    if (typeof uid !== 'string')
      throw usageError(`a line on stdin has no uid: ${line.slice(0, 60)}`, 'JSON lines with a uid');
    return uid;
  });
}

function uidIn(line: string): unknown {
  try {
    return (JSON.parse(line) as { uid?: unknown }).uid;
  } catch {
    return undefined;
  }
}

async function named(assets: AssetsApi, name: string): Promise<Asset[]> {
  const found: Asset[] = [];
  for await (const page of assets.list({ search: name }, { limit: 200 }))
    found.push(...page.filter((asset) => asset.name === name));
  return found;
}

async function lastUpload({ stateDir }: Context): Promise<string> {
  const { readFile } = await import('node:fs/promises');
  const uid = await readFile(lastUploadPath(stateDir), 'utf8').catch(() => '');
  if (isUid(uid.trim())) return uid.trim();
  throw usageError('@last: nothing was uploaded from here yet', 'mediactl upload PATH');
}
