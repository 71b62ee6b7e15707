import { workerVariable } from './leftovers.ts';

/**
 * Environment variables that a test passes to every program it starts: PATH, the temporary folder and the compile cache
 * of the run, the variable that marks processes of the run, and those of faketime(1), so that all processes of a
 * run have the same clock.
 */
export const inherited: Record<string, string | undefined> = Object.fromEntries(
  ['PATH', 'TMPDIR', 'XDG_CACHE_HOME', workerVariable, 'LD_PRELOAD', 'FAKETIME', 'FAKETIME_SHARED'].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  }),
);
