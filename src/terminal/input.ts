import { readFile } from 'node:fs/promises';
import { usageError } from '../errors.ts';
import { readStdin } from './prompt.ts';
import type { Terminal } from './terminal.ts';

/** A file that the person named, whole; `-` is stdin. @throws MediactlError exit 2 */
export const readInput = (terminal: Terminal, path: string): Promise<Buffer> =>
  path === '-'
    ? readStdin(terminal)
    : readFile(path).catch((error: Error) => {
        throw usageError(`cannot read ${path}`, 'check the path', error.message);
      });

/** That file as text. */
export const readInputText = async (terminal: Terminal, path: string) =>
  (await readInput(terminal, path)).toString('utf8');
