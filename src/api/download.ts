import { exitCodes, MediactlError } from '../errors.ts';
import { errorFrom } from './error-response.ts';
import type { Headers } from './rate-limit.ts';
import type { Transport } from './transport.ts';

/** Where a download goes. */
export type Sink = {
  write(part: Uint8Array): Promise<void>;
  /** The service begins anew: what was written is void. Undefined where it cannot be taken back. */
  restart?: (() => Promise<void>) | undefined;
  /** Bytes so far, of how many where that is known. */
  onProgress?: (received: number, total: number | undefined) => void;
};

export type Downloaded = { bytes: number; contentType: string | undefined };

const triesWithoutProgress = 4;
const purpose = { action: 'fetch this media' };

/**
 * Fetches a signed URL into a sink, without the key, wherever it points. A line that breaks is
 * taken up where it broke (RFC 9110 §14).
 *
 * @throws MediactlError by status or network failure; 13 where the answer is of other bytes
 */
export async function download(transport: Transport, url: URL, sink: Sink): Promise<Downloaded> {
  let received = 0;
  let head: Headers = {};
  for (let tries = 0; ; tries++) {
    const start = received;
    let isFirst = true;
    const begin = async (status: number) => {
      isFirst = false;
      if (start === 0 && status === 200) return;
      if (start === 0) throw changed(url);
      if (status === 206) return assertGoesOn(head, start, url);
      if (!sink.restart) throw changed(url);
      await sink.restart();
      received = 0;
    };
    try {
      const response = await transport.exchange({
        method: 'GET',
        url,
        authenticate: false,
        retry: 'pacing',
        purpose,
        headers: start > 0 ? rangeFrom(start, head) : {},
        sink: async (part, answer) => {
          head = answer.headers;
          if (isFirst) await begin(answer.status);
          await sink.write(part);
          received += part.length;
          sink.onProgress?.(received, totalOf(head));
        },
      });
      if (response.status >= 300) throw errorFrom(response, purpose);
      if (![200, 206].includes(response.status)) throw changed(url);
      return { bytes: received, contentType: response.headers['content-type'] };
    } catch (error) {
      if (!(error instanceof MediactlError)) throw error; // the sink's own
      if (received > start) tries = 0;
      if (!error.explanation.retryable || tries + 1 >= triesWithoutProgress) throw error;
      await transport.waitBeforeRetry(tries, error);
    }
  }
}

function rangeFrom(received: number, { etag }: Headers): Record<string, string> {
  return {
    range: `bytes=${received}-`,
    // A weak one cannot vouch for bytes (RFC 9110 §13.1.5).
    ...(etag && !etag.startsWith('W/') && { 'if-range': etag }),
  };
}

/** A partial answer must begin where we are. */
function assertGoesOn(head: Headers, received: number, url: URL): void {
  const start = /^bytes (\d+)-/.exec(head['content-range'] ?? '')?.[1];
  if (start === undefined || Number(start) !== received) throw changed(url);
}

function totalOf(head: Headers): number | undefined {
  const whole = /\/(\d+)$/.exec(head['content-range'] ?? '')?.[1] ?? head['content-length'];
  return whole === undefined ? undefined : Number(whole);
}

const changed = (url: URL) =>
  new MediactlError(`${url.host} does not go on where the download broke off`, {
    code: 'download_changed',
    exitCode: exitCodes.integrity,
    reason: 'it sent other bytes than those that were asked for',
    hint: 'run it again, to a file',
  });
