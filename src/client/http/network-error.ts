import { exitCodes, MediactlError } from '../errors.ts';

/** Two places point elsewhere: a redirect, and the `location` of an upload session. */
export const foreignOrigin = (what: string, target: URL) =>
  new MediactlError(`the service pointed to another origin: ${target.origin}`, {
    code: 'foreign_origin',
    exitCode: exitCodes.integrity,
    reason: `${what} leaves the origin that the API key belongs to; following it would hand over the key`,
    hint: 'check the base URL: mediactl auth status',
  });

/** Nobody is there, and nobody will be in a moment. */
const refusals = new Set(['ECONNREFUSED', 'ENOTFOUND']);
/** The way there is broken: Wi-Fi that dropped, a name server that does not answer. */
const outages = new Set(['EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN', 'EHOSTDOWN']);
export const tlsFailure = /CERT|SSL|TLS|SELF_SIGNED|ISSUER|ALTNAME|EPROTO/;

/** What undici or the socket threw, in words; an abort and our own errors climb untouched. */
export function networkError(error: unknown, url: URL, idleTimeoutMs: number): unknown {
  if (error instanceof MediactlError) return error;
  const { name, message } = error as Error;
  const code =
    name === 'HTTPParserError' ? 'no HTTP' : ((error as NodeJS.ErrnoException).code ?? '');
  // undici's own word for an abort, and for a proxy that refuses.
  const refusal = /^Proxy response \((\d+)\)/.exec(message)?.[1];
  if (!refusal && (name === 'AbortError' || code === 'UND_ERR_ABORTED' || code === ''))
    return error;
  const failure = (problem: string, kind: string, reason: string, hint: string, retryable = true) =>
    new MediactlError(problem, {
      code: kind,
      exitCode: exitCodes.unreachable,
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
  if (outages.has(code))
    return failure(
      `cannot reach ${url.origin}`,
      'unreachable',
      message,
      'check the network, then run it again',
    );
  if (refusals.has(code))
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
  return failure(
    `the connection to ${url.origin} broke`,
    'connection_lost',
    `${message} (${code})`,
    'run it again',
  );
}

/** Whether no line to the service came about, so that a request surely did not leave. */
export function neverLeft(error: unknown): boolean {
  if (!(error instanceof MediactlError)) return false;
  return ['refused', 'proxy'].includes(error.explanation.code) || isBeforeSending(error.cause);
}

/** Its name, its port or its certificate is not there. */
function isBeforeSending(cause: unknown): boolean {
  const {
    syscall = '',
    code = '',
    errors = [],
  } = (cause ?? {}) as NodeJS.ErrnoException & { errors?: unknown[] };
  return (
    ['connect', 'getaddrinfo'].includes(syscall) ||
    /CONNECT_TIMEOUT|CERT|SELF_SIGNED|ISSUER|ALTNAME|VERIFY/.test(code) ||
    (errors.length > 0 && errors.every(isBeforeSending)) // a name with several addresses
  );
}
