import type { ContentfulStatusCode } from 'hono/utils/http-status';

/**
 * Maps HTTP statuses to error codes (§7). The sandbox defines the codes, since the specification does not show
 * them.
 */
const codes = {
  400: 'bad_request',
  401: 'unauthenticated',
  402: 'credits_depleted',
  403: 'forbidden',
  404: 'not_found',
  409: 'offset_conflict',
  412: 'tus_version',
  413: 'too_large',
  422: 'invalid',
  429: 'rate_limited',
  500: 'defect',
  // Only injected faults use 502 and 504, as a gateway in front of the service would.
  502: 'bad_gateway',
  503: 'unavailable',
  504: 'gateway_timeout',
  507: 'storage_full',
} as const;

export type ErrorStatus = keyof typeof codes;

export const errorStatuses = Object.keys(codes).map(Number) as ErrorStatus[];

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

  /**
   * JSON body of the response: "Error responses of JSON endpoints carry a JSON body with an `error` object." (§7)
   */
  get body() {
    return {
      error: {
        code: codes[this.status],
        message: this.message,
        ...(this.details !== undefined && { details: this.details }),
      },
    };
  }
}

/** Creates the error for an invalid part of a request; `loc` is where it is, such as `['body', 'parent_uid']`. */
export const invalidError = (loc: readonly string[], msg: string, message = 'invalid parameters or body') =>
  new ServiceError(422, message, { details: [{ loc, msg }] });
