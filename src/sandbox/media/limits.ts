/**
 * A command whose memory has an end, whatever it is made to allocate: private pages in all, and not
 * only the heap that a program itself keeps count of. It leaves no core. What has no such limit
 * (`ulimit -d` is Linux's own since 4.7) runs without.
 */
export function limited(
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
