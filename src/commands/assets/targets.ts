import type { AssetFilters } from '../../api/assets.ts';
import type { Context } from '../../context.ts';
import { exitCodes, MediactlError, usageError } from '../../errors.ts';
import { printable } from '../../terminal/printable.ts';
import { askLine, confirm } from '../../terminal/prompt.ts';
import type { Collection } from '../../wire/paths.ts';
import type { Asset } from '../../wire/types.ts';
import { refuseWorkspace } from './filters.ts';
import { assetUids } from './resolve.ts';

export type Target = { uid: string; name: string | null };

/**
 * What a command is to write to: the ids given, or everything that filters match. One of the two
 * must be there: without either, everything would match.
 */
export async function targetsOf(
  context: Context,
  collection: Collection,
  ids: readonly string[],
  filters: AssetFilters,
): Promise<{ targets: Target[]; byFilter: boolean }> {
  const byFilter = Object.values(filters).some((value) => value !== undefined);
  if (byFilter === ids.length > 0)
    throw usageError(
      byFilter ? 'ids and filters exclude each other' : 'nothing says which ones',
      'give ids, or filters such as --tag SLUG --created-before 90d',
    );
  if (!byFilter) {
    const uids = await assetUids(context, collection, ids);
    return { targets: uids.map((uid) => ({ uid, name: null })), byFilter };
  }
  refuseWorkspace(context, `${collection} by filter`);
  const targets: Target[] = [];
  const api = await context.api();
  for await (const page of api[collection].list(filters, {})) {
    for (const asset of page) assertMatches(asset, filters);
    targets.push(...page.map(({ uid, name }) => ({ uid, name: name ?? null })));
  }
  return { targets, byFilter };
}

/**
 * A service that passes over a filter answers with everything. Where a record itself says that it
 * does not match, nothing is written.
 */
function assertMatches(asset: Asset, { status, type, tag }: AssetFilters): void {
  const tags = asset.tags?.flatMap((each) =>
    typeof each === 'object' && each !== null ? Object.values(each) : [each],
  );
  const differs =
    (status !== undefined && asset.status !== undefined && asset.status !== status) ||
    (type !== undefined && asset.type !== undefined && asset.type !== type) ||
    (tag !== undefined && tags !== undefined && !tags.includes(tag));
  if (differs)
    throw new MediactlError('the service passed over a filter', {
      code: 'filter_ignored',
      exitCode: exitCodes.rejected,
      reason: `it lists ${asset.uid}, which does not match; nothing was changed`,
      hint: 'give ids instead: mediactl assets ls … -q | mediactl assets rm -',
    });
}

type Asked = {
  /** What would be done: "update 3 assets", "move 3 assets to the trash". */
  deed(what: string): string;
  noun: string;
  /** `--max-delete` */
  flag: string;
  most: number;
  byFilter: boolean;
};

/**
 * Asks before many are written to. More than the flag allows, found by filters, need the number
 * typed; where nobody can type it, exit 2.
 */
export async function agree(
  { terminal, settings }: Context,
  targets: readonly Target[],
  { deed, noun, flag, most, byFilter }: Asked,
): Promise<void> {
  const count = targets.length;
  const what = deed(`${count} ${count === 1 ? noun.replace(/s$/, '') : noun}`);
  if (byFilter && count > most) {
    const problem = usageError(
      `${count} ${noun} match, more than ${flag} ${most}`,
      `narrow the filters, or ${flag} ${count}`,
      'nothing was changed',
    );
    if (!terminal.isInteractive) throw problem;
    terminal.say(sample(targets));
    const typed = await askLine(terminal, `This would ${what}. Type ${count} to go on`);
    if (typed !== String(count)) throw problem;
    return;
  }
  if (count === 0) return;
  if (terminal.isInteractive && !settings.yes) terminal.say(sample(targets));
  await confirm(terminal, `${what[0]?.toUpperCase()}${what.slice(1)}?`, {
    yes: settings.yes,
    instead: 'the same command with --yes',
  });
}

/** The first few by name, for whoever is asked. */
const sample = (targets: readonly Target[]) =>
  [
    ...targets.slice(0, 5).map(({ uid, name }) => `  ${uid}  ${printable(name ?? '')}`.trimEnd()),
    ...(targets.length > 5 ? [`  … and ${targets.length - 5} more`] : []),
  ].join('\n');
