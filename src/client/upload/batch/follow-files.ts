import { normalizeUid } from '../../../contract/uid.ts';
import type { FolderChange } from '../../api/folders.ts';
import { assetItem } from '../../changes/items.ts';
import type { LibraryChange } from '../../changes/writer.ts';
import { asCodedError, CodedError } from '../../errors.ts';
import { byUid } from '../../library/select-assets.ts';
import { tryStat } from '../../local-path.ts';
import { type FolderMove, type KeepDecision, type LocalRecord, saveRecords } from '../decide/decision.ts';
import type { UploadSettings } from '../decide/upload-settings.ts';
import { createOutcome, type FileOutcome } from '../session/file-outcome.ts';
import { hasSameSizeAndTime, identityOf } from '../sources/file-identity.ts';
import { fileAt, shownPathOf, type UploadFile } from '../sources/upload-file.ts';
import { type FollowedFile, keptResult } from './plan.ts';
import type { UploadPorts } from './upload-ports.ts';

/** @property outcomes of the files, in the given order @property toSend files whose assets do not follow them */
type Followed = { outcomes: FileOutcome[]; toSend: UploadFile[] };

/** A file and its decision, with what is written of it. */
type FileChange = { file: UploadFile; decision: KeepDecision; folder: string | null | undefined };

/**
 * Changes the assets that follow their files: first the folders that take assets along, then the other assets, each as one
 * change of the history, which `undo` reverts. Then saves what their decisions say of this machine's records.
 *
 * If the service refuses to move an asset, its file is to be sent. If it refuses to move a folder, its assets are moved one
 * by one. A file fails if it is not certain whether its asset was moved: the next run reads the asset first.
 *
 * @param ageMs returns how long ago the assets were read, in ms
 */
export async function followFiles(
  files: readonly FollowedFile[],
  deps: UploadPorts,
  settings: UploadSettings,
  ageMs: () => number,
): Promise<Followed> {
  const moved = await moveFolders(files, deps, ageMs);
  const changes: FileChange[] = [];
  const errors = new Map<UploadFile, CodedError>();
  for (const [file, decision] of files) {
    const failures = (decision.folderMoves ?? []).flatMap((move) => moved.get(move) ?? []);
    const uncertain = failures.find((error) => !isRefusal(error));
    if (uncertain) errors.set(file, uncertain);
    else
      await changeOf(file, failures.length > 0 ? withoutFolder(decision) : decision, deps).then(
        (change) => changes.push(change),
        (thrown) => errors.set(file, asCodedError(thrown)),
      );
  }
  await changeAssets(changes, deps, ageMs, errors);
  const records = changes.flatMap((each) => (errors.has(each.file) ? [] : recordsOf(each)));
  await saveRecords(deps, records);
  return outcomesOf(files, errors, deps, settings);
}

/** Changes folders, in their order. @returns the error of each that was not changed */
async function moveFolders(
  files: readonly FollowedFile[],
  { folders, follow }: UploadPorts,
  ageMs: () => number,
): Promise<Map<FolderMove, CodedError>> {
  const moves = [...new Set(files.flatMap(([, { folderMoves = [] }]) => folderMoves))];
  const errors = new Map<FolderMove, CodedError>();
  const changes: { move: FolderMove; change: { uid: string } & FolderChange }[] = [];
  for (const move of moves.sort((one, other) => one.order - other.order)) {
    const { uid, name, parent, newParentDir } = move;
    const made = newParentDir === undefined ? parent : folders.findOrCreate(fileAt('', newParentDir));
    await Promise.resolve(made).then(
      (above) =>
        changes.push({ move, change: { uid, name, parent: newParentDir === undefined ? above : (above ?? null) } }),
      (thrown) => errors.set(move, asCodedError(thrown)),
    );
  }
  if (changes.length === 0) return errors;
  const { writer: openWriter, ...label } = follow;
  const writer = await openWriter();
  const results = await writer.changeFolders(
    changes.map(({ change }) => change),
    { ...label, ageMs },
  );
  for (const [at, { move }] of changes.entries()) {
    const error = results[at]?.error;
    if (error) errors.set(move, error);
  }
  await folders.refresh?.();
  return errors;
}

/** Returns the decision for a file whose folder the service does not move: its asset is moved by itself. */
const withoutFolder = ({ change, folderMoves: _, ...decision }: KeepDecision): KeepDecision => ({
  ...decision,
  change: { fields: {}, addedTags: [], ...change, movesFolder: true },
});

