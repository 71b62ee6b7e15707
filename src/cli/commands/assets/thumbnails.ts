import { exitCodes, MediactlError } from '../../../client/errors.ts';
import { httpUrl } from '../../../contract/http-url.ts';
import type { Thumbnail } from '../../../web/contact-sheet.ts';
import { detectImageType } from '../../../web/shared/image-type.ts';
import type { Context } from '../../context.ts';

const lanes = 6;
const mostBytes = 2 * 1024 * 1024;
const withinMs = 20_000;
/** Number of consecutive connection failures after which the server counts as unreachable. */
const mostLost = 2 * lanes;

/** Fetches thumbnails, a few concurrently, and yields them in order; undefined for one that fails. */
export async function* thumbnails(
  context: Context,
  urls: readonly unknown[],
): AsyncGenerator<Thumbnail | undefined> {
  const { playback, transport } = await context.mediaApi();
  const { baseUrl } = transport;
  const bounds = { mostBytes, withinMs, interruption: context.signal };
  let lost = 0;
  const fetched = async (text: unknown): Promise<Thumbnail | undefined> => {
    const url = httpUrl(text, baseUrl);
    if (!url || lost >= mostLost || context.signal.aborted) return undefined;
    try {
      const bytes = await playback.small(url, bounds);
      lost = 0;
      const mediaType = detectImageType(bytes);
      return mediaType === undefined ? undefined : { mediaType, bytes };
    } catch (error) {
      if (isUnreachable(error)) lost++;
      return undefined;
    }
  };
  const underWay: Promise<Thumbnail | undefined>[] = [];
  for (const url of urls) {
    underWay.push(fetched(url));
    if (underWay.length < lanes) continue;
    yield await underWay.shift();
    context.signal.throwIfAborted();
  }
  for (const last of underWay) yield await last;
  context.signal.throwIfAborted();
}

const isUnreachable = (error: unknown) =>
  error instanceof MediactlError && error.exitCode === exitCodes.unreachable;
