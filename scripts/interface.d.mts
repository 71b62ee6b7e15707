import type { publicInterface } from '../src/cli/generated-files.ts';

export const removedMark: string;
export function interfaceFiles(
  names: Awaited<ReturnType<typeof publicInterface>>,
  earlier: (path: string) => string,
): Record<string, string>;
export const countsPath: 'test/interface/counts.txt';
export function unexplainedRises(text: string, changelog: string): string[];
