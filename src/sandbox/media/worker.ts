import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { fileTypeFromFile } from 'file-type';
import { imageSizeFromFile } from 'image-size/fromFile';
import {
  CmafOutputFormat,
  Conversion,
  FilePathSource,
  FilePathTarget,
  HlsOutputFormat,
  Input,
  type InputTrack,
  Output,
  PathedTarget,
} from 'mediabunny';
import { nero } from './chapters.ts';
import { containers, demuxerOf, imageDemuxers } from './containers.ts';
import type { Inspection, Task } from './inspection.ts';

/** Seconds of media that a file may lack of what its header promises. */
const toleratedLossSeconds = 1.5;

/** Types by content, not by name; only plain text has no other mark than its name. */
async function inspect(task: Task): Promise<Inspection> {
  const kind = await fileTypeFromFile(task.sourcePath);
  if (kind?.mime.startsWith('image/')) return inspectImage(task, kind.mime);
  if (kind && documents.has(kind.mime)) return document(kind.mime);
  const input = new Input({ formats: containers, source: new FilePathSource(task.sourcePath) });
  if (await canRead(input)) return inspectMedia(task, input);
  if (!kind && (await isText(task))) return document('text/plain');
  return {
    outcome: 'failed',
    reason: kind
      ? `${kind.mime} is no media type that this service processes`
      : 'the file is no media, image or document that this service knows',
  };
}

const documents = new Set([
  'application/pdf',
  'application/rtf',
  'application/epub+zip',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  'application/vnd.oasis.opendocument.text',
  'application/vnd.oasis.opendocument.presentation',
]);

const document = (contentType: string): Inspection => ({
  ...nothingMore,
  type: 'document',
  contentType,
});

const nothingMore = {
  outcome: 'ready',
  duration: null,
  width: null,
  height: null,
  hasHls: false,
  hlsIsWhole: false,
  chapters: [],
  demuxer: null,
  sampleRate: null,
} as const satisfies Partial<Inspection>;

/** What no camera makes, and no viewer shows. */
const mostPixels = 2 ** 32;

async function inspectImage({ sourcePath }: Task, contentType: string): Promise<Inspection> {
  const { width, height, orientation = 1 } = await imageSizeFromFile(sourcePath);
  // EXIF: from 5 on it lies on its side, and whoever shows it turns it.
  if (width < 1 || height < 1 || width * height > mostPixels)
    return { outcome: 'failed', reason: `an image of ${width} by ${height} pixels is none` };
  const size = orientation < 5 ? { width, height } : { width: height, height: width };
  const demuxer = imageDemuxers.get(contentType) ?? null;
  return { ...nothingMore, ...size, type: 'image', contentType, demuxer };
}

const canRead = (input: Input) =>
  input.canRead().then(
    (readable) => readable,
    () => false,
  );

async function inspectMedia(task: Task, input: Input): Promise<Inspection> {
  const tracks = await input.getTracks();
  const video = tracks.find((track) => track.isVideoTrack());
  const audio = tracks.filter((track) => track.isAudioTrack());
  if (!video && audio.length === 0)
    return { outcome: 'failed', reason: 'the file has neither a video nor an audio track' };
  // Of a broadcast, the first timestamp is any time of day.
  const duration = (await input.computeDuration()) - Math.max(0, await input.getFirstTimestamp());
  // Read before the conversion, which takes the raw tags away.
  const chpl = (await input.getMetadataTags()).raw?.chpl;
  const hls = await writeHls(input, task.hlsDir);
  if (hls.seconds !== undefined && hls.seconds < duration - toleratedLossSeconds)
    return {
      outcome: 'failed',
      reason: `the file is truncated: it promises ${duration.toFixed(1)} s and holds ${hls.seconds.toFixed(1)} s`,
    };
  return {
    outcome: 'ready',
    type: video ? 'video' : 'audio',
    contentType: (await input.getMimeType()).split(';')[0] as string,
    duration: Math.round(duration * 1000) / 1000,
    width: video?.displayWidth ?? null,
    height: video?.displayHeight ?? null,
    hasHls: hls.seconds !== undefined,
    hlsIsWhole: [...(video ? [video] : []), ...audio].every(isCarried),
    chapters: chpl instanceof Uint8Array ? nero(chpl) : [],
    demuxer: demuxerOf(await input.getFormat()),
    sampleRate: audio[0]?.sampleRate ?? null,
  };
}

/** Codecs that players know in HLS; CMAF holds others too, which they do not. */
const carried = new Set<string>([
  ...['avc', 'hevc', 'vp9', 'av1'],
  ...['aac', 'mp3', 'ac3', 'eac3', 'opus', 'flac'],
]);

const isCarried = ({ codec }: InputTrack) => codec !== null && carried.has(codec);

/** HLS by remuxing: the tracks as they are, cut into CMAF segments. Seconds: what it came to. */
async function writeHls(input: Input, folder: string): Promise<{ seconds: number | undefined }> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const format = new HlsOutputFormat({ segmentFormat: new CmafOutputFormat(), targetDuration: 4 });
  const target = new PathedTarget(
    join(folder, 'master.m3u8'),
    ({ path }) => new FilePathTarget(path),
  );
  const output = new Output({ format, target });
  const remuxable = (track: InputTrack) =>
    track.codec !== null && (format.getSupportedCodecs() as string[]).includes(track.codec);
  const conversion = await Conversion.init({
    input,
    output,
    showWarnings: false,
    video: (track) => ({ discard: !remuxable(track) }),
    audio: (track) => ({ discard: !remuxable(track) }),
  });
  if (!conversion.isValid) {
    await rm(folder, { recursive: true, force: true });
    return { seconds: undefined }; // playable as its source file only
  }
  await conversion.execute();
  const playlist = await readFile(join(folder, 'playlist-1.m3u8'), 'utf8');
  const lengths = [...playlist.matchAll(/^#EXTINF:([\d.]+)/gm)].map(([, length]) => Number(length));
  return { seconds: lengths.reduce((sum, length) => sum + length, 0) };
}

async function isText({ sourcePath, filename }: Task): Promise<boolean> {
  if (!/\.(txt|md|csv|json|xml|html?|srt|vtt)$/i.test(filename)) return false;
  const handle = await open(sourcePath);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(64 * 1024), 0, 64 * 1024, 0);
    return bytesRead > 0 && !buffer.subarray(0, bytesRead).includes(0);
  } finally {
    await handle.close();
  }
}

inspect(workerData as Task).then(
  (inspection) => parentPort?.postMessage(inspection),
  (error) =>
    parentPort?.postMessage({
      outcome: 'failed',
      reason: `the file cannot be processed: ${error.message}`,
    } satisfies Inspection),
);
