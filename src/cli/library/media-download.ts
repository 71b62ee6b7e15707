import { download, type ExpectedFile } from '../../client/library/download.ts';
import { hashingSink, type MediaDownload, resolveDownload } from '../../client/library/media-download.ts';
import { asText } from '../../contract/json-values.ts';
import type { AssetRecord } from '../../contract/types.ts';
import type { Context } from '../context.ts';
import type { ProgressDisplay } from '../progress/progress.ts';
import { fetchPlayback } from './playback.ts';

/** Returns the media file to download for an asset, with its checksum if this machine uploaded it. */
export async function findDownload(
  context: Context,
  asset: AssetRecord,
  acceptsRendition: boolean,
): Promise<MediaDownload> {
  const playback = await fetchPlayback(context, asset.uid);
  const media = await resolveDownload(await context.api(), asset, { playback, acceptsRendition });
  const receipt = await (await context.state.receiptsIfAny())?.findByAsset(asset.uid);
  return { ...media, blake3: receipt?.blake3 ?? undefined };
}

/**
 * Downloads the file of an asset without saving it.
 *
 * @returns BLAKE3 of what was downloaded, in hex; `isOriginal`: false if it is, or may be, a rendition
 * @throws CodedError if the asset has no file to download, or the download fails
 */
export async function digestOfDownload(
  context: Context,
  asset: AssetRecord,
  progress: ProgressDisplay,
): Promise<{ blake3: string; isOriginal: boolean }> {
  const path = asText(asset.name) ?? asset.uid;
  const { url, expected, isOriginal } = await findDownload(context, asset, false);
  const { sink, digest } = await hashingSink({ write: async () => {}, restart: async () => {} });
  const onProgress = progressOf(progress, path, expected);
  const { transport } = await context.mediaApi();
  const saved = await download(transport, url, { ...sink, onProgress }, { ...expected, mayBeRendition: true });
  // Without a size in the record, a rendition of the same type looks like the original.
  const mayBeRendition = saved.isRendition || (expected.mayBeRendition && expected.sizeBytes === undefined);
  return { blake3: digest(), isOriginal: isOriginal && !mayBeRendition };
}

/** Shows the start of a download. @returns a function that shows how far it is */
export function progressOf(progress: ProgressDisplay, path: string, { sizeBytes: size_bytes = 0 }: ExpectedFile) {
  progress.show({ path, event: 'started', size_bytes });
  return (received: number, total = size_bytes) => {
    const bytes = { size_bytes: total, offset_bytes: received, bytes_sent: received };
    progress.show({ path, event: 'progress', ...bytes });
  };
}
