import type { AssetsApi } from '../../../client/api/assets.ts';
import { usageError } from '../../../client/errors.ts';
import { slugsOf } from '../../../contract/asset.ts';
import type { JsonObject } from '../../../contract/json-values.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import { isSlug, type SlugEdit, toSlug } from '../../../contract/slug.ts';
import type { BulkTarget } from './targets.ts';

/** Change to an asset's tags: a complete new set, or slugs to add and remove. */
export type TagChange = { set: string[] } | SlugEdit;

type TagOptions = {
  addTag: readonly string[];
  removeTag: readonly string[];
  setTags?: string | undefined;
  tags: boolean;
};

/**
 * Parses the tag options. Returns undefined if none is given.
 *
 * @throws MediactlError `usage` (exit 2) if options conflict or a tag is not a slug
 */
export function parseTagChange({ addTag, removeTag, setTags, tags }: TagOptions): TagChange | undefined {
  const modes = [
    ...(addTag.length + removeTag.length > 0 ? ['--add-tag and --remove-tag'] : []),
    ...(setTags !== undefined ? ['--set-tags'] : []),
    ...(tags ? [] : ['--no-tags']),
  ];
  if (modes.length > 1) throw usageError(`${modes.join(', ')} cannot be used together`, 'give one of them');
  if (setTags !== undefined) {
    const set = setTags.split(',').map((slug) => slug.trim());
    if (set.includes(''))
      throw usageError(`--set-tags does not accept '${setTags}'`, 'sea,night; --no-tags takes all off');
    for (const slug of set) assertSlug('--set-tags', slug);
    return { set: [...new Set(set)] };
  }
  if (!tags) return { set: [] };
  const both = addTag.find((slug) => removeTag.includes(slug));
  if (both) throw usageError(`--add-tag and --remove-tag both name ${both}`);
  // Tags to remove need not be slugs, because the service already has them.
  for (const slug of addTag) assertSlug('--add-tag', slug);
  return modes.length > 0 ? { add: [...addTag], remove: [...removeTag] } : undefined;
}

function assertSlug(option: string, tag: string): void {
  if (isSlug(tag)) return;
  throw usageError(
    `${option} does not accept '${tag}'`,
    toSlug(tag) ?? 'a slug, such as summer-2026',
    'a tag is a slug: letters a to z, digits and hyphens',
  );
}

/**
 * Returns the PATCH field for a tag change.
 *
 * @throws MediactlError if the change depends on current tags that the service does not show
 */
export const tagFields = (assets: AssetsApi, change: TagChange, { uid, asset = { uid } }: BulkTarget): JsonObject =>
  'set' in change ? assets.tagFields(change.set) : assets.tagEditFields(asset, change);

/** Returns a line for each asset that would lose tags, with the tags before and after the change. */
export function describeLostTags(change: TagChange, targets: readonly BulkTarget[]): string[] {
  if (!('set' in change)) return [];
  return targets.flatMap(({ uid, asset }) => {
    const before = (asset && slugsOf(asset)) ?? [];
    const isLost = before.some((slug) => !change.set.includes(slug));
    const after = change.set.join(', ') || 'none';
    return isLost ? [`  ${uid}  tags: ${escapeControls(before.join(', '))} → ${after}`] : [];
  });
}
