import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { inherited } from '../support/environment.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

it('every command that the demo prints succeeds when it is run as printed, and stop builds nothing', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const home = join(temporaryFolder(), 'demo');
  const env = { ...inherited, MEDIACTL_DEMO_DIR: home };
  const run = (command: string, ...args: string[]) => spawnSync(command, args, { cwd: root, env, encoding: 'utf8' });
  const runDemo = () => run(process.execPath, 'scripts/demo.mjs');
  try {
    const { status, stdout, stderr } = runDemo();
    expect([status, stderr]).toEqual([0, expect.not.stringContaining('try:')]);
    const commandLines = stdout.split('\n').filter((line) => line.startsWith('  '));
    expect(commandLines.filter((line) => line.includes('npx --no mediactl')).length).toBeGreaterThan(2);
    // `browse` runs until it is interrupted, and `stop` is for the end of the test.
    const commands = commandLines.filter((line) => !/browse|stop/.test(line)).join('\n');
    const result = run('bash', '-ec', commands);
    expect([result.status, result.stdout]).toEqual([0, expect.stringContaining('tone.mp3')]);
  } finally {
    const builtFolder = () => statSync(join(root, 'dist')).ino; // a build replaces it
    const before = builtFolder();
    const { status, stdout } = run('npm', 'run', '--silent', 'demo', '--', 'stop');
    expect([status, stdout]).toEqual([0, expect.stringContaining('$ mediactl sandbox stop')]);
    expect([existsSync(home), builtFolder()], 'the demo is removed, and nothing is built').toEqual([false, before]);
  }
});
