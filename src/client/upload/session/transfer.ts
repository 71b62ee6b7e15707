import { MediactlError } from '../../errors.ts';
import { type Chunk, SessionHttpStack, type SessionState } from './http-stack.ts';
import { isGone, SessionGoneError } from './session-gone.ts';

/** Number of consecutive failures without a newly acknowledged byte after which the upload fails. */
const maxTries = 10;

/**
 * Sends the file's bytes to an existing session until all are acknowledged. Retries with backoff after dropped
 * connections and server errors.
 *
 * @throws SessionGoneError if the service does not know the session
 * @throws MediactlError if retries cannot help or are used up; the session can be resumed later
 */
export async function transfer(sessionUrl: string, chunkBytes: number, state: SessionState): Promise<void> {
  const { transport, signal } = state;
  let acknowledged = -1;
  let failures = 0;
  const stack = new SessionHttpStack({
    ...state,
    onAcknowledged: async (offset, headers) => {
      if (offset > acknowledged) failures = 0;
      acknowledged = Math.max(offset, acknowledged);
      await state.onAcknowledged(offset, headers);
    },
  });
  for (;;) {
    try {
      return await runTus(sessionUrl, chunkBytes, state, stack);
    } catch (error) {
      signal?.throwIfAborted();
      const hasResponded = acknowledged >= 0;
      // Until the session responds in this run, the bytes sent by an earlier run count.
      const isAllSent = stack.isAllSent || (!hasResponded && state.sentTo >= state.source.sizeBytes);
      if (isGone(error)) throw new SessionGoneError(error, hasResponded, isAllSent);
      if (!(error instanceof MediactlError) || !error.explanation.retryable) throw error;
      if (++failures >= maxTries) throw error;
      await transport.waitBeforeRetry(failures - 1, error, signal);
    }
  }
}

/** Runs tus-js-client once. It sends HEAD, then PATCH requests until all bytes are sent or a request fails. */
async function runTus(
  sessionUrl: string,
  chunkBytes: number,
  { source, signal }: SessionState,
  stack: SessionHttpStack,
): Promise<void> {
  const { Upload } = await import('tus-js-client');
  await new Promise<void>((resolve, reject) => {
    const upload = new Upload(
      // tus-js-client only passes the source to our file reader, which ignores it.
      source as unknown as Buffer,
      {
        // Without the `endpoint` option, tus-js-client can never create a second asset.
        uploadUrl: sessionUrl,
        chunkSize: chunkBytes,
        retryDelays: null,
        storeFingerprintForResuming: false,
        fingerprint: async () => '',
        httpStack: stack,
        fileReader: {
          openFile: async () => ({
            size: source.sizeBytes,
            slice: async (start: number, end: number) => ({
              value: { start, end, size: end - start } satisfies Chunk,
              done: end >= source.sizeBytes,
            }),
            close: () => {},
          }),
        },
        onSuccess: () => settle(resolve),
        onError: (error) => settle(() => reject(('causingError' in error && error.causingError) || error)),
      },
    );
    const onAbort = () => {
      upload.abort();
      settle(() => reject(signal?.reason));
    };
    const settle = (end: () => void) => {
      signal?.removeEventListener('abort', onAbort);
      end();
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    upload.start();
  });
}
