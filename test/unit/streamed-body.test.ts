import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { streamInto } from '../../src/client/http/send-request.ts';

/** Throughput is measured over twice the idle timeout. */
const limits = { idleTimeoutMs: 20, origin: 'https://media.example.com' };

async function* body(parts: number, bytes: number, everyMs: number) {
  for (let part = 0; part < parts; part++) {
    await sleep(everyMs);
    yield Buffer.alloc(bytes);
  }
}

it('a body whose taker pauses is not ended: while nobody takes it, nothing can come', async () => {
  let taken = 0;
  const pausing = async () => {
    await sleep(30 * limits.idleTimeoutMs);
    taken++;
  };
  await streamInto(body(3, 10, 0), pausing, limits);
  expect(taken).toBe(3);
});

it('one that drips is, however quickly each drop is taken', async () => {
  const dripping = streamInto(body(1000, 1, 5), async () => {}, limits);
  await expect(dripping).rejects.toMatchObject({ explanation: { code: 'timeout' } });
});
