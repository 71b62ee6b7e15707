import type { Context } from '../../context.ts';
import { usageError } from '../../errors.ts';
import { parseSize } from '../../settings/units.ts';
import { readInputText } from '../../terminal/input.ts';
import { entriesIn } from '../../upload/manifest.ts';
import { FileSource, type Source } from '../../upload/source.ts';
import { Walk, type WalkOptions } from '../../upload/walk.ts';
import type { About, Wanted } from '../../upload/wanted.ts';
import { isRemote, RemoteSources } from './remote-sources.ts';

type SourceFlags = WalkOptions & {
  fromList?: string | undefined;
  manifest?: string | undefined;
  /** Of stdin, so that it need not be kept. */
  size?: string | undefined;
  name?: string | undefined;
  chunkBytes: number;
};

/** Where the files of a run come from. */
export type Sources = {
  /** What was named, as it was named. */
  named: readonly string[];
  /** Whether a manifest names folders. */
  namesFolders: boolean;
  files(): AsyncIterable<Wanted>;
  /** What was left out on the way, in words. */
  passedOver(): readonly string[];
  failures: Walk['failures'];
  open(path: string, knownAs?: string): Promise<Source>;
  close(): Promise<void>;
};

/** @throws MediactlError exit 2 where nothing is named, or a list cannot be read */
export async function openSources(
  context: Context,
  given: readonly string[],
  flags: SourceFlags,
): Promise<Sources> {
  if (flags.manifest !== undefined && (given.length > 0 || flags.fromList !== undefined))
    throw usageError('--manifest names all files by itself', 'leave out the paths and --from-list');
  const about = new Map<string, About>();
  const manifest = flags.manifest;
  if (manifest !== undefined)
    for (const entry of await entriesIn(await readInputText(context.terminal, manifest))) {
      if (about.has(entry.path)) throw usageError(`the manifest names ${entry.path} twice`);
      about.set(entry.path, entry.about);
    }
  const named = [...given, ...(await listed(context, flags.fromList)), ...about.keys()];
  if (named.length === 0) throw usageError('nothing to upload', 'mediactl upload PATH');
  const size = flags.size === undefined ? undefined : parseSize('--size', flags.size);
  if (size !== undefined && (size < 1 || named.join() !== '-'))
    throw usageError(
      '--size is for stdin alone, of one byte at least',
      'mediactl upload - --size N',
    );
  const remotes = new RemoteSources(context);
  const walk = new Walk(flags);
  try {
    if (size !== undefined) remotes.takeStream(size, flags.chunkBytes, flags.name ?? 'stdin');
    await walk.look(size === undefined ? named.filter((path) => !isRemote(path)) : []);
    await remotes.look(named.filter(isRemote), flags.recursive);
  } catch (error) {
    await remotes.close();
    throw error;
  }
  return {
    named,
    namesFolders: [...about.values()].some(({ folder }) => folder !== undefined),
    async *files() {
      const said = (file: Wanted) => {
        const mine = about.get(file.path);
        return mine ? { ...file, about: { ...file.about, ...defined(mine) } } : file;
      };
      for await (const file of walk.files()) yield said(file);
      for (const file of remotes.files) yield said(file);
    },
    passedOver: () => walk.passedOver,
    failures: walk.failures,
    open: (path, knownAs) =>
      remotes.opens(path) ? remotes.open(path) : FileSource.open(path, knownAs),
    close: () => remotes.close(),
  };
}

const defined = (about: About): About =>
  Object.fromEntries(Object.entries(about).filter(([, value]) => value !== undefined));

/** The lines of --from-list. */
async function listed(context: Context, path: string | undefined): Promise<string[]> {
  if (path === undefined) return [];
  const lines = (await readInputText(context.terminal, path)).split('\n');
  return lines.map((line) => line.replace(/\r$/, '')).filter((line) => line !== '');
}
