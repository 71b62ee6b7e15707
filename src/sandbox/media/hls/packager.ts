import { appendFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type AudioCodec,
  CmafOutputFormat,
  EncodedAudioPacketSource,
  type EncodedPacket,
  EncodedPacketSink,
  EncodedVideoPacketSource,
  FilePathTarget,
  HlsOutputFormat,
  type InputAudioTrack,
  type InputVideoTrack,
  NullTarget,
  Output,
  PathedTarget,
  type VideoCodec,
} from 'mediabunny';
import { makeOffsetsPositive } from './composition.ts';

/** Error for intact media that cannot be played as HLS without re-encoding. */
class NotPackageableError extends Error {}

/** Target segment duration, with a margin for rounded timestamps. */
const targetSeconds = 4.01;
/** Maximum delay of audio relative to the video, since players wait until they have both. */
const maxAudioDelaySeconds = 0.25;
/** Maximum time by which audio starts before the video. Broadcasts often start with a fraction of a second of it. */
const maxAudioLeadSeconds = 0.5;
/** Maximum time without audio, and that audio may continue after the video. */
const maxOverhangSeconds = 4;
/** Maximum time between key frames, since players load a full segment before they can seek into it. */
const maxSegmentSeconds = 30;

/** Names that mediabunny gives to the media playlist, and to the header of all segments. */
const playlistFile = 'playlist-1.m3u8';
const headerFile = 'init-1.m4s';

/**
 * Packages a video as HLS without re-encoding, in CMAF segments of about four seconds that start at key frames. Time 0
 * is the first key frame. The media playlist and the segments are in `hlsDir`.
 * @returns the master playlist, and the end of the last packet in seconds
 * @throws NotPackageableError if players could not play the result correctly
 */
export async function packageHls(
  picture: InputVideoTrack,
  sound: InputAudioTrack | undefined,
  hlsDir: string,
): Promise<{ master: string; endsAt: number }> {
  await mkdir(hlsDir, { recursive: true, mode: 0o700 });
  const made = { master: '', playlist: '' };
  const output = new Output({
    format: new HlsOutputFormat({
      segmentFormat: new CmafOutputFormat(),
      targetDuration: targetSeconds,
      onMaster: (master) => void Object.assign(made, { master }),
      onPlaylist: (playlist) => void Object.assign(made, { playlist }),
    }),
    target: new PathedTarget('master.m3u8', ({ path, isRoot }) =>
      isRoot ? new NullTarget() : new FilePathTarget(join(hlsDir, path)),
    ),
  });
  const zero = await findStart(picture, sound);
  const video = await openTrack(output, picture, zero);
  const audio = sound && (await openTrack(output, sound, zero));
  const readers = audio ? [video, audio] : [video];
  if (audio && !(audio.next && audio.next.timestamp - zero <= maxAudioDelaySeconds))
    throw new NotPackageableError('the audio starts later than the video');
  try {
    await output.start();
    for (let reader = earliest(readers); reader; reader = earliest(readers)) await reader.write();
    if (audio && audio.endsAt > video.endsAt + maxOverhangSeconds)
      throw new NotPackageableError('the audio continues after the end of the video');
    if (audio) assertAudio(audio.endsAt, video.endsAt);
    await output.finalize();
  } catch (error) {
    await output.cancel().catch(() => {}); // fails again after a failed write, such as on a full disk
    throw error;
  }
  const segments = [...made.playlist.matchAll(/^#EXTINF:([\d.]+),\n(.+)/gm)].map(([, seconds, file = '']) => ({
    seconds: Number(seconds),
    path: join(hlsDir, file),
  }));
  await makeOffsetsPositive(
    join(hlsDir, headerFile),
    segments.map(({ path }) => path),
  );
  const tailAt = segments.slice(0, -1).reduce((sum, { seconds }) => sum + seconds, 0);
  if (tailAt > Math.min(...readers.map(({ lastAt }) => lastAt)))
    await mergeTail(join(hlsDir, playlistFile), segments.slice(-2));
  return { master: made.master, endsAt: zero + Math.max(...readers.map(({ endsAt }) => endsAt)) };
}

/** Returns the timestamp of the first key frame. Trimmed broadcasts start with frames that depend on missing frames. */
async function findStart(picture: InputVideoTrack, sound: InputAudioTrack | undefined): Promise<number> {
  const first = await new EncodedPacketSink(picture).getFirstKeyPacket();
  if (!first) throw new NotPackageableError('the video has no key frame');
  if (sound && (await picture.getFirstTimestamp()) - (await sound.getFirstTimestamp()) > maxAudioLeadSeconds)
    throw new NotPackageableError('the audio starts earlier than the video');
  return first.timestamp;
}

