import type { AssetsApi } from '../../../client/api/assets.ts';
import type { Fields } from '../../../client/api/writes.ts';
import { usageError } from '../../../client/errors.ts';
import { slugsOf } from '../../../contract/asset.ts';
import { printable } from '../../../contract/sanitize.ts';
import { isSlug, type SlugEdit, toSlug } from '../../../contract/slug.ts';
import type { Target } from './targets.ts';

/** Tags to have in place of those there are, or some more and some less. */
export type TagChange = { set: string[] } | SlugEdit;

type TagOptions = {
  addTag: readonly string[];
  removeTag: readonly string[];
  setTags?: string | undefined;
  tags: boolean;
};

/** @throws MediactlError exit 2 if the options contradict each other, or name a tag that cannot be a slug */
export function changeOf({ addTag, removeTag, setTags, tags }: TagOptions): TagChange | undefined {
  const ways = [
    ...(addTag.length + removeTag.length > 0 ? ['--add-tag and --remove-tag'] : []),
    ...(setTags !== undefined ? ['--set-tags'] : []),
    ...(tags ? [] : ['--no-tags']),
  ];
  if (ways.length > 1)
    throw usageError(`${ways.join(', ')} cannot be used together`, 'give one of them');
  if (setTags !== undefined) {
    const set = setTags.split(',').map((slug) => slug.trim());
    if (set.includes(''))
      throw usageError(
        `--set-tags does not accept '${setTags}'`,
        'sea,night; --no-tags takes all off',
      );
    for (const slug of set) assertSlug('--set-tags', slug);
    return { set: [...new Set(set)] };
  }
  if (!tags) return { set: [] };
  const both = addTag.find((slug) => removeTag.includes(slug));
  if (both) throw usageError(`--add-tag and --remove-tag both name ${both}`);
  // A tag that is to go may be spelled in any way: the service has it already.
  for (const slug of addTag) assertSlug('--add-tag', slug);
  return ways.length > 0 ? { add: [...addTag], remove: [...removeTag] } : undefined;
}

function assertSlug(option: string, tag: string): void {
  if (isSlug(tag)) return;
  throw usageError(
    `${option} does not accept '${tag}'`,
    toSlug(tag) ?? 'a slug, such as summer-2026',
    'a tag is a slug: letters a to z, digits and hyphens',
  );
}

/** Each with its record, which tells the tags there are. Costs a request for those that were not listed. */
export async function withTags(assets: AssetsApi, targets: readonly Target[]): Promise<Target[]> {
  const known: Target[] = [];
  for (const target of targets)
    known.push(target.asset ? target : { ...target, asset: await assets.get(target.uid) });
  return known;
}

/** The field of a PATCH that makes the change. @throws MediactlError where it depends on tags not shown */
export const tagsAfter = (
  assets: AssetsApi,
  change: TagChange,
  { uid, asset = { uid } }: Target,
): Fields => ('set' in change ? assets.tagging(change.set) : assets.retagging(asset, change));

/** What the change takes away, a line for each asset that loses a tag nobody named. */
export function tagsLost(change: TagChange, targets: readonly Target[]): string[] {
  if (!('set' in change)) return [];
  return targets.flatMap(({ uid, asset }) => {
    const before = (asset && slugsOf(asset)) ?? [];
    const isLost = before.some((slug) => !change.set.includes(slug));
    const after = change.set.join(', ') || 'none';
    return isLost ? [`  ${uid}  tags: ${printable(before.join(', '))} → ${after}`] : [];
  });
}
