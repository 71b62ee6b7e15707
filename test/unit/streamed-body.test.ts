import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { streamInto } from '../../src/client/http/send-request.ts';

/** Returns limits by which throughput is measured over `windowMs`, twice the idle timeout. */
const limitsWithWindow = ({ windowMs }: { windowMs: number }) => ({
  idleTimeoutMs: windowMs / 2,
  origin: 'https://media.example.com',
});

it('a body whose reader pauses does not time out', async () => {
  async function* body() {
    for (let part = 0; part < 3; part++) yield Buffer.alloc(10);
  }
  let consumedParts = 0;
  const consumeAfterPause = async () => {
    await sleep(500);
    consumedParts++;
  };
  await streamInto(body(), consumeAfterPause, limitsWithWindow({ windowMs: 400 }));
  expect(consumedParts).toBe(3);
});

it('a body that only drips bytes times out even if each part is consumed quickly', async () => {
  async function* body() {
    for (let part = 0; part < 1000; part++) {
      await sleep(5);
      yield Buffer.alloc(1);
    }
  }
  const streaming = streamInto(body(), async () => {}, limitsWithWindow({ windowMs: 40 }));
  await expect(streaming).rejects.toMatchObject({ explanation: { code: 'timeout' } });
});
