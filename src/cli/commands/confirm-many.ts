import { incompleteLists } from '../../client/api/pagination.ts';
import type { ChangeHooks } from '../../client/changes/carry-out.ts';
import type { LibraryChange } from '../../client/changes/writer.ts';
import { type CodedError, endsTheRun, usageError } from '../../client/errors.ts';
import { byUid } from '../../client/library/select-assets.ts';
import type { AssetRecord } from '../../contract/types.ts';
import { capitalize, pluralize } from '../../shared/figures.ts';
import type { Context } from '../context.ts';
import { runChange } from '../library/run-change.ts';
import { parseCount } from '../settings/units.ts';
import { askLine, confirm } from '../terminal/prompt.ts';
import { readBackText } from './bulk-result.ts';
import { cannotRestore, deletionLines, describeAssets, maxDeletionLines } from './deletion.ts';

/** Maximum number of items to change. An entered limit is hard; above another, a terminal asks for confirmation. */
export type WriteLimit = { count: number; isTyped: boolean };

const defaultMaxChanges = 100;

/** Limit of what was confirmed once: an undo, or the rest of a change. */
export const noLimit: WriteLimit = { count: Number.POSITIVE_INFINITY, isTyped: false };

export const maxChangesOption = [
  '--max-changes <number>',
  `maximum number of assets to change (${defaultMaxChanges})`,
] as const;

/** Parses the limit of a bulk change. @throws CodedError `usage` (exit 2) if it is below 1 */
export const parseWriteLimit = (typed: string | undefined): WriteLimit => ({
  count: typed === undefined ? defaultMaxChanges : parseCount('--max-changes', typed, 1),
  isTyped: typed !== undefined,
});

export const limitExceeded = (noun: string, { count }: WriteLimit, found?: number) =>
  usageError(
    `${found ?? `more than ${count}`} ${noun} match, and --max-changes is ${count}`,
    'select fewer, or raise the limit with --max-changes',
    'nothing was changed',
  );

export type BulkConfirmation = {
  count: number;
  /** Plural name of the items, such as `assets`. */
  noun: string;
  /** Action as text, such as "move 3 assets to the trash". */
  what: string;
  limit: WriteLimit;
  /** Warning to show with the question about a deletion, such as "the API cannot restore them". */
  warning?: string;
  /** Reason why the selection might be wrong. The user must then type the number, however small. */
  doubt?: CodedError | undefined;
  /** Returns lines to show above the prompt. Not called if there is no prompt. */
  lines(): Promise<string[]>;
};

/** Returns the error if the count is above the limit, or the selection might be wrong and no limit was entered. */
export const findLimitError = ({ count, noun, limit, doubt }: Omit<BulkConfirmation, 'what' | 'lines'>) =>
  (limit.isTyped ? undefined : doubt) ?? (count > limit.count ? limitExceeded(noun, limit, count) : undefined);

/**
 * Asks for confirmation. Above the limit, or if the selection might be wrong, the user must type the number of items.
 *
 * @throws CodedError `declined` (exit 130); `usage` (exit 2) if the number is wrong or there is no terminal
 */
export async function confirmMany(context: Context, question: BulkConfirmation): Promise<void> {
  const { terminal, settings, listGaps } = context;
  const { count, what, warning, lines, doubt = warning ? incompleteLists(listGaps) : undefined } = question;
  if (count === 0) return;
  const canPrompt = terminal.isInteractive && !settings.yes;
  if (canPrompt) terminal.emit((await lines()).join('\n'));
  const refusal = findLimitError({ ...question, doubt });
  if (refusal) {
    if (!canPrompt) throw refusal;
    const act = warning ? `${what}; ${warning}` : what;
    const typed = await askLine(terminal, `This would ${act}. Type ${count} to continue`);
    if (typed !== String(count)) throw refusal;
    return;
  }
  const sentences = warning ? `${capitalize(what)}? ${capitalize(warning)}.` : `${capitalize(what)}?`;
  await confirm(context, sentences);
}

/**
 * Asks for confirmation, then moves assets to the trash, as a change of the history.
 *
 * @param onTrashed called for each asset that is in the trash, or already deleted
 * @returns the failures, in `stop` the one that ended the run, and in `readBack` how many were read back, if not all
 * @throws the same errors as `confirmMany`
 */
export async function trashAssets<T extends { assetUid: string; label: string; record?: AssetRecord | undefined }>(
  context: Context,
  assets: readonly T[],
  {
    limit,
    doubt,
    what = `move ${pluralize(assets.length, 'asset')} to the trash`,
    beforeItem,
    ...change
  }: TrashOptions<T>,
  onTrashed: (asset: T) => Promise<unknown>,
): Promise<{ failures: CodedError[]; stop: CodedError | undefined; readBack: string }> {
  const count = assets.length;
  const targets = assets.map(({ assetUid, record }) => byUid(assetUid, record));
  await confirmMany(context, {
    ...{ count, noun: 'assets', limit, doubt, what, warning: cannotRestore(count) },
    lines: async () => {
      const shown = await describeAssets(context, targets.slice(0, maxDeletionLines));
      const items = shown.map((item, at) => ({ ...item, label: assets[at]?.label ?? '' }));
      return [
        ...(doubt ? [`${doubt.message}: ${doubt.explanation.reason}`] : []),
        ...(await deletionLines(context, items, count)),
      ];
    },
  });
  const { items } = await (await context.writer()).plan(targets, null);
  const named = items.map((item, at) => ({ ...item, name: assets[at]?.label ?? null }));
  const assetOf = ({ seq }: { seq: number }) => assets[seq] as T;
  const hooks: ChangeHooks = {
    ...(beforeItem && { beforeItem: (item) => beforeItem(assetOf(item)) }),
    afterItem: (item) => onTrashed(assetOf(item)),
  };
  const planned = { ...change, summary: what, items: named, acceptsMissing: true };
  if (count === 0) await (await context.writer()).settle(planned);
  const results = count === 0 ? [] : await runChange(context, planned, hooks);
  const failures = results.flatMap(({ item, error }) => (error ? [error.withSubject(item.name ?? '')] : []));
  const moved = results.flatMap(({ value, error }) => (error ? [] : [{ isReadBack: value?.isReadBack }]));
  return { failures, stop: failures.find(endsTheRun), readBack: readBackText(moved) };
}

type TrashOptions<T> = Pick<BulkConfirmation, 'limit' | 'doubt'> &
  Pick<LibraryChange, 'command' | 'source' | 'ageMs'> & {
    what?: string;
    /** Throws if an asset must not be moved to the trash any more. */
    beforeItem?(asset: T): Promise<undefined>;
  };

export const maxLines = 5;

export const truncateLines = (lines: readonly string[], count: number, max = maxLines) => [
  ...lines.slice(0, max),
  ...(count > max ? [`  … and ${count - max} more`] : []),
];
