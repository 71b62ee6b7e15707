import { parseParentUid } from '../../../../client/library/folder-tree.ts';
import { parentFields, slugsOf } from '../../../../contract/asset.ts';
import { fieldNamesFor } from '../../../../contract/assumptions.ts';
import { paths } from '../../../../contract/paths.ts';
import type { AssetRecord } from '../../../../contract/types.ts';
import { isSameUid } from '../../../../contract/uid.ts';
import { asArray, asObject, asText, type JsonObject } from '../../../../shared/json-values.ts';
import type { ServiceProbe } from './probe.ts';
import { type AssumptionCheck, doesNotHold, holds, type Judgment, listNames, notTried } from './verdict.ts';

const byWrite = notTried('only a write shows it: --write FOLDER');

/** Names of fields that occur in any record and satisfy a test wherever they have a value. */
function fieldsThat(records: readonly AssetRecord[], isMeant: (value: unknown) => boolean): string[] {
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))];
  return names.filter((name) => {
    const values = records.map((record) => record[name]).filter((value) => value !== undefined && value !== null);
    return values.length > 0 && values.every(isMeant);
  });
}

/** Judges under which name records show what a write sets. Whether the write is right, only a write shows. */
async function judgeTags(probe: ServiceProbe): Promise<Judgment> {
  const { records } = await probe.assets();
  if (probe.api.names.asset_tags !== undefined || records.some((record) => 'tags' in record)) return byWrite;
  const isList = (value: unknown) => Array.isArray(value) && slugsOf({ tags: value }) !== undefined;
  const found = fieldsThat(records, isList).filter((name) =>
    records.some((record) => asArray(record[name]).length > 0),
  );
  const [only] = found;
  if (only === undefined) return byWrite;
  const names = found.length === 1 ? { asset_tags: only } : {};
  return doesNotHold(`GET /assets/ shows no tags; it shows ${listNames(found)}`, { names });
}

/** Returns the uid that a value names, as a text or an object. */
const uidIn = (value: unknown) => parseParentUid(value) ?? undefined;

async function judgeFolderField(probe: ServiceProbe): Promise<Judgment> {
  const { records } = await probe.assets();
  const known = [probe.api.names.asset_parent ?? [], parentFields].flat();
  if (records.some((record) => known.some((name) => name in record))) return byWrite;
  const uids = (await probe.tree()).all.map(({ folder }) => folder.uid);
  const found = fieldsThat(records, (value) => uids.some((uid) => isSameUid(uid, uidIn(value) ?? '')));
  const [only] = found;
  if (only === undefined) return byWrite;
  const names = found.length === 1 ? { asset_parent: only } : {};
  return doesNotHold(`GET /assets/ shows the folder in ${listNames(found)}`, { names });
}

/** Texts in a value that may name a workspace: itself, or fields of an object. */
const textsOf = (value: unknown): string[] =>
  asArray(Array.isArray(value) ? value : [value]).flatMap((each) => {
    const { uid, id, name } = asObject(each);
    return [asText(each), asText(uid), asText(id), asText(name)].flatMap((text) => text ?? []);
  });

/** Looks for an asset of another workspace in a list. That there is none shows nothing. */
async function judgeReach(probe: ServiceProbe): Promise<Judgment> {
  const { records } = await probe.assets();
  const others = (await probe.workspaces()).records.filter(({ uid }) => !isSameUid(uid, probe.workspace));
  if (others.length === 0) return notTried('the key sees one workspace');
  const fields = fieldNamesFor('asset_workspace', probe.api.names);
  const isOther = (text: string) => others.some(({ uid, name }) => isSameUid(uid, text) || asText(name) === text);
  const found = records.some((asset) => fields.some((field) => textsOf(asset[field]).some(isOther)));
  return found
    ? holds('GET /assets/ lists an asset of another workspace than that in use')
    : notTried('GET /assets/ lists no asset that shows another workspace');
}

async function judgeWorkspaceField(probe: ServiceProbe): Promise<Judgment> {
  const [listed] = (await probe.assets()).records;
  if (!listed) return notTried('the library has no assets');
  const { line, body } = await probe.getOk(paths.item('assets', listed.uid));
  const asset: JsonObject = { ...listed, ...asObject(body) };
  const workspaces = (await probe.workspaces()).records;
  const isWorkspace = (value: unknown) =>
    textsOf(value).some((text) => workspaces.some(({ uid, name }) => isSameUid(uid, text) || asText(name) === text));
  const known = fieldNamesFor('asset_workspace', probe.api.names).filter((name) => name in asset);
  if (known.some((name) => isWorkspace(asset[name]))) return holds(`${line}, with ${listNames(known)}`);
  if (known.length > 0) return doesNotHold(`${line}, with ${listNames(known)}, which names no workspace of the key`);
  const others = Object.keys(asset).filter((name) => name !== 'name' && isWorkspace(asset[name]));
  const [only] = others;
  if (only === undefined) return notTried(`${line}, which shows no workspace`);
  const names = others.length === 1 ? { asset_workspace: only } : {};
  return doesNotHold(`${line}, which shows the workspace in ${listNames(others)}`, { names });
}

export const recordChecks: readonly AssumptionCheck[] = [
  { id: 'A08', sends: 'GET /assets/', judge: judgeTags },
  { id: 'A20', sends: 'GET /assets/, the folders', judge: judgeFolderField },
  { id: 'A34', sends: 'GET /assets/, /workspaces/', judge: judgeReach },
  { id: 'A29', sends: 'GET of an asset, /workspaces/', judge: judgeWorkspaceField },
];
