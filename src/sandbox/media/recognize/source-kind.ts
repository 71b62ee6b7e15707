import { open } from 'node:fs/promises';
import { fileTypeFromFile } from 'file-type';
import { ADTS, FLAC, type InputFormat, MATROSKA, MP3, MP4, MPEG_TS, OGG, QTFF, WAVE, WEBM } from 'mediabunny';
import { type NonMedia, typeByContainer, typeByContent } from './asset-type.ts';
import type { InspectionTask } from './inspection-messages.ts';

/** Kind of a file, detected from its content; the file name matters only for plain text. */
export type SourceKind =
  | { is: NonMedia['type']; contentType: string }
  | { is: 'foreign'; foreign: FfmpegOnlyContainer }
  /** Media if mediabunny can read it, otherwise `foreign`; unknown if that is undefined too. */
  | { is: 'other'; contentType: string | undefined; foreign: FfmpegOnlyContainer | undefined };

/** Detects the kind of a file from its content, and from its name if it is plain text. */
export async function detectKind({ sourcePath, filename }: InspectionTask): Promise<SourceKind> {
  const head = await beginningOf(sourcePath);
  const contentType = (await fileTypeFromFile(sourcePath))?.mime;
  const foreign = detectFfmpegOnly(head, contentType);
  const isMedia = foreign !== undefined && foreign.demuxer !== 'ogg';
  const nonMedia = typeByContent({ head, contentType, filename, isMedia });
  if (nonMedia) return { is: nonMedia.type, contentType: nonMedia.contentType };
  return isMedia ? { is: 'foreign', foreign } : { is: 'other', contentType, foreign };
}

async function beginningOf(path: string): Promise<Buffer> {
  const handle = await open(path);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(64 * 1024), 0, 64 * 1024, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Maps the containers that mediabunny reads to ffmpeg demuxers. HLS is excluded, since it references other files. */
const demuxers = new Map<InputFormat, string>([
  [MP4, 'mov'],
  [QTFF, 'mov'],
  [MATROSKA, 'matroska'],
  [WEBM, 'matroska'],
  [WAVE, 'wav'],
  [OGG, 'ogg'],
  [FLAC, 'flac'],
  [MP3, 'mp3'],
  [ADTS, 'aac'],
  [MPEG_TS, 'mpegts'],
]);

export const containers = [...demuxers.keys()];

export const demuxerOf = (container: InputFormat) => demuxers.get(container) as string;

/** A container that only ffmpeg reads, with the demuxer to use. */
export type FfmpegOnlyContainer = { type: 'video' | 'audio'; contentType: string; demuxer: string };

const ffmpegOnly = (contentType: string, demuxer: string): FfmpegOnlyContainer => ({
  contentType,
  demuxer,
  type: typeByContainer(contentType),
});

/** Maps content types to demuxers of containers that only ffmpeg reads. None of these demuxers opens another file. */
const ffmpegOnlyDemuxers: Record<string, string> = {
  'video/vnd.avi': 'avi',
  'video/x-flv': 'flv',
  'application/vnd.ms-asf': 'asf',
  'video/x-ms-asf': 'asf',
  'audio/x-ms-asf': 'asf',
  'video/MP1S': 'mpeg',
  'video/MP2P': 'mpeg',
  'video/mpeg': 'mpegvideo',
  'application/mxf': 'mxf',
  'application/vnd.rn-realmedia': 'rm',
  'video/ogg': 'ogg',
  'audio/ogg': 'ogg',
  'application/ogg': 'ogg',
  'audio/aiff': 'aiff',
  'audio/amr': 'amr',
  'audio/ape': 'ape',
  'audio/wavpack': 'wv',
  'audio/x-dsf': 'dsf',
  'audio/x-voc': 'voc',
  'audio/qcelp': 'qcp',
};

/** Detects containers that only ffmpeg reads: by first bytes, where file-type is mistaken, or else by content type. */
function detectFfmpegOnly(head: Buffer, contentType: string | undefined): FfmpegOnlyContainer | undefined {
  const startsWithHex = (hex: string) => head.toString('hex', 0, hex.length / 2) === hex;
  const startsWithText = (text: string) => head.toString('latin1', 0, text.length) === text;
  const isAc3 = startsWithHex('0b77');
  const signatures: [matches: boolean, contentType: string, demuxer: string][] = [
    [isAc3 && (head[5] ?? 0) >> 3 > 10, 'audio/eac3', 'eac3'],
    [isAc3, 'audio/ac3', 'ac3'],
    [startsWithHex('7ffe8001'), 'audio/vnd.dts', 'dts'],
    [startsWithText('caff'), 'audio/x-caf', 'caf'],
    [startsWithText('.snd'), 'audio/basic', 'au'],
    [startsWithText('TTA1'), 'audio/x-tta', 'tta'],
    [startsWithText('MPCK'), 'audio/x-musepack', 'mpc8'],
    [startsWithText('MP+'), 'audio/x-musepack', 'mpc'],
    [startsWithHex('726966662e91cf11'), 'audio/x-w64', 'w64'],
    [startsWithText('DKIF'), 'video/x-ivf', 'ivf'],
    [startsWithText('YUV4MPEG2'), 'video/x-yuv4mpeg', 'yuv4mpegpipe'],
    [startsWithHex('1f070000'), 'video/dv', 'dv'],
    [startsWithHex('0000000167') || startsWithHex('0000000127'), 'video/h264', 'h264'],
    [startsWithHex('0000000140'), 'video/h265', 'hevc'],
  ];
  const signature = signatures.find(([matches]) => matches);
  if (signature) return ffmpegOnly(signature[1], signature[2]);
  const [named = ''] = contentType?.split(';') ?? [];
  const demuxer = ffmpegOnlyDemuxers[named];
  return demuxer === undefined ? undefined : ffmpegOnly(named, demuxer);
}
