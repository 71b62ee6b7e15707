import { expect, it } from 'vitest';
import { CodedError } from '../../src/client/errors.ts';
import { ClientRateLimiter, type Lane, type TransportNotice } from '../../src/client/http/rate-limiter.ts';
import { acceleratedClock } from '../support/clock.ts';

const minuteMs = 60_000;

/** Creates a rate limiter on its own clock and records the acquired requests. Tests that wait pass a `clockSpeed`. */
function createLimiter({
  maxOutageMs = minuteMs,
  maxBulkWaitMs = undefined as number | undefined,
  clockSpeed = 1,
} = {}) {
  const clock = acceleratedClock({ speed: clockSpeed });
  const limiter = new ClientRateLimiter(clock, maxOutageMs, maxBulkWaitMs);
  const sentAt: number[] = [];
  const waits: TransportNotice[] = [];
  const stop = new AbortController();
  const sendRequest = (lane: Lane = 'bulk') =>
    limiter.acquire(lane, stop.signal, { onNotice: (wait) => waits.push(wait) }).then(() => {
      sentAt.push(clock.now());
    });
  const respondWithRemaining = (remaining: number, { limit = 100, resetAt = clock.now() + minuteMs } = {}) =>
    limiter.onResponse({ limit, remaining, resetAt }, true);
  return { clock, limiter, sentAt, waits, stop, sendRequest, respondWithRemaining };
}

const waitBriefly = () => new Promise((resolve) => setTimeout(resolve, 5));

it('one request finds out an unknown rate limit while the others wait for its response', async () => {
  const { sentAt, sendRequest, respondWithRemaining } = createLimiter();
  const requests = [1, 2, 3].map(() => sendRequest());
  await waitBriefly();
  expect(sentAt).toHaveLength(1);
  respondWithRemaining(100);
  await Promise.all(requests);
  expect(sentAt).toHaveLength(3);
});

it('the requests in flight stay below the lowest remaining count minus the reserve', async () => {
  const { limiter, sentAt, sendRequest, respondWithRemaining } = createLimiter();
  await sendRequest();
  respondWithRemaining(14);
  for (let n = 0; n < 8; n++) sendRequest();
  await waitBriefly();
  expect(sentAt).toHaveLength(1 + 4); // 14 left, less the reserve of 10
  respondWithRemaining(13); // one response: three in flight
  await waitBriefly();
  expect(sentAt).toHaveLength(1 + 4);
  expect(limiter.budget).toMatchObject({ left: 13, limit: 100 });
});

it.each([
  ['a reserve of 0 leaves all requests to uploads', 0, 8],
  ['a reserve of 7 leaves one of 8 requests to uploads', 7, 1],
  ['the default reserve leaves half of 8 requests to uploads', undefined, 4],
])('%s', async (_what, reserve, sentCount) => {
  const { limiter, sentAt, sendRequest, respondWithRemaining } = createLimiter();
  if (reserve !== undefined) limiter.reserve = reserve;
  await sendRequest();
  respondWithRemaining(8, { limit: 8 });
  for (let n = 0; n < 10; n++) sendRequest();
  await waitBriefly();
  expect(sentAt).toHaveLength(1 + sentCount);
});

it('interactive requests are sent even when no requests remain in the window', async () => {
  const { sentAt, sendRequest, respondWithRemaining } = createLimiter();
  await sendRequest();
  respondWithRemaining(0);
  sendRequest();
  await sendRequest('interactive');
  expect(sentAt).toHaveLength(2);
});

it('requests wait until an exhausted window resets, and the wait is reported', async () => {
  const { clock, sentAt, waits, sendRequest, respondWithRemaining } = createLimiter({ clockSpeed: 100 });
  await sendRequest();
  const resetAt = clock.now() + 20_000;
  respondWithRemaining(0, { resetAt });
  await sendRequest();
  expect(sentAt[1]).toBeGreaterThanOrEqual(resetAt);
  expect(waits).toEqual([{ kind: 'rate-limited', untilMs: expect.any(Number) }, { kind: 'resumed' }]);
});

it('a 429 response pauses all requests for the time that it specifies', async () => {
  const { clock, limiter, sentAt, sendRequest, respondWithRemaining } = createLimiter({ clockSpeed: 100 });
  await sendRequest();
  respondWithRemaining(90);
  const until = clock.now() + 30_000;
  const tooMany = new CodedError('rate limit exceeded', { code: 'rate_limited', retryAfterSeconds: 30 });
  expect(limiter.delayAfter429(tooMany, 'bulk')).toBe(0);
  await Promise.all([sendRequest(), sendRequest().then(() => respondWithRemaining(99))]);
  expect(sentAt[1]).toBeGreaterThanOrEqual(until);
});

it('an interactive request waits after a 429 as long as it specifies, and fails once that would exceed the maximum', () => {
  const { limiter } = createLimiter({ maxOutageMs: 50_000 });
  const tooMany = new CodedError('rate limit exceeded', { code: 'rate_limited', retryAfterSeconds: 30 });
  expect(limiter.delayAfter429(tooMany, 'interactive')).toBe(30_000);
  // Waits at the same time count once.
  expect(limiter.delayAfter429(tooMany, 'interactive')).toBe(30_000);
  const longer = tooMany.with({ retryAfterSeconds: 90 });
  expect(() => limiter.delayAfter429(longer, 'interactive')).toThrow(tooMany.message);
  expect(limiter.retryDelayMs(0, longer)).toBeUndefined();
  limiter.renewWaitBudget();
  expect(limiter.retryDelayMs(0, tooMany)).toBe(30_000);
});

