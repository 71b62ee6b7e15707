import { asText, isJsonObject, type JsonObject } from '../../contract/json-values.ts';
import { unexpectedResponse } from './unexpected-response.ts';

/** Returns true if a value is an identifier that is safe to use in a URL path. */
export const isIdentifier = (uid: unknown): uid is string =>
  typeof uid === 'string' && /^[A-Za-z0-9_-]{1,100}$/.test(uid);

/**
 * Validates an identifier before it is used in a URL path ("Identifiers named uid are UUID strings.", §1). A
 * service might send any value, and with `..`, for example, a DELETE would hit another resource.
 *
 * @throws MediactlError `unexpected_answer` (exit 10) if the identifier is not safe
 */
export function parseIdentifier(uid: unknown): string {
  const text = asText(uid);
  if (isIdentifier(text)) return text;
  throw unexpectedResponse('the service identifies something by what is not a uid', {
    reason: uid === undefined ? 'it has none' : `its uid is ${JSON.stringify(uid).slice(0, 100)}`,
  });
}

/**
 * Validates an API record and its uid, and returns the record.
 *
 * @throws MediactlError `unexpected_answer` (exit 10) if the value is not an object or its uid is not safe
 */
export function parseRecord<T extends JsonObject>(value: unknown): T & { uid: string } {
  if (!isJsonObject(value)) throw unexpectedResponse('the answer is not a record of the API');
  parseIdentifier(value.uid);
  // Keep the record as it was sent. Only a uid that is not a string is converted.
  return (typeof value.uid === 'string' ? value : { ...value, uid: asText(value.uid) }) as T & {
    uid: string;
  };
}
