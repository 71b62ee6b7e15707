import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { asCodedError, usageError } from '../../../client/errors.ts';
import type { DownloadOutcome, DownloadStart, ExpectedFile } from '../../../client/library/download.ts';
import type { DownloadReceipt, DownloadReceipts } from '../../../client/library/download-receipts.ts';
import { downloadMedia, type MediaDownload, type MediaSink } from '../../../client/library/media-download.ts';
import { toWaitingEvent } from '../../../client/upload/session/events.ts';
import { formatBytes } from '../../../contract/figures.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import { normalizeUid } from '../../../contract/uid.ts';
import type { Context } from '../../context.ts';
import { progressOf } from '../../library/media-download.ts';
import { type DetailRow, type RenderContext, type Result, record } from '../../output/result.ts';
import type { ProgressDisplay } from '../../progress/progress.ts';
import { endOutput, type OutputFile, type OutputHandle, type WrittenPart, writeOutput } from './output-file.ts';

export type SavedFile = {
  asset_uid: string;
  path: string;
  size_bytes: number;
  content_type: string | null;
  /**
   * True if the file is what this machine uploaded; null if that is not known, so that it may be a rendition; undefined
   * for a picture of an asset.
   */
  verified?: boolean | null | undefined;
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

/** Returns true if the file's modification time shows that it is an unmodified earlier download. */
export function isUnchangedDownload(file: Stats, media: Pick<MediaDownload, 'assetUid' | 'createdAt'>): boolean {
  const seconds = mtimeFor(media);
  return file.isFile() && seconds !== undefined && Math.abs(file.mtimeMs - seconds * 1000) < 0.01;
}

/** Where to save a file, and the details for its receipt. */
export type SaveRequest = {
  /** `-` for stdout. */
  path: string;
  progress: ProgressDisplay;
  /** True to replace an earlier download without a question, if it is unchanged. */
  replacesDownload?: boolean;
  /** True if the name comes from the service, so that the file is never written through a link, pipe or device. */
  isNewName?: boolean;
  /** Facts for the receipt of the download; undefined to keep none. */
  record?: Pick<DownloadReceipt, 'source' | 'folder' | 'name' | 'recordSize'> | undefined;
};

/**
 * Downloads a media file and saves it atomically, or writes it to stdout if the path is `-`. Goes on with what an earlier
 * process has received. Asks before it replaces a file.
 *
 * @returns undefined if the file was written to stdout
 */
export async function save(
  context: Context,
  media: MediaDownload,
  request: SaveRequest,
): Promise<SavedFile | undefined> {
  const { path, progress, replacesDownload = false, isNewName = false, record: recorded } = request;
  if (path === '-') return toStdout(context, media, progress);
  const receipts = await openDownloads(context);
  const service = (await context.api()).transport.baseUrl.origin;
  const seconds = mtimeFor(media);
  const mayReplace =
    replacesDownload && receipts
      ? async (target: string) => (await receipts.findUnchanged(target, service)) !== undefined
      : false;
  let receipt: Omit<DownloadReceipt, 'ctimeNs'> | undefined;
  const output: OutputFile = { path, option: '-o', mayReplace, isNewName, keepsPart: receipts !== undefined };
  const saved = await writeOutput(context, output, async (file) => {
    const sink: MediaSink & { leave?(): Promise<void> } =
      receipts && file.part ? await resumableSink(file, file.part, { receipts, service, media }) : file;
    const result = await downloadTo(context, media, { path, progress }, sink).catch(async (error) => {
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
export async function openDownloads({ state, terminal, settings }: Context): Promise<DownloadReceipts | undefined> {
  try {
    return await (settings.dryRun ? state.downloadsIfAny() : state.downloads());
  } catch (error) {
    const failure = asCodedError(error);
    if (failure.kind !== 'state') throw error;
    terminal.warn(`${failure.message}: downloads are neither recorded nor resumed`);
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
export async function endDownload(context: Context, receipts: DownloadReceipts, receipt: DownloadReceipt) {
  await endOutput(context, receipt.path);
  await saveReceipt(receipts, receipt);
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

export const savedRecord = (saved: SavedFile): Result => record(saved, saved.asset_uid, savedRows);

const savedRows = (
  { path, size_bytes, content_type, verified }: SavedFile,
  { isTerminal }: RenderContext,
): DetailRow[] => [
  ['saved', escapeControls(path)],
  ['size', isTerminal ? formatBytes(size_bytes) : String(size_bytes)],
  ['type', escapeControls(content_type ?? '')],
  ...(verified === undefined
    ? []
    : [['verified', verified ? 'yes: it is the uploaded file (BLAKE3)' : 'unknown: original or rendition'] as const]),
];

async function toStdout(context: Context, media: MediaDownload, progress: ProgressDisplay): Promise<undefined> {
  const { terminal } = context;
  if (terminal.stdout.isTTY) throw usageError('cannot write media to a terminal', 'give a file with -o, or use a pipe');
  await downloadTo(context, media, { path: '-', progress }, { write: (chunk) => terminal.write(chunk) });
}

async function downloadTo(
  context: Context,
  media: MediaDownload,
  { path, progress }: { path: string; progress: ProgressDisplay },
  sink: MediaSink,
): ReturnType<typeof downloadMedia> {
  const { terminal } = context;
  const { transport } = (await context.mediaApi()).withObserver({
    onNotice: (notice) => progress.show({ path, ...toWaitingEvent(notice) }),
  });
  const { expected } = media;
  const saved = await downloadMedia(transport, media, { ...sink, onProgress: progressOf(progress, path, expected) });
  if (!saved.isLengthVerified)
    terminal.warn(
      `the length of ${escapeControls(path)} is unknown; the ${formatBytes(saved.bytes)} received may be incomplete`,
    );
  if (saved.isRendition) terminal.warn(renditionNote(path, saved, expected));
  return saved;
}

function renditionNote(path: string, saved: DownloadOutcome, recorded: ExpectedFile): string {
  const describe = (size: number | undefined, type: string | undefined) =>
    [size !== undefined && formatBytes(size), type && escapeControls(type)].filter(Boolean).join(', ');
  return `${path === '-' ? 'this' : escapeControls(path)} is a rendition, not the original file: ${describe(saved.bytes, saved.contentType)}; the record says ${describe(recorded.sizeBytes, recorded.contentType)}`;
}
