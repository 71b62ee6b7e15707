import { CodedError } from '../../../../client/errors.ts';
import { extractReason } from '../../../../client/http/error-reason.ts';
import { parsePlayables } from '../../../../client/library/playables.ts';
import { digestIn, openChecksum, parseDigest } from '../../../../client/upload/sources/checksum.ts';
import { parentOf } from '../../../../contract/asset.ts';
import { classifyStatus } from '../../../../contract/assumptions.ts';
import { paths } from '../../../../contract/paths.ts';
import { parseUploadOffset, tusVersion } from '../../../../contract/tus.ts';
import type { AssetRecord } from '../../../../contract/types.ts';
import { isSameUid } from '../../../../contract/uid.ts';
import { asNumber, asObject, asText } from '../../../../shared/json-values.ts';
import { type Answer, recordsOf, Untried, unknownUid } from './probe.ts';
import { doesNotHold, holds, type Judgment, listNames, notTried } from './verdict.ts';
import type { WriteTrial } from './write-trial.ts';

/** A step of a trial: what it sends, and what that says of an assumption. */
export type WriteStep = { id: string; sends: string; perform(trial: WriteTrial): Promise<Judgment> };

/** The file of a trial, in two chunks. */
const firstChunk = 2_000;
const contentOf = ({ name }: WriteTrial) =>
  Buffer.from(`# ${name}\n${'All of this can be deleted.\n'.repeat(200)}`.slice(0, 3_000));

/** Time after which a change should show, and how often it is looked for. */
const visibleAfterMs = 1_000;
const maxLooks = 3;

const pollDelaysMs = [300, 700, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000];

async function untilShown({ probe }: WriteTrial, look: () => Promise<boolean>): Promise<boolean> {
  for (let looks = 1; ; looks++) {
    if (await look()) return true;
    if (looks === maxLooks) return false;
    await probe.api.transport.sleep(visibleAfterMs);
  }
}

/** Returns what a refusal of names says; it is not about them if the key lacks a scope, or the service fails. */
function refusalOf(answer: Answer, sent: readonly string[]): Judgment {
  if (![400, 422].includes(answer.status)) return notTried(answer.line);
  const { fields } = extractReason(answer.response);
  return doesNotHold(
    `${answer.line} for ${listNames(sent)}${fields.length > 0 ? `; it names ${listNames(fields)}` : ''}`,
  );
}

async function tryFolders(trial: WriteTrial): Promise<Judgment> {
  const { api, workspace } = trial.probe;
  const { nameField, parentField } = await trial.tree();
  const sent = [nameField, parentField];
  const fields = { nameField, parentField };
  const made: string[] = [];
  for (const [name, parent] of [[trial.name, trial.place?.folder.uid], ['one'], ['two']] as const) {
    const answer = await trial.probe.send(
      api.folders.createRequest(workspace, fields, { name, parent: parent ?? made[0] ?? null }),
    );
    if (!answer.isOk) return refusalOf(answer, sent);
    const uid =
      asText(asObject(answer.body).uid) ??
      (await trial.tree()).all.find((node) => node.name === trial.name)?.folder.uid;
    if (uid === undefined) return doesNotHold(`${answer.line}, but no folder with the name`);
    made.push(uid);
    await trial.created('folders', uid);
    trial.own ??= uid;
  }
  const [own = '', moved = '', target = ''] = made;
  trial.target = target;
  const change = await trial.probe.send(
    api.folders.changeRequest(workspace, moved, fields, { name: 'three', parent: target }),
  );
  if (!change.isOk) return refusalOf(change, sent);
  let wrong = '';
  await untilShown(trial, async () => {
    const tree = await trial.tree();
    const isIn = (uid: string, parent: string | undefined) => tree.find(uid)?.parent?.folder.uid === parent;
    wrong =
      tree.find(own)?.name !== trial.name || !isIn(own, trial.place?.folder.uid) || !isIn(target, own)
        ? `POST the folders with ${listNames(sent)}: the tree does not show that`
        : tree.find(moved)?.name !== 'three' || !isIn(moved, target)
          ? `${change.line} with ${listNames(sent)}: the tree does not show that`
          : '';
    return wrong === '';
  });
  return wrong ? doesNotHold(wrong) : holds(`folders created, renamed and moved by ${listNames(sent)}`);
}

