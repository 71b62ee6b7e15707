import { causeOf } from '../error-table.ts';
import { CodedError, type Explanation } from '../errors.ts';
import type { Purpose, ReceivedResponse, StatusMeaning } from './api-request.ts';
import { extractReason, isHtml, isJson } from './error-reason.ts';
import { proxyLoginHint } from './network-error.ts';
import { retryAfterMs } from './rate-limit-headers.ts';

const rerunSoon = 'run it again in a moment';

const internalError = {
  cause: 'server_error',
  problem: 'the service had an internal error',
  retryable: true,
} as const satisfies StatusMeaning;
const outage = { ...internalError, problem: 'the service is unavailable', failure: 'outage' } as const;

/** Maps each known error status to the error that represents it (§7). */
const statusMeanings: Record<number, StatusMeaning> = {
  400: { cause: 'rejected', problem: 'the service rejected the request' },
  401: { cause: 'unauthenticated', problem: 'the service rejected this API key' },
  402: { cause: 'credits_depleted', problem: "the organization's credit balance is depleted" },
  403: { cause: 'forbidden', problem: 'this API key cannot do that' },
  404: { cause: 'not_found', problem: 'not found' },
  407: {
    cause: 'proxy_failed',
    problem: 'the proxy asks for a user name and a password',
    hint: proxyLoginHint,
  },
  408: {
    cause: 'timeout',
    problem: 'the service timed out waiting for the request',
    hint: rerunSoon,
    retryable: true,
  },
  409: { cause: 'conflict', problem: 'the service reports a conflict' },
  410: { cause: 'not_found', problem: 'it no longer exists' },
  412: { cause: 'conflict', problem: 'the service does not support this version of the upload protocol' },
  413: { cause: 'rejected', problem: 'the upload exceeds the maximum allowed size' },
  422: { cause: 'invalid_request', problem: 'the service rejected the request as invalid' },
  423: { cause: 'conflict', problem: 'it is locked by another request', hint: rerunSoon, retryable: true },
  425: { cause: 'server_error', problem: 'the service is not ready for the request', retryable: true },
  429: { cause: 'rate_limited', problem: 'rate limit exceeded', retryable: true },
  431: {
    cause: 'rejected',
    problem: 'the request headers are too large',
    hint: 'shorten the name or the description, which are sent in a header',
  },
  460: {
    cause: 'checksum_mismatch',
    problem: 'the data was corrupted in transit',
    hint: 'run the same command again',
    retryable: true,
  },
  500: { ...internalError, failure: 'internal' },
  501: { cause: 'invalid_response', problem: 'the service does not support this' },
  502: outage,
  503: outage,
  504: outage,
  507: { cause: 'storage_full', problem: 'insufficient storage space' },
  511: {
    cause: 'proxy_failed',
    problem: 'the network asks you to sign in',
    hint: 'sign in with a browser, then run it again',
  },
};

const meaningOf = (status: number): StatusMeaning => {
  const row = statusMeanings[status];
  if (row) return row;
  if (status >= 500) return internalError;
  if (status >= 300 && status < 400)
    return { cause: 'invalid_response', problem: 'the service sent a redirect, which is not followed' };
  return { cause: 'unexpected_status', problem: 'unexpected response from the service' };
};

/** Returns what a status says of the service; undefined if it says nothing. */
export const failureOfStatus = (status: number) => meaningOf(status).failure;

const who = 'the service, or a gateway in front of it,';

/**
 * Returns what an answer means that a gateway in front of the service may have sent: nothing about the API key, and not
 * that an asset is gone. Undefined if it is the service's.
 */
function gatewayMeaning(response: ReceivedResponse, purpose: Purpose): Partial<StatusMeaning> | undefined {
  const { status } = response;
  if (purpose.statuses?.[status] || response.text.trim() === '' || isJson(response)) return undefined;
  // "Error responses of JSON endpoints carry a JSON body" (§7).
  if (status === 401 || status === 403) return { problem: `${who} denied the request` };
  if (!isHtml(response) && !gatewayPattern.test(response.text)) return undefined;
  if (status === 404 || status === 410)
    return { cause: 'invalid_response', problem: `${who} does not know this address` };
  const { cause, problem } = meaningOf(status);
  return cause === 'server_error' ? { problem: problem.replace('the service', who) } : undefined;
}

