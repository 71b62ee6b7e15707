import { type MediactlError, usageError } from '../../client/errors.ts';
import type { Context } from '../context.ts';
import { parseCount } from '../settings/units.ts';
import { askLine, confirm } from '../terminal/prompt.ts';

/** How many a command may write to: a flag that was typed is a limit, the default one a question. */
export type WriteLimit = { flag: string; count: number; isTyped: boolean };

const defaultLimit = 100;

export const writeLimit = (flag: string, typed: string | undefined): WriteLimit => ({
  flag,
  count: typed === undefined ? defaultLimit : parseCount(flag, typed, 1),
  isTyped: typed !== undefined,
});

export const tooMany = (noun: string, { flag, count }: WriteLimit, found?: number) =>
  usageError(
    `${found ?? `more than ${count}`} ${noun} match, and ${flag} is ${count}`,
    `name fewer, or allow more with ${flag}`,
    'nothing was changed',
  );

export type ManyQuestion = {
  count: number;
  /** What they are: `assets`. */
  noun: string;
  /** What would be done: "move 3 assets to the trash". */
  what: string;
  limit: WriteLimit;
  /** Why they may not be meant: then the number is needed, however small. */
  doubt?: MediactlError | undefined;
  /** What is to be known before, a line each; made only for somebody who is asked. */
  lines(): Promise<string[]>;
};

/** Returns the error of --yes alone, where that does not allow so many. */
export const refusalOf = ({
  count,
  noun,
  limit,
  doubt,
}: Pick<ManyQuestion, 'count' | 'noun' | 'limit' | 'doubt'>): MediactlError | undefined =>
  (limit.isTyped ? undefined : doubt) ??
  (count > limit.count ? tooMany(noun, limit, count) : undefined);

/**
 * Asks before many are written to. More than usual need the number typed.
 *
 * @throws MediactlError exit 130 when declined, exit 2 where nobody can be asked
 */
export async function confirmMany(
  { terminal, settings }: Context,
  question: ManyQuestion,
): Promise<void> {
  const { count, what, lines } = question;
  if (count === 0) return;
  const isAsked = terminal.isInteractive && !settings.yes;
  if (isAsked) terminal.tell((await lines()).join('\n'));
  const refusal = refusalOf(question);
  if (refusal) {
    if (!isAsked) throw refusal;
    const typed = await askLine(terminal, `This would ${what}. Type ${count} to continue`);
    if (typed !== String(count)) throw refusal;
    return;
  }
  await confirm(terminal, `${what[0]?.toUpperCase()}${what.slice(1)}?`, {
    yes: settings.yes,
    instead: 'the same command with --yes',
  });
}

const shown = 5;

/** The first few, and how many more. */
export const firstFew = (lines: readonly string[], count: number) => [
  ...lines.slice(0, shown),
  ...(count > shown ? [`  … and ${count - shown} more`] : []),
];
