import { exitCodes, MediactlError } from '../errors.ts';

/** Two places point elsewhere: a redirect, and the `location` of an upload session. */
export const foreignOrigin = (what: string, target: URL) =>
  new MediactlError(`the service pointed to another origin: ${target.origin}`, {
    code: 'foreign_origin',
    exitCode: exitCodes.integrity,
    reason: `${what} leaves the origin that the API key belongs to; following it would hand over the key`,
    hint: 'check the base URL: mediactl auth status',
  });

const refusals = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
const tlsFailure = /CERT|SSL|TLS|SELF_SIGNED|ISSUER|ALTNAME|EPROTO/;

/** What undici or the socket threw, in words; an abort and our own errors climb untouched. */
export function networkError(error: unknown, url: URL, idleTimeoutMs: number): unknown {
  if (error instanceof MediactlError) return error;
  const { name, message } = error as Error;
  const code =
    name === 'HTTPParserError' ? 'no HTTP' : ((error as NodeJS.ErrnoException).code ?? '');
  if (name === 'AbortError' || code === 'UND_ERR_ABORTED' || code === '') return error;
  const failure = (problem: string, kind: string, reason: string, hint: string, retryable = true) =>
    new MediactlError(problem, {
      code: kind,
      exitCode: exitCodes.unreachable,
      reason,
      hint,
      retryable,
      underlying: error,
    });
  if (refusals.has(code))
    return failure(
      `cannot reach ${url.origin}`,
      'refused',
      code === 'ECONNREFUSED' ? 'nothing listens there' : message,
      ['127.0.0.1', 'localhost'].includes(url.hostname)
        ? 'mediactl sandbox start, or check the base URL: mediactl auth status'
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
