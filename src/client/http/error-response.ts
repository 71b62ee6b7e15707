import { exitCodes, MediactlError } from '../errors.ts';
import type { ApiResponse, Purpose, StatusMeaning } from './api-request.ts';
import { extractReason, isHtml } from './error-reason.ts';
import { retryAfterMs } from './rate-limit-headers.ts';

/** Maps each known error status to the error that represents it (§7). */
const statusMeanings: Record<number, StatusMeaning> = {
  400: {
    code: 'bad_request',
    exitCode: exitCodes.rejected,
    problem: 'the service refused the request',
  },
  401: {
    code: 'unauthenticated',
    exitCode: exitCodes.unauthenticated,
    problem: 'the service does not accept this API key',
    hint: 'mediactl auth login, or set MEDIACTL_API_KEY',
  },
  402: {
    code: 'credits_depleted',
    exitCode: exitCodes.quota,
    problem: "the organization's credit balance is depleted",
    hint: 'top up the balance, then run the same command again',
  },
  403: {
    code: 'forbidden',
    exitCode: exitCodes.forbidden,
    problem: 'this key may not do that',
    hint: 'mediactl auth switch, or make a key with that scope under API keys',
  },
  404: { code: 'not_found', exitCode: exitCodes.notFound, problem: 'not found' },
  408: {
    code: 'timeout',
    exitCode: exitCodes.unreachable,
    problem: 'the service gave up waiting for the request',
    hint: 'run it again in a moment',
    retryable: true,
  },
  409: {
    code: 'conflict',
    exitCode: exitCodes.rejected,
    problem: 'the service reports a conflict',
  },
  410: { code: 'gone', exitCode: exitCodes.notFound, problem: 'it no longer exists' },
  412: {
    code: 'precondition_failed',
    exitCode: exitCodes.rejected,
    problem: 'the service does not accept this version of the upload protocol',
  },
  413: {
    code: 'too_large',
    exitCode: exitCodes.rejected,
    problem: 'the upload exceeds the maximum allowed size',
  },
  422: {
    code: 'invalid',
    exitCode: exitCodes.rejected,
    problem: 'the service found a value invalid',
    hint: 'the same command with --help shows what it accepts',
  },
  423: {
    code: 'session_locked',
    exitCode: exitCodes.rejected,
    problem: 'it is locked by another request',
    hint: 'run it again in a moment',
    retryable: true,
  },
  425: {
    code: 'too_early',
    exitCode: exitCodes.unreachable,
    problem: 'the service is not ready for the request',
    hint: 'run it again in a moment',
    retryable: true,
  },
  429: {
    code: 'rate_limited',
    exitCode: exitCodes.rateLimited,
    problem: 'the rate limit of this key is exceeded',
    hint: 'run it again later, or allow a longer wait with --max-wait',
    retryable: true,
  },
  431: {
    code: 'headers_too_large',
    exitCode: exitCodes.rejected,
    problem: 'the request is too long for the service',
    hint: 'shorten the description or the name: they travel in a header',
  },
  460: {
    code: 'damaged_on_the_way',
    exitCode: exitCodes.integrity,
    problem: 'the bytes did not arrive as they were sent',
    hint: 'run the same command again',
    retryable: true,
  },
  501: {
    code: 'not_offered',
    exitCode: exitCodes.unreachable,
    problem: 'the service does not offer this',
  },
  507: {
    code: 'storage_full',
    exitCode: exitCodes.quota,
    problem: 'insufficient storage space',
    hint: 'free or buy storage, then run the same command again',
  },
};

const meaningOf = (status: number): StatusMeaning => {
  const row = statusMeanings[status];
  if (row) return row;
  if (status >= 500)
    return {
      code: 'server_error',
      exitCode: exitCodes.unreachable,
      problem: 'the service failed',
      hint: 'run it again in a moment',
      retryable: true,
    };
  if (status >= 300 && status < 400)
    return {
      code: 'redirected',
      exitCode: exitCodes.unreachable,
      problem: 'the service answered with a redirect, which is not followed',
      hint: 'check the base URL: mediactl auth status',
    };
  return {
    code: 'unexpected_status',
    exitCode: exitCodes.unclassified,
    problem: 'the service gave an unexpected answer',
  };
};

/** Returns the retry delay that a 429 (§7) or 503 (RFC 9110 §10.2.3) requests, in seconds, or undefined if none. */
function retryAfterSeconds({ status, headers, receivedAt }: ApiResponse): number | undefined {
  if (status !== 429 && status !== 503) return undefined;
  const delayMs = retryAfterMs(headers, receivedAt);
  return delayMs === undefined ? undefined : Math.ceil(delayMs / 1000);
}

/** Matches plain-text errors in which Envoy or a similar gateway reports a problem with the service behind it. */
const gatewayPattern = /upstream|envoy|gateway|backend|proxy/i;

const isPlainText = ({ headers, text }: ApiResponse) =>
  /^text\/plain\b/i.test(headers['content-type'] ?? '') && !gatewayPattern.test(text);

/** Converts an error response to the error that the user sees. `purpose` customizes the error for the request. */
export function errorFrom(response: ApiResponse, purpose: Purpose): MediactlError {
  const { status } = response;
  const row = { ...meaningOf(status), ...purpose.statuses?.[status] };
  const serviceReason = extractReason(response);
  const forbidden = status === 403;
  const problem = forbidden && purpose.scope ? `this key may not ${purpose.action}` : row.problem;
  const isNamed = purpose.scope !== undefined && serviceReason.message?.includes(purpose.scope);
  const scope = forbidden && purpose.scope && !isNamed ? `it lacks the "${purpose.scope}" scope` : undefined;
  return new MediactlError(`${problem} (${status})`, {
    code: row.code,
    exitCode: row.exitCode,
    status,
    reason: [scope, serviceReason.message].filter(Boolean).join('; ') || undefined,
    hint: isHtml(response) ? 'check the base URL and any proxy on the way: mediactl auth status' : row.hint,
    retryable: row.retryable ?? false,
    retryAfterSeconds: retryAfterSeconds(response),
    details: serviceReason.details ?? (serviceReason.code ? { code: serviceReason.code } : undefined),
    fields: serviceReason.fields,
    isPlainText: isPlainText(response),
  });
}
