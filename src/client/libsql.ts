import type Libsql from 'libsql';
import { MediactlError } from './errors.ts';

/** Loads SQLite. @throws MediactlError `not_installed` (exit 1) if its native module is missing */
export async function loadLibsql(): Promise<typeof Libsql> {
  try {
    return (await import('libsql')).default;
  } catch (error) {
    const [reason] = (error as Error).message.split('\n');
    throw new MediactlError('a part of mediactl is missing: libsql', {
      code: 'not_installed',
      reason,
      underlying: error,
    });
  }
}
