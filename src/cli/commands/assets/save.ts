import { type SavedFile, save } from '../../../client/download/save.ts';
import { receiveMedia } from '../../../client/download/transfer.ts';
import { usageError } from '../../../client/errors.ts';
import type { MediaDownload } from '../../../client/library/media-download.ts';
import { formatBytes } from '../../../shared/figures.ts';
import { escapeControls } from '../../../shared/sanitize.ts';
import type { Context } from '../../context.ts';
import { openReceipts, savePorts, transferPorts } from '../../library/transfer-ports.ts';
import { type DetailRow, type RenderContext, type Result, record } from '../../output/result.ts';
import type { ProgressDisplay } from '../../progress/progress.ts';

/** @property path `-` for stdout */
type OneFile = { path: string; progress: ProgressDisplay; isNewName?: boolean };

/**
 * Downloads a media file and saves it, or writes it to stdout.
 *
 * @returns undefined if the file was written to stdout
 */
export async function saveOne(
  context: Context,
  media: MediaDownload,
  { path, progress, isNewName = false }: OneFile,
): Promise<SavedFile | undefined> {
  if (path === '-') return toStdout(context, media, progress);
  const receipts = await openReceipts(context);
  return save(await savePorts(context, { option: '-o', progress, receipts }), media, { path, isNewName });
}

async function toStdout(context: Context, media: MediaDownload, progress: ProgressDisplay): Promise<undefined> {
  const { terminal } = context;
  if (terminal.stdout.isTTY) throw usageError('cannot write media to a terminal', 'give a file with -o, or use a pipe');
  const ports = await transferPorts(context, progress);
  await receiveMedia(ports, media, '-', { write: (chunk) => terminal.write(chunk) });
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
