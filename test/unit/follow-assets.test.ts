import { expect, it } from 'vitest';
import { Api } from '../../src/client/api/api.ts';
import { CodedError } from '../../src/client/errors.ts';
import { Transport } from '../../src/client/http/transport.ts';
import { FolderReader } from '../../src/client/library/folder-reader.ts';
import { type FollowEvent, followAssets } from '../../src/client/library/follow-assets.ts';
import { ListScope, WorkspaceInUse } from '../../src/client/library/workspace-in-use.ts';
import { type Clock, systemClock } from '../../src/shared/clock.ts';
import { numberedUid } from '../support/fake-library.ts';
import { respond, startServer } from '../support/http-server.ts';

type FollowedAsset = { uid: string; status: string; created_at: string };

const none = new CodedError('no workspace', { code: 'usage' });
const refuse = () => Promise.reject(none);
const chooseNone = async () => ({
  ...{ configured: undefined, primary: undefined, wasPrimary: false, selectByName: refuse, selectAny: refuse },
  notPrimary: () => none,
});

const start = Date.parse('2026-01-31T09:00:00.000Z');
const minuteMs = 60_000;

/** A service with a list of assets, and a clock that stands still but for sleeps. */
class ListService {
  assets: FollowedAsset[] = [];
  requests = 0;
  /** What happens at a minute, before the poll. */
  plan = new Map<number, () => void>();
  /** Requests that fail, by their number. */
  failing = new Set<number>();
  /** Orders the list; the newest first. */
  order = (one: FollowedAsset, other: FollowedAsset) => Date.parse(other.created_at) - Date.parse(one.created_at);
  #now = start;
  readonly #stop = new AbortController();
  #api: Api | undefined;

