import { lstat, open } from 'node:fs/promises';
import { usageError } from '../../client/errors.ts';
import { decodeText } from '../../client/read-file.ts';
import { readStdin } from './prompt.ts';
import type { Terminal } from './terminal.ts';

/** Maximum size of an input file in bytes, since a device such as /dev/zero is endless. */
const maxInputMiB = 256;

/**
 * Reads a whole file given on the command line, or stdin if the path is `-`.
 *
 * @throws CodedError `usage` (exit 2) if the file cannot be read, is too large, or is a named pipe, from which
 *   reading could block forever
 */
export async function readInput(terminal: Terminal, path: string): Promise<Buffer> {
  if (path === '-') return readStdin(terminal);
  try {
    return await readFileUpToLimit(path);
  } catch (error) {
    throw usageError(`cannot read ${path}`, 'check the path', (error as Error).message);
  }
}

async function readFileUpToLimit(path: string): Promise<Buffer> {
  // A shell's <(…) is a pipe under /dev/fd/ that always has a writer.
  if (!path.startsWith('/dev/fd/') && (await lstat(path)).isFIFO())
    throw new Error('it is a named pipe; use - and redirect stdin from it');
  const parts: Buffer[] = [];
  let total = 0;
  for await (const part of (await open(path)).createReadStream()) {
    total += part.length;
    if (total > maxInputMiB * 1024 * 1024) throw new Error(`it is larger than ${maxInputMiB} MiB`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** Reads a file, or stdin if the path is `-`, as text. */
export const readInputText = async (terminal: Terminal, path: string) => decodeText(await readInput(terminal, path));
