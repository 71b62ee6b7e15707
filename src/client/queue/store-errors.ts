import type { ErrorCode } from '../error-table.ts';
import { MediactlError, type Remedy } from '../errors.ts';
import { tlsFailure } from '../http/network-error.ts';
import type { QueueAddress } from './queue-address.ts';

/** Codes of a dropped connection, or of a server that is down, starting, stopping or out of connections (SQLSTATE 08, 57P01 to 57P03, 53300). */
const outageCode = /^(?:ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_AGAIN|ENOENT|08|57P0|53300)/;
/** Messages of pg and ioredis for an outage that has no error code. */
const outageMessage =
  /^(?:Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Connection is closed|no response within)/;
// SQLSTATEs and Redis error prefixes of a server that rejects writes. A script error can contain the prefix.
const full = /^(?:53100|53200) |\b(?:OOM|MISCONF) /;
/** The server is a replica, is starting, or lacks replicas. */
const readOnly = /^25006 |\b(?:READONLY|LOADING|MASTERDOWN|NOREPLICAS) /;

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

type StoreErrorPattern = [failure: RegExp, code: ErrorCode, problem: string, hint?: string | Remedy];

/** Patterns of known errors, matched against the error code or SQLSTATE followed by the message. */
const knownErrors: readonly StoreErrorPattern[] = [
  [/^42501/, 'queue_refused', 'role ROLE lacks permissions on LABEL', ['grant_access', 'ROLE']],
  [
    // The second form is for a command within a script.
    /\bNOPERM\b|The user executing the script can't (?:run|access)/,
    'queue_refused',
    'the user of LABEL lacks permissions',
    'redis-cli ACL SETUSER NAME ~bull:* ~mediactl:* "&*" +@all -@dangerous +info',
  ],
  [/^28|\b(?:NOAUTH|WRONGPASS)\b/, 'queue_refused', 'LABEL rejected the login'],
  [
    /\b(?:CROSSSLOT|MOVED|CLUSTERDOWN|cluster_enabled:1)\b/,
    'queue_unusable',
    'LABEL is a Redis Cluster, which is not supported',
    'use Redis or Valkey without cluster mode; see docs/workers.md',
  ],
  [
    /^(?:42P01|42883|3F000) |unsupported startup parameter/,
    'queue_unusable',
    'cannot use the queue LABEL through this connection pooler',
    "remove options from the queue URL, and in pgbouncer.ini set pool_mode=session or, for that database, connect_query='set search_path=bullmq'",
  ],
  [
    new RegExp(`^\\S*(?:${tlsFailure.source})|does not support SSL`),
    'queue_tls',
    'cannot connect securely to the queue LABEL',
    'check that the server accepts TLS on that port; for a private certificate authority, export NODE_EXTRA_CA_CERTS=ca.pem',
  ],
  [full, 'queue_full', 'the server of the queue LABEL is full'],
  [readOnly, 'queue_read_only', 'the server of the queue LABEL does not accept writes'],
];

/** Patterns of all other errors when a store is opened. The first matches SQLSTATEs of a server that is up. */
const openErrors: readonly StoreErrorPattern[] = [
  [/^(?!08|57|53300|E)[0-9A-Z]{5} /, 'queue_unusable', 'cannot use the queue LABEL'],
  [
    /^53300/,
    'queue_unreachable',
    'the server of the queue LABEL has no free connection',
    'raise max_connections of the server or of the role, or run fewer workers',
  ],
  [/^/, 'queue_unreachable', 'cannot reach the queue LABEL'],
];

const createClassifier =
  (kinds: readonly StoreErrorPattern[]) =>
  ({ label }: QueueAddress, error: unknown, role = 'NAME'): MediactlError | undefined => {
    const { message, code: cause, text } = errorText(error);
    const [, code, problem, hint] = kinds.find(([failure]) => failure.test(text)) ?? [];
    if (!code || !problem) return undefined;
    const expand = (template: string) => template.replaceAll('ROLE', role).replace('LABEL', label);
    return new MediactlError(expand(problem), {
      code,
      reason: message || cause,
      ...(typeof hint === 'string' ? { hint: expand(hint) } : hint && { remedy: ['grant_access', role] }),
      retryable: ['queue_full', 'queue_read_only', 'queue_unreachable'].includes(code),
      underlying: error,
    });
  };

/** Converts a known store error to a MediactlError. Returns undefined for other errors. */
export const classifyStoreError = createClassifier(knownErrors);

/** Converts any error that occurs when a store is opened to a MediactlError. */
const classifyAnyError = createClassifier([...knownErrors, ...openErrors]);
export const classifyOpenError = (address: QueueAddress, error: unknown, role?: string): MediactlError =>
  error instanceof MediactlError ? error : (classifyAnyError(address, error, role) as MediactlError);
