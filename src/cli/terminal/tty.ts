import { openSync } from 'node:fs';
import { ReadStream } from 'node:tty';
import { isWindows } from '../../shared/platform.ts';

/** Opens the terminal that controls this process; undefined if it has none, as in a service. */
export function openTty(): ReadStream | undefined {
  if (isWindows) return undefined;
  try {
    return new ReadStream(openSync('/dev/tty', 'r'));
  } catch {
    return undefined;
  }
}
