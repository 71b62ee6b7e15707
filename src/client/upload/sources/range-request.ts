import { exitCodes } from '../../error-table.ts';
import { MediactlError, usageError } from '../../errors.ts';
import type { ApiRequest, ApiResponse, Purpose } from '../../http/api-request.ts';
import { errorFrom } from '../../http/error-response.ts';
import type { Transport } from '../../http/transport.ts';

/** File on a web server, with everything needed to request it. */
export type RemoteFile = {
  transport: Transport;
  url: URL;
  /** URL shown to the user, without query and password. */
  path: string;
  headers: Record<string, string>;
  signal: AbortSignal | undefined;
  mayFollow?: ApiRequest['mayFollowRedirect'];
};

const purpose: Purpose = {
  action: 'read this file',
  statuses: {
    // By default a 429 means the service's rate limit and aborts the run, but this is another server.
    429: {
      code: 'source_busy',
      problem: 'the server of the file accepts no more requests for now',
    },
  },
};

const hint = 'check the address and the network, then run the same command again';

/**
 * Requests the bytes [start, end) without content encoding and without the API key.
 *
 * @throws MediactlError on a network failure, with a hint about the file's server rather than the service
 */
export async function requestRange(
  { transport, url, headers, signal, mayFollow: mayFollowRedirect }: RemoteFile,
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
      mayFollowRedirect,
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
 * Converts an error response from the file's server to a MediactlError. The error has no `status`, because a 404
 * from this server must not be mistaken for a lost upload session.
 *
 * @param specificError returns a more specific error, if any, for a file that was readable before
 */
export function toSourceError(
  { url, path }: RemoteFile,
  response: ApiResponse,
  specificError: () => MediactlError | undefined = () => undefined,
): MediactlError {
  const { status } = response;
  const specific = specificError();
  if (specific) return specific;
  if (status === 404 || status === 410)
    return new MediactlError(`no such file: ${path}`, {
      code: 'no_such_file',
      reason: `its server answers ${status}`,
      hint: 'check the address',
    });
  if (status === 401 || status === 403)
    return new MediactlError(`${path} may not be read with this address`, {
      code: 'source_refused',
      reason: `its server answers ${status}`,
    });
  const { retryable, retryAfterSeconds } = errorFrom(response, purpose).explanation;
  return new MediactlError(`${url.host} does not send ${path}`, {
    code: 'source_failed',
    reason: `it answers ${status}`,
    hint,
    retryable,
    retryAfterSeconds,
  });
}

/** Creates the error for a URL that cannot be uploaded directly. Its hint is to download the file first. */
export const sourceNotReadable = ({ path }: RemoteFile, reason: string) =>
  usageError(`${path} cannot be uploaded from where it is`, 'curl -L URL | mediactl upload - --name NAME', reason);

/** Creates the error for a response that contains another byte range than requested, or encoded bytes. */
export const rangeMismatch = ({ url, path }: RemoteFile) =>
  new MediactlError(`${url.host} sends other bytes of ${path} than requested`, {
    code: 'source_failed',
    reason: 'its answer is of another range, or encoded',
  });

/** Creates the retryable error for a server whose responses end before the file does. */
export const sourceTruncated = ({ url, path }: RemoteFile, at: number) =>
  new MediactlError(`${url.host} sends no more than ${at} bytes of ${path}`, {
    code: 'source_failed',
    reason: 'its answers end before the file does',
    hint,
    retryable: true,
  });
