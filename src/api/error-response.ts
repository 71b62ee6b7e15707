import { type ExitCode, exitCodes, MediactlError } from '../errors.ts';
import type { ApiResponse, Purpose } from './messages.ts';
import { retryAfterMs } from './rate-limit.ts';

type Row = {
  code: string;
  exitCode: ExitCode;
  problem: string;
  hint?: string;
  retryable?: boolean;
};

/** §7, a row a status. */
const rows: Record<number, Row> = {
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
  403: { code: 'forbidden', exitCode: exitCodes.forbidden, problem: 'this key may not do that' },
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
    problem: 'the service does not take this version of the upload protocol',
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
    hint: 'the same command with --help tells what it takes',
  },
  429: {
    code: 'rate_limited',
    exitCode: exitCodes.rateLimited,
    problem: 'the rate limit of this key is exceeded',
    hint: 'run it again later, or allow a longer wait with --max-wait',
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

const rowFor = (status: number): Row => {
  const row = rows[status];
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

type Told = { message?: string | undefined; code?: string | undefined; details?: unknown };

/** The service's own words, whatever form they came in (A13). */
function told(response: ApiResponse): Told {
  const text = response.text.trim();
  const type = response.headers['content-type'] ?? '';
  if (isHtml(response)) {
    const title = /<title[^>]*>([^<]*)</i.exec(text)?.[1] ?? text.replace(/<[^>]*>/g, ' ');
    return { message: `a web page instead of the API: "${cut(title)}"` };
  }
  if (!/json/i.test(type)) return { message: cut(text) || undefined };
  try {
    return fromJson(JSON.parse(text));
  } catch {
    return { message: cut(text) || undefined };
  }
}

function fromJson(body: unknown): Told {
  if (typeof body === 'string') return { message: body };
  if (Array.isArray(body)) return { message: fieldMessages(body), details: body };
  if (typeof body !== 'object' || body === null) return {};
  const { error, detail, message, code, details } = body as Record<string, unknown>;
  if (error !== undefined) return fromJson(error);
  if (detail !== undefined) return fromJson(detail);
  return {
    message: [
      typeof message === 'string' ? message : undefined,
      Array.isArray(details) ? fieldMessages(details) : undefined,
    ]
      .filter(Boolean)
      .join('; '),
    code: typeof code === 'string' ? code : undefined,
    details,
  };
}

/** A 422 names fields (`loc`) and allowed values (`ctx.expected`): they are shown. */
function fieldMessages(list: unknown[]): string {
  return list
    .map((entry) => {
      const { loc, msg, message, ctx } = (entry ?? {}) as Record<string, unknown>;
      const where = Array.isArray(loc) ? loc.join('.') : loc;
      const expected = (ctx as { expected?: unknown } | undefined)?.expected;
      const what = msg ?? message ?? JSON.stringify(entry);
      return `${where ? `${where}: ` : ''}${what}${expected ? ` (expected ${expected})` : ''}`;
    })
    .join('; ');
}

const cut = (text: string) => {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
};

export const isHtml = (response: ApiResponse) =>
  /html/i.test(response.headers['content-type'] ?? '') ||
  /^\s*<(!doctype|html)/i.test(response.text);

/** Only a 429 (§7) and a 503 (RFC 9110 §10.2.3) tell when to come back. */
function retryAfterSeconds({ status, headers, receivedAt }: ApiResponse): number | undefined {
  if (status !== 429 && status !== 503) return undefined;
  const delayMs = retryAfterMs(headers, receivedAt);
  return delayMs === undefined ? undefined : Math.ceil(delayMs / 1000);
}

/** An answer past 2xx as the error that the user sees, read by its Content-Type. */
export function errorFrom(response: ApiResponse, purpose: Purpose): MediactlError {
  const { status } = response;
  const row = rowFor(status);
  const words = told(response);
  const forbidden = status === 403;
  const problem = forbidden ? `this key may not ${purpose.action}` : row.problem;
  const scope = forbidden && purpose.scope ? `it lacks the "${purpose.scope}" scope` : undefined;
  return new MediactlError(`${problem} (${status})`, {
    code: row.code,
    exitCode: row.exitCode,
    status,
    reason: [scope, words.message].filter(Boolean).join('; ') || undefined,
    hint: forbidden
      ? 'mediactl auth switch, or make a key with that scope under API keys'
      : isHtml(response)
        ? 'check the base URL and any proxy on the way: mediactl auth status'
        : row.hint,
    retryable: row.retryable ?? false,
    retryAfterSeconds: retryAfterSeconds(response),
    details: words.details ?? (words.code ? { code: words.code } : undefined),
  });
}