async function trySession(trial: WriteTrial): Promise<Judgment> {
  const metadata = {
    filename: `${trial.name}.md`,
    workspace_uid: trial.probe.workspace,
    parent_folder_uid: trial.need('own'),
    content_type: 'text/markdown',
  };
  try {
    trial.session = await trial.probe.api.uploadSessions.create(contentOf(trial).length, metadata);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    const { code, details } = error.explanation;
    const uid = asText(asObject(details).asset_uid);
    if (uid !== undefined) await trial.created('assets', uid);
    if (code === 'origin_mismatch' || code === 'invalid_response')
      return doesNotHold(`POST /upload/: ${error.message}`);
    throw error;
  }
  await trial.created('assets', trial.session.assetUid);
  return holds('POST /upload/ names a session of the same origin');
}

const tusHeaders = { 'tus-resumable': tusVersion };

/** Sends a chunk. @throws Untried if the service refuses it */
async function sendChunk(trial: WriteTrial, from: number, to: number): Promise<Answer> {
  const part = contentOf(trial).subarray(from, to);
  const answer = await trial.probe.send({
    method: 'PATCH',
    url: trial.need('session').sessionUrl,
    headers: { ...tusHeaders, 'upload-offset': String(from), 'content-type': 'application/offset+octet-stream' },
    body: { lengthBytes: part.length, open: () => part },
  });
  if (!answer.isOk) throw new Untried(answer.line);
  return answer;
}

async function tryHead(trial: WriteTrial): Promise<Judgment> {
  await sendChunk(trial, 0, firstChunk);
  const url = trial.need('session').sessionUrl;
  const { line, status, response } = await trial.probe.send({ method: 'HEAD', url, headers: tusHeaders });
  const offset = parseUploadOffset(response.headers['upload-offset']);
  const found = `${line}, Upload-Offset ${offset ?? 'missing or unreadable'} after ${firstChunk} bytes`;
  return [200, 204].includes(status) && offset === firstChunk ? holds(found) : doesNotHold(found);
}

async function tryChecksum(trial: WriteTrial): Promise<Judgment> {
  const content = contentOf(trial);
  const { line, response } = await sendChunk(trial, firstChunk, content.length);
  const header = response.headers['x-checksum-blake3'];
  if (header === undefined) return doesNotHold(`${line} for the last chunk, without X-Checksum-Blake3`);
  const digestOf = async (bytes: Buffer) => {
    const checksum = await openChecksum();
    checksum.update(bytes);
    return checksum.digest();
  };
  const stated = parseDigest(header);
  if (stated === (await digestOf(content))) return holds(`${line}, with the BLAKE3 of the whole file`);
  if (stated === (await digestOf(content.subarray(firstChunk))))
    return doesNotHold(`${line}, with the BLAKE3 of the last chunk`);
  return doesNotHold(`${line}, with ${stated === undefined ? 'an unreadable checksum' : 'another checksum'}`);
}

const getAsset = async (trial: WriteTrial, uid: string) =>
  asObject((await trial.probe.getOk(paths.item('assets', uid))).body) as AssetRecord;