/** Finds or creates the folder of a change, and reads the asset if that was not necessary before. */
async function changeOf(file: UploadFile, decision: KeepDecision, { api, folders }: UploadPorts): Promise<FileChange> {
  const { change, receipt } = decision;
  if (!change) return { file, decision, folder: undefined };
  const folder = change.movesFolder ? ((await folders.findOrCreate(file)) ?? null) : undefined;
  const record = decision.record ?? (await api.assets.get(receipt.assetUid));
  return { file, decision: { ...decision, record }, folder };
}

/** Changes the assets of files that have a change. @param errors gets the error of each that was not changed */
async function changeAssets(
  changes: readonly FileChange[],
  { api, follow }: UploadPorts,
  ageMs: () => number,
  errors: Map<UploadFile, CodedError>,
): Promise<void> {
  const { writer: openWriter, ...label } = follow;
  const items: LibraryChange['items'][number][] = [];
  const found: [string, NonNullable<KeepDecision['record']>][] = [];
  const changed: FileChange[] = [];
  for (const each of changes) {
    const { change, record } = each.decision;
    if (!change || !record) continue;
    const tags = change.addedTags.length > 0 ? { add: change.addedTags, remove: [] } : undefined;
    const { fields } = change;
    items.push(assetItem(api.assets, byUid(record.uid, record), { fields, tags, folder: each.folder }));
    found.push([normalizeUid(record.uid), record]);
    changed.push(each);
  }
  if (items.length === 0) return;
  const byAsset = new Map(changed.map((each, at) => [items[at]?.uid, each]));
  const writer = await openWriter();
  const { results } = await writer.change(
    { ...label, items, found: new Map(found), ageMs },
    { beforeItem: ({ uid }) => assertSameFile(byAsset.get(uid)) },
  );
  for (const [at, { file }] of changed.entries()) {
    const error = results[at]?.error;
    if (error) errors.set(file, error);
  }
}

/** @throws CodedError `changed_meanwhile` if a renamed file is not as it was when it was decided */
async function assertSameFile(change: FileChange | undefined): Promise<undefined> {
  const { file, decision } = change ?? {};
  if (!file || decision?.outcome !== 'moved') return undefined;
  const { path, realPath = path } = file;
  const now = await tryStat(realPath);
  if (now && hasSameSizeAndTime(file, identityOf(now))) return undefined;
  throw new CodedError(`the asset of ${path} was not changed`, {
    code: 'changed_meanwhile',
    reason: 'the file was changed or renamed meanwhile',
  });
}

/** Returns the records of a change, with the folder and the name that the asset has now. */
function recordsOf({ decision, folder }: FileChange): LocalRecord[] {
  const name = decision.change?.fields.name;
  return decision.records.map((each) =>
    each.record === 'moved'
      ? { ...each, to: { ...each.to, name, ...(folder !== undefined && { folder: folder ?? '' }) } }
      : each,
  );
}

function outcomesOf(
  files: readonly FollowedFile[],
  errors: ReadonlyMap<UploadFile, CodedError>,
  { onEvent }: UploadPorts,
  settings: UploadSettings,
): Followed {
  const outcomes: FileOutcome[] = [];
  const toSend: UploadFile[] = [];
  for (const [file, decision] of files) {
    const error = errors.get(file);
    if (error && decision.outcome === 'moved' && isRefusal(error)) {
      const { reason = error.message } = error.explanation;
      const message = `it is uploaded again, because its asset ${decision.receipt.assetUid} was not moved: ${reason}`;
      onEvent({ path: shownPathOf(file), event: 'warning', message });
      toSend.push(file);
      continue;
    }
    const isMove = decision.outcome === 'moved';
    const kept = keptResult(error && !isMove ? { ...decision, outcome: 'skipped' } : decision, settings);
    const result = error && isMove ? { error } : { ...kept, ...(error && { error }) };
    outcomes.push(createOutcome(file, { ...result, requests: decision.change ? 1 : 0 }));
  }
  return { outcomes, toSend };
}

/** Returns true if the service has certainly not moved an asset or a folder, so that another try would not help. */
function isRefusal({ kind, explanation: { code, status = 0 } }: CodedError): boolean {
  if (code === 'changed_meanwhile' || code === 'locked') return false;
  if (code === 'write_ignored' || kind === 'forbidden' || kind === 'notFound' || kind === 'usage') return true;
  return kind === 'rejected' && (status === 0 || (status >= 400 && status < 500));
}
