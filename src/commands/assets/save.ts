import { open, rename, rm, stat } from 'node:fs/promises';
import type { Downloaded, Sink } from '../../api/download.ts';
import type { Context } from '../../context.ts';
import { usageError } from '../../errors.ts';
import { bytes } from '../../terminal/printable.ts';
import { confirm } from '../../terminal/prompt.ts';
import { type Dress, type Result, type Row, record } from '../../terminal/result.ts';
import { openSpinner } from '../../terminal/spinner.ts';

type Saved = { asset_uid: string; path: string; size_bytes: number; content_type: string | null };

/**
 * Saves a signed URL as a file: written beside its place and moved there whole, so that a broken
 * download leaves no half file. `-` is stdout. A file that is there is replaced with leave only.
 */
export async function save(
  context: Context,
  assetUid: string,
  url: URL,
  path: string,
): Promise<Result> {
  if (path === '-') return toStdout(context, url);
  await mayReplace(context, path);
  const part = `${path}.part`;
  // Appending, so that after a truncation the next write begins at the beginning.
  const handle = await open(part, 'a', 0o600).catch((error: Error) => {
    throw usageError(`cannot write ${path}`, 'give another place with -o', error.message);
  });
  let saved: Downloaded;
  try {
    await handle.truncate(0); // what a killed run left
    saved = await downloaded(context, url, path, {
      write: async (chunk) => {
        await handle.appendFile(chunk);
      },
      restart: () => handle.truncate(0),
    });
    await handle.close();
    await rename(part, path);
  } catch (error) {
    await handle.close().catch(() => {}); // closed already, where the rename failed
    await rm(part, { force: true });
    throw error;
  }
  const shown = { asset_uid: assetUid, path, size_bytes: saved.bytes };
  return record<Saved>({ ...shown, content_type: saved.contentType ?? null }, assetUid, savedRows);
}

const savedRows = ({ path, size_bytes, content_type }: Saved, { isTerminal }: Dress): Row[] => [
  ['saved', path],
  ['size', isTerminal ? bytes(size_bytes) : String(size_bytes)],
  ['type', content_type ?? ''],
];

async function toStdout(context: Context, url: URL): Promise<Result> {
  const { terminal } = context;
  if (terminal.stdout.isTTY)
    throw usageError('a terminal is no place for media', 'give a file with -o, or a pipe');
  await downloaded(context, url, '-', { write: (chunk) => terminal.write(chunk) });
  return { kind: 'nothing' };
}

async function downloaded(context: Context, url: URL, path: string, sink: Sink) {
  const { terminal, clock } = context;
  const { playback } = await context.mediaApi();
  const spinner = terminal.canAnimate ? await openSpinner(terminal) : undefined;
  let shownAt = 0;
  const onProgress = (received: number, total: number | undefined) => {
    if (clock.now() - shownAt < 100) return;
    shownAt = clock.now();
    spinner?.say(`${path}: ${bytes(received)}${total ? ` of ${bytes(total)}` : ''}`);
  };
  try {
    return await playback.download(url, { ...sink, onProgress });
  } finally {
    spinner?.stop();
  }
}

async function mayReplace({ terminal, settings }: Context, path: string): Promise<void> {
  const there = await stat(path).catch(() => undefined);
  if (there?.isDirectory()) throw usageError(`${path} is a directory`, 'name a file with -o');
  if (there)
    await confirm(terminal, `${path} is there already. Replace it?`, {
      yes: settings.yes,
      instead: 'another place with -o, or --yes to replace it',
    });
}

/** A name for a file in this folder, whatever the service calls the asset. */
export function fileNameFor(name: string | undefined, fallback: string, extension: string | null) {
  const bare = (name ?? '')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be in a file name
    .replace(/[\u0000-\u001f\u007f<>:"/\\|?*]+/g, '_')
    .replace(/^[.\s]+|[.\s]+$/g, '')
    .slice(0, 120);
  const base = bare || fallback;
  return extension && !new RegExp(`\\.${extension}$`, 'i').test(base)
    ? `${base.replace(/\.[A-Za-z0-9]{1,4}$/, '')}.${extension}`
    : base;
}
