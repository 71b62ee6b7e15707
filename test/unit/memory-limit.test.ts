import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { memoryLimitArgs } from '../../src/sandbox/media/ffmpeg/tool.ts';
import { reservedForCodeMiB } from '../../src/sandbox/media/recognize/inspection-process.ts';

describe.skipIf(process.platform !== 'linux')('a command with a limit of its memory', () => {
  const node = (...args: string[]) =>
    promisify(execFile)('/bin/sh', memoryLimitArgs(300 + reservedForCodeMiB(), process.execPath, ...args));
  /** Runs a process that allocates this many MiB outside its heap. @returns its stdout */
  const filled = async (mebibytes: number) => {
    const code = `Buffer.alloc(${mebibytes * 1024 * 1024}, 1)`;
    const { stdout } = await node('-e', `${code};console.log('ok')`);
    return stdout.trim();
  };

  it('has what is within, and no more', async () => {
    expect(await filled(100)).toBe('ok');
    await expect(filled(600)).rejects.toThrow(/RangeError: .*allocat/);
  });

  it('takes its arguments as they are, and tells its exit code', async () => {
    const script = 'console.log(process.argv.slice(1).join("|")); process.exit(7)';
    await expect(node('-e', script, '$0 a', '"; id', '')).rejects.toMatchObject({
      code: 7,
      stdout: '$0 a|"; id|\n',
    });
  });
});
