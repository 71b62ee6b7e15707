import { stat } from 'node:fs/promises';
import { usageError } from '../../client/errors.ts';
import { FileWalker, type WalkOptions } from '../../client/upload/sources/file-walker.ts';
import { parseManifest } from '../../client/upload/sources/manifest.ts';
import { FileSource, realPathOf, type UploadSource } from '../../client/upload/sources/source.ts';
import type { UploadCandidate, UserMetadata } from '../../client/upload/sources/upload-candidate.ts';
import { isInShard, type Shard } from '../../client/upload/sources/upload-candidate.ts';
import type { Context } from '../context.ts';
import { parseSize } from '../settings/units.ts';
import { readInputText } from '../terminal/input.ts';
import { isRemote, RemoteSources } from './remote-sources.ts';

type SourceFlags = WalkOptions & {
  fromList?: string | undefined;
  manifest?: string | undefined;
  manifestOut?: string | undefined;
  /** Length of stdin, with which it can be streamed without a spool file. */
  size?: string | undefined;
  name?: string | undefined;
  chunkBytes: number;
  /** Part of the files that this machine uploads; other machines upload the rest. */
  shard?: Shard | undefined;
};

/** Input files of a run. */
export type UploadSources = {
  /** Paths, globs, and URLs as the user entered them. */
  inputs: readonly string[];
  /** True if the manifest has a folder for any file. */
  hasFolders: boolean;
  files(): AsyncIterable<UploadCandidate>;
  /** Number of files in other shards. Complete after `files()` has ended. */
  readonly otherShardFiles: number;
  /** Descriptions of skipped files, for warnings. */
  skipped(): readonly string[];
  failures: FileWalker['failures'];
  open(path: string, sourceId?: string): Promise<UploadSource>;
  close(): Promise<void>;
};

/**
 * Resolves the inputs of an upload: paths, lists, a manifest, URLs, and stdin.
 *
 * @throws MediactlError `usage` (exit 2) if there are no inputs, or if a list cannot be read
 */
export async function openSources(
  context: Context,
  given: readonly string[],
  flags: SourceFlags,
): Promise<UploadSources> {
  if (flags.manifest !== undefined && (given.length > 0 || flags.fromList !== undefined))
    throw usageError('--manifest names all files by itself', 'leave out the paths and --from-list');
  const about = await readManifest(context, flags.manifest);
  const inputs = [...given, ...(await readPathList(context, flags.fromList)), ...about.keys()];
  if (inputs.length === 0) throw usageError('nothing to upload', 'mediactl upload PATH');
  const size = flags.size === undefined ? undefined : parseSize('--size', flags.size);
  if (size !== undefined && (size < 1 || inputs.join() !== '-'))
    throw usageError('--size is for stdin alone, of one byte at least', 'mediactl upload - --size N');
  if (flags.shard && inputs.includes('-')) throw usageError('--shard is for files that have paths, and stdin has none');
  const excludedPath = await manifestOutPath(flags, inputs);
  let otherShardFiles = 0;
  const isInOwnShard = (file: UploadCandidate) => {
    const isHere = !flags.shard || isInShard(flags.shard, file);
    if (!isHere) otherShardFiles++;
    return isHere;
  };
  const remotes = new RemoteSources(context);
  const walk = new FileWalker({
    ...flags,
    excludedPath,
    onDuplicate: ({ path, typedPath: typed }) => {
      if (about.has(typed ?? path)) throw usageError(`the manifest names ${path} twice`);
    },
  });
  try {
    if (size !== undefined) remotes.addStdin(size, flags.chunkBytes, flags.name ?? 'stdin');
    const local = size === undefined ? inputs.filter((path) => !isRemote(path)) : [];
    // Only paths on the command line can be globs; paths in a list are literal.
    const typed = new Set(given);
    await walk.checkPaths(local, (path) => typed.has(path));
    await remotes.addAll(inputs.filter(isRemote), flags.recursive);
  } catch (error) {
    await remotes.close();
    throw error;
  }
  return {
    inputs,
    hasFolders: [...about.values()].some(({ folder }) => folder !== undefined),
    async *files() {
      const named = new Set<string>();
      const withMetadata = (file: UploadCandidate) => {
        const { typedPath: typed = file.path } = file;
        const metadata = about.get(typed);
        if (!metadata) return file;
        if (metadata.name !== undefined && named.has(typed))
          throw usageError(`a name is for one file, and ${typed} is several`);
        named.add(typed);
        return { ...file, about: { ...file.about, ...omitUndefinedMetadata(metadata) } };
      };
      for await (const file of walk.files()) if (isInOwnShard(file)) yield withMetadata(file);
      for (const file of remotes.files) if (isInOwnShard(file)) yield withMetadata(file);
    },
    get otherShardFiles() {
      return otherShardFiles;
    },
    skipped: () => walk.skipped,
    failures: walk.failures,
    open: (path, sourceId) => remotes.findOpener(sourceId ?? path)?.() ?? FileSource.open(path, sourceId),
    close: () => remotes.close(),
  };
}

/** Reads the --manifest file, and maps paths to the metadata for their files. */
async function readManifest(context: Context, manifest: string | undefined): Promise<Map<string, UserMetadata>> {
  const about = new Map<string, UserMetadata>();
  if (manifest === undefined) return about;
  for (const entry of await parseManifest(await readInputText(context.terminal, manifest))) {
    if (about.has(entry.path)) throw usageError(`the manifest names ${entry.path} twice`);
    about.set(entry.path, entry.about);
  }
  return about;
}

/**
 * Returns the real path of --manifest-out, to exclude it from the upload.
 *
 * @throws MediactlError `usage` (exit 2) if the file is also an input
 */
async function manifestOutPath(
  { manifest, manifestOut, fromList }: SourceFlags,
  named: readonly string[],
): Promise<string | undefined> {
  if (manifestOut === undefined) return undefined;
  const locate = (path: string) => realPathOf(path).catch(() => undefined); // reported when it is opened
  const out = await locate(manifestOut);
  const overwrites = () => usageError('--manifest-out would write over what is read', 'give it another file');
  // Another hard link to the file might be among the inputs.
  const links = await stat(manifestOut).then(
    ({ nlink }) => nlink,
    () => 0,
  );
  if (links > 1) throw overwrites();
  const read = [manifest, fromList, ...named].filter((path) => path !== undefined);
  for (const path of read) if (!isRemote(path) && (await locate(path)) === out) throw overwrites();
  return out;
}

const omitUndefinedMetadata = (about: UserMetadata): UserMetadata =>
  Object.fromEntries(Object.entries(about).filter(([, value]) => value !== undefined));

/** Maximum length of a line. No path (PATH_MAX is 4,096 bytes) or signed URL should be longer. */
const maxPathLength = 16_384;

/** Reads the paths in the --from-list file. */
async function readPathList(context: Context, path: string | undefined): Promise<string[]> {
  if (path === undefined) return [];
  const text = await readInputText(context.terminal, path);
  const paths = text
    .split('\n')
    .map((line) => line.replace(/\r$/, ''))
    .filter((line) => line !== '');
  if (paths.some(({ length }) => length > maxPathLength))
    throw usageError(
      `${path} is not a list of files`,
      'a path or an address a line',
      `it has a line of more than ${maxPathLength} characters`,
    );
  return paths;
}
