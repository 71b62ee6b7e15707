import { expect, it } from 'vitest';
import { ClientRateLimiter, type Lane, type TransportNotice } from '../../src/client/http/rate-limiter.ts';
import { fastClock } from '../support/clock.ts';

const minuteMs = 60_000;

/** Creates a rate limiter on its own clock and records the acquired requests. Tests that wait pass a `speed`. */
function world(maxOutageMs = minuteMs, speed = 1) {
  const clock = fastClock(speed);
  const gate = new ClientRateLimiter(clock, maxOutageMs);
  const through: number[] = [];
  const waits: TransportNotice[] = [];
  const stop = new AbortController();
  const enter = (lane: Lane = 'bulk') =>
    gate
      .acquire(lane, stop.signal, (wait) => waits.push(wait))
      .then(() => {
        through.push(clock.now());
      });
  const told = (remaining: number, limit = 100, resetAt = clock.now() + minuteMs) =>
    gate.onResponse({ limit, remaining, resetAt }, true);
  return { clock, gate, through, waits, stop, enter, told };
}

const soon = () => new Promise((resolve) => setTimeout(resolve, 5));

it('of an unknown window one request asks, the others wait for its answer', async () => {
  const { through, enter, told } = world();
  const all = [1, 2, 3].map(() => enter());
  await soon();
  expect(through).toHaveLength(1);
  told(100);
  await Promise.all(all);
  expect(through).toHaveLength(3);
});

it('what is under way stays below the least that was told, less the reserve', async () => {
  const { gate, through, enter, told } = world();
  await enter();
  told(14);
  for (let n = 0; n < 8; n++) enter();
  await soon();
  expect(through).toHaveLength(1 + 4); // 14 left, less the reserve of 10
  told(13); // one response: three in flight
  await soon();
  expect(through).toHaveLength(1 + 4);
  expect(gate.budget).toMatchObject({ left: 13, limit: 100 });
});

it('a reserve that is asked for is kept, and half a window at most otherwise', async () => {
  const { gate, through, enter, told } = world();
  gate.reserve = 0;
  await enter();
  told(2);
  for (let n = 0; n < 8; n++) enter();
  await soon();
  expect(through).toHaveLength(1 + 2);
  const small = world();
  await small.enter();
  small.told(8, 8);
  for (let n = 0; n < 8; n++) small.enter();
  await soon();
  expect(small.through).toHaveLength(1 + 4);
});

it('people pass, whatever is left', async () => {
  const { through, enter, told } = world();
  await enter();
  told(0);
  enter();
  await enter('interactive');
  expect(through).toHaveLength(2);
});

it('an empty window is slept out to its reset, and said', async () => {
  const { clock, through, waits, enter, told } = world(minuteMs, 100);
  await enter();
  const resetAt = clock.now() + 20_000;
  told(0, 100, resetAt);
  await enter();
  expect(through[1]).toBeGreaterThanOrEqual(resetAt);
  expect(waits).toEqual([{ kind: 'rate-limited', untilMs: expect.any(Number) }, { kind: 'resumed' }]);
});

it('a 429 closes it for all, for as long as it says', async () => {
  const { clock, gate, through, enter, told } = world(minuteMs, 100);
  await enter();
  told(90);
  const until = clock.now() + 30_000;
  gate.pauseUntil(until);
  await Promise.all([enter(), enter().then(() => told(99))]);
  expect(through[1]).toBeGreaterThanOrEqual(until);
});

it('a service that tells nothing is not asked what is left', async () => {
  const { gate, through, enter } = world();
  await enter();
  gate.onResponse(undefined, true);
  await Promise.all(Array.from({ length: 20 }, () => enter()));
  expect(through).toHaveLength(21);
});

it('answers that tell nothing count all the same', async () => {
  const { gate, through, enter, told } = world();
  await enter();
  told(12);
  await enter();
  gate.onResponse(undefined, true);
  enter();
  enter();
  await soon();
  expect(through).toHaveLength(3); // 12 left, less the response without headers, less the reserve of 10
});

it('an answer of the last window that comes late tells nothing of this one', async () => {
  const { clock, gate, enter, told } = world();
  const before = clock.now() + 1_000;
  await enter();
  told(100);
  await enter();
  gate.onResponse({ limit: 100, remaining: 0, resetAt: before }, true);
  expect(gate.budget?.left).toBe(100);
});

it('while nobody is there one at a time tries, and any answer opens it', async () => {
  const { gate, through, waits, enter, told } = world(10 * minuteMs, 2);
  await enter();
  told(100);
  await enter();
  gate.onAbandoned();
  expect(gate.onFailure()).toBe(true);
  const all = [1, 2, 3, 4].map(() => enter());
  while (through.length < 3) await soon();
  await soon();
  expect(through).toHaveLength(3);
  gate.onAbandoned();
  expect(gate.onFailure()).toBe(true);
  while (through.length < 4) await soon();
  await soon();
  expect(through).toHaveLength(4);
  told(99);
  await Promise.all(all);
  expect(waits.map(({ kind }) => kind)).not.toContain('rate-limited');
});

it('an outage is waited out no longer than it may take', async () => {
  const { clock, gate, enter } = world(5_000, 100);
  await enter();
  gate.onAbandoned();
  let isWaitedFor = gate.onFailure();
  expect(isWaitedFor).toBe(true);
  clock.advance(6_000);
  await enter();
  gate.onAbandoned();
  isWaitedFor = gate.onFailure();
  expect(isWaitedFor).toBe(false);
});

it('looking takes a twentieth of a window', async () => {
  const { through, enter, told } = world();
  await enter();
  told(100);
  for (let n = 0; n < 20; n++) enter('background');
  await soon();
  expect(through).toHaveLength(1 + 5);
});

it('who waits is let go by its signal', async () => {
  const { stop, enter, told } = world();
  await enter();
  told(0);
  const waiting = enter();
  stop.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
});

it('a window that a clock has moved too far away is asked about anew', async () => {
  const { clock, through, enter, told } = world(minuteMs, 100);
  await enter();
  told(0, 100, clock.now() + 1_000);
  clock.advance(-48 * 3600_000); // the clock is set back
  await enter();
  expect(through).toHaveLength(2);
});

it('a reserve as large as the window is refused once the window is known', async () => {
  const { gate, through, enter, told } = world();
  gate.reserve = 100;
  await enter();
  told(100);
  await expect(enter()).rejects.toThrow('--reserve-requests 100 allows no requests: the rate limit is 100');
  gate.reserve = 99;
  await enter();
  expect(through).toHaveLength(2);
});
