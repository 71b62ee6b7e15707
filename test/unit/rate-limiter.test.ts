import { expect, it } from 'vitest';
import { ClientRateLimiter, type Lane, type TransportNotice } from '../../src/client/http/rate-limiter.ts';
import { fastClock } from '../support/clock.ts';

const minuteMs = 60_000;

/** Creates a rate limiter on its own clock and records the acquired requests. Tests that wait pass a `speed`. */
function createLimiter(maxOutageMs = minuteMs, speed = 1) {
  const clock = fastClock(speed);
  const limiter = new ClientRateLimiter(clock, maxOutageMs);
  const acquiredAt: number[] = [];
  const waits: TransportNotice[] = [];
  const stop = new AbortController();
  const acquire = (lane: Lane = 'bulk') =>
    limiter
      .acquire(lane, stop.signal, (wait) => waits.push(wait))
      .then(() => {
        acquiredAt.push(clock.now());
      });
  const respond = (remaining: number, limit = 100, resetAt = clock.now() + minuteMs) =>
    limiter.onResponse({ limit, remaining, resetAt }, true);
  return { clock, limiter, acquiredAt, waits, stop, acquire, respond };
}

const soon = () => new Promise((resolve) => setTimeout(resolve, 5));

it('one request finds out an unknown rate limit while the others wait for its response', async () => {
  const { acquiredAt, acquire, respond } = createLimiter();
  const all = [1, 2, 3].map(() => acquire());
  await soon();
  expect(acquiredAt).toHaveLength(1);
  respond(100);
  await Promise.all(all);
  expect(acquiredAt).toHaveLength(3);
});

it('the requests in flight stay below the lowest remaining count minus the reserve', async () => {
  const { limiter, acquiredAt, acquire, respond } = createLimiter();
  await acquire();
  respond(14);
  for (let n = 0; n < 8; n++) acquire();
  await soon();
  expect(acquiredAt).toHaveLength(1 + 4); // 14 left, less the reserve of 10
  respond(13); // one response: three in flight
  await soon();
  expect(acquiredAt).toHaveLength(1 + 4);
  expect(limiter.budget).toMatchObject({ left: 13, limit: 100 });
});

it('--reserve-requests may exceed half of the requests of a window, and the default reserve may not', async () => {
  const { limiter, acquiredAt, acquire, respond } = createLimiter();
  limiter.reserve = 0;
  await acquire();
  respond(2);
  for (let n = 0; n < 8; n++) acquire();
  await soon();
  expect(acquiredAt).toHaveLength(1 + 2);
  const small = createLimiter();
  await small.acquire();
  small.respond(8, 8);
  for (let n = 0; n < 8; n++) small.acquire();
  await soon();
  expect(small.acquiredAt).toHaveLength(1 + 4);
});

it('interactive requests are sent even when no requests remain in the window', async () => {
  const { acquiredAt, acquire, respond } = createLimiter();
  await acquire();
  respond(0);
  acquire();
  await acquire('interactive');
  expect(acquiredAt).toHaveLength(2);
});

it('requests wait until an exhausted window resets, and the wait is reported', async () => {
  const { clock, acquiredAt, waits, acquire, respond } = createLimiter(minuteMs, 100);
  await acquire();
  const resetAt = clock.now() + 20_000;
  respond(0, 100, resetAt);
  await acquire();
  expect(acquiredAt[1]).toBeGreaterThanOrEqual(resetAt);
  expect(waits).toEqual([{ kind: 'rate-limited', untilMs: expect.any(Number) }, { kind: 'resumed' }]);
});

it('a 429 response pauses all requests for the time that it specifies', async () => {
  const { clock, limiter, acquiredAt, acquire, respond } = createLimiter(minuteMs, 100);
  await acquire();
  respond(90);
  const until = clock.now() + 30_000;
  limiter.pauseUntil(until);
  await Promise.all([acquire(), acquire().then(() => respond(99))]);
  expect(acquiredAt[1]).toBeGreaterThanOrEqual(until);
});

it('requests are not limited when the service sends no rate limit headers', async () => {
  const { limiter, acquiredAt, acquire } = createLimiter();
  await acquire();
  limiter.onResponse(undefined, true);
  await Promise.all(Array.from({ length: 20 }, () => acquire()));
  expect(acquiredAt).toHaveLength(21);
});

it('responses without rate limit headers still reduce the remaining count', async () => {
  const { limiter, acquiredAt, acquire, respond } = createLimiter();
  await acquire();
  respond(12);
  await acquire();
  limiter.onResponse(undefined, true);
  acquire();
  acquire();
  await soon();
  expect(acquiredAt).toHaveLength(3); // 12 left, less the response without headers, less the reserve of 10
});

it('a late response from the previous window does not change the current window', async () => {
  const { clock, limiter, acquire, respond } = createLimiter();
  const before = clock.now() + 1_000;
  await acquire();
  respond(100);
  await acquire();
  limiter.onResponse({ limit: 100, remaining: 0, resetAt: before }, true);
  expect(limiter.budget?.left).toBe(100);
});

it('one request at a time probes the service during an outage, and any response ends the outage', async () => {
  const { limiter, acquiredAt, waits, acquire, respond } = createLimiter(10 * minuteMs, 2);
  await acquire();
  respond(100);
  await acquire();
  limiter.onAbandoned();
  expect(limiter.onFailure()).toBe(true);
  const all = [1, 2, 3, 4].map(() => acquire());
  while (acquiredAt.length < 3) await soon();
  await soon();
  expect(acquiredAt).toHaveLength(3);
  limiter.onAbandoned();
  expect(limiter.onFailure()).toBe(true);
  while (acquiredAt.length < 4) await soon();
  await soon();
  expect(acquiredAt).toHaveLength(4);
  respond(99);
  await Promise.all(all);
  expect(waits.map(({ kind }) => kind)).not.toContain('rate-limited');
});

it('requests wait for an outage to end only up to its maximum duration', async () => {
  const { clock, limiter, acquire } = createLimiter(5_000, 100);
  await acquire();
  limiter.onAbandoned();
  let isWaitedFor = limiter.onFailure();
  expect(isWaitedFor).toBe(true);
  clock.advance(6_000);
  await acquire();
  limiter.onAbandoned();
  isWaitedFor = limiter.onFailure();
  expect(isWaitedFor).toBe(false);
});

it('background requests use at most a twentieth of a window', async () => {
  const { acquiredAt, acquire, respond } = createLimiter();
  await acquire();
  respond(100);
  for (let n = 0; n < 20; n++) acquire('background');
  await soon();
  expect(acquiredAt).toHaveLength(1 + 5);
});

it('an abort signal cancels a waiting request', async () => {
  const { stop, acquire, respond } = createLimiter();
  await acquire();
  respond(0);
  const waiting = acquire();
  stop.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
});

it('the rate limit is requested again when a clock change moves its reset too far away', async () => {
  const { clock, acquiredAt, acquire, respond } = createLimiter(minuteMs, 100);
  await acquire();
  respond(0, 100, clock.now() + 1_000);
  clock.advance(-48 * 3600_000); // the clock is set back
  await acquire();
  expect(acquiredAt).toHaveLength(2);
});

it('a reserve as large as the window is refused once the window is known', async () => {
  const { limiter, acquiredAt, acquire, respond } = createLimiter();
  limiter.reserve = 100;
  await acquire();
  respond(100);
  await expect(acquire()).rejects.toThrow('--reserve-requests 100 allows no requests: the rate limit is 100');
  limiter.reserve = 99;
  await acquire();
  expect(acquiredAt).toHaveLength(2);
});
