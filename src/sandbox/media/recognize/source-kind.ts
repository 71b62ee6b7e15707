import { open } from 'node:fs/promises';
import { fileTypeFromFile } from 'file-type';
import { detectFfmpegOnly, type FfmpegOnlyContainer, ffmpegOnlyContainers } from './containers.ts';
import type { InspectionTask } from './inspection-messages.ts';

/** Kind of a file, detected from its content; the file name matters only for plain text. */
export type SourceKind =
  | { is: 'image' | 'document' | 'generic'; contentType: string }
  | { is: 'foreign'; foreign: FfmpegOnlyContainer }
  /** Media if mediabunny can read it, otherwise `foreign`; unknown if that is undefined too. */
  | { is: 'other'; contentType: string | undefined; foreign: FfmpegOnlyContainer | undefined };

const documents = new Set([
  'application/pdf',
  'application/rtf',
  'application/epub+zip',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  'application/vnd.oasis.opendocument.text',
  'application/vnd.oasis.opendocument.presentation',
  'application/vnd.oasis.opendocument.spreadsheet',
  'text/vtt',
]);

export async function detectKind({ sourcePath, filename }: InspectionTask): Promise<SourceKind> {
  const head = await beginningOf(sourcePath);
  const contentType = (await fileTypeFromFile(sourcePath))?.mime;
  const isSvg = /^\s*(?:<\?xml[\s\S]*?\?>\s*)?(?:<!--[\s\S]*?-->\s*|<!DOCTYPE[^>]*>\s*)*<svg[\s>]/i;
  if ((!contentType || contentType === 'application/xml') && isSvg.test(head.toString('utf8')))
    return { is: 'image', contentType: 'image/svg+xml' };
  if (contentType?.startsWith('image/')) return { is: 'image', contentType };
  if (contentType && documents.has(contentType)) return { is: 'document', contentType };
  const foreign = detectFfmpegOnly(head) ?? ffmpegOnlyContainers.get(contentType?.split(';')[0] ?? '');
  if (foreign && foreign.demuxer !== 'ogg') return { is: 'foreign', foreign };
  const isText = head.length > 0 && !head.includes(0);
  if (isText && (!contentType || contentType === 'application/xml') && textNames.test(filename))
    return { is: 'document', contentType: 'text/plain' };
  if (contentType && !/^(?:video|audio)\//.test(contentType)) return { is: 'generic', contentType };
  return { is: 'other', contentType, foreign };
}

const textNames = /\.(txt|md|csv|json|xml|html?|srt|vtt|log|ya?ml)$/i;

async function beginningOf(path: string): Promise<Buffer> {
  const handle = await open(path);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(64 * 1024), 0, 64 * 1024, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}
