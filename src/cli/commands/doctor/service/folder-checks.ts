import { totalOf } from '../../../../client/api/pagination.ts';
import { type FolderNode, parseParentUid } from '../../../../client/library/folder-tree.ts';
import { parentOf } from '../../../../contract/asset.ts';
import { fieldNamesFor } from '../../../../contract/assumptions.ts';
import { paths } from '../../../../contract/paths.ts';
import type { AssetRecord, PageEnvelope } from '../../../../contract/types.ts';
import { isSameUid, isUid } from '../../../../contract/uid.ts';
import { asArray, asObject, asText, isJsonObject, type JsonObject } from '../../../../shared/json-values.ts';
import { type Answer, recordsOf, type ServiceProbe, unknownUid } from './probe.ts';
import { type AssumptionCheck, doesNotHold, holds, type Judgment, listNames, notTried } from './verdict.ts';

/** Folders to which lists are compared, at a request each. */
const maxFolders = 8;

const isFolder = (value: unknown): value is JsonObject => isJsonObject(value) && asText(value.uid) !== undefined;

/** Names of the fields of a record that are lists of records. */
const listsOfRecords = (record: JsonObject) =>
  Object.keys(record).filter((field) => Array.isArray(record[field]) && asArray(record[field]).some(isFolder));

/** Names of the fields in which a record names another one, by uid. */
const fieldsNaming = (record: JsonObject, uid: string) =>
  Object.keys(record).filter((field) => {
    const named = parseParentUid(record[field]);
    return field !== 'uid' && typeof named === 'string' && isSameUid(named, uid);
  });

const textFields = (record: JsonObject) =>
  Object.keys(record).filter(
    (field) =>
      field !== 'uid' && typeof record[field] === 'string' && !isUid(record[field] as string) && !/_at$/.test(field),
  );

async function judgeFolderRecord(probe: ServiceProbe): Promise<Judgment> {
  const { answer, list } = await probe.folders();
  if (!list) return doesNotHold(`${answer.line}, no list of folders`);
  if (list.length === 0) return notTried('the workspace has no folders');
  if (!list.every(isFolder)) return doesNotHold(`${answer.line}, a folder without a uid`);
  const parentOfFlat = list.find((folder) =>
    list.some((other) => other !== folder && fieldsNaming(folder, other.uid as string).length > 0),
  );
  if (parentOfFlat) return doesNotHold(`${answer.line}, a flat list: a folder in it names another as its parent`);
  const nameless = list.find(
    (folder) => !fieldNamesFor('folder_name', probe.api.names).some((name) => asText(folder[name])),
  );
  if (nameless) {
    const [only, ...more] = textFields(nameless);
    const found = `${answer.line}, without a name; it has ${listNames(Object.keys(nameless))}`;
    return doesNotHold(found, { names: only && more.length === 0 ? { folder_name: only } : {} });
  }
  const known = fieldNamesFor('folder_children', probe.api.names);
  const inUse = known.find((name) => list.some((folder) => Array.isArray(folder[name])));
  const others = [...new Set(list.flatMap(listsOfRecords))].filter((name) => !known.includes(name));
  const [only] = others;
  if (only && inUse === undefined)
    return doesNotHold(`${answer.line}, children in ${listNames(others)}`, { names: { folder_children: only } });
  if (inUse === undefined) return notTried(`${answer.line}, no folder shows its children`);
  return holds(`${answer.line}, with uid, name and ${inUse}`);
}

/** Judges by the records which names a body would have. Only a write tells whether they are right. */
async function judgeFolderBody(probe: ServiceProbe): Promise<Judgment> {
  const { answer } = await probe.folders();
  const tree = await probe.tree();
  const nested = tree.all.flatMap(({ folder, parent }) => (parent ? [{ folder, parent: parent.folder.uid }] : []));
  const shown = nested.map(({ folder, parent }) => fieldsNaming(folder, parent));
  const common = shown[0]?.filter((field) => shown.every((fields) => fields.includes(field))) ?? [];
  const known = fieldNamesFor('folder_parent', probe.api.names);
  const [only, ...more] = common;
  if (only && !common.some((field) => known.includes(field)))
    return doesNotHold(`${answer.line}, folders show their parent in ${listNames(common)}`, {
      names: more.length === 0 ? { folder_parent: only } : {},
    });
  return notTried(`only a change of folders tells; it would send ${tree.nameField} and ${tree.parentField}`);
}

