import { Input } from 'mediabunny';
import mime from 'mime';
import { BoundedSource, TooLarge } from './bounded-source.ts';
import { containers, demuxerOf, type Foreign } from './containers.ts';
import { imageDemuxers } from './images.ts';
import { inspectImage } from './inspect-image.ts';
import { inspectMedia, type Media, readMedia } from './inspect-media.ts';
import type { Broken, Found, Message, Task } from './inspection.ts';
import { kindOf } from './recognize.ts';

type Tell = (message: Message) => Promise<void>;

/** Inspects a source and sends what it is; for media, also the result of reading it to its end. */
export async function inspect(task: Task, tell: Tell): Promise<void> {
  const kind = await kindOf(task);
  const found = (what: Found | Broken) => tell({ about: 'source', found: what });
  switch (kind.is) {
    case 'document':
    case 'generic':
      return found({ ...nothingMore, type: kind.is, contentType: kind.contentType });
    case 'image': {
      const image = await inspectImage(task.sourcePath, kind.contentType);
      if ('type' in image) return found(image);
      const { contentType } = kind;
      const demuxer = imageDemuxers.get(contentType) ?? null;
      return found({ ...nothingMore, ...image, type: 'image', contentType, demuxer });
    }
    case 'foreign':
      return found(unread(kind.foreign, 'ffmpeg alone reads this kind of file', 'foreign'));
    case 'other': {
      const { contentType, foreign } = kind;
      const bounded = new BoundedSource(task.sourcePath);
      const input = new Input({ formats: containers, source: bounded.source });
      const endHeader = () => bounded.endHeader();
      if (await canRead(input)) return inspectKnown({ input, endHeader }, contentType, task, tell);
      if (foreign) return found(unread(foreign, 'ffmpeg alone reads what is in it', 'foreign'));
      return found(unknown(task, contentType));
    }
  }
}

const nothingMore = {
  duration: null,
  width: null,
  height: null,
  chapters: [],
  demuxer: null,
  codecs: undefined,
  pictureLateSeconds: 0,
  sampleRate: null,
  cover: null,
} satisfies Partial<Found>;

type Why = NonNullable<Found['unread']>['why'];

const unread = (container: Foreign, reason: string, why: Why): Found => ({
  ...nothingMore,
  ...container,
  unread: { reason, why },
});

const canRead = (input: Input) =>
  input.canRead().then(
    (readable) => readable,
    () => false,
  );

/** Inspects a container that mediabunny recognizes, though it may fail to read this file. */
async function inspectKnown(
  media: Media,
  contentType: string | undefined,
  task: Task,
  tell: Tell,
): Promise<void> {
  const { input } = media;
  const { extrasDir } = task;
  const callsItselfVideo = contentType === 'video/mp2t' || contentType === 'video/ogg';
  const type = contentType?.startsWith('audio/') ? 'audio' : 'video';
  const demuxer = demuxerOf(await input.getFormat()) as string;
  const container = { type, contentType: contentType ?? 'video/mp4', demuxer } as const;
  const source = (found: Found) => tell({ about: 'source', found });
  // Send a preliminary result first: it is used if reading the header kills this process.
  await source(unread(container, 'reading its header came to no end', 'large'));
  let found: Found;
  try {
    found = await inspectMedia(media, { callsItselfVideo, extrasDir });
  } catch (error) {
    // A file that exceeds the memory is not necessarily broken.
    const why = error instanceof TooLarge || error instanceof RangeError ? 'large' : 'broken';
    const reason = `the file cannot be processed: ${(error as Error).message}`;
    return source(unread(container, reason, why));
  }
  await source(found);
  await tell({ about: 'reading', reading: await readMedia(input, task) });
}

/**
 * Classifies a file of unknown type: broken if its name or declared type is media, else generic.
 */
function unknown(
  { filename, declaredType }: Task,
  contentType: string | undefined,
): Found | Broken {
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
    ...nothingMore,
    type: 'generic',
    contentType: contentType ?? 'application/octet-stream',
  };
}
