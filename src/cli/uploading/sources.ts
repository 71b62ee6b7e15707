import { existsSync } from 'node:fs';
import { isAbsolute, parse, resolve } from 'node:path';
import type { Command, OptionValues } from '@commander-js/extra-typings';
import { usageError } from '../../client/errors.ts';
import { isGlob } from '../../client/glob.ts';
import { isSameInode, tryStat } from '../../client/local-path.ts';
import { toUtf8 } from '../../client/table/text-encoding.ts';
import { type FileChoice, FileChooser } from '../../client/upload/sources/file-chooser.ts';
import { FileSource, findLocalFiles, type UploadSource } from '../../client/upload/sources/source.ts';
import {
  expandName,
  isHttpUrl,
  realPathOf,
  type UploadFile,
  type UserMetadata,
} from '../../client/upload/sources/upload-file.ts';
import { withoutUndefined } from '../../shared/json-values.ts';
import { escapeControls } from '../../shared/sanitize.ts';
import { collect } from '../command.ts';
import type { Context } from '../context.ts';
import { readInput } from '../terminal/input.ts';
import type { RemoteSources } from './remote-sources.ts';
import type { RunRequest } from './upload-options.ts';

/** A run, and the sources of its files as the user named them. */
export type SourceRequest = RunRequest & {
  /** Paths, globs and URLs. */
  inputs: readonly string[];
  filesFrom: string | undefined;
  manifest: string | undefined;
  /** Name of the encoding of `filesFrom` or `manifest`; undefined for UTF-8 or UTF-16. */
  encoding: string | undefined;
  /** Name of each asset, with placeholders (`expandName`). */
  nameTemplate: string | undefined;
  tags: readonly string[];
  /** Directories that no local file may be outside of, with links resolved; empty to allow all. */
  roots: readonly string[];
};

export type UploadSources = {
  /** Paths, globs, and URLs as the user entered them. */
  inputs: readonly string[];
  /** True if the manifest has a folder for any file. */
  hasFolders: boolean;
  /** True if any input is a directory, whose files can be in several folders. */
  hasDirectories: boolean;
  files(): AsyncIterable<UploadFile>;
  /** Chooses the files, and knows what it has left out once `files()` has ended. */
  chooser: FileChooser;
  open(path: string, realPath?: string): Promise<UploadSource>;
  close(): Promise<void>;
};

/** @throws CodedError `usage` (exit 2) if there are no inputs, or if a list cannot be read */
export async function openSources(context: Context, request: SourceRequest): Promise<UploadSources> {
  const { inputs: given, resultsFile } = request;
  const { choice } = request.settings;
  const metadata = await readManifest(context, request);
  const inputs = [...given, ...(await readPathList(context, request)), ...metadata.keys()];
  assertInputs(inputs, choice);
  const own = context.ownFiles;
  if (resultsFile !== undefined) own.assertForeign(resultsFile);
  const chooser = new FileChooser(choice, {
    own,
    names: choiceNames,
    outputPath: await manifestOutPath(request, inputs),
    mayRepeat: inputs.length > 1 || inputs.some(isGlob),
    onRepeated: ({ path, source }) => {
      if (metadata.has(source)) throw usageError(`the manifest lists ${path} twice`);
    },
  });
  // Only paths on the command line can be globs; paths in a list are literal.
  const typed = new Set(given);
  const local = inputs.filter((path) => !isRemote(path));
  const walk = await findLocalFiles(local, chooser, (path) => typed.has(path));
  const assertInRoots = await createRootCheck(context, request.roots);
  const remotes = local.length < inputs.length ? await openRemotes(context, inputs, chooser) : undefined;
  return {
    inputs,
    chooser,
    hasDirectories: walk.hasDirectories || (remotes?.files ?? []).some(({ relativeDir }) => relativeDir !== ''),
    hasFolders: [...metadata.values()].some(({ folder }) => folder !== undefined),
    async *files() {
      const addMetadata = createMetadataAdder(metadata, request);
      for (const files of [walk.files(), remotes?.files ?? []]) for await (const file of files) yield addMetadata(file);
    },
    open: async (path, realPath) => {
      const openRemote = remotes?.findOpener(realPath ?? path);
      if (openRemote) return openRemote();
      await assertInRoots(path);
      return FileSource.open(path, own, realPath);
    },
    close: async () => remotes?.close(),
  };
}

/** Returns true for a path of an rclone remote, unless a local file has that name. */
export const isRclone = (path: string) => path.startsWith('rclone:') && !existsSync(path);
export const isRemote = (path: string) => isHttpUrl(path) || isRclone(path);

/** Adds the options that choose files by what they are, and not by when or where they are uploaded. */
export const addChoiceOptions = <Args extends unknown[], Options extends OptionValues>(
  command: Command<Args, Options>,
) =>
  command
    .option('--include <glob>', 'only matching files and directories; can be repeated', collect, [] as string[])
    .option('--exclude <glob>', 'skip matching files and directories; can be repeated', collect, [] as string[])
    .option('--all-files', 'also files that other programs leave, such as .DS_Store');

/** Names of the options that choose files, for messages. */
export const choiceNames = {
  include: '--include',
  exclude: '--exclude',
  allFiles: '--all-files',
  minAge: '--min-age',
};

