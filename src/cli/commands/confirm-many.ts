import { type MediactlError, usageError } from '../../client/errors.ts';
import type { Context } from '../context.ts';
import { parseCount } from '../settings/units.ts';
import { askLine, confirm } from '../terminal/prompt.ts';

/** Maximum number of items to change: a hard limit if typed, else the number above which to ask. */
export type WriteLimit = { flag: string; count: number; isTyped: boolean };

const defaultLimit = 100;

/** Returns the limit of a bulk change: the typed one, or 100. @throws MediactlError exit 2 if invalid */
export const parseWriteLimit = (flag: string, typed: string | undefined): WriteLimit => ({
  flag,
  count: typed === undefined ? defaultLimit : parseCount(flag, typed, 1),
  isTyped: typed !== undefined,
});

/** Error for more items than the limit allows. */
export const limitExceeded = (noun: string, { flag, count }: WriteLimit, found?: number) =>
  usageError(
    `${found ?? `more than ${count}`} ${noun} match, and ${flag} is ${count}`,
    `name fewer, or allow more with ${flag}`,
    'nothing was changed',
  );

/** A bulk change to confirm. */
export type BulkConfirmation = {
  count: number;
  /** Plural name of the items: `assets`. */
  noun: string;
  /** Action as text: "move 3 assets to the trash". */
  what: string;
  limit: WriteLimit;
  /** Reason to doubt the selection: the user must then type the number, however small. */
  doubt?: MediactlError | undefined;
  /** Returns lines to show above the prompt; not called without one. */
  lines(): Promise<string[]>;
};

/** Returns the error for a count above the limit, or for a doubtful selection that no typed limit allows. */
export const findLimitError = ({
  count,
  noun,
  limit,
  doubt,
}: Pick<BulkConfirmation, 'count' | 'noun' | 'limit' | 'doubt'>): MediactlError | undefined =>
  (limit.isTyped ? undefined : doubt) ??
  (count > limit.count ? limitExceeded(noun, limit, count) : undefined);

/**
 * Asks before a bulk change. Above the limit, or in doubt, the user must type the number of items.
 *
 * @throws MediactlError exit 130 when declined, exit 2 without a terminal
 */
export async function confirmMany(
  { terminal, settings }: Context,
  question: BulkConfirmation,
): Promise<void> {
  const { count, what, lines } = question;
  if (count === 0) return;
  const canPrompt = terminal.isInteractive && !settings.yes;
  if (canPrompt) terminal.emit((await lines()).join('\n'));
  const refusal = findLimitError(question);
  if (refusal) {
    if (!canPrompt) throw refusal;
    const typed = await askLine(terminal, `This would ${what}. Type ${count} to continue`);
    if (typed !== String(count)) throw refusal;
    return;
  }
  await confirm(terminal, `${what[0]?.toUpperCase()}${what.slice(1)}?`, {
    yes: settings.yes,
    instead: 'the same command with --yes',
  });
}

const maxLines = 5;

/** Returns the first lines, and how many more there are. */
export const truncateLines = (lines: readonly string[], count: number) => [
  ...lines.slice(0, maxLines),
  ...(count > maxLines ? [`  … and ${count - maxLines} more`] : []),
];
