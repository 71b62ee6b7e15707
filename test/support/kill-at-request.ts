import { expect } from 'vitest';
import { dropConnection, type FakeService, handleThen } from './fake-service.ts';
import type { StartedProcess } from './spawn.ts';

/**
 * Kills a process before the nth request of a kind takes effect, or after that and before its response. Waits until it has
 * ended. Every request after that is dropped.
 */
export async function killAtRequest(
  service: FakeService,
  run: StartedProcess,
  { when, pattern, nth }: { when: 'before' | 'after'; pattern: RegExp; nth: number },
): Promise<{ stdout: string; stderr: string }> {
  let count = 0;
  service.fault = ({ method, path }) => {
    if (count === nth) return dropConnection;
    if (!pattern.test(`${method} ${path}`) || ++count < nth) return undefined;
    if (when === 'after') return handleThen(() => void run.child.kill('SIGKILL'));
    run.child.kill('SIGKILL');
    return dropConnection;
  };
  const killed = await run.finished;
  expect([killed.code, killed.signal], killed.stderr).toEqual([null, 'SIGKILL']);
  return killed;
}