  get minute() {
    return Math.floor((this.#now - start) / minuteMs);
  }

  add(count: number, status = 'processing', createdAt = this.#now): FollowedAsset[] {
    const first = this.assets.length;
    const added = Array.from({ length: count }, (_, n) => ({
      uid: numberedUid(first + n + 1),
      status,
      created_at: new Date(createdAt + n).toISOString(),
    }));
    this.assets.push(...added);
    return added;
  }

  setStatus(assets: readonly FollowedAsset[], status: string) {
    for (const asset of assets) asset.status = status;
  }

  clock(lastMinute: number): Clock {
    return {
      ...systemClock,
      now: () => this.#now,
      steady: () => this.#now,
      sleep: async (delayMs) => {
        for (let leftMs = delayMs; leftMs > 0; leftMs -= minuteMs) {
          this.#now += Math.min(leftMs, minuteMs);
          this.plan.get(this.minute)?.();
          this.plan.delete(this.minute);
        }
        if (this.minute > lastMinute) this.#stop.abort();
        this.#stop.signal.throwIfAborted();
      },
    };
  }

  async api(): Promise<Api> {
    this.#api ??= await this.#open();
    return this.#api;
  }

  async #open(): Promise<Api> {
    const url = await startServer((request, response) => {
      this.requests++;
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://service');
      if (this.failing.has(this.requests)) return respond(response, 503, {});
      const found = this.assets.find(({ uid }) => pathname.includes(uid));
      if (!pathname.endsWith('/assets/')) return respond(response, found ? 200 : 404, found ?? { error: {} });
      const [offset, limit] = [Number(searchParams.get('offset')), Number(searchParams.get('limit'))];
      const items = this.assets.toSorted(this.order).slice(offset, offset + limit);
      respond(response, 200, { items, count: this.assets.length });
    });
    const options = { apiKey: 'a-key', userAgent: 'test', requestTimeoutMs: 30_000, maxWaitMs: 0, clock: systemClock };
    return new Api(new Transport({ ...options, baseUrl: new URL(url) }), {});
  }

  /** Follows until a minute, or until `count` events. */
  async follow(lastMinute: number, { since, count = 1e9 }: { since?: string; count?: number } = {}) {
    const events: FollowEvent[] = [];
    const clock = this.clock(lastMinute);
    const signal = new AbortController().signal;
    try {
      const api = await this.api();
      const library = { api, folderReader: new FolderReader(api, () => Promise.reject(new Error('no folders'))) };
      const scope = new ListScope(new WorkspaceInUse(() => api, chooseNone));
      for await (const batch of followAssets(library, 'assets', {}, { clock, signal, since, scope }))
        for (const event of batch) {
          events.push(event);
          if (events.length >= count) return events;
        }
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error;
    }
    return events;
  }
}

const words = (events: readonly FollowEvent[]) =>
  events.map(({ event, asset, seen_at }) => {
    const number = Number(asset.uid.slice(0, 8));
    return `${event} ${number} at ${(Date.parse(seen_at) - start) / minuteMs}`;
  });

it('reports each asset as new and as ready or failed within a minute, in 60 requests an hour', async () => {
  const service = new ListService();
  service.add(150, 'ready', start - 10 * minuteMs);
  let [first, second]: (FollowedAsset | undefined)[] = [];
  service.plan.set(5, () => {
    [first, second] = service.add(2);
  });
  service.plan.set(7, () => service.setStatus([second as FollowedAsset], 'ready'));
  service.plan.set(9, () => service.setStatus([first as FollowedAsset], 'failed'));
  service.plan.set(20, () => service.add(1, 'ready'));
  service.plan.set(30, () => service.add(100));
  service.plan.set(40, () => service.setStatus(service.assets, 'ready'));
  const events = await service.follow(59);
  expect(words(events.slice(0, 6))).toEqual([
    ...['new 151 at 5', 'new 152 at 5', 'ready 152 at 7', 'failed 151 at 9'],
    ...['new 153 at 20', 'ready 153 at 20'],
  ]);
  const [added, ready] = [events.slice(6, 106), events.slice(106)];
  expect(added.every(({ event, seen_at }) => event === 'new' && Date.parse(seen_at) <= start + 31 * minuteMs)).toBe(
    true,
  );
  expect(ready.map(({ event }) => event)).toEqual(added.map(() => 'ready'));
  expect(ready.every(({ seen_at }) => Date.parse(seen_at) <= start + 42 * minuteMs)).toBe(true);
  expect(service.requests).toBeLessThanOrEqual(61);
});

it('continues after a kill from the cursor of any line, without losing or repeating one', async () => {
  const run = async (since?: { count: number }) => {
    const service = new ListService();
    service.add(3, 'processing', start - minuteMs);
    service.plan.set(1, () => service.add(3));
    service.plan.set(2, () => service.setStatus(service.assets.slice(0, 4), 'ready'));
    service.plan.set(4, () => service.add(2, 'ready'));
    service.plan.set(6, () => service.setStatus(service.assets, 'failed'));
    if (!since) return words(await service.follow(10));
    const before = await service.follow(10, since);
    const after = await service.follow(20, { since: before.at(-1)?.cursor });
    return words([...before, ...after]);
  };
  const whole = (await run()).map((line) => line.replace(/ at .*/, ''));
  expect(whole).toHaveLength(13);
  for (let count = 1; count <= whole.length; count++)
    expect((await run({ count })).map((line) => line.replace(/ at .*/, '')).sort()).toEqual([...whole].sort());
});

it('loses nothing if it is killed while more assets are unready than a cursor names', async () => {
  const service = new ListService();
  service.plan.set(1, () => service.add(350));
  service.plan.set(30, () => service.setStatus(service.assets, 'ready'));
  const before = await service.follow(100, { count: 500 });
  expect(before.at(-1)?.cursor.length).toBeLessThan(5_000);
  const after = await service.follow(200, { since: before.at(-1)?.cursor });
  const ready = [...before, ...after].filter(({ event }) => event === 'ready').map(({ asset }) => asset.uid);
  expect(new Set(ready).size).toBe(350);
  expect([...before, ...after].filter(({ event }) => event === 'new')).toHaveLength(350);
});

it('an older asset that moves up in the list, because others are deleted, is not new', async () => {
  const service = new ListService();
  service.add(150, 'ready', start - 60 * minuteMs);
  service.plan.set(2, () => service.assets.splice(100, 50));
  expect(await service.follow(5)).toEqual([]);
});

it('an asset that stays unready for days is read more and more rarely, also if it is far down the list', async () => {
  const service = new ListService();
  service.plan.set(1, () => service.add(1));
  service.plan.set(2, () => service.add(200, 'ready'));
  await service.follow(24 * 60);
  expect(service.requests).toBeLessThan(24 * 60 + 80);
});

it('goes on after an outage, and loses nothing that the poll before it has found', async () => {
  const service = new ListService();
  service.plan.set(1, () => service.add(1));
  service.plan.set(2, () => service.add(200, 'ready'));
  for (let request = 3; request < 12; request++) service.failing.add(request);
  const events = await service.follow(30);
  expect(events.filter(({ event }) => event === 'new')).toHaveLength(201);
  expect(events.filter(({ event }) => event === 'ready')).toHaveLength(200);
});

it('a service that lists the oldest first is refused, since new assets would not be seen', async () => {
  const service = new ListService();
  service.add(3, 'ready', start - minuteMs);
  service.order = (one, other) => Date.parse(one.created_at) - Date.parse(other.created_at);
  await expect(service.follow(1)).rejects.toMatchObject({ explanation: { code: 'filter_ignored' } });
});

it.each(['', 'yesterday', '2026-01-31T09:00:00Z/a b', '/x'])('%j is refused as a cursor', async (since) => {
  const service = new ListService();
  await expect(service.follow(1, { since })).rejects.toMatchObject({ explanation: { code: 'usage' } });
  expect(service.requests).toBe(0);
});
