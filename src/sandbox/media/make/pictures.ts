import { mkdir, readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { DerivedFiles } from '../../store/derived-files.ts';
import { type FfmpegContext, hasOutput } from '../ffmpeg/ffmpeg.ts';
import { runTool, type Tool } from '../ffmpeg/tool.ts';
import { type Dimensions, fitWithin, scaleTo } from '../recognize/dimensions.ts';

/** Longer side in pixels of thumbnails and pages. */
const pictureSide = 640;

/** Number of seconds at the start from which a thumbnail is chosen. */
const windowSeconds = 30;

/** Returns ffmpeg filters that sample two frames per second and pick the most typical one that is not black. */
const typicalFrameFilters = (scale: string) => [
  ...['fps=2', scale, 'blackframe=amount=0:threshold=32'],
  'metadata=mode=select:key=lavfi.blackframe.pblack:value=90:function=less',
  `thumbnail=n=${2 * windowSeconds}`,
];

/** Creates a thumbnail from the start of a video; if all frames are black, from the first frame. */
export async function makeThumbnail({ folder, run }: FfmpegContext, size: Dimensions): Promise<string> {
  const file = 'thumbnail.jpg';
  const scale = scaleTo(fitWithin(pictureSide, size));
  for (const filters of [typicalFrameFilters(scale), [scale]]) {
    const frame = ['-map', '0:V:0', '-vf', filters.join(','), '-frames:v', '1'];
    await run([...frame, '-q:v', '4', '-f', 'mjpeg', file], { input: ['-t', String(windowSeconds)] });
    if (await hasOutput(folder, file)) return file;
  }
  throw new Error('there are no frames');
}

const variantSides = [1920, 1280, 640, 320];
/** Longer side in pixels of the copy that is searched for transparency; even rounded corners remain visible. */
const alphaSide = 320;

/** Maximum longer side in pixels of the full-size variant that replaces the source. */
const maxVariantSide = 4096;

/** Creates smaller variants of an image as JPEG or, with transparency, PNG; also a full-size one if it is not shown. */
export async function makeVariants(
  { run }: FfmpegContext,
  size: Dimensions,
  isShown: boolean,
): Promise<DerivedFiles['variants']> {
  const side = Math.max(size.width, size.height);
  const smaller = variantSides.filter((each) => each < side);
  const sides = isShown ? smaller : [Math.min(side, maxVariantSide), ...smaller];
  if (sides.length === 0) return [];
  const isTransparent = await hasTransparency(run, size);
  const variants = sides.map((side) => ({
    file: `variant-${side}.${isTransparent ? 'png' : 'jpg'}`,
    ...fitWithin(side, size),
  }));
  const codec = isTransparent ? ['-c:v', 'png', '-pix_fmt', 'rgba'] : ['-c:v', 'mjpeg', '-q:v', '4'];
  await run(
    variants.flatMap((variant) => [
      ...['-map', '0:v:0', '-vf', scaleTo(variant), '-frames:v', '1', '-f', 'image2', '-update', '1'],
      ...[...codec, variant.file],
    ]),
    { outputs: variants.map(({ file }) => file) },
  );
  return variants;
}

/** Returns true if any pixel is transparent; ffmpeg treats images without alpha as opaque. */
async function hasTransparency(run: FfmpegContext['run'], size: Dimensions): Promise<boolean> {
  const filters = [scaleTo(fitWithin(alphaSide, size)), 'format=rgba', 'alphaextract'].join(',');
  const alpha = await run(['-map', '0:v:0', '-vf', filters, '-frames:v', '1', '-f', 'rawvideo', '-']);
  return alpha.some((opacity) => opacity < 255);
}

const maxPages = 100;
const pdftoppmMemoryMiB = 1024;

/** Renders the first pages of a PDF as JPEG files; returns their names in page order. */
export async function makePages(
  pdftoppm: Tool,
  { path, folder, signal }: { path: string; folder: string; signal: AbortSignal },
): Promise<string[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const args = [
    ...['-jpeg', '-jpegopt', 'quality=80', '-scale-to', String(pictureSide)],
    ...['-l', String(maxPages), resolve(path), 'page'],
  ];
  await runTool(pdftoppm, { args, memoryMiB: pdftoppmMemoryMiB, cwd: folder, signal });
  const pages = (await readdir(folder)).filter((name) => /^page-\d+\.jpg$/.test(name));
  if (pages.length === 0) throw new Error('there are no pages');
  return pages.sort((a, b) => numberOf(a) - numberOf(b));
}

const numberOf = (name: string) => Number(/\d+/.exec(name));
