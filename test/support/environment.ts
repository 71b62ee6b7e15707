/**
 * Variables that a test passes on to every program it starts: where programs are, and the clock of
 * faketime(1), so that a run under it has one clock.
 */
export const inherited: Record<string, string | undefined> = Object.fromEntries(
  ['PATH', 'LD_PRELOAD', 'FAKETIME', 'FAKETIME_SHARED'].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  }),
);