const totalIn = ({ api }: ServiceProbe, { body }: Answer) =>
  totalOf(asObject(body) as PageEnvelope<unknown>, api.names);

type Listed = { folder: FolderNode; records: AssetRecord[] };

/** Lists the top level, no folder, and some folders with one below them, and compares them. */
async function judgeParentFilter(probe: ServiceProbe): Promise<Judgment> {
  const list = (parent: string) => probe.listBy({ parent, limit: 100 });
  const root = await list('root');
  const none = await probe.get(paths.collection('assets'), { parent: unknownUid, limit: 100 });
  const stray = none.isOk ? recordsOf(none) : [];
  if (stray.length > 0)
    return doesNotHold(`${none.line} for no folder, with ${stray.length} assets: it ignores the filter`);
  const inFolder = root.records.find((asset) => typeof parentOf(asset) === 'string');
  if (inFolder) return doesNotHold(`${root.answer.line}, with an asset that is in a folder`);
  const { all } = await probe.tree();
  if (all.length === 0) return notTried('the workspace has no folders');
  const nested = all.filter(({ parent, children }) => parent || children.length > 0);
  const listed: Listed[] = [];
  for (const folder of [...nested, ...all.filter((each) => !nested.includes(each))].slice(0, maxFolders))
    listed.push({ folder, records: (await list(folder.folder.uid)).records });
  const wrong = findWrong(listed, root.records);
  if (wrong) return doesNotHold(`GET /assets/?parent={uid}: ${wrong}`);
  const elsewhere = await judgeOtherWorkspaces(probe);
  if (elsewhere) return elsewhere;
  const some = listed.filter(({ records }) => records.length > 0).length;
  const [rootTotal, total] = [totalIn(probe, root.answer), (await probe.assets()).total];
  if (some > 0 && total !== undefined && rootTotal === total)
    return doesNotHold(`${root.answer.line}, with as many assets as the library, although folders have some`);
  if (some === 0) return notTried(`none of ${listed.length} folders has an asset`);
  return holds(`${root.answer.line}, and ${some} folders with assets of their own`);
}

function findWrong(listed: readonly Listed[], root: readonly AssetRecord[]): string | undefined {
  const uidsOf = (records: readonly AssetRecord[]) => new Set(records.map(({ uid }) => uid));
  const ofRoot = uidsOf(root);
  for (const { folder, records } of listed) {
    const { uid } = folder.folder;
    const below = listed.filter((other) => other.folder.parent === folder).flatMap((other) => other.records);
    if (below.some((asset) => records.some((each) => each.uid === asset.uid))) return 'it lists subfolders, too';
    if (records.some((each) => ofRoot.has(each.uid))) return 'it lists assets of the top level, too';
    const other = records.find((asset) => !isSameUid(parentOf(asset) ?? uid, uid) || parentOf(asset) === null);
    if (other) return 'it lists an asset that shows another folder';
  }
  return undefined;
}

/** Returns a verdict if a folder of another workspace can be listed, although the filter is of the primary one. */
async function judgeOtherWorkspaces(probe: ServiceProbe): Promise<Judgment | undefined> {
  const { records } = await probe.workspaces();
  for (const { uid } of records.filter((each) => !isSameUid(each.uid, probe.workspace)).slice(0, 3)) {
    const folders = await probe.get(paths.folders(uid));
    const first = asArray(Array.isArray(folders.body) ? folders.body : asObject(folders.body).items).find(isFolder);
    if (!first) continue;
    const found = await probe.get(paths.collection('assets'), { parent: asText(first.uid), limit: 1 });
    if (found.isOk && recordsOf(found).length > 0)
      return doesNotHold(
        `${found.line} for a folder of another workspace, with assets: it is not of the primary one only`,
      );
  }
  return undefined;
}

export const folderChecks: readonly AssumptionCheck[] = [
  { id: 'A02', sends: 'GET the folders', judge: judgeFolderBody },
  { id: 'A03', sends: 'GET the folders', judge: judgeFolderRecord },
  { id: 'A26', sends: `GET /assets/?parent=…: root, no folder, up to ${maxFolders} folders`, judge: judgeParentFilter },
];
