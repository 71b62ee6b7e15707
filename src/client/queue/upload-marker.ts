import { isAwaitingUpload } from '../../contract/assumptions.ts';
import { asText } from '../../contract/json-values.ts';
import type { Asset } from '../../contract/types.ts';
import type { Api } from '../api/api.ts';

/** Maximum number of assets to list by marker. One job has fewer attempts than that. */
const maxMarkedAssets = 200;

/**
 * Returns the marker for an asset's description, which identifies the job that created the asset. The marker
 * includes the time because another queue might have a job with the same id.
 *
 * @param queuedAt time when the job was queued, in milliseconds since the epoch
 */
export const uploadMarkerOf = (id: string, queuedAt: number) => `[mediactl ${id}-${queuedAt.toString(36)}]`;

/**
 * Moves the orphans of one upload to the trash. An orphan is an asset that has the upload's marker but no content,
 * because the response to its creation was lost.
 *
 * @returns the uids of the deleted assets, and the assets with the marker that might have content
 */
export async function deleteByMarker(
  { assets }: Pick<Api, 'assets'>,
  marker: string,
): Promise<{ removed: string[]; left: Asset[] }> {
  const marked: Asset[] = [];
  for await (const page of assets.list({ search: marker }, { limit: maxMarkedAssets }))
    marked.push(...page.filter(({ description }) => asText(description)?.includes(marker)));
  const empty = marked.filter(({ status }) => isAwaitingUpload(status));
  for (const { uid } of empty) await assets.delete(uid);
  return {
    removed: empty.map(({ uid }) => uid),
    left: marked.filter(({ status }) => !isAwaitingUpload(status)),
  };
}
