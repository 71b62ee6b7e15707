import { CodedError, usageError } from '../../errors.ts';
import type { ApiRequest, Purpose, ReceivedResponse, ResponseHead } from '../../http/api-request.ts';
import { errorPageReason, isGenericType } from '../../http/content-types.ts';
import { errorFrom } from '../../http/error-response.ts';
import type { ResponseHeaders } from '../../http/rate-limit-headers.ts';
import type { Transport } from '../../http/transport.ts';

/** File on a web server, with everything needed to request it. */
export type RemoteFile = {
  transport: Transport;
  url: URL;
  /** URL shown to the user, without query and password. */
  path: string;
  headers: Record<string, string>;
  signal: AbortSignal | undefined;
  mayFollow: ApiRequest['mayFollowRedirect'];
};

const purpose: Purpose = {
  action: 'read this file',
  statuses: {
    // By default a 429 means the service's rate limit and aborts the run, but this is another server.
    429: { cause: 'source_busy', problem: 'the file server is limiting requests' },
  },
};

const networkHint = 'check the URL and the network, then run the same command again';

/** Requests the bytes [start, end) without content encoding and without the API key. */
export async function requestRange(
  { transport, url, headers, signal, mayFollow: mayFollowRedirect }: RemoteFile,
  start: number,
  end: number,
  more: Pick<ApiRequest, 'headers' | 'retry' | 'signal' | 'sink' | 'maxBodyBytes'>,
): Promise<ReceivedResponse> {
  const range = { 'accept-encoding': 'identity', range: `bytes=${start}-${end - 1}` };
  try {
    return await transport.exchange({
      method: 'GET',
      url,
      purpose,
      authenticate: false,
      signal,
      mayFollowRedirect,
      ...more,
      headers: { ...range, ...headers, ...more.headers },
    });
  } catch (error) {
    signal?.throwIfAborted(); // an error of its own, such as the end of rclone's server
    if (!(error instanceof CodedError) || error.kind !== 'unreachable') throw error;
    const isBusy = error.explanation.subcode === 'source_busy';
    throw error.with({ status: undefined, ...(!isBusy && { hint: networkHint }) });
  }
}

/** Version of a remote file: strong ETag and Last-Modified, which is compared only if there is no ETag. */
export type ContentVersion = { etag?: string; modified?: string };

/** Extracts a file's version from response headers. Ignores a weak ETag and an invalid date. */
export function parseVersion({ etag, 'last-modified': modified }: ResponseHeaders): ContentVersion {
  return {
    ...(etag !== undefined && /^"[^"]*"$/.test(etag) && { etag }),
    ...(!Number.isNaN(Date.parse(modified ?? '')) && { modified }),
  };
}

/**
 * Returns the file size in bytes from the response to a request for the first byte. Returns the reason as a string
 * if the response does not show the size, and undefined for an error status.
 */
export function parseSize({ status, headers, bytes }: ReceivedResponse): number | string | undefined {
  const range = headers['content-range'] ?? '';
  if (status === 416) return range === 'bytes */0' ? 0 : 'its server does not return its first byte';
  if (status > 299) return undefined;
  if (isEncoded(headers)) return `its server returns it encoded as ${headers['content-encoding']}`;
  if (status !== 206) return bytes.length === 0 ? 0 : 'its server does not support range requests';
  const size = /^bytes 0-0\/(\d{1,15})$/.exec(range)?.[1];
  return size === undefined ? 'its server does not report its size' : Number(size);
}

/** Returns true if a response is encoded, e.g. compressed, so that its offsets differ from those in the file. */
export const isEncoded = ({ 'content-encoding': encoding = 'identity' }: ResponseHeaders) =>
  encoding.toLowerCase() !== 'identity';

/** Returns the media type from a Content-Type header; undefined if it is malformed or just `octet-stream`. */
export function parseMediaType(header = ''): string | undefined {
  const type = header.split(';')[0]?.trim().toLowerCase() ?? '';
  return /^[\w.+-]+\/[\w.+-]+$/.test(type) && !isGenericType(type) ? type : undefined;
}

/** Returns an error without `status`, because a 404 from this server must not be mistaken for a lost session. */
export function toSourceError({ url, path }: RemoteFile, response: ReceivedResponse): CodedError {
  const { status } = response;
  const reason = `its server returned ${status}`;
  if (status === 404 || status === 410)
    return new CodedError(`no such file: ${path}`, { code: 'file_unusable', reason, hint: 'check the URL' });
  if (status === 401 || status === 403)
    return new CodedError(`access to ${path} is denied`, { subcode: 'source_forbidden', reason });
  const { retryable, retryAfterSeconds } = errorFrom(response, purpose).explanation;
  const failure = sourceFailed(`${url.host} did not return ${path}`, `it returned ${status}`, networkHint);
  return failure.with({ retryable, retryAfterSeconds });
}

/**
 * Rejects a web page in place of a file, as servers send for an expired link or a sign-in, unless the file is named as a
 * web page. Other text is accepted, since servers often send a file of an unknown kind as text.
 *
 * @throws CodedError `source_failed` (exit 10)
 */
export function assertNoErrorPage({ url, path }: RemoteFile, fileName: string, { status, headers }: ResponseHead) {
  if (status > 299) return;
  const mayBeHtml = /\.x?html?$/i.test(fileName);
  const reason = errorPageReason(headers['content-type'] ?? '', { mayBeHtml, mayBeText: true });
  if (reason === undefined) return;
  throw new CodedError(`${url.host} did not return ${path}`, {
    subcode: 'source_forbidden',
    reason: `${reason}, as for an expired link or a sign-in`,
  });
}

/** Returns why the version of a file is unknown: `parseVersion` has found none in the headers of its server. */
export const unknownVersion = ({ etag = '' }: ResponseHeaders) =>
  etag.startsWith('W/')
    ? 'its server sends only a weak ETag, which is the same for different bytes, and no Last-Modified'
    : 'its server sends neither an ETag nor Last-Modified';

const sourceFailed = (problem: string, reason: string, hint?: string) =>
  new CodedError(problem, { code: 'source_failed', reason, hint });

export const sourceNotReadable = ({ path }: RemoteFile, reason: string) =>
  usageError(`cannot upload ${path} from its URL`, undefined, reason).with({ remedy: ['pipe_download'] });

export const rangeMismatch = ({ url, path }: RemoteFile) =>
  sourceFailed(
    `${url.host} returned a different range of ${path} than requested`,
    'its response has another range, or is encoded',
  );

export const sourceTruncated = ({ url, path }: RemoteFile, at: number) => {
  const problem = `${url.host} stops sending after ${at} bytes of ${path}`;
  return sourceFailed(problem, 'its responses end before the file is complete', networkHint).with({ retryable: true });
};
