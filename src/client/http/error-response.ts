import { CodedError, type Explanation } from '../errors.ts';
import type { Purpose, ReceivedResponse, StatusMeaning } from './api-request.ts';
import { extractReason, isHtml, isJson } from './error-reason.ts';
import { retryAfterMs } from './rate-limit-headers.ts';

const rerunSoon = 'run it again in a moment';

/** Maps each known error status to the error that represents it (§7). */
const statusMeanings: Record<number, StatusMeaning> = {
  400: { code: 'bad_request', problem: 'the service rejected the request' },
  401: { code: 'unauthenticated', problem: 'the service rejected this API key' },
  402: { code: 'credits_depleted', problem: "the organization's credit balance is depleted" },
  403: { code: 'forbidden', problem: 'this API key cannot do that' },
  404: { code: 'not_found', problem: 'not found' },
  408: {
    code: 'timeout',
    problem: 'the service timed out waiting for the request',
    hint: rerunSoon,
    retryable: true,
  },
  409: { code: 'conflict', problem: 'the service reports a conflict' },
  410: { code: 'not_found', problem: 'it no longer exists' },
  412: { code: 'conflict', problem: 'the service does not support this version of the upload protocol' },
  413: { code: 'too_large', problem: 'the upload exceeds the maximum allowed size' },
  422: { code: 'validation_failed', problem: 'the service rejected the request as invalid' },
  423: { code: 'conflict', problem: 'it is locked by another request', hint: rerunSoon, retryable: true },
  425: { code: 'server_error', problem: 'the service is not ready for the request', retryable: true },
  429: { code: 'rate_limited', problem: 'rate limit exceeded', retryable: true },
  431: {
    code: 'too_large',
    problem: 'the request headers are too large',
    hint: 'shorten the name or the description, which are sent in a header',
  },
  460: {
    code: 'checksum_mismatch',
    problem: 'the data was corrupted in transit',
    hint: 'run the same command again',
    retryable: true,
  },
  501: { code: 'invalid_response', problem: 'the service does not support this' },
  507: { code: 'storage_full', problem: 'insufficient storage space' },
};

const meaningOf = (status: number): StatusMeaning => {
  const row = statusMeanings[status];
  if (row) return row;
  const isUnavailable = [502, 503, 504].includes(status);
  const failure = isUnavailable ? 'the service is unavailable' : 'the service had an internal error';
  if (status >= 500) return { code: 'server_error', problem: failure, retryable: true };
  if (status >= 300 && status < 400)
    return { code: 'invalid_response', problem: 'the service sent a redirect, which is not followed' };
  return { code: 'unexpected_status', problem: 'unexpected response from the service' };
};

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

/** Converts an error response to the error that the user sees. `purpose` customizes the error for the request. */
export function errorFrom(response: ReceivedResponse, purpose: Purpose): CodedError {
  const { status, headers, text, receivedAt } = response;
  // Requested by a 429 (§7) or 503 (RFC 9110 §10.2.3).
  const delayMs = status === 429 || status === 503 ? retryAfterMs(headers, receivedAt) : undefined;
  const row = { ...meaningOf(status), ...purpose.statuses?.[status] };
  const serviceReason = extractReason(response);
  // "Error responses of JSON endpoints carry a JSON body" (§7): another body may be that of a gateway, which has not
  // judged the key.
  const isRefusal = status === 401 || status === 403;
  const isUnattributed = isRefusal && !purpose.statuses?.[status] && text.trim() !== '' && !isJson(response);
  const forbidden = status === 403 && !isUnattributed;
  const denied = isUnattributed ? 'the service, or a gateway in front of it, denied the request' : undefined;
  const problem = denied ?? (forbidden && purpose.scope ? `this API key cannot ${purpose.action}` : row.problem);
  const scopeReason = forbidden ? missingScope(purpose, serviceReason.message) : undefined;
  return new CodedError(`${problem} (${status})`, {
    code: row.code,
    status,
    reason: scopeReason ?? serviceReason.message,
    ...(isHtml(response) || isUnattributed ? { remedy: ['check_base_url'] } : { hint: row.hint, remedy: row.remedy }),
    retryable: row.retryable ?? false,
    retryAfterSeconds: delayMs && Math.ceil(delayMs / 1000),
    details: serviceReason.details ?? (serviceReason.code ? { code: serviceReason.code } : undefined),
    fields: serviceReason.fields,
    isUnattributed,
    isPlainText: /^text\/plain\b/i.test(headers['content-type'] ?? '') && !gatewayPattern.test(text),
  });
}

/** Creates the error for a response that does not match the API, which usually means that the base URL is wrong. */
export const unexpectedResponse = (problem: string, explanation: Partial<Explanation> = {}) =>
  new CodedError(problem, { code: 'invalid_response', ...explanation });
export const isGone = (error: unknown): error is CodedError =>
  error instanceof CodedError && (error.explanation.status === 404 || error.explanation.status === 410);

export const isRetryable = (error: unknown): error is CodedError =>
  error instanceof CodedError && error.explanation.retryable === true;
