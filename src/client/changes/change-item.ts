import type { SlugEdit } from '../../contract/slug.ts';
import type { AssetRecord } from '../../contract/types.ts';
import type { JsonObject } from '../../shared/json-values.ts';
import type { CodedError } from '../errors.ts';
import { isEmptyEdit } from './tag-change.ts';

declare const planned: unique symbol;

/** A change of one asset or folder. Only the functions of items.ts make one, from what was selected. */
export type ChangeItem = {
  readonly [planned]: true;
  kind: 'asset' | 'folder';
  uid: string;
  /** Name of an asset, or path of a folder, before the change; null if it was not read. */
  name: string | null;
  /**
   * Values that were read before the change, as a PATCH would set them: of the fields to set, of the name and the
   * folder, and of all editorial fields if it is deleted. Null if it was not read.
   */
  before: JsonObject | null;
  /** Fields to set; null to delete it. */
  after: JsonObject | null;
  /** The record of an asset, if it was read; the history does not keep it. */
  record?: AssetRecord | undefined;
  /** Tags to add to those that the asset has when it is written, and to remove from them. */
  tags?: SlugEdit | null | undefined;
  /** Local file that a deleted asset was uploaded from, if this machine did so. */
  localPath?: string | null | undefined;
};

/**
 * - `pending`: it was not written.
 * - `unknown`: it may have been written. A process was killed, or the response was lost.
 * - `done`: the library had the new values.
 * - `failed`: it was not written, because of an error.
 * - `conflict`: others had changed it. It was not written, or only those fields that they left alone.
 */
export type ItemState = 'pending' | 'unknown' | 'done' | 'failed' | 'conflict';

export type StoredItem = ChangeItem & {
  seq: number;
  state: ItemState;
  error: string | null;
  /** Time at which it was planned, in ISO 8601. */
  plannedAt: string;
  /** What was sent, if that was not all of `after` and `tags`; null if it was, or if nothing was sent. */
  sent: Sent | null;
};

/** The part of an item that was sent: without what the library had already, or others had changed. */
export type Sent = {
  after: JsonObject;
  /** Tags that were added and removed. */
  tags: SlugEdit | null;
};

/** Returns what was, or may have been, written of an item; undefined if nothing was. */
export function writtenOf({
  state,
  after,
  tags = null,
  sent,
}: StoredItem): Pick<ChangeItem, 'after' | 'tags'> | undefined {
  if (state === 'pending' || state === 'failed' || (state === 'conflict' && !sent)) return undefined;
  const written = sent ?? { after, tags };
  return written.after && Object.keys(written.after).length === 0 && isEmptyEdit(written.tags) ? undefined : written;
}

/** A problem that did not stop a change. */
export type ChangeNotice =
  | { kind: 'cannot_undo' | 'results_not_recorded' | 'receipts_not_updated'; error: CodedError }
  | { kind: 'unverifiable'; fields: readonly string[] };

/** Describes a notice, with names of fields as the service sent them. */
export function describeNotice(notice: ChangeNotice): string {
  if (notice.kind === 'unverifiable')
    return `cannot verify the change: the service does not show ${notice.fields.join(', ')}`;
  const { message, explanation } = notice.error;
  if (notice.kind === 'receipts_not_updated')
    return `${message} (${explanation.reason}): the upload history does not have this change`;
  const consequence =
    notice.kind === 'cannot_undo'
      ? 'this change cannot be undone'
      : 'the results of the remaining items are not recorded';
  return `the history cannot be written (${explanation.reason ?? message}): ${consequence}`;
}
