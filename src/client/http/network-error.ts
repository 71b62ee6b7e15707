import { causeOf } from '../error-table.ts';
import { CodedError, type Explanation } from '../errors.ts';
import type { StatusMeaning } from './api-request.ts';
import { isProxyUnreachable } from './proxy.ts';

/** Creates the error for a redirect to another origin, as a sign-in page of the network also sends it. */
export const foreignOrigin = (target: URL) =>
  new CodedError(`a redirect points to another origin: ${target.origin}`, {
    code: 'origin_mismatch',
    reason: 'the service, or a proxy or sign-in page in front of it, sent it; following it would leak the API key',
  });

export const proxyLoginHint = 'put NAME:PASSWORD@ before the host in HTTPS_PROXY or HTTP_PROXY';

/** Time that a connection may take. */
export const connectTimeoutMs = 10_000;

/** Error codes which mean that the service is not running or that its host name does not exist. */
const refusedCodes = new Set(['ECONNREFUSED', 'ENOTFOUND']);
/** Error codes of a network outage, such as lost Wi-Fi or unresponsive DNS. */
const networkDownCodes = new Set(['EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN', 'EHOSTDOWN']);
export const tlsFailure = /CERT|SSL|TLS|SELF_SIGNED|ISSUER|ALTNAME|EPROTO/;

/**
 * Converts an error of undici or the socket. Aborts, MediactlErrors and errors without a code stay unchanged.
 *
 * @param proxy proxy that the request may have gone through
 */
export function networkError(error: unknown, url: URL, idleTimeoutMs: number, proxy?: URL): unknown {
  if (error instanceof CodedError) return error;
  const { name, message } = error as Error;
  const code = name === 'HTTPParserError' ? 'no HTTP' : ((error as NodeJS.ErrnoException).code ?? '');
  // undici reports the refusal of a proxy as an abort with this message.
  const refusal = /^Proxy response \((\d+)\)/.exec(message)?.[1];
  if (!refusal && (name === 'AbortError' || code === 'UND_ERR_ABORTED' || code === '')) return error;
  const isProxyDown = proxy !== undefined && isProxyUnreachable(error as NodeJS.ErrnoException, url, proxy);
  const { problem, cause, ...explanation } = refusal
    ? {
        problem: `the proxy refused the connection to ${url.origin}`,
        cause: 'proxy_failed' as const,
        reason: refusal === '407' ? 'it asks for a user name and a password (407)' : `it returned ${refusal}`,
        hint: refusal === '407' ? proxyLoginHint : undefined,
      }
    : isProxyDown
      ? {
          problem: `cannot reach the proxy ${proxy.host}`,
          cause: 'proxy_failed' as const,
          reason: `${code === 'ECONNREFUSED' ? 'connection refused' : message}; requests to ${url.origin} go through it`,
        }
      : (describeTlsError(code, message, url) ?? describeSocketError(code, message, url, idleTimeoutMs));
  const retryable = refusal === undefined && cause !== 'tls_failed';
  return new CodedError(problem, { ...explanation, ...causeOf(cause), retryable, underlying: error });
}

type NetworkError = Pick<StatusMeaning, 'cause' | 'problem'> & Pick<Explanation, 'reason' | 'hint' | 'remedy'>;

function describeTlsError(code: string, message: string, { origin }: URL): NetworkError | undefined {
  const failure = { problem: `cannot connect securely to ${origin}`, cause: 'tls_failed' } as const;
  if (/wrong.version.number|packet.length.too.long/i.test(message)) {
    const hint = `if it uses plain http, set the base URL to ${origin.replace('https:', 'http:')}`;
    return { ...failure, reason: 'it does not use https on that port', hint };
  }
  const isTls = tlsFailure.test(code) && !/TIMEOUT/.test(code);
  return isTls ? { ...failure, reason: `${message} (${code})` } : undefined;
}

function describeSocketError(code: string, message: string, url: URL, idleTimeoutMs: number): NetworkError {
  const { origin, hostname } = url;
  const problem = `cannot reach ${origin}`;
  if (networkDownCodes.has(code)) return { problem, cause: 'unreachable', reason: message };
  if (refusedCodes.has(code)) {
    const reason = code === 'ECONNREFUSED' ? 'connection refused' : message;
    const isLocal = ['127.0.0.1', 'localhost'].includes(hostname);
    return { problem, cause: 'connection_refused', reason, ...(isLocal && { remedy: ['start_local_service'] }) };
  }
  if (/TIMEOUT/.test(code)) {
    const isConnecting = code === 'UND_ERR_CONNECT_TIMEOUT';
    const seconds = Math.round((isConnecting ? connectTimeoutMs : idleTimeoutMs) / 1000);
    const reason = isConnecting ? `no connection within ${seconds} s` : `no data for ${seconds} s`;
    return { problem: `the connection to ${origin} timed out`, cause: 'timeout', reason };
  }
  return { problem: `the connection to ${origin} was lost`, cause: 'unreachable', reason: `${message} (${code})` };
}

/** Returns true if the service, or the proxy in front of it, refused the connection. */
export const isRefusal = ({ explanation: { subcode } }: CodedError) =>
  subcode === 'connection_refused' || subcode === 'proxy_failed';

/** Returns true if the request was certainly not sent, because no connection was established. */
export function wasNotSent(error: unknown): boolean {
  if (!(error instanceof CodedError)) return false;
  return isRefusal(error) || isBeforeSending(error.cause);
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