async function tryProcessing(trial: WriteTrial): Promise<Judgment> {
  const { assetUid } = trial.need('session');
  const seen = new Set<string>();
  for (const delayMs of [0, ...pollDelaysMs]) {
    await trial.probe.api.transport.sleep(delayMs);
    trial.asset = await getAsset(trial, assetUid);
    const { status } = trial.asset;
    if (typeof status !== 'string') return doesNotHold('GET /assets/{uid}/: the status is no text');
    seen.add(status);
    const found = `an upload had the statuses ${listNames([...seen])}`;
    if (classifyStatus(status) === 'ready') return holds(found);
    if (classifyStatus(status) === 'failed') return notTried(`${found}: it was not processed`);
  }
  return doesNotHold(`an upload had the statuses ${listNames([...seen])}, and was not ready after two minutes`);
}

async function tryAnotherMachine(trial: WriteTrial): Promise<Judgment> {
  const asset = trial.need('asset');
  const length = contentOf(trial).length;
  const size = asNumber(asset.size);
  if (digestIn(asset) !== undefined) return holds('GET /assets/{uid}/ shows the BLAKE3');
  if (size === undefined)
    return doesNotHold('GET /assets/{uid}/ shows no size: a file is uploaded again by another machine');
  return size === length
    ? holds('GET /assets/{uid}/ shows the size of the file')
    : doesNotHold('GET /assets/{uid}/ shows another size than that of the file');
}

async function tryParentFilter(trial: WriteTrial): Promise<Judgment> {
  const { uid } = trial.need('asset');
  const isIn = async (parent: string) => (await trial.assetsIn(parent)).some((each) => isSameUid(each.uid, uid));
  if (!(await untilShown(trial, () => isIn(trial.own as string))))
    return doesNotHold('GET /assets/?parent={uid} does not list the asset in the folder');
  for (const other of [trial.place?.folder.uid ?? 'root', trial.need('target')])
    if (await isIn(other)) return doesNotHold('GET /assets/?parent={uid} lists an asset of another folder');
  const none = await trial.probe.get(paths.collection('assets'), { parent: unknownUid, limit: 1 });
  if (none.isOk && recordsOf(none).length > 0) return doesNotHold(`${none.line} for no folder, with assets`);
  return holds('GET /assets/?parent={uid} lists an asset in its folder only');
}

async function tryEdit(trial: WriteTrial): Promise<Judgment> {
  const { uid } = trial.need('asset');
  const { assets } = trial.probe.api;
  const fields = { name: `${trial.name} renamed.md`, description: trial.name, ...assets.tagFields(['mediactl-check']) };
  const answer = await trial.probe.send(assets.updateRequest(uid, fields));
  if (!answer.isOk) return refusalOf(answer, Object.keys(fields));
  let ignored: string[] = [];
  await untilShown(trial, async () => {
    trial.asset = await getAsset(trial, uid);
    ignored = assets.findDifferences(fields, assets.valuesOf(trial.asset, Object.keys(fields)));
    return ignored.length === 0;
  });
  const sent = `${answer.line} with ${listNames(Object.keys(fields))}`;
  return ignored.length === 0 ? holds(sent) : doesNotHold(`${sent}; the record does not show ${listNames(ignored)}`);
}

async function tryMove(trial: WriteTrial): Promise<Judgment> {
  const asset = trial.need('asset');
  const target = trial.need('target');
  const fields = trial.probe.api.assets.folderFields(asset, target);
  const sent = Object.keys(fields);
  const answer = await trial.probe.send(trial.probe.api.assets.updateRequest(asset.uid, fields));
  if (!answer.isOk) return refusalOf(answer, sent);
  const isMoved = await untilShown(trial, async () => {
    const parent = parentOf(await getAsset(trial, asset.uid));
    if (parent !== undefined) return parent !== null && isSameUid(parent, target);
    return (await trial.assetsIn(target)).some(({ uid }) => isSameUid(uid, asset.uid));
  });
  return isMoved
    ? holds(`${answer.line} with ${listNames(sent)}`)
    : doesNotHold(`${answer.line} with ${listNames(sent)}, but the asset was not moved`);
}