/** Matches plain-text errors in which Envoy or a similar gateway reports a problem with the service behind it. */
const gatewayPattern = /upstream|envoy|gateway|backend|proxy/i;

/** Matches messages of a 403 that say no more than the status. */
const genericRefusal =
  /^(?:forbidden|(?:permission|access) denied|(?:insufficient|missing) (?:scopes?|permissions?))\.?$/i;

/** Explains a 403 by the scope that the request requires. Returns undefined if the service names it. */
function missingScope({ scope }: Purpose, message: string | undefined): string | undefined {
  const normalized = (text: string) => text.toLowerCase().replace(/[\W_]+/g, ' ');
  if (scope === undefined || normalized(message ?? '').includes(normalized(scope))) return undefined;
  const reason = `it lacks the "${scope}" scope`;
  return message === undefined || genericRefusal.test(message) ? reason : `${reason}; ${message}`;
}

/** Returns where a redirect leads. The address is redacted before it is shown. */
const redirectReason = ({ status, headers: { location } }: ReceivedResponse) =>
  status >= 300 && status < 400 && location !== undefined ? `it leads to ${location.slice(0, 200)}` : undefined;

/** Converts an error response to the error that the user sees. `purpose` customizes the error for the request. */
export function errorFrom(response: ReceivedResponse, purpose: Purpose): CodedError {
  const { status, headers, text, receivedAt } = response;
  // Requested by a 429 (§7) or 503 (RFC 9110 §10.2.3).
  const delayMs = status === 429 || status === 503 ? retryAfterMs(headers, receivedAt) : undefined;
  const serviceReason = extractReason(response);
  const gateway = gatewayMeaning(response, purpose);
  const row = { ...meaningOf(status), ...purpose.statuses?.[status], ...gateway };
  const forbidden = status === 403 && !gateway;
  const problem = forbidden && purpose.scope ? `this API key cannot ${purpose.action}` : row.problem;
  const isUnexplained = gateway !== undefined || (isHtml(response) && !row.hint && !row.remedy);
  const scopeReason = forbidden ? missingScope(purpose, serviceReason.message) : undefined;
  return new CodedError(`${problem} (${status})`, {
    ...causeOf(row.cause),
    status,
    reason: scopeReason ?? redirectReason(response) ?? serviceReason.message,
    ...(isUnexplained ? { remedy: ['check_base_url'] } : { hint: row.hint, remedy: row.remedy }),
    retryable: row.retryable ?? false,
    retryAfterSeconds: delayMs && Math.ceil(delayMs / 1000),
    details: serviceReason.details ?? (serviceReason.code ? { code: serviceReason.code } : undefined),
    fields: serviceReason.fields,
    isUnattributed: gateway !== undefined,
    isPlainText: /^text\/plain\b/i.test(headers['content-type'] ?? '') && !gatewayPattern.test(text),
  });
}

/** Creates the error for a response that does not match the API, which usually means that the base URL is wrong. */
export const unexpectedResponse = (problem: string, explanation: Partial<Explanation> = {}) =>
  new CodedError(problem, { code: 'invalid_response', ...explanation });
export const isGone = (error: unknown): error is CodedError =>
  error instanceof CodedError &&
  [404, 410].includes(error.explanation.status ?? 0) &&
  !error.explanation.isUnattributed;

/** Returns true if the service did not answer: nothing arrived, or a gateway says that it cannot reach the service. */
export const isUnanswered = ({ explanation: { status, isPlainText } }: CodedError): boolean =>
  status === undefined || (failureOfStatus(status) === 'outage' && !isPlainText);

export const isRetryable = (error: unknown): error is CodedError =>
  error instanceof CodedError && error.explanation.retryable === true;
