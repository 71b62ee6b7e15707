import { existsSync, readFileSync } from 'node:fs';

/**
 * Wraps a command to limit all its private writable memory, not only a heap that the program itself limits. Also
 * disables core dumps. The command runs without a memory limit on systems whose `ulimit -d` does not support this
 * (Linux supports it since 4.7).
 */
export function withMemoryLimit(
  memoryMiB: number,
  command: string,
  args: readonly string[],
): { command: string; args: string[] } {
  const script = 'ulimit -c 0; ulimit -d "$0" 2>/dev/null; exec "$@"';
  return {
    command: '/bin/sh',
    args: ['-c', script, String(memoryMiB * 1024), command, ...args],
  };
}

/**
 * Returns the MiB that V8 reserves for compiled code in every process of this Node.js. Add them to the memory limit
 * of a Node.js process, since `ulimit -d` counts them although they are hardly used: since Node 24, all 512 MiB are
 * mapped writable from the start. Returns 0 without /proc, where `ulimit -d` has no effect either.
 */
export function reservedForCodeMiB(): number {
  const maps = '/proc/self/maps';
  if (!existsSync(maps)) return 0;
  const executable = /^([0-9a-f]+)-([0-9a-f]+) rwxp /gm;
  let bytes = 0;
  for (const [, start = '', end = ''] of readFileSync(maps, 'utf8').matchAll(executable))
    bytes += Number.parseInt(end, 16) - Number.parseInt(start, 16);
  return Math.ceil(bytes / 1024 / 1024);
}
