import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import { spawnLimited } from '../../src/sandbox/media/ffmpeg/tool.ts';
import { reservedForCodeMiB } from '../../src/sandbox/media/recognize/inspection-process.ts';

describe('memory limits', { tags: 'Linux' }, () => {
  const runLimited = async (...args: string[]) => {
    const command: [string, ...string[]] = [process.execPath, ...args];
    const child = spawnLimited(300 + reservedForCodeMiB(), command, { stdio: ['ignore', 'pipe', 'pipe'] });
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout as Readable),
      text(child.stderr as Readable),
      once(child, 'close'),
    ]);
    return { stdout, stderr, code };
  };
  /** Runs a process that allocates this many MiB outside its heap. @returns its stdout, or its error */
  const allocateMiB = async (mebibytes: number) => {
    const code = `Buffer.alloc(${mebibytes * 1024 * 1024}, 1)`;
    const { stdout, stderr } = await runLimited('-e', `${code};console.log('ok')`);
    return stdout.trim() || stderr;
  };

  it('a process can allocate up to its memory limit and no more', async () => {
    expect(await allocateMiB(100)).toBe('ok'); // the limit is 300 MiB
    expect(await allocateMiB(600)).toMatch(/RangeError: .*allocat/);
  });

  it('the memory limit of a process does not depend on the threads of the process that starts it', async () => {
    const threads = [1, 2].map(() => new Worker('setInterval(() => {}, 1000)', { eval: true }));
    onTestFinished(async () => {
      for (const thread of threads) await thread.terminate();
    });
    await Promise.all(threads.map((thread) => once(thread, 'online')));
    expect(await allocateMiB(100)).toBe('ok'); // the limit is 300 MiB
    expect(await allocateMiB(600)).toMatch(/RangeError: .*allocat/);
  });

  it('a process with a memory limit gets its arguments unchanged, and its exit code is passed on', async () => {
    const script = 'console.log(process.argv.slice(1).join("|")); process.exit(7)';
    expect(await runLimited('-e', script, '$0 a', '"; id', '')).toMatchObject({ code: 7, stdout: '$0 a|"; id|\n' });
  });
});
