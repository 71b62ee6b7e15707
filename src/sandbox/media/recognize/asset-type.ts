/*
 * The type of an asset (§2), from what is known of its file. The functions stand in the order in which they are asked: by
 * content, by container, by tracks, by streams. Each later one knows more of audio and video, and replaces the earlier.
 */

import mime from 'mime';
import type { BrokenSource, InspectedSource, InspectionTask } from './inspection-messages.ts';

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

const textNames = /\.(txt|md|csv|json|xml|html?|srt|vtt|log|ya?ml)$/i;

const svg = /^\s*(?:<\?xml[\s\S]*?\?>\s*)?(?:<!--[\s\S]*?-->\s*|<!DOCTYPE[^>]*>\s*)*<svg[\s>]/i;

/** @property head first bytes of the file @property contentType what they say @property isMedia true if only ffmpeg reads it */
type Content = { head: Buffer; contentType: string | undefined; filename: string; isMedia: boolean };

/** Returns the type of an image, a document or another file; undefined for what may be audio or video. */
export function typeByContent({ head, contentType, filename, isMedia }: Content): NonMedia | undefined {
  const isPlain = !contentType || contentType === 'application/xml';
  if (isPlain && svg.test(head.toString('utf8'))) return { type: 'image', contentType: 'image/svg+xml' };
  if (contentType?.startsWith('image/')) return { type: 'image', contentType };
  if (contentType && documents.has(contentType)) return { type: 'document', contentType };
  if (isMedia) return undefined;
  const isText = head.length > 0 && !head.includes(0);
  if (isText && isPlain && textNames.test(filename)) return { type: 'document', contentType: 'text/plain' };
  return contentType && !/^(?:video|audio)\//.test(contentType) ? { type: 'generic', contentType } : undefined;
}

export type NonMedia = { type: 'image' | 'document' | 'generic'; contentType: string };

/** Returns the type of a file that no reader recognizes: broken if its name or declared type promises media or a PDF. */
export function typeOfUnknown(
  { filename, declaredType }: InspectionTask,
  contentType: string | undefined,
): InspectedSource | BrokenSource {
  const called = mime.getType(filename) ?? '';
  const isCalledMedia = /^(?:video|audio|image)\/|mpegurl|\/pdf$/.test(called);
  if (isCalledMedia || declaredType !== 'generic')
    return {
      type: 'broken',
      reason: contentType
        ? `unsupported media type: ${contentType}`
        : 'unsupported file type: not a video, audio, image or document',
    };
  return { type: 'generic', contentType: contentType ?? 'application/octet-stream' };
}

/** Returns the type that the container of audio or video suggests, until its tracks are read. */
export const typeByContainer = (contentType: string | undefined) =>
  /^audio\/|^application\/ogg$/.test(contentType ?? '') ? 'audio' : 'video';

/** Returns true for a container whose content type says video, though mediabunny may report its tracks as audio. */
export const isCalledVideo = (contentType: string | undefined) =>
  contentType === 'video/mp2t' || contentType === 'video/ogg';

/** Returns the type by the tracks that mediabunny found. */
export const typeByTracks = (hasPicture: boolean, isVideo: boolean) => (hasPicture || isVideo ? 'video' : 'audio');

/** Returns `video` if ffmpeg or mediabunny found a video track; the type found before if ffmpeg listed no streams. */
export function typeByStreams(
  { type, codecs }: InspectedSource,
  streams: { pictures: readonly unknown[] } | undefined,
): 'video' | 'audio' {
  const isVideo = streams ? streams.pictures.length > 0 || codecs?.picture : type === 'video';
  return isVideo ? 'video' : 'audio';
}
