import { lstat, open } from 'node:fs/promises';
import { usageError } from '../../client/errors.ts';
import { withoutByteOrderMark } from '../../client/read-file.ts';
import { readStdin } from './prompt.ts';
import type { Terminal } from './terminal.ts';

/** The largest list or body, in bytes: a device such as /dev/zero has no end. */
const maxInputBytes = 256 * 1024 * 1024;

/**
 * Reads a whole file that the user named; `-` is stdin.
 *
 * @throws MediactlError exit 2 if it cannot be read, is a named pipe (it might never be written) or too large
 */
export async function readInput(terminal: Terminal, path: string): Promise<Buffer> {
  if (path === '-') return readStdin(terminal);
  try {
    return await readWhole(path);
  } catch (error) {
    throw usageError(`cannot read ${path}`, 'check the path', (error as Error).message);
  }
}

async function readWhole(path: string): Promise<Buffer> {
  // The shell's <(…) is a pipe that has a writer.
  if (!path.startsWith('/dev/') && (await lstat(path)).isFIFO())
    throw new Error('it is a named pipe; give - and redirect it');
  const parts: Buffer[] = [];
  let total = 0;
  for await (const part of (await open(path)).createReadStream()) {
    total += part.length;
    if (total > maxInputBytes) throw new Error('it is larger than 256 MiB');
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** Reads it as text, without a byte order mark. */
export const readInputText = async (terminal: Terminal, path: string) =>
  withoutByteOrderMark((await readInput(terminal, path)).toString('utf8'));
