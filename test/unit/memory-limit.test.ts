import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { withMemoryLimit } from '../../src/sandbox/media/ffmpeg/tool.ts';
import { reservedForCodeMiB } from '../../src/sandbox/media/recognize/inspection-process.ts';

describe.skipIf(process.platform !== 'linux')('a command with a limit of its memory', () => {
  const node = (...args: string[]) => withMemoryLimit(300 + reservedForCodeMiB(), process.execPath, args);
  /** Runs a process that allocates this many MiB outside its heap. @returns its stdout */
  const filled = async (mebibytes: number) => {
    const code = `Buffer.alloc(${mebibytes * 1024 * 1024}, 1)`;
    const { command, args } = node('-e', `${code};console.log('ok')`);
    const { stdout } = await promisify(execFile)(command, args);
    return stdout.trim();
  };

  it('has what is within, and no more', async () => {
    expect(await filled(100)).toBe('ok');
    await expect(filled(600)).rejects.toThrow(/RangeError: .*allocat/);
  });

  it('takes its arguments as they are, and tells its exit code', async () => {
    const script = 'console.log(process.argv.slice(1).join("|")); process.exit(7)';
    const { command, args } = node('-e', script, '$0 a', '"; id', '');
    await expect(promisify(execFile)(command, args)).rejects.toMatchObject({
      code: 7,
      stdout: '$0 a|"; id|\n',
    });
  });
});
