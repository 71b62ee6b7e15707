import type { AssetRecord } from '../../contract/types.ts';
import { formatBytes } from '../../shared/figures.ts';
import { asText } from '../../shared/json-values.ts';
import { escapeControls } from '../../shared/sanitize.ts';
import type { Api } from '../api/api.ts';
import { asCodedError } from '../errors.ts';
import type { Transport } from '../http/transport.ts';
import { type DownloadOutcome, download, type ExpectedFile } from '../library/download.ts';
import {
  downloadMedia,
  hashingSink,
  type MediaDownload,
  type MediaSink,
  resolveDownload,
} from '../library/media-download.ts';
import { resolvePlayback } from '../library/playback.ts';
import type { ReadContent } from '../upload/decide/check-directory.ts';
import { type OnUploadEvent, toWaitingEvent } from '../upload/session/events.ts';
import type { Receipts } from '../upload/store/receipts.ts';

/** Dependencies for downloading a file: the transport, and the listeners for events and warnings. */
export type TransferPorts = {
  /** Transport for signed URLs, to which no key is sent. */
  media: Transport;
  onEvent: OnUploadEvent;
  warn(message: string): void;
};

/** Dependencies for finding the media file of an asset. */
export type MediaFinder = {
  api: Api;
  /** Receipts of uploads, if there are any. */
  uploads(): Promise<Receipts | undefined>;
  /** Called with each playback token, which no output may show. */
  onToken?(token: string | undefined): void;
};

/** Returns the media file to download for an asset, with its checksum if this machine uploaded it. */
export async function findDownload(
  { api, uploads, onToken }: MediaFinder,
  asset: AssetRecord,
  acceptsRendition: boolean,
): Promise<MediaDownload> {
  const playback = await resolvePlayback(api, asset.uid);
  onToken?.(playback.player.playback_token);
  const media = await resolveDownload(api, asset, { playback, acceptsRendition });
  // A download needs no receipt, so that a state directory that cannot be used does not stop it.
  const receipt = await uploads()
    .then((found) => found?.findByAsset(asset.uid))
    .catch(ignoreState);
  return { ...media, blake3: receipt?.blake3 ?? undefined };
}

function ignoreState(thrown: unknown): undefined {
  if (asCodedError(thrown).kind !== 'state') throw thrown;
}

/**
 * Downloads the file of an asset without saving it.
 *
 * @throws CodedError if the asset has no file to download, or the download fails
 */
export async function digestOfDownload(ports: TransferPorts & MediaFinder, asset: AssetRecord): Promise<ReadContent> {
  const path = asText(asset.name) ?? asset.uid;
  const { url, expected, isOriginal } = await findDownload(ports, asset, false);
  const { sink, digest } = await hashingSink({ write: async () => {}, restart: async () => {} });
  const onProgress = progressOf(ports, path, expected);
  const saved = await download(ports.media, url, { ...sink, onProgress }, { ...expected, mayBeRendition: true });
  // Without a size in the record, a rendition of the same type looks like the original.
  const mayBeRendition = saved.isRendition || (expected.mayBeRendition && expected.sizeBytes === undefined);
  return { blake3: digest(), sizeBytes: saved.bytes, isOriginal: isOriginal && !mayBeRendition };
}

/** Downloads a media file into a sink, and tells of it. @param path for the events; `-` for stdout */
export async function receiveMedia(
  ports: TransferPorts,
  media: MediaDownload,
  path: string,
  sink: MediaSink,
): ReturnType<typeof downloadMedia> {
  const transport = ports.media.withObserver({
    onNotice: (notice) => ports.onEvent({ path, ...toWaitingEvent(notice) }),
  });
  const { expected } = media;
  const saved = await downloadMedia(transport, media, { ...sink, onProgress: progressOf(ports, path, expected) });
  if (!saved.isLengthVerified)
    ports.warn(
      `the length of ${escapeControls(path)} is unknown; the ${formatBytes(saved.bytes)} received may be incomplete`,
    );
  if (saved.isRendition) ports.warn(renditionNote(path, saved, expected));
  return saved;
}

/** Tells of the start of a download. @returns a function that tells how far it is */
function progressOf({ onEvent }: TransferPorts, path: string, { sizeBytes: size_bytes = 0 }: ExpectedFile) {
  onEvent({ path, event: 'started', size_bytes });
  return (received: number, total = size_bytes) => {
    const bytes = { size_bytes: total, offset_bytes: received, bytes_sent: received };
    onEvent({ path, event: 'progress', ...bytes });
  };
}

function renditionNote(path: string, saved: DownloadOutcome, recorded: ExpectedFile): string {
  const describe = (size: number | undefined, type: string | undefined) =>
    [size !== undefined && formatBytes(size), type && escapeControls(type)].filter(Boolean).join(', ');
  return `${path === '-' ? 'this' : escapeControls(path)} is a rendition, not the original file: ${describe(saved.bytes, saved.contentType)}; the record says ${describe(recorded.sizeBytes, recorded.contentType)}`;
}
