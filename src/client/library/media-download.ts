import type { AssetRecord } from '../../contract/types.ts';
import { asNumber, asText, parseTimestamp } from '../../shared/json-values.ts';
import type { Api } from '../api/api.ts';
import { CodedError } from '../errors.ts';
import { isGenericType, isTextType } from '../http/content-types.ts';
import type { Transport } from '../http/transport.ts';
import { openChecksum } from '../upload/sources/checksum.ts';
import {
  type DownloadOutcome,
  type DownloadSink,
  type DownloadStart,
  download,
  type ExpectedFile,
} from './download.ts';
import { type PlayableUrl, parsePlayables, sizesUnknownError } from './playables.ts';
import { assertNotBlocked, explainUnplayable, nothingToPlayError, type ResolvedPlayback } from './playback.ts';

/** Media file to save, with its signed URL and the size and type in the asset's record. */
export type MediaDownload = {
  assetUid: string;
  url: URL;
  expected: ExpectedFile;
  /** True if the file can be the one that was uploaded, unlike a variant of an image. */
  isOriginal: boolean;
  /** True if a rendition may be saved in place of the original file. */
  acceptsRendition?: boolean;
  /** BLAKE3 of the file that this machine uploaded, in hex; undefined if it has not. */
  blake3?: string | undefined;
  /** Creation time in milliseconds since the Unix epoch, used as the file's modification time. */
  createdAt?: number | undefined;
};

/** Kinds of sources that are one complete file, unlike an HLS playlist or an embed page. */
const downloadableKinds: readonly PlayableUrl['kind'][] = ['file', 'image', 'document'];

/**
 * Returns the media file to download for an asset.
 *
 * @param acceptsRendition true if a rendition may be saved in place of the original file
 * @throws CodedError if it has none
 */
export async function resolveDownload(
  api: Api,
  asset: AssetRecord,
  { playback, acceptsRendition }: { playback: ResolvedPlayback; acceptsRendition: boolean },
): Promise<MediaDownload> {
  const { uid } = asset;
  const { info } = playback;
  await assertNotBlocked(api, uid, playback);
  const playables = parsePlayables(info, api.transport.baseUrl);
  const { urls, isSorted } = playables;
  const [source] = urls.filter(({ kind }) => downloadableKinds.includes(kind));
  if (!source) throw await explainUnplayable(api, uid, playback, nothingToPlayError(uid, info, playables, 'file'));
  if (source.kind === 'image' && !isSorted) throw sizesUnknownError(uid);
  const expected = expectedOf(asset, source, info.type);
  if (acceptsRendition) expected.mayBeRendition = true;
  const isOriginal = source.kind !== 'image';
  const createdAt = parseTimestamp(asset.created_at);
  return { assetUid: uid, url: source.url, expected, isOriginal, acceptsRendition, createdAt };
}

/**
 * Returns the expected size and type of the file. For audio, images, and documents, the service might send a
 * rendition instead of the original file.
 */
function expectedOf({ size, content_type }: AssetRecord, { kind }: PlayableUrl, playbackType: unknown): ExpectedFile {
  const contentType = asText(content_type);
  const isTypeUnknown = contentType === undefined || isGenericType(contentType);
  return {
    sizeBytes: asNumber(size),
    contentType,
    mayBeRendition: kind !== 'file' || playbackType === 'audio',
    mayBeText: kind === 'document' && (isTypeUnknown || isTextType(contentType)),
  };
}

/** A sink that can keep what was written although the download fails, and that may have the start of the file. */
export type MediaSink = DownloadSink & {
  /** Keeps what was written. @returns its path */
  setAside?: () => string;
  /** State and bytes of an interrupted download to resume. */
  resumed?: { start: DownloadStart; read(): AsyncIterable<Uint8Array> } | undefined;
};

/**
 * Downloads a media file, and compares it by BLAKE3 with what this machine uploaded, if it is known. A file that was
 * resumed and differs is downloaded once more from its beginning, since the bytes of the first part may be damaged.
 *
 * @returns `verified`: true if it is that file, null if that is not known; `blake3` of what was downloaded, in hex
 * @throws CodedError `download_changed` if the checksum differs and a rendition is not acceptable
 */
export async function downloadMedia(
  transport: Transport,
  media: MediaDownload,
  { write, restart, onStart, onProgress, setAside, resumed }: MediaSink,
): Promise<DownloadOutcome & { verified: boolean | null; blake3: string }> {
  const { url, expected, blake3, assetUid } = media;
  const { sink, digest } = await hashingSink({ write, restart }, resumed?.read());
  const notices = { ...(onStart && { onStart }), ...(onProgress && { onProgress }) };
  const fetchFrom = (start?: DownloadStart) => download(transport, url, { ...sink, ...notices }, expected, start);
  let saved = await fetchFrom(resumed?.start);
  let found = digest();
  if (saved.isResumed && sink.restart && isOtherFile(media, saved, found)) {
    await sink.restart();
    saved = await fetchFrom();
    found = digest();
  }
  if (isOtherFile(media, saved, found)) {
    const kept = setAside?.();
    throw new CodedError(`the file of asset ${assetUid} is not the one that was uploaded`, {
      code: 'download_changed',
      reason: `uploaded BLAKE3 ${blake3}, downloaded BLAKE3 ${found}${kept === undefined ? '' : `; it is kept as ${kept}`}`,
      remedy: ['accept_rendition'],
    });
  }
  return { ...saved, blake3: found, verified: found === blake3 ? true : null };
}

/** Returns true if a file has neither the checksum of the upload nor may be a rendition. */
function isOtherFile(
  { expected, blake3, isOriginal, acceptsRendition = false }: MediaDownload,
  { isRendition }: DownloadOutcome,
  found: string,
): boolean {
  // Only a file that this machine uploaded has a checksum to compare with.
  if (blake3 === undefined || found === blake3 || acceptsRendition) return false;
  // A rendition of the same size and type is hardly one. A variant of an image can be the file itself, or not.
  const mayBeRendition = !isOriginal || (expected.mayBeRendition && (isRendition || expected.sizeBytes === undefined));
  return !mayBeRendition;
}

/** Wraps a sink to compute the BLAKE3 checksum of what is written to it. @param written what it has already */
export async function hashingSink({ write, restart }: DownloadSink, written: AsyncIterable<Uint8Array> | [] = []) {
  let checksum = await openChecksum();
  for await (const part of written) checksum.update(Buffer.from(part.buffer, part.byteOffset, part.byteLength));
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
