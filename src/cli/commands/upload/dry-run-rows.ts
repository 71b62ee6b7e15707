import { realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { CodedError } from '../../../client/errors.ts';
import { keptResult, plannedKindOf } from '../../../client/upload/batch/plan.ts';
import { type Decision, type FollowingChange, hasChange } from '../../../client/upload/decide/decision.ts';
import type { DecidePorts } from '../../../client/upload/decide/matcher.ts';
import { isBelow } from '../../../client/upload/decide/missing-files.ts';
import type { UploadSettings } from '../../../client/upload/decide/upload-settings.ts';
import { loadContentTypes, type UploadFile, userMetadataOf } from '../../../client/upload/sources/upload-file.ts';
import { acknowledged, assetOf } from '../../../client/upload/store/upload-entry.ts';
import { paths } from '../../../contract/paths.ts';
import { plannedOutcomes } from '../../../shared/upload-outcomes.ts';
import type { Context } from '../../context.ts';
import type { OutputRecord } from '../../reference/schemas.ts';

export type PlannedFile = OutputRecord<'upload-dry-run'>;

export const emptyRow = (path: string, outcome: PlannedFile['outcome'], workspace: string): PlannedFile => ({
  path,
  moved_from: null,
  outcome,
  asset_uid: null,
  size_bytes: null,
  remaining_bytes: null,
  folder_uid: null,
  workspace_uid: workspace,
  content_type: null,
  changes: null,
  request: null,
  duplicate_of: null,
  left_by: null,
  error: null,
});

export async function createRows(
  context: Context,
  settings: UploadSettings,
  { folders, workspace, mirror }: DecidePorts,
) {
  const { about: defaults } = settings;
  const { baseUrl } = await context.account();
  const contentTypeOf = await loadContentTypes();
  const requestOf = (decision: Decision) => {
    if (decision.action === 'send') return { method: 'POST', url: new URL(paths.upload(), baseUrl).href };
    if (decision.action === 'resume' && decision.entry.state === 'open')
      return { method: 'PATCH', url: decision.entry.session.url };
    if (!hasChange(decision)) return null;
    const [folder] = decision.change ? [] : (decision.folderMoves ?? []);
    const path = folder ? paths.folder(workspace, folder.uid) : paths.item('assets', decision.receipt.assetUid);
    return { method: 'PATCH', url: new URL(path, baseUrl).href };
  };
  const real = mirror === undefined ? undefined : await realpath(mirror);
  /** Returns the path that a renamed file had, as the user would give it. */
  const oldPathOf = (decision: Decision) => {
    if (decision.action !== 'keep' || decision.outcome !== 'moved') return null;
    const { realPath } = decision.receipt;
    return mirror !== undefined && real !== undefined && isBelow(realPath, real)
      ? join(mirror, relative(real, realPath))
      : realPath;
  };
  return (file: UploadFile, decision: Decision): PlannedFile => {
    const kind = plannedKindOf(decision);
    const outcome = kind === 'toCompare' ? 'new' : kind;
    const sizeBytes = file.sizeBytes ?? null;
    const entry = decision.action === 'resume' ? decision.entry : undefined;
    const { isSent } = plannedOutcomes[outcome];
    return {
      ...emptyRow(file.path, outcome, workspace),
      moved_from: oldPathOf(decision),
      asset_uid: (decision.action === 'keep' ? decision.receipt.assetUid : entry && assetOf(entry)) ?? null,
      size_bytes: sizeBytes,
      remaining_bytes: isSent ? sizeBytes && sizeBytes - (entry ? acknowledged(entry) : 0) : 0,
      folder_uid: folders.find(file) ?? null,
      content_type: userMetadataOf(file, defaults, contentTypeOf).contentType ?? null,
      changes: changesOf(decision, folders.pathOf?.(file)),
      request: requestOf(decision),
      error: context.terminal.redactor.errorRecord(errorOf(decision, settings)),
    };
  };
}

/** Returns what the asset of a kept file would get. @param folder path of the folder of the file, if it can be another one */
function changesOf(decision: Decision, folder: string | undefined): PlannedFile['changes'] {
  if (!hasChange(decision)) return null;
  const { change, folderMoves = [] } = decision;
  const movesFolder = folder !== undefined && (change?.movesFolder || folderMoves.length > 0);
  return { ...change?.fields, ...(movesFolder && { folder }), ...(change && tagsOf(change)) };
}

const tagsOf = ({ addedTags }: FollowingChange) => (addedTags.length > 0 ? { added_tags: [...addedTags] } : {});

/** Returns the error that the run would report of a file that it does not send. */
function errorOf(decision: Decision, settings: UploadSettings): CodedError | undefined {
  return decision.action === 'keep' ? keptResult(decision, settings).error : undefined;
}