async function tryDownload(trial: WriteTrial): Promise<Judgment> {
  const { uid, status } = trial.need('asset');
  if (classifyStatus(status) !== 'ready') return notTried('the upload was not ready');
  const token = asText(asObject((await trial.probe.getOk(paths.player('assets', uid))).body).playback_token) ?? '';
  const info = await trial.probe.playbackInfo(uid, token);
  if (!info.isOk) return notTried(info.line);
  const { urls } = parsePlayables(asObject(info.body), trial.probe.api.transport.baseUrl);
  const file = urls.find(({ kind }) => kind === 'file' || kind === 'document');
  if (!file) return notTried(`${info.line}, without an address of the file`);
  const { bytes, text, status: got } = await trial.probe.api.playback.fetchMedia(file.url);
  if (got !== 200 && got !== 206) return notTried(`the address of the file: ${got}`);
  const isSame = contentOf(trial).equals(Buffer.from(bytes.length > 0 ? bytes : text));
  return isSame
    ? holds('the address of a document has the bytes that were uploaded')
    : doesNotHold('the address of a document has other bytes than were uploaded');
}

async function tryAssetDeletion(trial: WriteTrial): Promise<Judgment> {
  const [assetUid] = trial.journal.assets;
  if (assetUid === undefined) throw new Untried('an earlier step failed, see the others');
  const answer = await trial.probe.send(trial.probe.api.assets.deleteRequest(assetUid));
  if (!answer.isOk) return notTried(answer.line);
  let line = '';
  const isGone = await untilShown(trial, async () => {
    const read = await trial.probe.get(paths.item('assets', assetUid));
    line = read.line;
    return read.status === 404 || read.status === 410;
  });
  trial.isEmpty = isGone;
  return isGone ? holds(`${answer.line}; then ${line}`) : doesNotHold(`${answer.line}; then ${line}`);
}

async function tryFolderDeletion(trial: WriteTrial): Promise<Judgment> {
  const { api, workspace } = trial.probe;
  const uids = [...trial.journal.folders];
  if (uids.length === 0) throw new Untried('an earlier step failed, see the others');
  const [own = '', ...inner] = uids;
  const lines: string[] = [];
  for (const uid of [...inner, own]) {
    const answer = await trial.probe.send(api.folders.deleteRequest(workspace, uid));
    if (answer.status === 403) return notTried(answer.line);
    if (!answer.isOk) return trial.isEmpty ? doesNotHold(`${answer.line} for an empty folder`) : notTried(answer.line);
    lines.push(answer.line);
  }
  const isGone = await untilShown(trial, async () => {
    const tree = await trial.tree();
    return uids.every((uid) => !tree.find(uid));
  });
  return isGone ? holds(lines.at(-1) as string) : doesNotHold(`${lines.at(-1)}, but the tree still has the folder`);
}

export const writeSteps: readonly WriteStep[] = [
  { id: 'A02', sends: 'POST and PATCH of own folders', perform: tryFolders },
  { id: 'A21', sends: 'POST /upload/', perform: trySession },
  { id: 'A22', sends: 'HEAD of an own upload', perform: tryHead },
  { id: 'A18', sends: 'PATCH of an own upload', perform: tryChecksum },
  { id: 'A11', sends: 'GET of an own asset', perform: tryProcessing },
  { id: 'A28', sends: 'GET of an own asset', perform: tryAnotherMachine },
  { id: 'A26', sends: 'GET /assets/?parent=… of own folders', perform: tryParentFilter },
  { id: 'A08', sends: 'PATCH of an own asset', perform: tryEdit },
  { id: 'A20', sends: 'PATCH of an own asset', perform: tryMove },
  { id: 'A27', sends: 'GET of the file of an own asset', perform: tryDownload },
  { id: 'A31', sends: 'DELETE and GET of an own asset', perform: tryAssetDeletion },
  { id: 'A04', sends: 'DELETE of own folders', perform: tryFolderDeletion },
];
