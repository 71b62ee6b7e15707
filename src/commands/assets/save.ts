import { createHash, randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import {
  type FileHandle,
  link,
  lstat,
  open,
  readdir,
  realpath,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import type { Downloaded, Expected, Sink } from '../../api/download.ts';
import type { Context } from '../../context.ts';
import { exitCodes, MediactlError, usageError } from '../../errors.ts';
import { NamedLocks } from '../../lock.ts';
import { bytes } from '../../terminal/figures.ts';
import { printable } from '../../terminal/printable.ts';
import type { Progress } from '../../terminal/progress.ts';
import { confirm } from '../../terminal/prompt.ts';
import { type RenderContext, type Result, type Row, record } from '../../terminal/result.ts';
import { waitingEvent } from '../../upload/events.ts';
import { uidKey } from '../../wire/uid.ts';

export type Saved = {
  asset_uid: string;
  path: string;
  size_bytes: number;
  content_type: string | null;
};

/** What is saved: a signed URL, and what the asset's record says of it. */
export type Media = {
  assetUid: string;
  url: URL;
  expected: Expected;
  /** Milliseconds since the epoch: the file's time is set to it. */
  createdAt?: number | undefined;
};

/**
 * The time of a saved file, in seconds: the second in which its asset was created, and in the place of
 * microseconds what tells it from another asset of that second.
 */
function timeFor({ assetUid, createdAt }: Pick<Media, 'assetUid' | 'createdAt'>) {
  if (createdAt === undefined) return undefined;
  const mark = createHash('sha256').update(uidKey(assetUid)).digest().readUInt32BE() % 1_000_000;
  return Math.floor(createdAt / 1000) + mark / 1_000_000;
}

/** A file that was saved of that asset, and not touched since. */
export function isAsSaved(file: Stats, media: Pick<Media, 'assetUid' | 'createdAt'>): boolean {
  const seconds = timeFor(media);
  return file.isFile() && seconds !== undefined && Math.abs(file.mtimeMs - seconds * 1000) < 0.01;
}

/**
 * Saves a signed URL as a file: written beside its place and moved there once it is whole and on the
 * disk, so that a broken download leaves no half file. `-` is stdout. A file that is there is replaced
 * with leave only.
 *
 * @returns undefined where it went to stdout
 */
export async function save(
  context: Context,
  media: Media,
  path: string,
  progress: Progress,
): Promise<Saved | undefined> {
  if (path === '-') return toStdout(context, media, progress);
  const there = await mayReplace(context, path);
  const showing = { context, media, path, progress };
  // A device or a pipe is written to; only a file can be replaced whole.
  const saved =
    there !== undefined && !there.isFile()
      ? await writeThrough(showing)
      : await saveAtomically(showing, await isNamed(path));
  const type = saved.contentType ?? null;
  return { asset_uid: media.assetUid, path, size_bytes: saved.bytes, content_type: type };
}

export const savedRecord = (saved: Saved): Result => record(saved, saved.asset_uid, savedRows);

/** A download: what goes where, and how that is shown. */
type Saving = { context: Context; media: Media; path: string; progress: Progress };

async function writeThrough(saving: Saving): Promise<Downloaded> {
  const { path } = saving;
  const handle = await open(path, 'w').catch((error) => {
    throw cannotOpen(path, error);
  });
  try {
    return await downloaded(saving, { write: writerTo(handle, path) });
  } finally {
    await handle.close();
  }
}

/** @param mayReplace whether a file that is there is to be replaced: one that comes meanwhile is not */
async function saveAtomically(saving: Saving, mayReplace: boolean): Promise<Downloaded> {
  const { context, path } = saving;
  const place = await targetPath(path);
  const release = await lockTarget(context, place);
  const part = `${place}.${ownMark(context)}${randomBytes(4).toString('hex')}.part`;
  try {
    // Appending, so that after a truncation the next write begins at the beginning.
    const handle = await open(part, 'ax', 0o600).catch((error) => {
      throw cannotOpen(path, error);
    });
    let saved: Downloaded;
    try {
      saved = await downloaded(saving, {
        write: writerTo(handle, path),
        restart: () => handle.truncate(0),
      });
      const seconds = timeFor(saving.media);
      // A file system may keep no times; the file is whole all the same.
      if (seconds !== undefined) await handle.utimes(seconds, seconds).catch(() => {});
      await handle.sync().catch((error) => {
        throw cannotWrite(path, error);
      });
    } finally {
      await handle.close();
    }
    if (mayReplace || context.settings.yes) await rename(part, place);
    else await renameWithoutReplacing(part, place);
    const folder = await open(dirname(place), 'r');
    await folder.sync().finally(() => folder.close());
    return saved;
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  } finally {
    await release();
  }
}

async function renameWithoutReplacing(part: string, place: string): Promise<void> {
  try {
    await link(part, place);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw appearedMeanwhile(place);
    return rename(part, place); // a file system without links
  }
  await rm(part);
}

/** A link that leads nowhere is something too: it is replaced. */
const isNamed = (path: string) =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** Where a path leads, its folder by its real name: the same for all who write there. */
async function targetPath(path: string): Promise<string> {
  const folder = await realpath(dirname(resolve(path))).catch((error) => {
    throw cannotOpen(path, error);
  });
  return join(folder, basename(path));
}

/**
 * Takes the place in hand, and removes what killed downloads left beside it. Where no lock can be had,
 * on a machine that lets nothing be kept, it is done without.
 *
 * @throws MediactlError `already_downloading`
 */
async function lockTarget(context: Context, place: string): Promise<() => Promise<void>> {
  const name = createHash('sha256').update(place).digest('hex').slice(0, 16);
  const locks = new NamedLocks(join(context.stateDir, 'downloads'));
  let release: (() => Promise<void>) | undefined;
  try {
    await locks.sweep();
    release = await locks.take(name);
  } catch {
    return async () => {};
  }
  if (!release) throw alreadyDownloading(place);
  for (const each of await readdir(dirname(place)))
    if (each.startsWith(`${basename(place)}.${ownMark(context)}`) && each.endsWith('.part'))
      await rm(join(dirname(place), each), { force: true });
  return release;
}

/** Marks the parts of this state folder: processes with another one may be writing to the place as well. */
const ownMark = ({ stateDir }: Context) =>
  createHash('sha256').update(`${hostname()} ${stateDir}`).digest('hex').slice(0, 8);

const writerTo = (handle: FileHandle, path: string) => (chunk: Uint8Array) =>
  handle.appendFile(chunk).catch((error: Error) => {
    throw cannotWrite(path, error);
  });

const alreadyDownloading = (path: string) =>
  new MediactlError(`${path} is being downloaded already`, {
    code: 'already_downloading',
    exitCode: exitCodes.rejected,
    reason: 'another mediactl process has this place in hand',
    hint: 'wait for it to finish, or give another place with -o',
    retryable: true,
  });

const appearedMeanwhile = (path: string) =>
  usageError(
    `${path} is there by now`,
    'another place with -o, or --yes to replace it',
    'it was not when the download began',
  );

const cannotOpen = (path: string, error: Error) =>
  usageError(`cannot write ${path}`, 'give another place with -o', error.message);

const cannotWrite = (path: string, error: Error) =>
  new MediactlError(`cannot write ${path}`, {
    code: 'output',
    exitCode: exitCodes.unclassified,
    reason: error.message,
    hint: 'make room, or give another place with -o',
    underlying: error,
  });

const savedRows = (
  { path, size_bytes, content_type }: Saved,
  { isTerminal }: RenderContext,
): Row[] => [
  ['saved', printable(path)],
  ['size', isTerminal ? bytes(size_bytes) : String(size_bytes)],
  ['type', printable(content_type ?? '')],
];

async function toStdout(context: Context, media: Media, progress: Progress): Promise<undefined> {
  const { terminal } = context;
  if (terminal.stdout.isTTY)
    throw usageError('media is not written to a terminal', 'give a file with -o, or a pipe');
  const saving = { context, media, path: '-', progress };
  await downloaded(saving, { write: (chunk) => terminal.write(chunk) });
}

async function downloaded(
  { context, media: { url, expected }, path, progress }: Saving,
  sink: Sink,
): Promise<Downloaded> {
  const { terminal } = context;
  const api = (await context.mediaApi()).observed({
    onNotice: (notice) => progress.show({ path, ...waitingEvent(notice) }),
  });
  const size_bytes = expected.sizeBytes ?? 0;
  progress.show({ path, event: 'started', size_bytes });
  const onProgress = (received: number, total: number | undefined) =>
    progress.show({
      ...{ path, event: 'progress', acknowledged_bytes: received, sent_bytes: received },
      size_bytes: total ?? size_bytes,
    });
  const saved = await api.playback.download(url, { ...sink, onProgress }, expected);
  if (!saved.isMeasured)
    terminal.warn(
      `the length of ${printable(path)} is not known: ${bytes(saved.bytes)} came, and may be all`,
    );
  if (saved.isRendition) terminal.warn(renditionNote(saved, expected));
  return saved;
}

function renditionNote(saved: Downloaded, recorded: Expected): string {
  const words = (size: number | undefined, type: string | undefined) =>
    [size !== undefined && bytes(size), type && printable(type)].filter(Boolean).join(', ');
  return `this is a rendition, not the original file: ${words(saved.bytes, saved.contentType)}; the record says ${words(recorded.sizeBytes, recorded.contentType)}`;
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
