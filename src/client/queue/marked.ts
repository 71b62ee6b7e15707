import { isUnfinished } from '../../contract/assumptions.ts';
import { textIn } from '../../contract/reading.ts';
import type { Asset } from '../../contract/types.ts';
import type { Api } from '../api/api.ts';

/** More assets of one mark than attempts at one file: the search finds something else. */
const mostMarked = 200;

/**
 * Stands in an asset's description, and makes it provably of one job: another queue may have one of the
 * same id.
 *
 * @param queuedAt milliseconds since the epoch
 */
export const markOf = (id: string, queuedAt: number) => `[mediactl ${id}-${queuedAt.toString(36)}]`;

/**
 * Deletes (softly) what creations of one upload have made whose answers were lost: assets with its mark
 * that wait for their bytes.
 *
 * @returns the uids deleted, and assets with its mark that may hold something
 */
export async function removeMarked(
  { assets }: Pick<Api, 'assets'>,
  mark: string,
): Promise<{ removed: string[]; left: Asset[] }> {
  const marked: Asset[] = [];
  for await (const page of assets.list({ search: mark }, { limit: mostMarked }))
    marked.push(...page.filter(({ description }) => textIn(description)?.includes(mark)));
  const empty = marked.filter(({ status }) => isUnfinished(status));
  for (const { uid } of empty) await assets.delete(uid);
  return {
    removed: empty.map(({ uid }) => uid),
    left: marked.filter(({ status }) => !isUnfinished(status)),
  };
}
