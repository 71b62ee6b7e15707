import type { Api } from '../client/api/api.ts';
import { asMediactlError } from '../client/errors.ts';
import type { TransportNotice } from '../client/http/rate-limiter.ts';
import type { Library } from '../client/library/folder-creation.ts';
import type { StateDatabase } from '../client/upload/store/state-database.ts';
import type { CallOptions, ClientOptions, Notice } from './public-types.ts';
import { MediactlError } from './public-types.ts';

/** What the parts of a client share. */
export type ClientParts = {
  options: ClientOptions;
  apiFor(call?: CallOptions): Api;
  signalOf(call?: CallOptions): AbortSignal;
  notify(call?: CallOptions): (notice: Notice) => void;
  library(call?: CallOptions): Library;
  database(): Promise<StateDatabase>;
};

/** Converts an error of the client to one of the package. */
export function toPublicError(thrown: unknown): MediactlError {
  const { message, explanation } = asMediactlError(thrown);
  const { code, reason, lines, status, retryable = false, retryAfterSeconds, details } = explanation;
  const fields = { code, reason: reason ?? lines?.join('; '), status, retryable, retryAfterSeconds, details };
  return new MediactlError(message, { ...fields, cause: thrown });
}

export const toNotice = (notice: TransportNotice): Notice =>
  notice.kind === 'rate-limited' ? { kind: 'rate_limited', untilMs: notice.untilMs } : notice;
