import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { usageError } from '../../../client/errors.ts';
import type { DownloadOutcome, DownloadSink, ExpectedFile } from '../../../client/library/download.ts';
import { downloadMedia, type MediaDownload } from '../../../client/library/media-download.ts';
import { toWaitingEvent } from '../../../client/upload/session/events.ts';
import { formatBytes } from '../../../contract/figures.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import { normalizeUid } from '../../../contract/uid.ts';
import type { Context } from '../../context.ts';
import { progressOf } from '../../library/media-download.ts';
import { type DetailRow, type RenderContext, type Result, record } from '../../output/result.ts';
import type { ProgressDisplay } from '../../progress/progress.ts';
import { writeOutput } from './output-file.ts';

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

/**
 * Downloads a media file and saves it atomically, or writes it to stdout if the path is `-`. Asks before it
 * replaces a file.
 *
 * @returns undefined if the file was written to stdout
 */
export async function save(
  context: Context,
  media: MediaDownload,
  path: string,
  progress: ProgressDisplay,
): Promise<SavedFile | undefined> {
  if (path === '-') return toStdout(context, media, progress);
  const seconds = mtimeFor(media);
  const saved = await writeOutput(context, { path, option: '-o' }, async (file) => {
    const result = await downloadTo(context, media, { path, progress }, file);
    if (seconds !== undefined) await file.setTime(seconds);
    return result;
  });
  const { bytes: size_bytes, contentType = null, verified } = saved;
  return { asset_uid: media.assetUid, path, size_bytes, content_type: contentType, verified };
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
  sink: DownloadSink & { setAside?: () => string },
): Promise<DownloadOutcome & { verified: boolean | null }> {
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
