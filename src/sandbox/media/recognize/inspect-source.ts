import { Input } from 'mediabunny';
import mime from 'mime';
import { BoundedSource, MediaTooLargeError } from './bounded-source.ts';
import { imageDemuxers } from './image-types.ts';
import { inspectImage } from './inspect-image.ts';
import { inspectMedia, type OpenMedia, readMedia } from './inspect-media.ts';
import type { BrokenSource, InspectedSource, InspectionTask, WorkerMessage } from './inspection-messages.ts';
import { containers, demuxerOf, detectKind, type FfmpegOnlyContainer } from './source-kind.ts';

type SendMessage = (message: WorkerMessage) => Promise<void>;

/** Inspects a source and sends its properties; for media, also sends the result of reading it to its end. */
export async function inspectSource(task: InspectionTask, send: SendMessage): Promise<void> {
  const kind = await detectKind(task);
  const found = (what: InspectedSource | BrokenSource) => send({ about: 'source', found: what });
  switch (kind.is) {
    case 'document':
    case 'generic':
      return found({ ...noProperties, type: kind.is, contentType: kind.contentType });
    case 'image': {
      const image = await inspectImage(task.sourcePath, kind.contentType);
      if ('type' in image) return found(image);
      const { contentType } = kind;
      const demuxer = imageDemuxers.get(contentType) ?? null;
      return found({ ...noProperties, ...image, type: 'image', contentType, demuxer });
    }
    case 'foreign':
      return found(unreadSource(kind.foreign, 'ffmpeg alone reads this kind of file', 'foreign'));
    case 'other': {
      const { contentType, foreign } = kind;
      const bounded = new BoundedSource(task.sourcePath);
      const input = new Input({ formats: containers, source: bounded.source });
      const endHeader = () => bounded.endHeader();
      if (await canRead(input)) return inspectContainer({ input, endHeader }, contentType, task, send);
      if (foreign) return found(unreadSource(foreign, 'ffmpeg alone reads what is in it', 'foreign'));
      return found(classifyUnknown(task, contentType));
    }
  }
}

const noProperties = {
  duration: null,
  width: null,
  height: null,
  chapters: [],
  demuxer: null,
  codecs: undefined,
  pictureLateSeconds: 0,
  sampleRate: null,
  cover: null,
} satisfies Partial<InspectedSource>;

type UnreadCause = NonNullable<InspectedSource['unread']>['why'];

const unreadSource = (container: FfmpegOnlyContainer, reason: string, why: UnreadCause): InspectedSource => ({
  ...noProperties,
  ...container,
  unread: { reason, why },
});

const canRead = (input: Input) =>
  input.canRead().then(
    (readable) => readable,
    () => false,
  );

/** Inspects a file whose container mediabunny recognizes, even if it fails to read the content. */
async function inspectContainer(
  media: OpenMedia,
  contentType: string | undefined,
  task: InspectionTask,
  send: SendMessage,
): Promise<void> {
  const { input } = media;
  const { extrasDir } = task;
  const callsItselfVideo = contentType === 'video/mp2t' || contentType === 'video/ogg';
  const type = contentType?.startsWith('audio/') ? 'audio' : 'video';
  const demuxer = demuxerOf(await input.getFormat()) as string;
  const container = { type, contentType: contentType ?? 'video/mp4', demuxer } as const;
  const source = (found: InspectedSource) => send({ about: 'source', found });
  // Send a preliminary result first, which is used if reading the header kills this process.
  await source(unreadSource(container, 'reading its header came to no end', 'large'));
  let found: InspectedSource;
  try {
    found = await inspectMedia(media, { callsItselfVideo, extrasDir });
  } catch (error) {
    // A file that needs too much memory is not necessarily broken.
    const why = error instanceof MediaTooLargeError || error instanceof RangeError ? 'large' : 'broken';
    const reason = `the file cannot be processed: ${(error as Error).message}`;
    return source(unreadSource(container, reason, why));
  }
  await source(found);
  await send({ about: 'reading', reading: await readMedia(input, task) });
}

/**
 * Classifies a file of unknown type as broken if its name or declared type promises media or a PDF, or else as
 * generic.
 */
function classifyUnknown(
  { filename, declaredType }: InspectionTask,
  contentType: string | undefined,
): InspectedSource | BrokenSource {
  const called = mime.getType(filename) ?? '';
  const isCalledMedia = /^(?:video|audio|image)\/|mpegurl|\/pdf$/.test(called);
  if (isCalledMedia || declaredType !== 'generic')
    return {
      type: 'broken',
      reason: contentType
        ? `${contentType} is no media type that this service processes`
        : 'the file is no media, image or document that this service knows',
    };
  return {
    ...noProperties,
    type: 'generic',
    contentType: contentType ?? 'application/octet-stream',
  };
}
