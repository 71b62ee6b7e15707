import { exitCodes, MediactlError, usageError } from '../../errors.ts';
import type { Transport } from '../../http/transport.ts';
import { RangeSource } from './range-source.ts';
import { type RcloneServer, type RcloneTools, rcloneLines, serveRemote } from './rclone-child.ts';
import { changed, gone, type Source } from './source.ts';
import { basicAuth } from './source-address.ts';

export type RcloneFile = {
  /** Below what was asked for; of one file that was asked for, its name. */
  path: string;
  /** -1 where nobody can tell before it is read. */
  sizeBytes: number;
  /** RFC 3339, as precise as the remote tells it. */
  modTime: string;
};

export type RcloneOptions = RcloneTools & {
  /** Takes a directory, and all that is below it. */
  recursive: boolean;
  /** Without a key. */
  transport: Transport;
};

/** Files of a remote of the user's own rclone. */
export type RcloneFiles = {
  files: RcloneFile[];
  /** `rclone:REMOTE:PATH` of one of them. */
  addressOf(file: RcloneFile): string;
  /** Starts the server of them all with the first one. @throws MediactlError as `RangeSource.open` */
  sourceOf(file: RcloneFile): Promise<Source>;
  /** Ends the server. */
  close(): Promise<void>;
};

/**
 * The file or the files behind `rclone:REMOTE:PATH`. rclone is the user's, found on their PATH.
 *
 * @throws MediactlError `usage` (2) for no remote, or no rclone; `no_such_file`, `is_directory` (2);
 *   `rclone_failed` (10) in rclone's own words; what the signal aborts with
 */
export async function openRclone(
  address: string,
  { recursive, transport, ...tools }: RcloneOptions,
): Promise<RcloneFiles> {
  const remote = remoteIn(address);
  const found = await stat(remote, tools);
  if (found.isDirectory && !recursive) throw isDirectory(address);
  const files = found.isDirectory ? await filesBelow(remote, tools) : [found.file];
  const join = (base: string, path: string) => `${base}${/[:/]$/.test(base) ? '' : '/'}${path}`;
  const addressOf = ({ path }: RcloneFile) => (found.isDirectory ? join(address, path) : address);
  let serving: Promise<RcloneServer> | undefined;
  return {
    files,
    addressOf,
    sourceOf: async (file) => {
      const label = addressOf(file);
      if (file.sizeBytes < 0) throw unknownLength(label);
      serving ??= serveRemote(remote, tools);
      return openSource(await serving, file, label, transport, tools);
    },
    close: async () => {
      const server = await serving?.catch(() => undefined); // said by sourceOf
      await server?.close();
    },
  };
}

/**
 * Its server looks at a directory every five minutes at most: whether a file is still the one that was
 * begun is asked of the remote itself.
 */
async function openSource(
  { url, user, password, ended }: RcloneServer,
  listed: RcloneFile,
  label: string,
  transport: Transport,
  tools: RcloneTools,
): Promise<Source> {
  const { signal } = tools;
  const path = listed.path.split('/').map(encodeURIComponent).join('/');
  const source = await RangeSource.open(new URL(path, url).href, transport, {
    label,
    headers: basicAuth(user, password),
    signal: signal ? AbortSignal.any([signal, ended]) : ended,
  });
  const served = {
    path: listed.path,
    sizeBytes: source.sizeBytes,
    modTime: new Date(Number(BigInt(source.identity.mtimeNs) / 1_000_000n)).toISOString(),
  };
  const now = () => fileNow(label, tools);
  // It may have been written to since it was listed, and before its turn came.
  const begun = isSame(listed, served) ? listed : await now();
  const assertSame = (file: RcloneFile) => {
    if (isSame(begun, file)) return;
    throw changed(label, `on the remote it is of ${file.sizeBytes} bytes and ${file.modTime}`).with(
      {
        hint: 'once it no longer changes, the same command with --again, which makes a new asset',
      },
    );
  };
  assertSame(served);
  const assertUnchanged = async () => assertSame(await now());
  return {
    ...{ path: label, realPath: label, identity: source.identity, sizeBytes: source.sizeBytes },
    async *read(start, end, reading) {
      try {
        yield* source.read(start, end, { assertUnchanged, ...reading });
      } catch (error) {
        // Its server only breaks the line where the file is gone, or shorter.
        if (error instanceof MediactlError && error.explanation.retryable) await assertUnchanged();
        throw error;
      }
    },
    assertUnchanged,
    close: () => source.close(),
  };
}