export function warnOfLeftOut({ terminal }: Context, { warnings, failures }: FileChooser): void {
  for (const warning of warnings) terminal.warn(warning);
  for (const { path, error } of failures) terminal.warn(`${escapeControls(path)}: ${error.message}`);
}

async function createRootCheck({ host }: Context, typed: readonly string[]): Promise<(path: string) => Promise<void>> {
  if (typed.length === 0) return async () => {};
  const { Roots } = await import('../../queue/roots.ts');
  const roots = await Roots.open(typed, host.cwd);
  return (path) => roots.assertContains(path);
}

/** Returns true for `/`, and on Windows for a drive. */
export const isFileSystemRoot = (path: string) => isAbsolute(path) && parse(resolve(path)).root === resolve(path);

function assertInputs(inputs: readonly string[], choice: FileChoice): void {
  if (inputs.some(isFileSystemRoot)) throw usageError('the root directory cannot be uploaded', 'mediactl upload DIR');
  if (inputs.length === 0) throw usageError('nothing to upload', 'mediactl upload PATH');
  const option = choice.shard ? '--shard' : choice.recent ? '--min-age' : undefined;
  if (option && inputs.includes('-')) throw usageError(`${option} does not work with stdin`);
}

async function openRemotes(context: Context, inputs: readonly string[], chooser: FileChooser): Promise<RemoteSources> {
  const { RemoteSources: Opened } = await import('./remote-sources.ts');
  const remotes = new Opened(context, chooser);
  await remotes.addAll(inputs.filter(isRemote)).catch(async (error) => {
    await remotes.close();
    throw error;
  });
  return remotes;
}

/**
 * Returns a function that adds the metadata of options and manifest to each file. The manifest wins, but for tags, which
 * are added. A name of the manifest is for one file only.
 */
function createMetadataAdder(metadata: ReadonlyMap<string, UserMetadata>, { nameTemplate, tags }: SourceRequest) {
  const named = new Set<string>();
  const withOptions = (file: UploadFile): UploadFile => {
    if (nameTemplate === undefined && tags.length === 0) return file;
    const name = nameTemplate === undefined ? {} : { name: expandName(nameTemplate, file) };
    return { ...file, about: { ...name, ...(tags.length > 0 && { tags }), ...file.about } };
  };
  return (found: UploadFile): UploadFile => {
    const file = withOptions(found);
    const { typedPath = file.path } = file;
    const about = metadata.get(typedPath);
    if (!about) return file;
    if (about.name !== undefined && named.has(typedPath))
      throw usageError(`the manifest gives one name to several files: ${typedPath}`);
    named.add(typedPath);
    const given = withoutUndefined(about);
    if (about.tags) given.tags = [...new Set([...tags, ...about.tags])];
    return { ...file, about: { ...file.about, ...given } };
  };
}

/** Reads the --manifest file, and maps paths to the metadata for their files. */
async function readManifest(
  context: Context,
  { inputs, manifest, filesFrom, encoding }: SourceRequest,
): Promise<Map<string, UserMetadata>> {
  const about = new Map<string, UserMetadata>();
  if (manifest === undefined) return about;
  if (inputs.length > 0 || filesFrom !== undefined)
    throw usageError('--manifest cannot be combined with paths or --files-from', 'list all files in the manifest');
  const { parseManifest } = await import('../../client/upload/sources/manifest.ts');
  for (const entry of await parseManifest(await readInput(context.terminal, manifest), encoding)) {
    if (about.has(entry.path)) throw usageError(`the manifest lists ${entry.path} twice`);
    about.set(entry.path, entry.about);
  }
  return about;
}

/**
 * Returns the real path of --results. Compares files and not their paths, since a path can have several spellings.
 *
 * @throws CodedError `usage` (exit 2) if the file is also an input
 */
async function manifestOutPath(
  { manifest, resultsFile, filesFrom }: SourceRequest,
  named: readonly string[],
): Promise<string | undefined> {
  if (resultsFile === undefined) return undefined;
  const existing = await tryStat(resultsFile);
  if (!existing) return resultsFile;
  const overwrites = () => usageError('--results would overwrite an input file', 'choose another file');
  // Another hard link to the file might be among the inputs.
  if (existing.nlink > 1n) throw overwrites();
  for (const path of [manifest, filesFrom, ...named]) {
    const input = path === undefined || isRemote(path) ? undefined : await tryStat(path); // reported when it is opened
    if (isSameInode(input, existing)) throw overwrites();
  }
  return realPathOf(resultsFile);
}

/** Maximum length of a line. No path (PATH_MAX is 4,096 bytes) or signed URL should be longer. */
const maxPathLength = 16_384;

async function readPathList({ terminal }: Context, { filesFrom: path, encoding }: SourceRequest): Promise<string[]> {
  if (path === undefined) return [];
  const parts = await toUtf8(await readInput(terminal, path), path === '-' ? 'stdin' : path, encoding);
  const paths = Buffer.concat([...parts()])
    .toString()
    .split('\n')
    .map((line) => line.replace(/\r$/, ''))
    .filter((line) => line !== '');
  if (paths.some(({ length }) => length > maxPathLength))
    throw usageError(
      `${path} is not a list of files`,
      'use a file with one path or URL per line',
      `it contains a line of more than ${maxPathLength} characters`,
    );
  return paths;
}
