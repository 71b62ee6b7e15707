import { causeOf, type ErrorCode, type Subcode } from '../client/error-table.ts';
import { CodedError } from '../client/errors.ts';
import { tlsFailure } from '../client/http/network-error.ts';
import type { QueueAddress } from './queue-address.ts';

/** Codes of a dropped connection, or of a server that is down. */
const outageCode = /^(?:ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_AGAIN)/;
/** Messages for an outage that has no error code: of ioredis, and of a timeout. */
const outageMessage = /^(?:Connection is closed|no response within)/;
// Error prefixes of a server that rejects writes. A script error can contain them.
const full = /\b(?:OOM|MISCONF) /;
/** The server is a replica, is starting, or lacks replicas. */
const readOnly = /\b(?:READONLY|LOADING|MASTERDOWN|NOREPLICAS) /;

const errorText = (error: unknown) => {
  const { code = '', message = '' } = (error ?? {}) as { code?: string; message?: string };
  return { code, message, text: `${code} ${message}` };
};

/** Returns true if the error means that the server is up but rejects writes for now. */
export const isRejectedWrite = (error: unknown) => isFull(error) || readOnly.test(errorText(error).text);

export const isFull = (error: unknown) => full.test(errorText(error).text);

/** Returns true if the request might succeed once the store is up again or accepts writes. */
export const isOutage = (error: unknown) => {
  const { code, message } = errorText(error);
  return outageCode.test(code) || outageMessage.test(message) || isRejectedWrite(error);
};

type StoreErrorPattern = [failure: RegExp, cause: ErrorCode | Subcode, problem: string, hint?: string];

/** Patterns of known errors, matched against the error code followed by the message. */
const knownErrors: readonly StoreErrorPattern[] = [
  [
    // The second form is for a command within a script.
    /\bNOPERM\b|The user executing the script can't (?:run|access)/,
    'queue_refused',
    'the user of LABEL lacks permissions',
    'redis-cli ACL SETUSER NAME ~bull:* ~mediactl:* "&*" +@all -@dangerous +info',
  ],
  [/\b(?:NOAUTH|WRONGPASS)\b/, 'queue_refused', 'LABEL rejected the login'],
  [
    /\b(?:CROSSSLOT|MOVED|CLUSTERDOWN|cluster_enabled:1)\b/,
    'queue_unusable',
    'LABEL is a Redis Cluster, which is not supported',
    'use Redis or Valkey without cluster mode; see docs/workers.md',
  ],
  [
    new RegExp(`^\\S*(?:${tlsFailure.source})`),
    'queue_tls',
    'cannot connect securely to the queue LABEL',
    'check that the server accepts TLS on that port; for a private certificate authority, export NODE_EXTRA_CA_CERTS=ca.pem',
  ],
  [full, 'queue_full', 'the server of the queue LABEL is full'],
  [readOnly, 'queue_read_only', 'the server of the queue LABEL does not accept writes'],
];

/** Pattern of all other errors when a store is opened. */
const otherError: StoreErrorPattern = [/^/, 'queue_unreachable', 'cannot reach the queue LABEL'];

/** Converts a known store error to a CodedError. Returns undefined for other errors. */
export function classifyStoreError(address: QueueAddress, error: unknown): CodedError | undefined {
  const { text } = errorText(error);
  const known = knownErrors.find(([failure]) => failure.test(text));
  return known && toStoreError(known, address, error);
}

/** Converts any error that occurs when a store is opened to a CodedError. */
export const classifyOpenError = (address: QueueAddress, error: unknown): CodedError =>
  error instanceof CodedError
    ? error
    : (classifyStoreError(address, error) ?? toStoreError(otherError, address, error));

function toStoreError(
  [, found, problem, hint]: StoreErrorPattern,
  { label }: QueueAddress,
  error: unknown,
): CodedError {
  const { message, code } = errorText(error);
  return new CodedError(problem.replace('LABEL', label), {
    ...causeOf(found),
    reason: message || code,
    hint,
    retryable: ['queue_full', 'queue_read_only', 'queue_unreachable'].includes(found),
    underlying: error,
  });
}
