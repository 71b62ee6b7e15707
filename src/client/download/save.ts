import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { normalizeUid } from '../../contract/uid.ts';
import { asCodedError } from '../errors.ts';
import type { DownloadStart } from '../library/download.ts';
import type { DownloadReceipt, DownloadReceipts } from '../library/download-receipts.ts';
import type { MediaDownload, MediaSink } from '../library/media-download.ts';
import type { LocalState } from '../open/local-state.ts';
import {
  endOutput,
  type OutputFile,
  type OutputHandle,
  type OutputPorts,
  type WrittenPart,
  writeOutput,
} from './output-file.ts';
import { receiveMedia, type TransferPorts } from './transfer.ts';

export type SavedFile = {
  asset_uid: string;
  path: string;
  size_bytes: number;
  content_type: string | null;
  /**
   * True if the file is what this machine uploaded; null if that is not known, so that it may be a rendition; undefined
   * for a picture of an asset.
   */
  verified: boolean | null | undefined;
};

/**
 * Returns the modification time for a saved file, in seconds since the Unix epoch: the asset's creation time, with
 * a hash of its uid as microseconds to distinguish assets created in the same second. Returns undefined if the
 * creation time is unknown.
 */
function mtimeFor({ assetUid, createdAt }: Pick<MediaDownload, 'assetUid' | 'createdAt'>) {
  if (createdAt === undefined) return undefined;
  const mark = createHash('sha256').update(normalizeUid(assetUid)).digest().readUInt32BE() % 1_000_000;
  return Math.floor(createdAt / 1000) + mark / 1_000_000;
}

/** Returns true if a file has the modification time that a download gives it, so that it was not changed since. */
export function hasDownloadTime(file: Stats, media: Pick<MediaDownload, 'assetUid' | 'createdAt'>): boolean {
  const seconds = mtimeFor(media);
  return file.isFile() && seconds !== undefined && Math.abs(file.mtimeMs - seconds * 1000) < 0.01;
}

/** Path of a file to save, and the details for its receipt. */
export type SaveRequest = {
  path: string;
  /** True to replace an earlier download without a question, if it is unchanged. */
  replacesDownload?: boolean;
  /** True if the name comes from the service, so that the file is never written through a link, pipe or device. */
  isNewName?: boolean;
  /** Facts for the receipt of the download; undefined to keep none. */
  record?: Pick<DownloadReceipt, 'workspace' | 'source' | 'folder' | 'name' | 'recordSize'> | undefined;
};

/** Dependencies for downloading and saving files. */
export type SavePorts = OutputPorts &
  TransferPorts & {
    /** Origin of the service. */
    service: string;
    /** Records of downloads; undefined if they cannot be kept, so that none is resumed. */
    receipts: DownloadReceipts | undefined;
  };

/**
 * Downloads a media file and saves it atomically. Goes on with what an earlier process has received. Asks before it
 * replaces a file.
 */
export async function save(ports: SavePorts, media: MediaDownload, request: SaveRequest): Promise<SavedFile> {
  const { path, replacesDownload = false, isNewName = false, record: recorded } = request;
  const { receipts, service } = ports;
  const seconds = mtimeFor(media);
  const mayReplace =
    replacesDownload && receipts
      ? async (target: string) => (await receipts.findUnchanged(target, service)) !== undefined
      : false;
  let receipt: Omit<DownloadReceipt, 'ctimeNs'> | undefined;
  const output: OutputFile = { path, mayReplace, isNewName, keepsPart: receipts !== undefined };
  const saved = await writeOutput(ports, output, async (file) => {
    const sink: MediaSink & { leave?(): Promise<void> } =
      receipts && file.part ? await resumableSink(file, file.part, { receipts, service, media }) : file;
    const result = await receiveMedia(ports, media, path, sink).catch(async (error) => {
      // A later process cannot resume from the bytes of another file.
      if (asCodedError(error).kind !== 'integrity') await sink.leave?.();
      throw error;
    });
    if (seconds !== undefined) await file.setTime(seconds);
    if (recorded && receipts && file.part) {
      const { target: at, times } = file.part;
      const about = { path: at, service, assetUid: media.assetUid, ...recorded };
      receipt = {
        ...about,
        sizeBytes: result.bytes,
        ...(await times()),
        blake3: result.blake3,
        verified: result.verified,
      };
      await receipts.saveWhole(receipt);
    }
    return result;
  });
  if (receipt && receipts) await saveReceipt(receipts, receipt);
  const { bytes: size_bytes, contentType = null, verified } = saved;
  return { asset_uid: media.assetUid, path, size_bytes, content_type: contentType, verified };
}

/** Opens the records of downloads. A download needs none, so that a state directory that cannot be used does not stop it. */
export async function openDownloads(
  state: LocalState,
  { mayCreate, warn }: { mayCreate: boolean; warn(message: string): void },
): Promise<DownloadReceipts | undefined> {
  try {
    return await (mayCreate ? state.downloads() : state.downloadsIfAny());
  } catch (error) {
    const failure = asCodedError(error);
    if (failure.kind !== 'state') throw error;
    warn(`${failure.message}: downloads are neither recorded nor resumed`);
    return undefined;
  }
}

/** Bytes after which a download is written to the disk, so that a later process can go on from there. */
const checkpointBytes = 16 * 1024 * 1024;

/** Saves the receipt of a file that has its final name. */
async function saveReceipt(receipts: DownloadReceipts, receipt: Omit<DownloadReceipt, 'ctimeNs'>): Promise<void> {
  const { ctimeNs } = await lstat(receipt.path, { bigint: true });
  await receipts.save({ ...receipt, ctimeNs: String(ctimeNs) });
}

/** Completes a download that was killed after its file got its final name, and before its receipt was saved. */
export async function endDownload({ stateDir, receipts }: SavePorts, receipt: DownloadReceipt): Promise<void> {
  if (stateDir !== undefined) await endOutput(stateDir, receipt.path);
  if (receipts) await saveReceipt(receipts, receipt);
}

type ResumeDeps = { receipts: DownloadReceipts; service: string; media: MediaDownload };

/** Returns a sink that resumes from the bytes of an earlier process, and records its own progress. */
async function resumableSink(file: OutputHandle, part: WrittenPart, { receipts, service, media }: ResumeDeps) {
  const { assetUid } = media;
  const { target: path } = part;
  const known = await receipts.findPartial(path, service, assetUid);
  // One byte less than all, since the service refuses a range that is empty.
  const received = known ? Math.min(known.received, part.sizeBytes, known.total - 1) : 0;
  const start = known && received > 0 ? { ...known, received } : undefined;
  const keepNothing = async () => {
    await receipts.deletePartial(path);
    await part.keep(0);
  };
  if (start) await part.keep(received);
  else await keepNothing();
  let about = start;
  let [written, saved] = [received, received];
  const checkpoint = async () => {
    if (!about || written === saved) return;
    await part.sync();
    saved = written;
    await receipts.savePartial({ path, service, assetUid, start: { ...about, received: saved } });
  };
  return {
    write: async (chunk: Uint8Array) => {
      await file.write(chunk);
      written += chunk.length;
      if (written - saved >= checkpointBytes) await checkpoint();
    },
    restart: async () => {
      await keepNothing();
      about = undefined;
      [written, saved] = [0, 0];
    },
    onStart: (found: Omit<DownloadStart, 'received'>) => {
      about = { ...found, received: 0 };
    },
    leave: async () => {
      if (!about) return;
      await checkpoint();
      part.leave();
    },
    ...(file.setAside && { setAside: file.setAside }),
    resumed: start && { start, read: () => part.read(received) },
  };
}
