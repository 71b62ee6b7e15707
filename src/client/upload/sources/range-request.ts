import { exitCodes, MediactlError, usageError } from '../../errors.ts';
import { errorFrom } from '../../http/error-response.ts';
import type { ApiRequest, ApiResponse } from '../../http/messages.ts';
import type { Transport } from '../../http/transport.ts';

/** A file on somebody's web server, and the way to it. */
export type Remote = {
  transport: Transport;
  url: URL;
  /** What people call it: no query, no password. */
  path: string;
  headers: Record<string, string>;
  signal: AbortSignal | undefined;
  mayFollow?: ApiRequest['mayFollow'];
};

const purpose = {
  action: 'read this file',
  statuses: {
    // The rate limit that errors tell of elsewhere is the service's, and ends a whole run.
    429: {
      code: 'source_busy',
      exitCode: exitCodes.unreachable,
      problem: 'the server of the file accepts no more requests for now',
    },
  },
};

const hint = 'check the address and the network, then run the same command again';

/**
 * Asks for the bytes [start, end), without our key, and for them as they are.
 *
 * @throws MediactlError by network failure, in words that do not take the server for the service
 */
export async function askForRange(
  { transport, url, headers, signal, mayFollow }: Remote,
  start: number,
  end: number,
  more: Pick<ApiRequest, 'headers' | 'retry' | 'signal' | 'sink' | 'maxBodyBytes'>,
): Promise<ApiResponse> {
  try {
    return await transport.exchange({
      method: 'GET',
      url,
      purpose,
      authenticate: false,
      signal,
      mayFollow,
      ...more,
      headers: {
        'accept-encoding': 'identity',
        range: `bytes=${start}-${end - 1}`,
        ...headers,
        ...more.headers,
      },
    });
  } catch (error) {
    if (error instanceof MediactlError && error.exitCode === exitCodes.unreachable)
      throw error.with({ hint, status: undefined });
    throw error;
  }
}

/**
 * An answer past 2xx in words. It carries no `status`: a 404 of this server says nothing of an upload
 * session at the service.
 *
 * @param known what the answer says of a file that was there before
 */
export function refusalOf(
  { url, path }: Remote,
  answer: ApiResponse,
  known: () => MediactlError | undefined = () => undefined,
): MediactlError {
  const { status } = answer;
  const foreseen = known();
  if (foreseen) return foreseen;
  if (status === 404 || status === 410)
    return new MediactlError(`no such file: ${path}`, {
      code: 'no_such_file',
      exitCode: exitCodes.usage,
      reason: `its server answers ${status}`,
      hint: 'check the address',
    });
  if (status === 401 || status === 403)
    return new MediactlError(`${path} may not be read with this address`, {
      code: 'source_refused',
      exitCode: exitCodes.usage,
      reason: `its server answers ${status}`,
      hint: 'the same command with an address that is newly signed continues where this one stopped',
    });
  const { retryable, retryAfterSeconds } = errorFrom(answer, purpose).explanation;
  return new MediactlError(`${url.host} does not send ${path}`, {
    code: 'source_failed',
    exitCode: exitCodes.unreachable,
    reason: `it answers ${status}`,
    hint,
    retryable,
    retryAfterSeconds,
  });
}

/** What cannot be uploaded from where it is can be fetched first. */
export const notToBeRead = ({ path }: Remote, reason: string) =>
  usageError(
    `${path} cannot be uploaded from where it is`,
    'curl -L URL | mediactl upload - --name NAME',
    reason,
  );

export const otherRange = ({ url, path }: Remote) =>
  new MediactlError(`${url.host} sends other bytes of ${path} than requested`, {
    code: 'source_failed',
    exitCode: exitCodes.unreachable,
    reason: 'its answer is of another range, or encoded',
    hint: 'curl -L URL | mediactl upload - --name NAME',
  });

export const fellShort = ({ url, path }: Remote, at: number) =>
  new MediactlError(`${url.host} sends no more than ${at} bytes of ${path}`, {
    code: 'source_failed',
    exitCode: exitCodes.unreachable,
    reason: 'its answers end before the file does',
    hint,
    retryable: true,
  });
