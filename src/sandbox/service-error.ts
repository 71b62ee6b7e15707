import type { ContentfulStatusCode } from 'hono/utils/http-status';

/** Maps HTTP statuses (§7) to error codes, which the specification does not show, and their meaning. */
export const errors = {
  400: { code: 'bad_request', meaning: 'malformed request' },
  401: { code: 'unauthenticated', meaning: 'missing or invalid credentials' },
  402: { code: 'credits_depleted', meaning: 'the credit balance is depleted' },
  403: { code: 'forbidden', meaning: 'insufficient permissions' },
  404: { code: 'not_found', meaning: 'not found' },
  408: { code: 'request_timeout', meaning: 'the request headers did not arrive in time' },
  409: { code: 'offset_conflict', meaning: 'the upload offset does not match' },
  412: { code: 'tus_version', meaning: 'Tus-Resumable is missing or not 1.0.0' },
  413: { code: 'too_large', meaning: 'the request body is too large' },
  422: { code: 'invalid', meaning: 'invalid parameters or body' },
  431: { code: 'headers_too_large', meaning: 'the request headers are too large' },
  429: { code: 'rate_limited', meaning: 'rate limit exceeded' },
  500: { code: 'defect', meaning: 'internal server error' },
  // Only injected faults use 502 and 504, as a gateway in front of the service would.
  502: { code: 'bad_gateway', meaning: 'bad gateway' },
  503: { code: 'unavailable', meaning: 'temporarily unavailable' },
  504: { code: 'gateway_timeout', meaning: 'gateway timeout' },
  507: { code: 'storage_full', meaning: 'insufficient storage space' },
} as const;

export type ErrorStatus = keyof typeof errors;

export const errorStatuses = Object.keys(errors).map(Number) as ErrorStatus[];

/** Error that becomes an error response. Any code can throw it, but only `app.ts` serializes it. */
export class ServiceError extends Error {
  readonly status: ErrorStatus & ContentfulStatusCode;
  readonly headers: Record<string, string>;
  readonly details: unknown;

  constructor(
    status: ErrorStatus,
    message: string,
    { headers = {}, details }: { headers?: Record<string, string>; details?: unknown } = {},
  ) {
    super(message);
    this.status = status;
    this.headers = headers;
    this.details = details;
  }

  /** JSON body: "Error responses of JSON endpoints carry a JSON body with an `error` object." (§7) */
  get body() {
    return {
      error: {
        code: errors[this.status].code,
        message: this.message,
        ...(this.details !== undefined && { details: this.details }),
      },
    };
  }
}

/** Creates the error for an invalid part of a request; `loc` is where it is, such as `['body', 'parent_uid']`. */
export const invalidError = (loc: readonly string[], msg: string, message: string = errors[422].meaning) =>
  new ServiceError(422, message, { details: [{ loc, msg }] });