/** Asserts that audio that ended at `endsAt` continues soon enough. Both are in seconds. */
function assertAudio(endsAt: number, continuesAt: number): void {
  if (continuesAt - endsAt > maxOverhangSeconds)
    throw new NotPackageableError(`there is no audio after ${endsAt.toFixed(1)} s`);
}

/** Reads a track and writes it to an output. Times are in seconds after the start of the package. */
type TrackReader = {
  /** The next packet, with its timestamp in the source; undefined at the end of the track. */
  next: EncodedPacket | undefined;
  /** Start of the last packet written, and end of the track so far. */
  lastAt: number;
  endsAt: number;
  write(): Promise<void>;
};

/** Returns the reader with the earliest next packet; undefined if all tracks have ended. */
function earliest(readers: readonly TrackReader[]): TrackReader | undefined {
  let first: TrackReader | undefined;
  for (const reader of readers)
    if (reader.next && !(first?.next && first.next.timestamp <= reader.next.timestamp)) first = reader;
  return first;
}

/** Tolerance for rounded timestamps in containers. */
const roundingSeconds = 0.002;

/** Adds a track to the output, without the packets before `zero`. Video frames before it depend on missing frames. */
async function openTrack(output: Output, track: InputVideoTrack | InputAudioTrack, zero: number): Promise<TrackReader> {
  const sink = new EncodedPacketSink(track);
  const first = track.isVideoTrack()
    ? await sink.getFirstKeyPacket()
    : ((await sink.getPacket(zero)) ?? (await sink.getFirstPacket()));
  const source = first && (await addTrack(output, track, first));
  if (!source) throw new NotPackageableError('a track has no packets or no decoder configuration');
  const packets = sink.packets(first);
  let keyAt = 0;
  const advance = async (): Promise<EncodedPacket | undefined> => {
    const { value } = await packets.next();
    return !value || value.timestamp >= zero - roundingSeconds ? (value ?? undefined) : advance();
  };
  const reader: TrackReader = {
    next: await advance(),
    lastAt: 0,
    endsAt: 0,
    write: async () => {
      const packet = reader.next as EncodedPacket;
      const at = Math.max(0, packet.timestamp - zero);
      if (track.isAudioTrack()) assertAudio(reader.endsAt, at);
      else if (packet.type === 'key') keyAt = at;
      else if (at - keyAt > maxSegmentSeconds)
        throw new NotPackageableError(`key frames are more than ${maxSegmentSeconds} s apart`);
      await source.add(packet.clone({ timestamp: at }));
      reader.lastAt = Math.max(reader.lastAt, at);
      reader.endsAt = Math.max(reader.endsAt, at + packet.duration);
      reader.next = await advance();
      if (!reader.next) source.close();
    },
  };
  return reader;
}

/** Adds a track to the output, and returns the source that takes its packets; undefined without a configuration. */
async function addTrack(output: Output, track: InputVideoTrack | InputAudioTrack, primingPacket: EncodedPacket) {
  if (track.isVideoTrack()) {
    const config = await track.getDecoderConfig();
    if (!config) return undefined;
    // `hvc1` means decoder parameters in the header (ISO/IEC 14496-15), which Apple requires.
    const decoderConfig = { ...config, codec: config.codec.replace(/^hev1/, 'hvc1') };
    const source = new EncodedVideoPacketSource(track.codec as VideoCodec);
    output.addVideoTrack(source, { rotation: track.rotation, decoderConfig, primingPacket });
    return source;
  }
  const config = await track.getDecoderConfig();
  if (!config) return undefined;
  const decoderConfig = { ...config, codec: config.codec.replace(/^mp3$/, 'mp4a.40.34') };
  const source = new EncodedAudioPacketSource(track.codec as AudioCodec);
  output.addAudioTrack(source, { decoderConfig, primingPacket });
  return source;
}

/**
 * Appends a last segment that lacks video or audio to the one before it, since players stall without one of them.
 * Both are given by path, with their durations in seconds.
 */
async function mergeTail(playlist: string, pair: readonly { seconds: number; path: string }[]): Promise<void> {
  const [before, tail] = pair as [(typeof pair)[0], (typeof pair)[0]];
  await appendFile(before.path, await readFile(tail.path));
  await rm(tail.path);
  const text = await readFile(playlist, 'utf8');
  const both = /#EXTINF:.*\n(.*\n)#EXTINF:.*\n.*\n(?=\n*#EXT-X-ENDLIST)/;
  const seconds = before.seconds + tail.seconds;
  const merged = text
    .replace(both, (_, file) => `#EXTINF:${seconds.toFixed(6)},\n${file}`)
    .replace(/(?<=#EXT-X-TARGETDURATION:)\d+/, (longest) => String(Math.max(Number(longest), Math.ceil(seconds))));
  await writeFile(playlist, merged);
}