it('bulk work with a maximum wait fails where it would wait longer for the rate limit, and says whose reserve it is', async () => {
  const { sendRequest, respondWithRemaining } = createLimiter({ maxBulkWaitMs: 5_000 });
  await sendRequest();
  respondWithRemaining(8);
  const reason =
    /^it resets in 6[01] s, which would exceed the maximum wait; the 8 of 100 requests that remain are kept/;
  await expect(sendRequest()).rejects.toMatchObject({
    explanation: { code: 'rate_limited', reason: expect.stringMatching(reason) },
  });
  await sendRequest('interactive');
});

it('the waits of bulk work for the rate limit count together, also after responses', async () => {
  const { clock, limiter, sendRequest, respondWithRemaining } = createLimiter({
    maxBulkWaitMs: 90_000,
    clockSpeed: 500,
  });
  await sendRequest();
  respondWithRemaining(0);
  await sendRequest();
  respondWithRemaining(0, { resetAt: clock.now() + minuteMs });
  limiter.renewWaitBudget();
  await expect(sendRequest()).rejects.toMatchObject({ explanation: { code: 'rate_limited' } });
});

it('requests are not limited when the service sends no rate limit headers', async () => {
  const { limiter, sentAt, sendRequest } = createLimiter();
  await sendRequest();
  limiter.onResponse(undefined, true);
  await Promise.all(Array.from({ length: 20 }, () => sendRequest()));
  expect(sentAt).toHaveLength(21);
});

it('responses without rate limit headers still reduce the remaining count', async () => {
  const { limiter, sentAt, sendRequest, respondWithRemaining } = createLimiter();
  await sendRequest();
  respondWithRemaining(12);
  await sendRequest();
  limiter.onResponse(undefined, true);
  sendRequest();
  sendRequest();
  await waitBriefly();
  expect(sentAt).toHaveLength(3); // 12 left, less the response without headers, less the reserve of 10
});

it('a late response from the previous window does not change the current window', async () => {
  const { clock, limiter, sendRequest, respondWithRemaining } = createLimiter();
  const previousResetAt = clock.now() + 1_000;
  await sendRequest();
  respondWithRemaining(100);
  await sendRequest();
  limiter.onResponse({ limit: 100, remaining: 0, resetAt: previousResetAt }, true);
  expect(limiter.budget?.left).toBe(100);
});

it('one request at a time probes the service during an outage, and any response ends the outage', async () => {
  const options = { maxOutageMs: 10 * minuteMs, clockSpeed: 2 };
  const { limiter, sentAt, waits, sendRequest, respondWithRemaining } = createLimiter(options);
  await sendRequest();
  respondWithRemaining(100);
  await sendRequest();
  limiter.onAbandoned();
  expect(limiter.onFailure()).toBe(true);
  const requests = [1, 2, 3, 4].map(() => sendRequest());
  while (sentAt.length < 3) await waitBriefly();
  await waitBriefly();
  expect(sentAt).toHaveLength(3);
  limiter.onAbandoned();
  expect(limiter.onFailure()).toBe(true);
  while (sentAt.length < 4) await waitBriefly();
  await waitBriefly();
  expect(sentAt).toHaveLength(4);
  respondWithRemaining(99);
  await Promise.all(requests);
  expect(waits.map(({ kind }) => kind)).not.toContain('rate-limited');
});

it('requests wait for an outage to end only up to its maximum duration', async () => {
  const { clock, limiter, sendRequest } = createLimiter({ maxOutageMs: 5_000, clockSpeed: 100 });
  await sendRequest();
  limiter.onAbandoned();
  let isWaitedFor = limiter.onFailure();
  expect(isWaitedFor).toBe(true);
  clock.advance(6_000);
  await sendRequest();
  limiter.onAbandoned();
  isWaitedFor = limiter.onFailure();
  expect(isWaitedFor).toBe(false);
});

it('background requests use at most a twentieth of a window', async () => {
  const { sentAt, sendRequest, respondWithRemaining } = createLimiter();
  await sendRequest();
  respondWithRemaining(100);
  for (let n = 0; n < 20; n++) sendRequest('background');
  await waitBriefly();
  expect(sentAt).toHaveLength(1 + 5);
});

it('an abort signal cancels a waiting request', async () => {
  const { stop, sendRequest, respondWithRemaining } = createLimiter();
  await sendRequest();
  respondWithRemaining(0);
  const waiting = sendRequest();
  stop.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
});

it('the rate limit is requested again when a clock change moves its reset too far away', async () => {
  const { clock, sentAt, sendRequest, respondWithRemaining } = createLimiter({ clockSpeed: 100 });
  await sendRequest();
  respondWithRemaining(0, { resetAt: clock.now() + 1_000 });
  clock.advance(-48 * 3600_000); // the clock is set back
  await sendRequest();
  expect(sentAt).toHaveLength(2);
});

it('a reserve as large as the window is refused once the window is known', async () => {
  const { limiter, sentAt, sendRequest, respondWithRemaining } = createLimiter();
  limiter.reserve = 100;
  await sendRequest();
  respondWithRemaining(100);
  await expect(sendRequest()).rejects.toThrow('a reserve of 100 requests allows none: the rate limit is 100');
  limiter.reserve = 99;
  await sendRequest();
  expect(sentAt).toHaveLength(2);
});
