import { isDeepStrictEqual } from 'node:util';
import type { NameKey } from '../../contract/assumptions.ts';
import { toJson } from '../../contract/reading.ts';
import { exitCodes, MediactlError } from '../errors.ts';

/** What a body asks for, by field. */
export type Fields = Record<string, unknown>;

/**
 * Checks a write. A service may answer 200 and pass over a field whose name it does not know, so
 * what it shows afterwards is compared with what was asked for.
 *
 * @param noun "a folder": what was written
 * @param hint how to find or set the right name
 * @param sets fields whose values have no order: tags
 * @throws MediactlError `write_ignored` naming the fields that were passed over
 */
export function assertTaken(
  asked: Fields,
  shown: Fields,
  noun: string,
  hint: string,
  sets: readonly string[] = [],
): void {
  const ignored = Object.keys(asked).filter((field) =>
    sets.includes(field) && Array.isArray(asked[field]) && Array.isArray(shown[field])
      ? !areSameSet(asked[field], shown[field])
      : !isTaken(asked[field], shown[field]),
  );
  if (ignored.length === 0) return;
  throw new MediactlError(`the service ignored ${ignored.join(', ')} of ${noun}`, {
    code: 'write_ignored',
    exitCode: exitCodes.rejected,
    reason: ignored
      .map((field) =>
        field in shown
          ? `${field} is ${brief(shown[field])}, not ${brief(asked[field])}`
          : `its record shows no ${field}`,
      )
      .join('; '),
    hint,
    details: { ignored, uid: shown.uid ?? null },
  });
}

/** The next step where a write was passed over under the name that mediactl takes it to have. */
export const otherNameHint = (key: NameKey) =>
  `if this service has another name for it: ${nameHint(key, 'NAME')}`;

/** Says how to set a name; a switch may be the other way round, whatever it is called. */
export const nameHint = (key: NameKey, name: string, choice = '') =>
  `mediactl config set names.${key} ${name}${choice}${key === 'embed_enabled' ? `, or '!${name}' if true means that every site may embed` : ''}`;

const areSameSet = (asked: readonly unknown[], shown: readonly unknown[]) =>
  asked.every((each) => shown.some((other) => isTaken(each, other))) &&
  shown.every((other) => asked.some((each) => isTaken(each, other)));

/** Whether a record shows a value, whatever form it gave it: trimmed, or as an object. */
function isTaken(asked: unknown, shown: unknown): boolean {
  if (asked === null || asked === '') return shown === null || shown === '';
  if (Array.isArray(asked) && Array.isArray(shown))
    return asked.length === shown.length && asked.every((each, at) => isTaken(each, shown[at]));
  if (typeof asked === 'string' && typeof shown === 'object' && shown !== null)
    return Object.values(shown).some((value) => value === asked); // a tag or parent as an object
  if (typeof asked === 'string' && typeof shown === 'string') return asked.trim() === shown.trim();
  return isDeepStrictEqual(asked, shown);
}

function brief(value: unknown): string {
  const text = value === undefined ? 'nothing' : toJson(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/**
 * Lets the service teach: a 422 that wants a field which was not sent tells what it is called there.
 *
 * @param keyOf the name override that a field of that name would be
 */
export async function withNameHint<T>(
  write: Promise<T>,
  sent: Fields,
  keyOf: (field: string) => NameKey,
): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (!(error instanceof MediactlError) || error.explanation.status !== 422) throw error;
    const wanted = error.explanation.fields?.find((field) => !(field in sent));
    throw wanted === undefined ? error : error.with({ hint: nameHint(keyOf(wanted), wanted) });
  }
}
