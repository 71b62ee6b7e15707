import { MediactlError } from '../errors.ts';
import type { Transport } from '../http/transport.ts';

/** Size and time limits of a file that is fetched into memory while the user waits. */
export type SmallMediaLimits = {
  maxBytes: number;
  timeoutMs: number;
  /** Signal that aborts when the user presses Ctrl-C. */
  interruption: AbortSignal;
};

/**
 * Fetches a file from a signed URL into memory. Sends no API key, and connects only to public addresses or to the
 * service itself.
 *
 * @throws MediactlError for an error status or network failure, `too_large` or `private_address` (exit 6), or
 *   `timeout` (exit 10)
 */
export async function fetchSmallMedia(
  transport: Transport,
  url: URL,
  { maxBytes, timeoutMs, interruption }: SmallMediaLimits,
): Promise<Buffer> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(tooSlow(url, timeoutMs)), timeoutMs);
  try {
    const { bytes } = await transport.send({
      method: 'GET',
      url,
      authenticate: false,
      isPublic: true,
      purpose: { action: 'fetch this media' },
      maxBodyBytes: maxBytes + 1,
      signal: AbortSignal.any([interruption, timeout.signal]),
    });
    if (bytes.length > maxBytes) throw tooLarge(url, maxBytes);
    return Buffer.from(bytes);
  } finally {
    clearTimeout(timer);
  }
}

const tooSlow = (url: URL, withinMs: number) =>
  new MediactlError(`${url.host} takes too long`, {
    code: 'timeout',
    reason: `it did not send the media within ${withinMs / 1000} s`,
    hint: 'run it again',
  });

const tooLarge = (url: URL, mostBytes: number) =>
  new MediactlError(`${url.host} sends more than is shown`, {
    code: 'too_large',
    reason: `it is past ${mostBytes} bytes`,
  });
