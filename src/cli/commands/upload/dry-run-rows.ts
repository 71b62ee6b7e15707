import { realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { CodedError } from '../../../client/errors.ts';
import { keptResult, plannedKindOf } from '../../../client/upload/batch/plan.ts';
import { type Decision, type FollowingChange, hasChange } from '../../../client/upload/decide/decision.ts';
import { isBelow } from '../../../client/upload/decide/missing-files.ts';
import type { UploadFile } from '../../../client/upload/sources/upload-file.ts';
import { acknowledged, assetOf } from '../../../client/upload/store/upload-entry.ts';
import { paths } from '../../../contract/paths.ts';
import { plannedOutcomes } from '../../../contract/upload-outcomes.ts';
import type { Context } from '../../context.ts';
import type { OutputRecord } from '../../reference/schemas.ts';
import type { RunRequest } from '../../uploading/run-uploads.ts';

export type PlannedFile = OutputRecord<'upload-dry-run'>;

/** Creates a function that returns the record of a decided file. */
export async function createRows(context: Context, { folders, options, mirror }: RunRequest) {
  const { workspace, about: defaults } = options;
  const { baseUrl } = await context.account();
  const { default: mime } = await import('mime/lite');
  const requestOf = (decision: Decision) => {
    if (decision.action === 'send') return { method: 'POST', url: new URL(paths.upload(), baseUrl).href };
    if (decision.action === 'resume' && decision.entry.state === 'open')
      return { method: 'PATCH', url: decision.entry.session.url };
    if (!hasChange(decision)) return null;
    const [folder] = decision.change ? [] : (decision.folderMoves ?? []);
    const path = folder ? paths.folder(workspace, folder.uid) : paths.item('assets', decision.receipt.assetUid);
    return { method: 'PATCH', url: new URL(path, baseUrl).href };
  };
  const real = mirror && (await realpath(mirror.directory));
  /** Returns the path that a renamed file had, as the user would give it. */
  const oldPathOf = (decision: Decision) => {
    if (decision.action !== 'keep' || decision.outcome !== 'moved') return null;
    const { realPath } = decision.receipt;
    return mirror && real && isBelow(realPath, real) ? join(mirror.directory, relative(real, realPath)) : realPath;
  };
  return (file: UploadFile, decision: Decision): PlannedFile => {
    const kind = plannedKindOf(decision);
    const outcome = kind === 'toCompare' ? 'new' : kind;
    const sizeBytes = file.sizeBytes ?? null;
    const entry = decision.action === 'resume' || decision.action === 'refuse' ? decision.entry : undefined;
    const { isSent } = plannedOutcomes[outcome];
    return {
      path: file.path,
      moved_from: oldPathOf(decision),
      outcome,
      asset_uid: (decision.action === 'keep' ? decision.receipt.assetUid : entry && assetOf(entry)) ?? null,
      size_bytes: sizeBytes,
      remaining_bytes: isSent ? sizeBytes && sizeBytes - (entry ? acknowledged(entry) : 0) : 0,
      folder_uid: folders.find(file) ?? null,
      workspace_uid: workspace,
      content_type: file.about?.contentType ?? defaults.contentType ?? mime.getType(file.path),
      changes: changesOf(decision, folders.pathOf?.(file)),
      request: requestOf(decision),
      duplicate_of: null,
      error: context.terminal.redactor.errorRecord(errorOf(decision, options)),
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
function errorOf(decision: Decision, options: RunRequest['options']): CodedError | undefined {
  if (decision.action === 'refuse') return decision.error;
  return decision.action === 'keep' ? keptResult(decision, options).error : undefined;
}
