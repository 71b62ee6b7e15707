import { type BigIntStats, existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { basename, dirname, join, posix } from 'node:path';
import { pluralize } from '../../../shared/figures.ts';
import { escapeControls } from '../../../shared/sanitize.ts';
import { CodedError } from '../../errors.ts';
import type { OwnFiles } from '../../own-files.ts';
import { leftAtBy, PathRules } from './path-filter.ts';
import { attributesOf, type FileAttributes, isInShard, type Shard, type UploadFile } from './upload-file.ts';

/** What the user said about which files of the sources are uploaded. It holds for every kind of source. */
export type FileChoice = {
  /** Filters of which a file in a directory matches one; empty for all files. */
  include: readonly string[];
  /** Filters of which a file in a directory matches none. */
  exclude: readonly string[];
  /** True to upload what other programs left, too. */
  allFiles: boolean;
  /**
   * Times of the last change, in milliseconds since the Unix epoch, with which a file may still be written. A later one
   * says that a clock is wrong.
   */
  recent: { since: number; until: number } | undefined;
  /** Part of the files that this machine uploads; other machines upload the rest. */
  shard: Shard | undefined;
  /** True if it is no mistake that a source has no file, as each is moved away. */
  mayBeEmpty: boolean;
};

/** Chooses all files but those that other programs left. */
export const everyFile: FileChoice = {
  include: [],
  exclude: [],
  allFiles: false,
  recent: undefined,
  shard: undefined,
  mayBeEmpty: false,
};

/** Returns the choice of options among which there may be others. */
export const choiceFrom = (options: Partial<FileChoice>): FileChoice =>
  Object.fromEntries(
    Object.entries(everyFile).map(([name, byDefault]) => [name, options[name as keyof FileChoice] ?? byDefault]),
  ) as FileChoice;

/** A file or a directory that a source has found, with what the source knows of it. */
export type FileCandidate = {
  /** Path or URL to show. */
  path: string;
  /** The source as the user entered it. */
  source: string;
  /**
   * Path relative to the directory or the remote that the user named, or to the fixed part of a glob, with slashes;
   * undefined for what the user named, which is chosen whatever its name.
   */
  inside?: string | undefined;
  isDirectory?: boolean;
  /** Real path, or else a name that is the same for the same file. */
  realPath?: string | undefined;
  /** Subfolders and name that a file gets below the target folder. */
  relativeDir: string;
  filename: string;
  /** Returns true for the name of another entry of its directory. */
  isBeside?: (name: string) => boolean;
  /** Returns true for a file or a directory of mediactl itself. */
  isOwn?: () => boolean;
  /** Returns the attributes of a file; undefined if they cannot be read, which is reported when it is opened. */
  attributes?: () => FileAttributes | undefined;
};

/** Why a candidate is left out: `failed` if a rule cannot decide about it, `repeated` if another source gave it already. */
type LeaveReason = 'filter' | 'leftover' | 'own' | keyof typeof kinds | 'failed' | 'output' | 'repeated' | 'shard';

/** Maps reasons to the singular, the plural, and a note for the user. */
const kinds = {
  link: ['linked directory', 'linked directories', ', which may form a loop'],
  special: ['pipe, socket or device', 'pipes, sockets and devices', ''],
  recent: ['file that changed recently', 'files that changed recently', ', which may still be written (minimum age)'],
} as const;

/** Reasons with which a source is not empty. */
const fruitfulReasons: readonly LeaveReason[] = ['failed', 'output', 'repeated', 'shard'];

/** A file or directory that was left out since a program left it, which may be mediactl itself. */
export type LeftOut = { path: string; isDirectory: boolean; by: string };

/** Returns the path to show; of a directory with a slash at its end. */
export const leftOutPath = ({ path, isDirectory }: LeftOut) => (isDirectory ? `${path}/` : path);

/** The program that left a file of mediactl's own. */
const thisProgram = 'mediactl';

/** Names of the options, for messages. */
type ChoiceNames = Record<'include' | 'exclude' | 'allFiles' | 'minAge', string>;

type ChooserOptions = {
  /** Files of mediactl itself, which are never uploaded. */
  own: OwnFiles;
  names: ChoiceNames;
  /** Real path of a file to leave out, such as an output file that is being written. */
  outputPath?: string | undefined;
  /** True if several of the sources may lead to one file. */
  mayRepeat?: boolean;
  /** Called for a file that another source has given already. */
  onRepeated?: (candidate: FileCandidate) => void;
};

/** Returns true if a file of a directory is chosen, by its path relative to it, with slashes. */
export type PathSelector = (inside: string) => boolean;

/**
 * Chooses the files of a run, whatever their source: a source asks about each file and each directory that it finds, and
 * knows no rule itself. Counts what it leaves out, for the user.
 */
export class FileChooser {
  readonly own: OwnFiles;
  readonly #choice: FileChoice;
  readonly #options: ChooserOptions;
  readonly #rules: PathRules;
  readonly #counts = new Map<LeaveReason, number>();
  /** Real paths of chosen files, if they may be found again. */
  readonly #chosen = new Set<string>();
  /** Sources that gave a file, or an error that is reported. */
  readonly #fruitful = new Set<string>();
  /** Chosen files whose age is not known, although it matters. */
  readonly #ageless: string[] = [];
  /** Real paths of all files that it was asked about, and whether it took them, if they are remembered. */
  #seen: Map<string, boolean> | undefined;
  readonly leftOut: LeftOut[] = [];
  /** What a source cannot read, and files about which a rule cannot decide. */
  readonly failures: { path: string; error: CodedError }[] = [];
  /** Sizes of files that are left out because of their attributes, of which one may be a renamed file. */
  readonly leftOutSizes = new Set<number>();

  /** @throws CodedError `usage` (exit 2) if a filter has too many alternatives */
  constructor(choice: FileChoice, options: ChooserOptions) {
    this.own = options.own;
    this.#choice = choice;
    this.#options = options;
    this.#rules = new PathRules(choice);
  }

  /** Remembers from now on which files it is asked about. */
  remember(): void {
    this.#seen = new Map();
  }

  /** Returns whether it took a file that a source has found since `remember`; undefined if none has. */
  hasTaken(realPath: string): boolean | undefined {
    return this.#seen?.get(realPath);
  }

  /** Returns true for a file to upload, and for a directory to look into. Asked once about each. */
  takes(candidate: FileCandidate): boolean {
    const { path, source, isDirectory = false, realPath } = candidate;
    const reason = this.#reasonToLeave(candidate);
    if (!isDirectory && realPath !== undefined) this.#seen?.set(realPath, reason === undefined);
    if (reason === undefined) {
      if (isDirectory) return true;
      if (this.#options.mayRepeat && realPath !== undefined) this.#chosen.add(realPath);
      this.#fruitful.add(source);
      return true;
    }
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
    const by = reason === 'own' ? thisProgram : reason === 'leftover' ? this.#leftBy(candidate) : undefined;
    if (by !== undefined) this.leftOut.push({ path, isDirectory, by });
    if (fruitfulReasons.includes(reason)) this.#fruitful.add(source);
    if (reason === 'repeated') this.#options.onRepeated?.(candidate);
    return false;
  }

  /** Reports what a source cannot read. */
  fail(source: string, path: string, error: CodedError): void {
    this.failures.push({ path, error });
    this.#fruitful.add(source);
  }

  /** Returns the predicate by which files of a local directory are chosen that are missing, so that their attributes are not known. */
  async createSelector(directory: string): Promise<PathSelector> {
    const real = await realpath(directory);
    return (inside) => {
      const realPath = join(real, inside);
      const relativeDir = inside.includes('/') ? posix.dirname(inside) : '';
      const missing: FileCandidate = {
        ...{ path: realPath, source: directory, inside, realPath, relativeDir, filename: posix.basename(inside) },
        isBeside: (name) => existsSync(join(dirname(realPath), name)),
        isOwn: () => this.own.includesFile(realPath),
      };
      return this.#reasonToLeave(missing) === undefined;
    };
  }

  #reasonToLeave(candidate: FileCandidate): LeaveReason | undefined {
    const { inside, filename, isDirectory = false, realPath } = candidate;
    const { outputPath } = this.#options;
    const { shard } = this.#choice;
    if (inside !== undefined && !this.#rules.take(inside, isDirectory)) return 'filter';
    // What the user named is chosen anyway, but a filter that matches it is not without effect by mistake.
    if (inside === undefined && !isDirectory) this.#rules.take(filename, false);
    if (candidate.isOwn?.()) return 'own';
    if (this.#leftBy(candidate) !== undefined) return 'leftover';
    if (isDirectory) return undefined;
    const reason = this.#reasonOfAttributes(candidate);
    if (reason !== undefined) return reason;
    if (realPath !== undefined && realPath === outputPath) return 'output';
    if (realPath !== undefined && this.#chosen.has(realPath)) return 'repeated';
    return shard && !isInShard(shard, candidate) ? 'shard' : undefined;
  }

  #leftBy({ inside, isDirectory = false, isBeside }: FileCandidate): string | undefined {
    return inside === undefined || this.#choice.allFiles ? undefined : leftAtBy(inside, isDirectory, isBeside);
  }

  #reasonOfAttributes(candidate: FileCandidate): LeaveReason | undefined {
    const found = candidate.attributes?.();
    if (!found) return undefined;
    if (found.kind !== 'file') return found.kind === 'directory' ? 'link' : 'special';
    const { recent } = this.#choice;
    const { changedAtMs, sizeBytes, isForeignTime } = found;
    if (!recent) return undefined;
    if (changedAtMs === undefined || (isForeignTime && changedAtMs > recent.until)) {
      this.#ageless.push(candidate.path);
      return undefined;
    }
    if (changedAtMs <= recent.since) return undefined;
    this.leftOutSizes.add(sizeBytes);
    if (changedAtMs <= recent.until) return 'recent';
    // One from the future would be left out for as long.
    this.failures.push({ path: candidate.path, error: fromTheFuture(candidate.path, changedAtMs) });
    return 'failed';
  }

  /** Number of files in other shards. */
  get otherShardFiles(): number {
    return this.#counts.get('shard') ?? 0;
  }

  /** True if it is no mistake that there are no files. */
  get mayBeEmpty(): boolean {
    return this.#choice.recent !== undefined || this.#choice.mayBeEmpty;
  }

  /** Returns those of the sources that gave no file, unless that is no mistake. Complete once all candidates were asked about. */
  emptySources(sources: readonly string[]): string[] {
    return this.mayBeEmpty ? [] : [...new Set(sources)].filter((source) => !this.#fruitful.has(source));
  }

  /** Sentences about what is left out, one for each kind, and about rules that cannot be decided. */
  get warnings(): string[] {
    const { names } = this.#options;
    const [own, others] = [true, false].map((isOwn) =>
      this.leftOut.filter(({ by }) => (by === thisProgram) === isOwn),
    ) as [LeftOut[], LeftOut[]];
    const example = escapeControls(basename(others[0]?.path ?? ''));
    const counted = Object.entries(kinds).map(([kind, [one, several, note]]) => {
      const count = this.#counts.get(kind as LeaveReason) ?? 0;
      return count === 0 ? '' : `${count} ${count === 1 ? one : several}${note}`;
    });
    const left = [
      count(others, ` that other programs left, such as ${example} (${names.allFiles} uploads them)`),
      count(own, " of mediactl's own configuration and state"),
      ...counted,
    ].filter(Boolean);
    const [ageless] = this.#ageless;
    if (ageless === undefined) return left.map((text) => `skipped: ${text}`);
    const noun = pluralize(this.#ageless.length, 'file');
    const unknown = `the age of ${noun} is not known, such as ${escapeControls(ageless)}: ${names.minAge} is not applied there`;
    return [...left.map((text) => `skipped: ${text}`), unknown];
  }

  /** Messages about the filters that have matched nothing: no candidate, and no file that a selector was asked about. */
  get unusedFilters(): string[] {
    return this.#rules.describeUnused(this.#options.names);
  }
}

/** Describes a file that the user named. @param found its attributes; undefined for a stream */
export const candidateOf = (file: UploadFile, found: BigIntStats | undefined): FileCandidate => ({
  ...{ path: file.path, source: file.path, realPath: file.realPath, relativeDir: '', filename: basename(file.path) },
  attributes: () => found && attributesOf(found),
});

/** Counts files and directories in words; empty if there are none. */
function count(left: readonly LeftOut[], words: string): string {
  const directories = left.filter(({ isDirectory }) => isDirectory).length;
  const files = left.length - directories;
  if (left.length === 0) return '';
  const nouns = [
    ...(files > 0 ? [pluralize(files, 'file')] : []),
    ...(directories > 0 ? [`${directories} ${directories === 1 ? 'directory' : 'directories'}`] : []),
  ];
  return nouns.join(' and ') + words;
}

const fromTheFuture = (path: string, changedAt: number) =>
  new CodedError(`${escapeControls(path)} has a time in the future`, {
    code: 'clock_skew',
    reason: `it changed at ${new Date(changedAt).toISOString()}, so that its minimum age is not known`,
    hint: 'set the clock of this machine or of the file’s disk, then touch the file',
  });
