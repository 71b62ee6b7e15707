import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FfmpegContext } from '../ffmpeg/ffmpeg.ts';
import { fitWithin, scaleTo } from '../recognize/dimensions.ts';
import type { VideoProperties } from './hls.ts';

const longerSide = 160;
const columns = 5;
const maxTiles = 200;
const tilesASheet = 25;
/** Duration above which only key frames are decoded, since decoding a full film takes minutes. */
const maxFullDecodeSeconds = 300;

/** Creates preview sprites (sheets of small frames); returns the WebVTT file that maps times to frames. */
export async function makeSprites({ folder, run }: FfmpegContext, video: VideoProperties): Promise<string> {
  const seconds = Math.max(1, Math.ceil(video.duration / maxTiles));
  const tiles = Math.ceil(video.duration / seconds);
  const rows = Math.ceil(Math.min(tiles, tilesASheet) / columns);
  const tile = fitWithin(longerSide, video, 2);
  const sheets = Math.ceil(tiles / (columns * rows));
  const filters = [
    `fps=1/${seconds}:start_time=0:eof_action=pass`, // pass: emit a frame even if there is only one
    scaleTo(tile),
    // Fills the last sheet with copies of the last frame; -frames:v ends it.
    'tpad=stop_mode=clone:stop=-1',
    `tile=${columns}x${rows}`,
  ].join(',');
  const args = [
    ...['-map', '0:V:0', '-vf', filters, '-frames:v', String(sheets), '-q:v', '5'],
    ...['-f', 'image2', '-start_number', '0', 'sprites-%d.jpg'],
  ];
  await run(args, {
    input: video.duration > maxFullDecodeSeconds ? ['-skip_frame', 'nokey'] : [],
    outputs: Array.from({ length: sheets }, (_, at) => `sprites-${at}.jpg`),
  });
  const cues = Array.from({ length: tiles }, (_, at) => {
    const place = at % (columns * rows);
    const x = (place % columns) * tile.width;
    const y = Math.floor(place / columns) * tile.height;
    const sheet = Math.floor(at / (columns * rows));
    const end = Math.min((at + 1) * seconds, video.duration);
    return [
      `${timestamp(at * seconds)} --> ${timestamp(end)}`,
      `sprites-${sheet}.jpg#xywh=${x},${y},${tile.width},${tile.height}`,
    ].join('\n');
  });
  const file = 'sprites.vtt';
  await writeFile(join(folder, file), `${['WEBVTT', ...cues].join('\n\n')}\n`);
  return file;
}

/** Formats seconds as a WebVTT timestamp: hours:minutes:seconds.milliseconds. */
function timestamp(seconds: number): string {
  const milliseconds = Math.round(seconds * 1000);
  const hours = String(Math.floor(milliseconds / 3_600_000)).padStart(2, '0');
  return `${hours}:${new Date(milliseconds % 3_600_000).toISOString().slice('1970-01-01T00:'.length, -1)}`;
}
