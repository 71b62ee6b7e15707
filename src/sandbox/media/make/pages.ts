import { mkdir, readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { runTool, type Tool } from '../ffmpeg/tool.ts';

const maxPages = 100;
const longerSide = 640;
const memoryMiB = 1024;

/** Renders the first pages of a PDF as JPEG files; returns their names in page order. */
export async function makePages(
  pdftoppm: Tool,
  { path, folder, signal }: { path: string; folder: string; signal: AbortSignal },
): Promise<string[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const args = [
    ...['-jpeg', '-jpegopt', 'quality=80', '-scale-to', String(longerSide)],
    ...['-l', String(maxPages), resolve(path), 'page'],
  ];
  await runTool(pdftoppm, { args, memoryMiB, cwd: folder, signal });
  const pages = (await readdir(folder)).filter((name) => /^page-\d+\.jpg$/.test(name));
  if (pages.length === 0) throw new Error('there is no page');
  return pages.sort((a, b) => numberOf(a) - numberOf(b));
}

const numberOf = (name: string) => Number(/\d+/.exec(name));
