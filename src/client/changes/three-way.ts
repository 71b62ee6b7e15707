import type { AssetRecord } from '../../contract/types.ts';
import { normalizeUid } from '../../contract/uid.ts';
import type { JsonObject } from '../../shared/json-values.ts';
import type { AssetsApi } from '../api/assets.ts';
import { maxPageSize } from '../api/pagination.ts';
import { CodedError, type Explanation, endsTheRun, ignoreNotFound } from '../errors.ts';
import { runEach } from '../run-each.ts';
import type { ChangeItem } from './change-item.ts';

/** Fields grouped by decision: to write, already as wanted, or in conflict (neither the base nor the wanted value). */
export type FieldDecision = { toWrite: JsonObject; done: string[]; conflicts: JsonObject };

/** Compares the present values of fields with those that a change starts from (`base`) and those that it sets. */
export function compareFields(
  assets: AssetsApi,
  present: JsonObject,
  base: JsonObject,
  wanted: JsonObject,
): FieldDecision {
  const decision: FieldDecision = { toWrite: {}, done: [], conflicts: {} };
  const [notWanted, notBase] = [wanted, base].map((values) => new Set(assets.findDifferences(values, present)));
  for (const [field, value] of Object.entries(wanted))
    if (!notWanted?.has(field)) decision.done.push(field);
    else if (field in base && !notBase?.has(field)) decision.toWrite[field] = value;
    else decision.conflicts[field] = present[field] ?? null;
  return decision;
}

/** Returns the next step after a conflict: to see the item as it is. */
export const nextStepOf = ({ kind, uid }: Pick<ChangeItem, 'kind' | 'uid'>): Pick<Explanation, 'remedy' | 'hint'> =>
  kind === 'asset' ? { remedy: ['show_asset', uid, 'to see it now'] } : { hint: 'list the folders, to see it now' };

/** Creates the error for an item that others have changed since the change was planned. */
export const changedMeanwhile = (item: Pick<ChangeItem, 'kind' | 'uid' | 'name'>, conflicts: JsonObject = {}) =>
  new CodedError(`${item.name ?? item.uid} was changed meanwhile`, {
    code: 'changed_meanwhile',
    ...nextStepOf(item),
    reason: Object.entries(conflicts)
      .map(([field, value]) => `${field} is ${JSON.stringify(value)}`)
      .join('; '),
  });

/** Number of assets up to which each is fetched by itself. */
const maxSingles = 10;

/**
 * Fetches assets: each by itself, or from the list of all if that takes fewer requests.
 *
 * @param isComplete returns true if a listed record has all fields that are needed; others are fetched by themselves
 * @param onAsset called for each asset that exists, in any order, so that not all are in memory at once
 * @returns the errors of single assets, by uid (`normalizeUid`), and the number of requests
 * @throws CodedError if it would affect the other assets, too
 */
export async function fetchAssets(
  assets: AssetsApi,
  uids: readonly string[],
  { isComplete, signal }: { isComplete: (asset: AssetRecord) => boolean; signal: AbortSignal },
  onAsset: (asset: AssetRecord, isListed: boolean) => void | Promise<void>,
): Promise<{ failures: Map<string, CodedError>; requestCount: number }> {
  const wanted = new Map(uids.map((uid) => [normalizeUid(uid), uid]));
  let requestCount = 0;
  if (wanted.size > maxSingles) {
    let pagesLeft = 0;
    const onTotal = (total = Number.POSITIVE_INFINITY) => {
      pagesLeft = Math.ceil(total / maxPageSize);
    };
    for await (const page of assets.list({}, { onTotal })) {
      requestCount++;
      for (const asset of page)
        if (isComplete(asset) && wanted.delete(normalizeUid(asset.uid))) await onAsset(asset, true);
      if (--pagesLeft >= wanted.size) break;
    }
  }
  const fetchOne = async (uid: string) => {
    const asset = await assets.get(uid).catch(ignoreNotFound);
    if (asset) await onAsset(asset, false);
  };
  requestCount += wanted.size;
  const failures = new Map<string, CodedError>();
  for (const { item, error } of await runEach([...wanted.values()], fetchOne, { signal })) {
    if (error && endsTheRun(error)) throw error;
    if (error) failures.set(normalizeUid(item), error);
  }
  return { failures, requestCount };
}
