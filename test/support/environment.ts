import { workerVariable } from './leftovers.ts';

/**
 * Environment variables that a test passes to every program it starts: PATH, the temporary folder and the compile cache
 * of the run, the variable that marks processes of the run, and those of faketime(1), so that all processes of a
 * run have the same clock. Without FAKETIME_SHARED: faketime takes the semaphore that it names for each stat, so that all
 * processes would wait forever for one that a test kills while it has it.
 */
export const inherited: Record<string, string | undefined> = Object.fromEntries(
  ['PATH', 'TMPDIR', 'XDG_CACHE_HOME', workerVariable, 'LD_PRELOAD', 'FAKETIME'].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  }),
);
