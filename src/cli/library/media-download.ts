import {
  type DownloadSink,
  download,
  type ExpectedFile,
  isGenericType,
  isTextType,
} from '../../client/api/download.ts';
import { type Playable, parsePlayables, sizesUnknownError } from '../../client/library/playables.ts';
import { openChecksum } from '../../client/upload/sources/checksum.ts';
import { asNumber, asText, parseTimestamp } from '../../contract/json-values.ts';
import type { Asset } from '../../contract/types.ts';
import type { Context } from '../context.ts';
import type { ProgressDisplay } from '../progress/progress.ts';
import { assertNotBlocked, explainUnplayable, nothingToPlayError, resolvePlayback } from './playback.ts';

/** Media file to save, with its signed URL and the size and type in the asset's record. */
export type MediaDownload = {
  assetUid: string;
  url: URL;
  expected: ExpectedFile;
  /** BLAKE3 of the file that this machine uploaded, in hex; undefined if it has not, or the media are no file of it. */
  blake3?: string | undefined;
  /** Creation time in milliseconds since the Unix epoch, used as the file's modification time. */
  createdAt?: number | undefined;
};

/** Kinds of sources that are one complete file, unlike an HLS playlist or an embed page. */
const downloadableKinds: readonly Playable['kind'][] = ['file', 'image', 'document'];

/**
 * Returns the media file to download for an asset.
 *
 * @param acceptsRendition true if a rendition may be saved in place of the original file
 * @throws MediactlError if it has none
 */
export async function resolveDownload(
  context: Context,
  asset: Asset,
  acceptsRendition: boolean,
): Promise<MediaDownload> {
  const { uid } = asset;
  const { transport } = await context.api();
  const playback = await resolvePlayback(context, uid);
  const { info } = playback;
  await assertNotBlocked(context, uid, playback);
  const { urls, isSorted, unusable } = parsePlayables(info, transport.baseUrl);
  const [source] = urls.filter(({ kind }) => downloadableKinds.includes(kind));
  if (!source) throw await explainUnplayable(context, uid, playback, nothingToPlayError(uid, info, unusable, 'file'));
  if (source.kind === 'image' && !isSorted) throw sizesUnknownError(uid);
  const expected = expectedOf(asset, source, info.type);
  if (acceptsRendition) expected.mayBeRendition = true;
  const receipt = source.kind === 'image' ? undefined : await (await context.receiptsIfAny())?.findByAsset(uid);
  return {
    assetUid: uid,
    url: source.url,
    expected,
    blake3: receipt?.blake3 ?? undefined,
    createdAt: parseTimestamp(asset.created_at),
  };
}

/**
 * Returns the expected size and type of the file. For audio, images, and documents, the service might send a
 * rendition instead of the original file.
 */
function expectedOf({ size, content_type }: Asset, { kind }: Playable, playbackType: unknown): ExpectedFile {
  const contentType = asText(content_type);
  const isTypeUnknown = contentType === undefined || isGenericType(contentType);
  return {
    sizeBytes: asNumber(size),
    contentType,
    mayBeRendition: kind !== 'file' || playbackType === 'audio',
    mayBeText: kind === 'document' && (isTypeUnknown || isTextType(contentType)),
  };
}

/**
 * Downloads the file of an asset without saving it. It may be a rendition.
 *
 * @returns BLAKE3 of what was downloaded, in hex
 * @throws MediactlError if the asset has no file to download, or the download fails
 */
export async function digestOfDownload(context: Context, asset: Asset, progress: ProgressDisplay): Promise<string> {
  const path = asText(asset.name) ?? asset.uid;
  const { url, expected } = await resolveDownload(context, asset, true);
  const { sink, digest } = await hashingSink({ write: async () => {}, restart: async () => {} });
  const onProgress = progressOf(progress, path, expected);
  await download((await context.mediaApi()).transport, url, { ...sink, onProgress }, expected);
  return digest();
}

/** Shows the start of a download. @returns a function that shows how far it is */
export function progressOf(progress: ProgressDisplay, path: string, { sizeBytes: size_bytes = 0 }: ExpectedFile) {
  progress.show({ path, event: 'started', size_bytes });
  return (received: number, total = size_bytes) => {
    const bytes = { size_bytes: total, offset_bytes: received, bytes_sent: received };
    progress.show({ path, event: 'progress', ...bytes });
  };
}

/** Wraps a sink to compute the BLAKE3 checksum of what is written to it. */
export async function hashingSink({ write, restart }: DownloadSink) {
  let checksum = await openChecksum();
  const sink: DownloadSink = {
    write: async (part) => {
      checksum.update(Buffer.from(part.buffer, part.byteOffset, part.byteLength));
      await write(part);
    },
    restart:
      restart &&
      (async () => {
        checksum = await openChecksum();
        await restart();
      }),
  };
  return { sink, digest: () => checksum.digest() };
}
