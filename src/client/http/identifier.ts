import { type Fields, isFields, textIn } from '../../contract/reading.ts';
import { unexpectedAnswer } from './unexpected-answer.ts';

/** Returns true if an identifier may stand in a path. */
export const isIdentifier = (uid: unknown): uid is string =>
  typeof uid === 'string' && /^[A-Za-z0-9_-]{1,100}$/.test(uid);

/**
 * An identifier that may stand in a path. "Identifiers named uid are UUID strings." (§1) One that a
 * service sends may be anything: `..` would make another request of a DELETE.
 *
 * @throws MediactlError `unexpected_answer`
 */
export function identifier(uid: unknown): string {
  const text = textIn(uid);
  if (isIdentifier(text)) return text;
  throw unexpectedAnswer('the service identifies something by what is not a uid', {
    reason: uid === undefined ? 'it has none' : `its uid is ${JSON.stringify(uid).slice(0, 100)}`,
  });
}

/** A record that is known by its uid. @throws MediactlError `unexpected_answer` */
export function identified<T extends Fields>(value: unknown): T & { uid: string } {
  if (!isFields(value)) throw unexpectedAnswer('the answer is not a record of the API');
  identifier(value.uid);
  // As it was sent: only a uid that is no text becomes one.
  return (typeof value.uid === 'string' ? value : { ...value, uid: textIn(value.uid) }) as T & {
    uid: string;
  };
}
