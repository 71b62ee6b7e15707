import { readFile } from 'node:fs/promises';
import type { Context } from '../context.ts';
import { usageError } from '../errors.ts';
import { readStdin } from '../terminal/prompt.ts';

/** A file that the person named, whole; `-` is stdin. @throws MediactlError exit 2 */
export const readInput = ({ terminal }: Context, path: string): Promise<Buffer> =>
  path === '-'
    ? readStdin(terminal)
    : readFile(path).catch((error: Error) => {
        throw usageError(`cannot read ${path}`, 'check the path', error.message);
      });

/** The same as text. */
export const readInputText = async (context: Context, path: string) =>
  (await readInput(context, path)).toString('utf8');

/** What a text is as JSON; undefined where it is none. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