/** @throws MediactlError `file_gone` where it is no more */
async function fileNow(address: string, tools: RcloneTools): Promise<RcloneFile> {
  try {
    const found = await stat(remoteIn(address), tools);
    if (!found.isDirectory) return found.file; // stores of buckets say so of what is not there
  } catch (error) {
    if (!(error instanceof MediactlError) || error.explanation.code !== 'no_such_file') throw error;
  }
  throw gone(address);
}

/** Of one size and time; a store may tell fractions of a second in lists alone. */
function isSame(one: RcloneFile, other: RcloneFile): boolean {
  const [a, b] = [one, other].map(({ modTime }) => ({
    second: Math.floor(Date.parse(modTime) / 1000),
    fraction: (/\.(\d+)/.exec(modTime)?.[1] ?? '').replace(/0+$/, ''),
  })) as [{ second: number; fraction: string }, { second: number; fraction: string }];
  const isSameTime =
    a.second === b.second && (!a.fraction || !b.fraction || a.fraction === b.fraction);
  return one.sizeBytes === other.sizeBytes && isSameTime;
}

async function stat(remote: string, tools: RcloneTools) {
  const lines: string[] = [];
  for await (const line of rcloneLines(['lsjson', '--stat', '--no-mimetype'], remote, tools))
    lines.push(line);
  return entryIn(lines.join('\n'));
}

/** As they come, an entry a line: what rclone prints of 100,000 files is never held whole. */
async function filesBelow(remote: string, tools: RcloneTools): Promise<RcloneFile[]> {
  const files: RcloneFile[] = [];
  const command = ['lsjson', '--recursive', '--files-only', '--no-mimetype'];
  for await (const line of rcloneLines(command, remote, tools))
    if (line.startsWith('{')) files.push(entryIn(line.replace(/,$/, '')).file);
  return files;
}

/** @throws MediactlError `rclone_failed` for what is no entry */
function entryIn(text: string): { file: RcloneFile; isDirectory: boolean } {
  try {
    const { Path, Size, ModTime, IsDir } = JSON.parse(text);
    if (typeof Path !== 'string' || typeof ModTime !== 'string' || !Number.isSafeInteger(Size))
      throw new TypeError('no entry');
    return { file: { path: Path, sizeBytes: Size, modTime: ModTime }, isDirectory: IsDir === true };
  } catch (underlying) {
    throw new MediactlError('what rclone prints cannot be read', {
      code: 'rclone_failed',
      exitCode: exitCodes.unreachable,
      reason: 'it is not an entry of a listing',
      hint: 'rclone version: 1.60 or later',
      underlying,
    });
  }
}

/** `REMOTE:PATH`, of a remote that has a name: a connection string would show its secrets. */
function remoteIn(address: string): string {
  const remote = address.replace(/^rclone:/, '');
  if (/^(:local|[\p{L}\p{N}_.+@][\p{L}\p{N}_.+@ -]*):/u.test(remote)) return remote;
  throw usageError(
    'that is not a remote of rclone',
    'rclone:REMOTE:PATH; rclone listremotes lists the remotes',
  );
}

const isDirectory = (address: string) =>
  new MediactlError(`${address} is a directory`, {
    code: 'is_directory',
    exitCode: exitCodes.usage,
    reason: 'only files are uploaded',
    hint: `mediactl upload -r '${address}', for the files in it`,
  });

const unknownLength = (address: string) =>
  usageError(
    `${address} has no known length`,
    `rclone cat '${remoteIn(address)}' | mediactl upload - --name NAME`,
    'the length must be known before an upload starts',
  );
