/**
 * Milliseconds after which a wait in a test counts as hung. It ends tests that would wait forever and says
 * nothing about speed: on a busy machine everything takes several times as long.
 */
export const hangMs = 100_000;
