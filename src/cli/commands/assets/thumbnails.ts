import { exitCodes } from '../../../client/error-table.ts';
import { MediactlError } from '../../../client/errors.ts';
import { parseHttpUrl } from '../../../contract/http-url.ts';
import type { Thumbnail } from '../../../web/contact-sheet.ts';
import { detectImageType } from '../../../web/shared/image-type.ts';
import type { Context } from '../../context.ts';

const maxConcurrent = 6;
const maxBytes = 2 * 1024 * 1024;
const timeoutMs = 20_000;
/** Number of consecutive connection failures after which the server counts as unreachable. */
const maxConsecutiveFailures = 2 * maxConcurrent;

/**
 * Fetches thumbnails, a few concurrently, and yields them in the order of the URLs. Yields undefined for a
 * thumbnail that cannot be fetched.
 */
export async function* fetchThumbnails(
  context: Context,
  urls: readonly unknown[],
): AsyncGenerator<Thumbnail | undefined> {
  const { playback, transport } = await context.mediaApi();
  const { baseUrl } = transport;
  const bounds = { maxBytes, timeoutMs, interruption: context.signal };
  let consecutiveFailures = 0;
  const fetchThumbnail = async (text: unknown): Promise<Thumbnail | undefined> => {
    const url = parseHttpUrl(text, baseUrl);
    if (!url || consecutiveFailures >= maxConsecutiveFailures || context.signal.aborted) return undefined;
    try {
      const bytes = await playback.fetchSmall(url, bounds);
      consecutiveFailures = 0;
      const mediaType = detectImageType(bytes);
      return mediaType === undefined ? undefined : { mediaType, bytes };
    } catch (error) {
      if (isUnreachable(error)) consecutiveFailures++;
      return undefined;
    }
  };
  const inFlight: Promise<Thumbnail | undefined>[] = [];
  for (const url of urls) {
    inFlight.push(fetchThumbnail(url));
    if (inFlight.length < maxConcurrent) continue;
    yield await inFlight.shift();
    context.signal.throwIfAborted();
  }
  for (const last of inFlight) yield await last;
  context.signal.throwIfAborted();
}

const isUnreachable = (error: unknown) => error instanceof MediactlError && error.exitCode === exitCodes.unreachable;
