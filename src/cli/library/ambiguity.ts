import { usageError } from '../../client/errors.ts';
import { isUidPrefix } from '../../contract/uid.ts';
import { parseTimestamp } from '../../shared/json-values.ts';
import type { Context } from '../context.ts';
import type { UidKind } from '../output/result.ts';
import { choose } from '../terminal/prompt.ts';

/** Expands a prefix of a recently displayed uid. @throws CodedError `usage` (exit 2) if the prefix is ambiguous */
export function expandUidPrefix(context: Context, { origin }: URL, kind: UidKind, typed: string): string | undefined {
  const uids = isUidPrefix(typed) ? context.shortUidsFor(origin).find(kind, typed) : [];
  if (uids.length < 2) return uids[0];
  throw usageError(`${uids.length} ${kind}s begin with ${typed}`, 'type more of the uid').with({
    lines: uids.slice(0, maxListed),
  });
}

type AmbiguousRecord = { uid: string; created_at?: unknown };

export type Ambiguity<T extends AmbiguousRecord> = {
  noun: string;
  /** Predicate for messages, such as "are named clip.mp4". */
  description: string;
  matches: readonly T[];
  /** Returns a row of escaped cells, with the uid, for each record. The cells are short if `isTerminal`. */
  rows(found: readonly T[], isTerminal: boolean): Promise<string[][]>;
  newest?: boolean | undefined;
  hint?: string;
};

const maxListed = 10;

/**
 * Selects one record. Returns the only match, the newest match if `newest` is set, or the match that the user
 * chooses in a prompt.
 *
 * @throws CodedError `usage` (exit 2) that lists the candidates, if it cannot prompt
 */
export async function selectOne<T extends AmbiguousRecord>(
  { terminal }: Context,
  { noun, description, matches, rows, newest, hint = 'use the uid of one of them' }: Ambiguity<T>,
): Promise<T> {
  const [first, ...others] = matches;
  if (first && others.length === 0) return first;
  if (first && newest) return findNewest(matches);
  const problem = `${matches.length} ${noun}s ${description}`;
  if (terminal.isInteractive) return choose(terminal, `${problem}. Which one?`, matches, await rows(matches, true));
  const listed = matches.slice(0, maxListed);
  const lines = (await rows(listed, false)).map((cells) => cells.filter(Boolean).join('  '));
  if (matches.length > maxListed) lines.push(`and ${matches.length - maxListed} more`);
  throw usageError(problem, hint).with({ lines, details: { uids: matches.map(({ uid }) => uid) } });
}

/** Returns the newest record. @throws CodedError `usage` (exit 2) if creation times are missing or equal */
function findNewest<T extends AmbiguousRecord>(found: readonly T[]): T {
  const times = found.map(({ created_at }) => parseTimestamp(created_at) ?? Number.NaN);
  const last = Math.max(...times);
  const newest = found.filter((_, at) => times[at] === last);
  if (newest.length === 1) return newest[0] as T;
  const why =
    newest.length === 0 ? 'the service does not show when they were created' : 'several were created at the same time';
  throw usageError('--newest does not identify one asset', 'use the uid of one of them', why);
}
