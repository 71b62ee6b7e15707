import { CodedError, usageError } from '../../errors.ts';
import type { Transport } from '../../http/transport.ts';
import { RangeSource } from './range-source.ts';
import { type RcloneDeps, type RcloneServer, rcloneLines, serveRemote } from './rclone-process.ts';
import { fileChanged, fileGone } from './source.ts';

export type RcloneFile = {
  /** Path relative to the given directory, or the file name if a file was given. */
  path: string;
  /** Size of the file; -1 if it is unknown until the file is read. */
  sizeBytes: number;
  /** Modification time in RFC 3339, with the precision of the remote. */
  modTime: string;
};

export type RcloneOptions = RcloneDeps & {
  transport: Transport;
};

/** Listed files of an rclone remote, which the user has configured, and functions to open them. */
export type RcloneFiles = {
  files: RcloneFile[];
  /** True if they are the files in a directory, and false if a file was given. */
  isDirectory: boolean;
  /** Returns `rclone:REMOTE:PATH` of a file or a directory. */
  addressOf(file: Pick<RcloneFile, 'path'>): string;
  /** Opens a file. The first call starts the shared server. @throws CodedError as `RangeSource.open` does */
  sourceOf(file: RcloneFile): Promise<RangeSource>;
  close(): Promise<void>;
};

/**
 * Lists the file at `rclone:REMOTE:PATH`, or the files in it if it is a directory. Runs the installed rclone.
 *
 * @throws CodedError `usage` (exit 2) if the remote is invalid or rclone is not installed; `file_unusable`,
 *   (exit 2) if nothing is there; `source_failed` (exit 10) with rclone's own message; the signal's reason if it
 *   aborts
 */
export async function openRclone(address: string, options: RcloneOptions): Promise<RcloneFiles> {
  const remote = parseRemote(address);
  const found = await statRemote(remote, options);
  const files = found.isDirectory ? await listFiles(remote, options) : [found.file];
  const separator = /[:/]$/.test(address) ? '' : '/';
  const addressOf = ({ path }: Pick<RcloneFile, 'path'>) =>
    found.isDirectory ? `${address}${separator}${path}` : address;
  let serving: Promise<RcloneServer> | undefined;
  return {
    files,
    isDirectory: found.isDirectory,
    addressOf,
    sourceOf: async (file) => {
      const path = addressOf(file);
      if (file.sizeBytes < 0)
        throw usageError(
          `the size of ${path} is unknown`,
          undefined,
          'the size must be known before the upload starts',
        ).with({ remedy: ['pipe_remote', parseRemote(path)] });
      serving ??= serveRemote(remote, options);
      return openSource(await serving, file, path, options);
    },
    close: async () => {
      const server = await serving?.catch(() => undefined); // reported by sourceOf
      await server?.close();
    },
  };
}

/** The server caches directories for five minutes, so `rclone lsjson` checks the version against the remote. */
async function openSource(
  { url, headers, ended }: RcloneServer,
  listed: RcloneFile,
  path: string,
  options: RcloneOptions,
): Promise<RangeSource> {
  const { signal, transport } = options;
  let expected = listed;
  const assertSame = (file: RcloneFile) => {
    if (!isSameListing(expected, file))
      throw fileChanged(path, `on the remote, it has ${file.sizeBytes} bytes and was modified at ${file.modTime}`);
  };
  const urlPath = listed.path.split('/').map(encodeURIComponent).join('/');
  const source = await RangeSource.open(new URL(urlPath, url).href, transport, {
    path,
    headers,
    signal: signal ? AbortSignal.any([signal, ended]) : ended,
    checkOriginal: async () => assertSame(await statAgain(path, options)),
  });
  const modTime = new Date(Number(BigInt(source.identity.mtimeNs) / 1_000_000n)).toISOString();
  const served = { ...listed, sizeBytes: source.sizeBytes, modTime };
  // The file might have been modified between the listing and now.
  if (!isSameListing(listed, served)) expected = await statAgain(path, options);
  assertSame(served);
  return source;
}

/** Returns the file's current listing entry. @throws CodedError `file_unusable` (exit 2) if it no longer exists */
async function statAgain(address: string, deps: RcloneDeps): Promise<RcloneFile> {
  try {
    const found = await statRemote(parseRemote(address), deps);
    if (!found.isDirectory) return found.file; // object stores report a missing path as a directory
  } catch (error) {
    if (!(error instanceof CodedError) || error.explanation.code !== 'file_unusable') throw error;
  }
  throw fileGone(address);
}

/** Compares fractions of a second only if both have them, because some remotes report them only in listings. */
function isSameListing(one: RcloneFile, other: RcloneFile): boolean {
  const secondOf = ({ modTime }: RcloneFile) => Math.floor(Date.parse(modTime) / 1000);
  const fractionOf = ({ modTime }: RcloneFile) => /\.(\d*[1-9])/.exec(modTime)?.[1];
  const [a, b] = [fractionOf(one), fractionOf(other)];
  const isSameTime = secondOf(one) === secondOf(other) && (!a || !b || a === b);
  return one.sizeBytes === other.sizeBytes && isSameTime;
}

async function statRemote(remote: string, deps: RcloneDeps) {
  let text = '';
  for await (const line of rcloneLines(['lsjson', '--stat', '--no-mimetype'], remote, deps)) text += `${line}\n`;
  return parseListEntry(text);
}

/** Lists the files in a directory. Parses the output line by line, so that a long listing is never fully buffered. */
async function listFiles(remote: string, deps: RcloneDeps): Promise<RcloneFile[]> {
  const files: RcloneFile[] = [];
  const command = ['lsjson', '--recursive', '--files-only', '--no-mimetype'];
  for await (const line of rcloneLines(command, remote, deps))
    if (line.startsWith('{')) files.push(parseListEntry(line.replace(/,$/, '')).file);
  return files;
}

/** Parses one entry of `rclone lsjson`. @throws CodedError `source_failed` (exit 10) if it is malformed */
function parseListEntry(text: string): { file: RcloneFile; isDirectory: boolean } {
  try {
    const { Path, Size, ModTime, IsDir } = JSON.parse(text);
    if (typeof Path !== 'string' || typeof ModTime !== 'string' || !Number.isSafeInteger(Size))
      throw new TypeError('no entry');
    return { file: { path: Path, sizeBytes: Size, modTime: ModTime }, isDirectory: IsDir === true };
  } catch (underlying) {
    throw new CodedError('cannot parse the output of rclone', {
      code: 'source_failed',
      reason: 'it is not a list entry',
      hint: 'check the version of rclone: 1.60 or later is required',
      underlying,
    });
  }
}

/** Extracts `REMOTE:PATH`. Accepts only named remotes, because a connection string would expose its secrets. */
function parseRemote(address: string): string {
  const remote = address.replace(/^rclone:/, '');
  if (/^(:local|[\p{L}\p{N}_.+@][\p{L}\p{N}_.+@ -]*):/u.test(remote)) return remote;
  throw usageError('not an rclone remote', 'rclone:REMOTE:PATH; rclone listremotes lists the remotes');
}
