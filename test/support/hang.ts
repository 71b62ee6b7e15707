/**
 * Timeout in milliseconds after which a wait in a test counts as hung. It only ends tests that would wait forever. It
 * does not measure speed: on a busy machine everything takes several times as long.
 */
export const hangMs = 100_000;
