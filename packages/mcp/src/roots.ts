import { readdir, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { ToolError } from './answers.ts';

const outside = (path: string) =>
  new ToolError('outside_roots', `${path} is outside of the roots`, 'name a path below a root of this server');

/** The directories from which files may be uploaded. */
export class Roots {
  /** Real paths. */
  readonly paths: readonly string[];

  private constructor(paths: readonly string[]) {
    this.paths = paths;
  }

  /** @throws Error if one does not exist or is no directory */
  static async open(typed: readonly string[]): Promise<Roots> {
    const paths = await Promise.all(typed.map((path) => realpath(resolve(path))));
    for (const path of paths) if (!(await stat(path)).isDirectory()) throw new Error(`${path} is not a directory`);
    return new Roots(paths);
  }

  /**
   * Returns the real path of a path below a root, relative to the first root. The client checks each file once more when it
   * is opened.
   *
   * @throws ToolError `outside_roots`, `no_roots`, `file_not_found`
   */
  async resolve(path: string): Promise<string> {
    const [first] = this.paths;
    if (first === undefined)
      throw new ToolError(
        'no_roots',
        'this server may read no files',
        'the person has to start it with --root DIRECTORY',
      );
    if (path.includes('\0') || /^[a-z][a-z0-9+.-]*:/i.test(path)) throw outside(path);
    const place = resolve(first, path);
    const real = await realpath(place).catch(() => undefined);
    // Whether a path outside exists is not told.
    if (real === undefined && this.#includes(place)) throw new ToolError('file_not_found', `${path} does not exist`);
    if (real === undefined || !this.#includes(real)) throw outside(path);
    return real;
  }

  #includes(real: string): boolean {
    return this.paths.some((root) => {
      const inside = relative(root, real);
      return inside === '' || (inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside));
    });
  }

  /** Returns a path as an answer shows it: relative to the root that it is below. */
  show(path: string): string {
    const root = this.paths.find((each) => path === each || path.startsWith(each + sep));
    return root === undefined ? path : relative(root, path) || '.';
  }

  /** Returns a text with the paths in it relative to their roots. */
  hide(text: string): string {
    return this.paths.reduce((shown, root) => shown.replaceAll(root + sep, ''), text);
  }
}

export type FileCount = { isDirectory: boolean; files: number; bytes: number; sample: string[]; isComplete: boolean };

/** Maximum number of files that are counted. */
const maxCounted = 20_000;

/** Counts the files of a file or a directory, without following links. Hidden files are not counted. */
export async function countFiles(path: string, signal: AbortSignal): Promise<FileCount> {
  const top = await stat(path);
  const count = { isDirectory: top.isDirectory(), files: 0, bytes: 0, sample: [] as string[], isComplete: true };
  const add = async (file: string, inside: string) => {
    count.files++;
    count.bytes += (await stat(file)).size;
    if (count.sample.length < 10) count.sample.push(inside);
  };
  if (!count.isDirectory) {
    await add(path, '');
    return count;
  }
  const waiting = [''];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    signal.throwIfAborted();
    for (const entry of await readdir(join(path, at), { withFileTypes: true })) {
      const inside = join(at, entry.name);
      if (entry.name.startsWith('.')) continue;
      if (entry.isDirectory()) waiting.push(inside);
      else if (entry.isFile()) await add(join(path, inside), inside).catch(() => {}); // it was removed meanwhile
      if (count.files >= maxCounted) return { ...count, isComplete: false };
    }
  }
  return count;
}
