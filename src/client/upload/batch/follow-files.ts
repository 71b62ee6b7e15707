import { normalizeUid } from '../../../contract/uid.ts';
import type { Api } from '../../api/api.ts';
import { assetItem } from '../../changes/items.ts';
import type { LibraryChange, LibraryWriter } from '../../changes/writer.ts';
import { byUid } from '../../library/select-assets.ts';
import { saveRecords } from '../decide/decision.ts';
import { createOutcome, type FileOutcome } from '../session/file-outcome.ts';
import type { FolderResolver } from '../sources/upload-file.ts';
import { type FollowedFile, keptResult, type PlanSettings } from './plan.ts';

/** How a run changes the assets that follow their files, and what the history says of that. */
export type FollowPorts = Pick<LibraryChange, 'command' | 'summary' | 'source'> & { writer(): Promise<LibraryWriter> };

type FollowDeps = { api: Api; folders: FolderResolver; follow: FollowPorts } & Parameters<typeof saveRecords>[0];

/**
 * Changes the assets that follow their files, as one change of the history, which `undo` reverts. Then saves what their
 * decisions say of this machine's records.
 *
 * @param options.ageMs returns how long ago the first of their assets was read, in ms
 * @returns the outcome of each file, in the given order
 */
export async function followFiles(
  files: readonly FollowedFile[],
  deps: FollowDeps,
  { requireChecksum, ageMs }: Pick<PlanSettings, 'requireChecksum'> & Pick<LibraryChange, 'ageMs'>,
): Promise<FileOutcome[]> {
  const { writer: openWriter, ...label } = deps.follow;
  const items: LibraryChange['items'][number][] = [];
  for (const each of files) items.push(await itemOf(each, deps));
  const found = new Map(files.map(([, { record }]) => [normalizeUid(record.uid), record]));
  const writer = await openWriter();
  const { results } = await writer.change({ ...label, items, found, ageMs });
  const written = files.filter((_, at) => !results[at]?.error);
  await saveRecords(
    deps,
    written.flatMap(([, { records }]) => records),
  );
  return files.map(([file, decision], at) => {
    const error = results[at]?.error;
    const isUpdate = error && decision.outcome === 'updated';
    const kept = keptResult(isUpdate ? { ...decision, outcome: 'skipped' } : decision, { requireChecksum });
    return createOutcome(file, { ...kept, ...(error && { error }), requests: 1 });
  });
}

async function itemOf([file, { record, change }]: FollowedFile, { api, folders }: FollowDeps) {
  const { fields, addedTags, movesFolder } = change;
  const folder = movesFolder ? ((await folders.findOrCreate(file)) ?? null) : undefined;
  const tags = addedTags.length > 0 ? { add: addedTags, remove: [] } : undefined;
  return assetItem(api.assets, byUid(record.uid, record), { fields, tags, folder });
}
