import type { ErrorCode } from '../error-table.ts';
import { MediactlError } from '../errors.ts';

/** Creates the error for a redirect or an upload session URL that points to another origin. */
export const foreignOrigin = (what: string, target: URL) =>
  new MediactlError(`the service pointed to another origin: ${target.origin}`, {
    code: 'foreign_origin',
    reason: `${what} leaves the origin that the API key belongs to; following it would hand over the key`,
  });

/** Error codes which mean that the service is not running or that its host name does not exist. */
const refusedCodes = new Set(['ECONNREFUSED', 'ENOTFOUND']);
/** Error codes of a network outage, such as lost Wi-Fi or unresponsive DNS. */
const networkDownCodes = new Set(['EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN', 'EHOSTDOWN']);
export const tlsFailure = /CERT|SSL|TLS|SELF_SIGNED|ISSUER|ALTNAME|EPROTO/;

/**
 * Converts an error of undici or of the socket to a MediactlError. Aborts, MediactlErrors and errors without a code
 * are returned unchanged.
 */
export function networkError(error: unknown, url: URL, idleTimeoutMs: number): unknown {
  if (error instanceof MediactlError) return error;
  const { name, message } = error as Error;
  const code = name === 'HTTPParserError' ? 'no HTTP' : ((error as NodeJS.ErrnoException).code ?? '');
  // undici reports the refusal of a proxy as an abort with this message.
  const refusal = /^Proxy response \((\d+)\)/.exec(message)?.[1];
  if (!refusal && (name === 'AbortError' || code === 'UND_ERR_ABORTED' || code === '')) return error;
  const failure = (problem: string, kind: ErrorCode, reason: string, hint: string, retryable = true) =>
    new MediactlError(problem, {
      code: kind,
      reason,
      hint,
      retryable,
      underlying: error,
    });
  if (refusal)
    return failure(
      `the proxy does not let through to ${url.origin}`,
      'proxy',
      `it answered ${refusal}`,
      'check HTTPS_PROXY and NO_PROXY',
      false,
    );
  if (networkDownCodes.has(code))
    return failure(`cannot reach ${url.origin}`, 'unreachable', message, 'check the network, then run it again');
  if (refusedCodes.has(code))
    return failure(
      `cannot reach ${url.origin}`,
      'refused',
      code === 'ECONNREFUSED' ? 'nothing listens there' : message,
      ['127.0.0.1', 'localhost'].includes(url.hostname)
        ? 'mediactl sandbox start, if it is a sandbox; mediactl auth ls lists the profiles'
        : 'check the network and the base URL: mediactl auth status',
    );
  if (/TIMEOUT/.test(code))
    return failure(
      `${url.origin} went silent`,
      'timeout',
      code === 'UND_ERR_CONNECT_TIMEOUT'
        ? 'no connection within 10 s'
        : `no byte for ${Math.round(idleTimeoutMs / 1000)} s`,
      'run it again, or allow more with --request-timeout',
    );
  if (/wrong version number|packet length too long/.test(message))
    return failure(
      `no secure connection to ${url.origin}`,
      'tls',
      'it does not use https there',
      `if it uses http: ${url.origin.replace('https:', 'http:')} as the base URL`,
      false,
    );
  if (tlsFailure.test(code))
    return failure(
      `no secure connection to ${url.origin}`,
      'tls',
      `${message} (${code})`,
      'check the address, the clock of this machine and NODE_EXTRA_CA_CERTS',
      false,
    );
  return failure(`the connection to ${url.origin} broke`, 'connection_lost', `${message} (${code})`, 'run it again');
}

/** Returns true if the request was certainly not sent, because no connection was established. */
export function wasNotSent(error: unknown): boolean {
  if (!(error instanceof MediactlError)) return false;
  return ['refused', 'proxy'].includes(error.explanation.code) || isBeforeSending(error.cause);
}

/** Returns true if the DNS lookup, the connection or the TLS handshake failed. */
function isBeforeSending(cause: unknown): boolean {
  const { syscall = '', code = '', errors = [] } = (cause ?? {}) as NodeJS.ErrnoException & { errors?: unknown[] };
  return (
    ['connect', 'getaddrinfo'].includes(syscall) ||
    /CONNECT_TIMEOUT|CERT|SELF_SIGNED|ISSUER|ALTNAME|VERIFY/.test(code) ||
    (errors.length > 0 && errors.every(isBeforeSending)) // every address of the host name failed
  );
}
