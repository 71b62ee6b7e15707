import { unexpectedAnswer } from './unexpected-answer.ts';

/**
 * An identifier that may stand in a path. "Identifiers named uid are UUID strings." (§1) One that a
 * service sends may be anything: `..` would make another request of a DELETE.
 *
 * @throws MediactlError `unexpected_answer`
 */
export function identifier(uid: unknown): string {
  if (typeof uid === 'string' && /^[A-Za-z0-9_-]{1,100}$/.test(uid)) return uid;
  throw unexpectedAnswer('the service names something by what is no uid', {
    reason: `its uid is ${String(JSON.stringify(uid)).slice(0, 100)}`,
  });
}
