import type { Context } from '../../context.ts';
import { usageError } from '../../errors.ts';
import { readInputText } from '../../terminal/input.ts';
import { entriesIn } from '../../upload/manifest.ts';
import { FileSource, type Source } from '../../upload/source.ts';
import { Walk, type WalkOptions } from '../../upload/walk.ts';
import type { About, Wanted } from '../../upload/wanted.ts';

type SourceFlags = WalkOptions & {
  fromList?: string | undefined;
  manifest?: string | undefined;
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
  open(path: string): Promise<Source>;
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
  const walk = new Walk(flags);
  await walk.look(named);
  return {
    named,
    namesFolders: [...about.values()].some(({ folder }) => folder !== undefined),
    async *files() {
      for await (const file of walk.files()) {
        const said = about.get(file.path);
        yield said ? { ...file, about: said } : file;
      }
    },
    passedOver: () => walk.passedOver,
    failures: walk.failures,
    open: FileSource.open,
    close: async () => {},
  };
}

/** The lines of --from-list. */
async function listed(context: Context, path: string | undefined): Promise<string[]> {
  if (path === undefined) return [];
  const lines = (await readInputText(context.terminal, path)).split('\n');
  return lines.map((line) => line.replace(/\r$/, '')).filter((line) => line !== '');
}
