import { randomUUID } from 'node:crypto';
import { open, rename, rm, stat } from 'node:fs/promises';
import type { Downloaded, Sink } from '../../api/download.ts';
import type { Context } from '../../context.ts';
import { exitCodes, MediactlError, usageError } from '../../errors.ts';
import { bytes, printable } from '../../terminal/printable.ts';
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
  const there = await mayReplace(context, path);
  // A device or a pipe is written to; only a file can be replaced whole.
  const straight = there !== undefined && !there.isFile();
  const target = straight ? path : `${path}.${randomUUID().slice(0, 8)}.part`;
  // Appending, so that after a truncation the next write begins at the beginning.
  const handle = await open(target, straight ? 'w' : 'ax', 0o600).catch((error: Error) => {
    throw usageError(`cannot write ${path}`, 'give another place with -o', error.message);
  });
  let saved: Downloaded;
  try {
    saved = await downloaded(context, url, path, {
      write: async (chunk) => {
        await handle.appendFile(chunk).catch((error: Error) => {
          throw cannotWrite(path, error);
        });
      },
      restart: straight ? undefined : () => handle.truncate(0),
    });
    await handle.close();
    if (!straight) await rename(target, path);
  } catch (error) {
    await handle.close().catch(() => {}); // closed already, where the rename failed
    if (!straight) await rm(target, { force: true });
    throw error;
  }
  const shown = { asset_uid: assetUid, path, size_bytes: saved.bytes };
  return record<Saved>({ ...shown, content_type: saved.contentType ?? null }, assetUid, savedRows);
}

const cannotWrite = (path: string, error: Error) =>
  new MediactlError(`cannot write ${path}`, {
    code: 'output',
    exitCode: exitCodes.unclassified,
    reason: error.message,
    hint: 'make room, or give another place with -o',
    underlying: error,
  });

const savedRows = ({ path, size_bytes, content_type }: Saved, { isTerminal }: Dress): Row[] => [
  ['saved', printable(path)],
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

/** What is there, if anything is, once it may be replaced. */
async function mayReplace({ terminal, settings }: Context, path: string) {
  const there = await stat(path).catch(() => undefined);
  if (there?.isDirectory()) throw usageError(`${path} is a directory`, 'name a file with -o');
  if (there?.isFile())
    await confirm(terminal, `${path} is there already. Replace it?`, {
      yes: settings.yes,
      instead: 'another place with -o, or --yes to replace it',
    });
  return there;
}

const longestName = 200;

/** A name for a file in this folder, whatever the service calls the asset. */
export function fileNameFor(name: unknown, fallback: string, extension: string | null) {
  const bare = (typeof name === 'string' ? name : '')
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}<>:"/\\|?*]+/gu, '_')
    .replace(/^-+/, '_') // an option, or stdout, to others
    .replace(/^[.\s]+|[.\s]+$/g, '');
  // File systems count bytes; a character is cut whole.
  let base = '';
  for (const character of bare) {
    if (Buffer.byteLength(base + character) > longestName) break;
    base += character;
  }
  base ||= fallback;
  return extension && !new RegExp(`\\.${extension}$`, 'i').test(base)
    ? `${base.replace(/\.[A-Za-z0-9]{1,4}$/, '')}.${extension}`
    : base;
}
