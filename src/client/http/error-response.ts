import { type Explanation, MediactlError } from '../errors.ts';
import type { ApiResponse, Purpose, StatusMeaning } from './api-request.ts';
import { extractReason, isHtml } from './error-reason.ts';
import { retryAfterMs } from './rate-limit-headers.ts';

/** Maps each known error status to the error that represents it (§7). */
const statusMeanings: Record<number, StatusMeaning> = {
  400: { code: 'bad_request', problem: 'the service refused the request' },
  401: { code: 'unauthenticated', problem: 'the service does not accept this API key' },
  402: { code: 'credits_depleted', problem: "the organization's credit balance is depleted" },
  403: { code: 'forbidden', problem: 'this key may not do that' },
  404: { code: 'not_found', problem: 'not found' },
  408: {
    code: 'timeout',
    problem: 'the service gave up waiting for the request',
    hint: 'run it again in a moment',
    retryable: true,
  },
  409: { code: 'conflict', problem: 'the service reports a conflict' },
  410: { code: 'gone', problem: 'it no longer exists' },
  412: { code: 'precondition_failed', problem: 'the service does not accept this version of the upload protocol' },
  413: { code: 'too_large', problem: 'the upload exceeds the maximum allowed size' },
  422: { code: 'invalid', problem: 'the service found a value invalid' },
  423: { code: 'session_locked', problem: 'it is locked by another request', retryable: true },
  425: { code: 'too_early', problem: 'the service is not ready for the request', retryable: true },
  429: { code: 'rate_limited', problem: 'the rate limit of this key is exceeded', retryable: true },
  431: { code: 'headers_too_large', problem: 'the request is too long for the service' },
  460: { code: 'damaged_on_the_way', problem: 'the bytes did not arrive as they were sent', retryable: true },
  501: { code: 'not_offered', problem: 'the service does not offer this' },
  507: { code: 'storage_full', problem: 'insufficient storage space' },
};

const meaningOf = (status: number): StatusMeaning => {
  const row = statusMeanings[status];
  if (row) return row;
  if (status >= 500) return { code: 'server_error', problem: 'the service failed', retryable: true };
  if (status >= 300 && status < 400)
    return { code: 'redirected', problem: 'the service answered with a redirect, which is not followed' };
  return { code: 'unexpected_status', problem: 'the service gave an unexpected answer' };
};

/** Matches plain-text errors in which Envoy or a similar gateway reports a problem with the service behind it. */
const gatewayPattern = /upstream|envoy|gateway|backend|proxy/i;

/** Converts an error response to the error that the user sees. `purpose` customizes the error for the request. */
export function errorFrom(response: ApiResponse, purpose: Purpose): MediactlError {
  const { status, headers, text, receivedAt } = response;
  // Requested by a 429 (§7) or 503 (RFC 9110 §10.2.3).
  const delayMs = status === 429 || status === 503 ? retryAfterMs(headers, receivedAt) : undefined;
  const row = { ...meaningOf(status), ...purpose.statuses?.[status] };
  const serviceReason = extractReason(response);
  const forbidden = status === 403;
  const problem = forbidden && purpose.scope ? `this key may not ${purpose.action}` : row.problem;
  const isNamed = purpose.scope !== undefined && serviceReason.message?.includes(purpose.scope);
  const scope = forbidden && purpose.scope && !isNamed ? `it lacks the "${purpose.scope}" scope` : undefined;
  return new MediactlError(`${problem} (${status})`, {
    code: row.code,
    status,
    reason: [scope, serviceReason.message].filter(Boolean).join('; ') || undefined,
    hint: isHtml(response) ? 'check the base URL and any proxy on the way: mediactl auth status' : row.hint,
    retryable: row.retryable ?? false,
    retryAfterSeconds: delayMs && Math.ceil(delayMs / 1000),
    details: serviceReason.details ?? (serviceReason.code ? { code: serviceReason.code } : undefined),
    fields: serviceReason.fields,
    isPlainText: /^text\/plain\b/i.test(headers['content-type'] ?? '') && !gatewayPattern.test(text),
  });
}

/** Creates the error for a response that does not match the API, which usually means that the base URL is wrong. */
export const unexpectedResponse = (problem: string, explanation: Partial<Explanation> = {}) =>
  new MediactlError(problem, { code: 'unexpected_answer', ...explanation });
export const isGone = (error: unknown): error is MediactlError =>
  error instanceof MediactlError && (error.explanation.status === 404 || error.explanation.status === 410);

export const isRetryable = (error: unknown): error is MediactlError =>
  error instanceof MediactlError && error.explanation.retryable === true;
