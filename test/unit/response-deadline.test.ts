import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { ResponseDeadline } from '../../src/client/http/response-deadline.ts';

/** Idle timeout; the minimum throughput is checked over twice that time. */
const silenceMs = 20;

it('a body whose taker pauses is not ended: while nobody takes it, nothing can come', async () => {
  const limit = new ResponseDeadline(silenceMs, 'https://media.example.com');
  limit.startStream();
  for (let part = 0; part < 3; part++) await limit.onChunk(10, sleep(30 * silenceMs));
  expect(limit.signal.aborted).toBe(false);
  limit.clear();
});

it('one that drips is, however quickly each drop is taken', async () => {
  const limit = new ResponseDeadline(silenceMs, 'https://media.example.com');
  limit.startStream();
  for (let part = 0; part < 1000 && !limit.signal.aborted; part++) {
    await limit.onChunk(1, Promise.resolve());
    await sleep(5);
  }
  expect(limit.signal.reason).toMatchObject({ explanation: { code: 'timeout' } });
  limit.clear();
});
