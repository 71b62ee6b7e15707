import type { NameOverrides } from '../../contract/assumptions.ts';
import { asText, isJsonObject, type JsonObject } from '../../shared/json-values.ts';
import type { ApiRequest, Purpose } from '../http/api-request.ts';
import { unexpectedResponse } from '../http/error-response.ts';
import type { Transport } from '../http/transport.ts';

export class Resource {
  protected readonly transport: Transport;
  protected readonly names: NameOverrides;

  constructor(transport: Transport, names: NameOverrides = {}) {
    this.transport = transport;
    this.names = names;
  }

  protected read(url: string, purpose: Purpose, query?: ApiRequest['query']): Promise<object> {
    return this.transport.json({ method: 'GET', url, purpose, query });
  }
}

export const readPurpose = (what: string): Purpose => ({ action: `read ${what}`, scope: 'Read Assets' });

/** Time for a write that is under way to end after Ctrl-C, so that its outcome is known. */
const writeGraceMs = 2_000;

/** Builds a request that changes the library. `action` completes "this API key cannot …". */
export const writeRequest = (method: string, url: string, json: JsonObject, action: string): ApiRequest => ({
  method,
  url,
  json,
  purpose: { action, scope: 'Write Assets' },
  abortGraceMs: writeGraceMs,
});

export const deleteRequest = (url: string, what: string): ApiRequest => ({
  method: 'DELETE',
  url,
  purpose: { action: `delete ${what}`, scope: 'Delete Assets' },
  abortGraceMs: writeGraceMs,
});

/** Returns true if a value is an identifier that is safe to use in a URL path. */
const isIdentifier = (uid: unknown): uid is string => typeof uid === 'string' && /^[A-Za-z0-9_-]{1,100}$/.test(uid);

/**
 * Validates an identifier before it is used in a URL path ("Identifiers named uid are UUID strings.", §1). A
 * service might send any value, and with `..`, for example, a DELETE would hit another resource.
 *
 * @throws CodedError `invalid_response` (exit 10) if the identifier is not safe
 */
export function parseIdentifier(uid: unknown): string {
  const text = asText(uid);
  if (isIdentifier(text)) return text;
  throw unexpectedResponse('the service returned an invalid uid', {
    reason: uid === undefined ? 'the uid is missing' : `it is ${JSON.stringify(uid).slice(0, 100)}`,
  });
}

/** Validates a record. @throws CodedError `invalid_response` (exit 10) if it is no object or its uid is not safe */
export function parseRecord<T extends JsonObject>(value: unknown): T & { uid: string } {
  if (!isJsonObject(value)) throw unexpectedResponse('the response is not an API record');
  parseIdentifier(value.uid);
  // Keep the record as it was sent. Only a uid that is not a string is converted.
  return (typeof value.uid === 'string' ? value : { ...value, uid: asText(value.uid) }) as T & { uid: string };
}
