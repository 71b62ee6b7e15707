import { isDeepStrictEqual } from 'node:util';
import type { NameKey } from '../../contract/assumptions.ts';
import { isSameUid, isUid } from '../../contract/uid.ts';
import { asObject, type JsonObject } from '../../shared/json-values.ts';
import { asCodedError, CodedError, type Remedy } from '../errors.ts';
import type { ApiRequest } from '../http/api-request.ts';
import type { Transport } from '../http/transport.ts';

/** Time after which a service that shows changes late, from a cache for example, is expected to show one. */
const visibleAfterMs = 1_000;

/**
 * Verifies a write. If the check fails with `write_ignored`, runs it once more after a second, because a service may
 * show a change late.
 *
 * @param check reads what the service shows and compares it; `isLast` is false if it may be called again
 * @returns the result of the check
 * @throws the error of the check, marked as `wasAccepted`; the abort reason of the transport's signal
 */
export async function verifyWrite<T>(transport: Transport, check: (isLast: boolean) => Promise<T>): Promise<T> {
  const failed = (thrown: unknown): never => {
    throw thrown instanceof CodedError ? thrown.with({ wasAccepted: true }) : thrown;
  };
  try {
    return await check(false);
  } catch (error) {
    if (!(error instanceof CodedError) || error.explanation.code !== 'write_ignored') return failed(error);
    await transport.sleep(visibleAfterMs);
    // A key without the scope to read knows only the response of the write.
    return check(true).catch((later) => failed(asCodedError(later).kind === 'forbidden' ? error : later));
  }
}

type WriteCheck = {
  /** Thing that was written, for example "a folder". */
  noun: string;
  requested: JsonObject;
  actual: JsonObject;
  /** How to find or set the correct field name. */
  remedy: Remedy;
  /** Names of array fields whose order does not matter, such as tags. */
  unorderedFields?: readonly string[];
};

/**
 * Asserts that a write was applied, by comparing the requested values with the actual values. A service might
 * return 200 but ignore a field whose name it does not know.
 *
 * @throws CodedError `write_ignored` (exit 6) that names the ignored fields
 */
export function assertApplied({ noun, requested, actual, remedy, unorderedFields = [] }: WriteCheck): void {
  const ignored = findDifferences(requested, actual, unorderedFields);
  if (ignored.length === 0) return;
  throw new CodedError(`the service did not apply ${ignored.join(', ')} to ${noun}`, {
    code: 'write_ignored',
    reason: ignored
      .map((field) =>
        field in actual
          ? `${field} is ${preview(actual[field])}, not ${preview(requested[field])}`
          : `the record has no ${field}`,
      )
      .join('; '),
    remedy,
    details: { ignored, uid: actual.uid ?? null },
  });
}

/** Returns the requested fields whose actual value differs. */
export const findDifferences = (requested: JsonObject, actual: JsonObject, unorderedFields: readonly string[]) =>
  Object.keys(requested).filter((field) =>
    unorderedFields.includes(field) && Array.isArray(requested[field]) && Array.isArray(actual[field])
      ? !areSameSet(requested[field], actual[field])
      : !isApplied(requested[field], actual[field]),
  );

const areSameSet = (requested: readonly unknown[], actual: readonly unknown[]) =>
  requested.every((each) => actual.some((other) => isApplied(each, other))) &&
  actual.every((other) => requested.some((each) => isApplied(each, other)));

/** Returns true if a record shows the requested value, even if the service trims it or shows it inside an object. */
function isApplied(requested: unknown, actual: unknown): boolean {
  if (requested === null || requested === '') return actual === null || actual === '';
  if (Array.isArray(requested) && Array.isArray(actual))
    return requested.length === actual.length && requested.every((each, at) => isApplied(each, actual[at]));
  if (typeof requested === 'string' && typeof actual === 'object' && actual !== null)
    return Object.values(actual).some((value) => typeof value === 'string' && isSameText(requested, value)); // a tag or parent as an object
  if (typeof requested === 'string' && typeof actual === 'string') return isSameText(requested, actual);
  return isDeepStrictEqual(requested, actual);
}

/** Returns true for texts that differ only in how a service trims them, or writes a uid (assumption A24). */
const isSameText = (one: string, other: string) =>
  one.trim() === other.trim() || (isUid(one) && isUid(other) && isSameUid(one, other));

function preview(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** Sends a write. A 422 for a missing field gets the hint that this may be the name of the field that was sent. */
export async function sendWithNameHint(transport: Transport, request: ApiRequest, keyOf: (field: string) => NameKey) {
  try {
    return await transport.send(request);
  } catch (error) {
    if (!(error instanceof CodedError) || error.explanation.status !== 422) throw error;
    const missingField = error.explanation.fields?.find((field) => !(field in asObject(request.json)));
    throw missingField === undefined
      ? error
      : error.with({ remedy: ['set_field_name', keyOf(missingField), missingField] });
  }
}
