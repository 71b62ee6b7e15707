import { expect, it } from 'vitest';
import { fetchPages, itemsOf, totalOf } from '../../src/client/api/pagination.ts';
import { findDifferences } from '../../src/client/api/write-check.ts';
import { readRateLimit, retryAfterMs } from '../../src/client/http/rate-limit-headers.ts';
import {
  assumptions,
  classifyStatus,
  fieldNamesFor,
  isIncomplete,
  isUnusable,
  mayLackBytes,
} from '../../src/contract/assumptions.ts';
import { encodeMetadata } from '../../src/contract/tus.ts';

it('the assumptions about the API are numbered consecutively', () => {
  expect(assumptions.map(({ id }) => id)).toEqual(
    Array.from({ length: assumptions.length }, (_, n) => `A${String(n + 1).padStart(2, '0')}`),
  );
});

it('a configured field name replaces the guessed field names', () => {
  expect(fieldNamesFor('folder_parent')).toEqual(['parent_uid', 'parent_folder_uid', 'parent']);
  expect(fieldNamesFor('folder_parent', { folder_parent: 'in' })).toEqual(['in']);
});

it('A11: an asset status is classified as ready, failed or in progress', () => {
  expect(['ready', 'failed', 'errored', 'rejected', 'transcoding', undefined].map(classifyStatus)).toEqual([
    'ready',
    'failed',
    'failed',
    'failed',
    'in progress',
    'in progress',
  ]);
});

it('A11: a status shows whether bytes may be missing, whether they are likely to be, and whether there is no content', () => {
  const statuses = ['created', 'queued', 'Processing', 'ready', 'failed'];
  const those = (predicate: (status: string) => boolean) => statuses.filter(predicate);
  expect(those(mayLackBytes)).toEqual(['created', 'queued', 'Processing']);
  expect(those(isIncomplete)).toEqual(['created', 'queued']);
  expect(those(isUnusable)).toEqual(['created', 'failed']);
});

it('A01: the total count is read from any of its known fields, and may be missing', () => {
  expect(totalOf({ items: [], count: 3 }, {})).toBe(3);
  expect(totalOf({ items: [], total: 4 }, {})).toBe(4);
  expect(totalOf({ items: [] }, {})).toBeUndefined();
  expect(totalOf({ items: [], count: 3, n: 9 }, { page_total: 'n' })).toBe(9);
  expect(itemsOf([{ uid: 'a' }])).toEqual([{ uid: 'a' }]);
  for (const answer of [null, {}, { items: {} }, { items: [null] }, [1]])
    expect(() => itemsOf(answer)).toThrow('not an API page');
});

it('A24: a write is applied if the record shows the same uid in another form, also in an object', () => {
  const parent = '5d2c8e9f-1a2b-4c3d-8e4f-5a6b7c8d9e0f';
  const shown = parent.replaceAll('-', '').toUpperCase();
  expect(findDifferences({ parent }, { parent: shown }, [])).toEqual([]);
  expect(findDifferences({ parent }, { parent: { uid: shown } }, [])).toEqual([]);
  expect(findDifferences({ parent }, { parent: shown.replace('5D', '5E') }, [])).toEqual(['parent']);
});

type WalkedItem = { uid: string };

/** Lists `size` items, whose total may be missing, while the list may grow at its head between pages. */
async function listItems(
  size: number,
  { sendsTotal = true, limit = undefined as number | undefined, itemsAddedPerPage = 0, growingPages = 1e9 } = {},
) {
  let items: WalkedItem[] = Array.from({ length: size }, (_, n) => ({ uid: String(n) }));
  const requests: string[] = [];
  const listedUids: string[] = [];
  const fetchPage = async (pageSize: number, offset: number) => {
    requests.push(`${pageSize} from ${offset}`);
    const page = {
      items: items.slice(offset, offset + pageSize),
      ...(sendsTotal && { count: items.length }),
    };
    items = [
      ...Array.from({ length: requests.length > growingPages ? 0 : itemsAddedPerPage }, (_, n) => ({
        uid: `new ${requests.length} ${n}`,
      })),
      ...items,
    ];
    return page;
  };
  for await (const page of fetchPages(fetchPage, { limit }, {})) listedUids.push(...page.map(({ uid }) => uid));
  return { requests, listedUids };
}

it('paging stops after the first page that is not full, with or without a total count', async () => {
  // After a full page another one is requested, even if the total is reached.
  expect((await listItems(200)).requests).toEqual(['100 from 0', '100 from 100', '100 from 200']);
  expect((await listItems(150)).requests).toEqual(['100 from 0', '100 from 100']);
  expect((await listItems(200, { sendsTotal: false })).requests).toEqual([
    '100 from 0',
    '100 from 100',
    '100 from 200',
  ]);
  expect((await listItems(150, { sendsTotal: false })).requests).toEqual(['100 from 0', '100 from 100']);
  expect((await listItems(0)).requests).toEqual(['100 from 0']);
  expect((await listItems(500, { limit: 120 })).requests).toEqual(['100 from 0', '20 from 100']);
});

it('paging drops duplicates that appear when new items shift the offsets', async () => {
  const { listedUids } = await listItems(250, { itemsAddedPerPage: 3 });
  expect(new Set(listedUids).size).toBe(listedUids.length);
  for (let n = 0; n < 250; n++) expect(listedUids).toContain(String(n));
});

it('the retry delay comes from Retry-After, in seconds or as a date, or from the rate limit reset time', () => {
  const now = Date.parse('2026-03-01T12:00:00Z');
  expect(retryAfterMs({ 'retry-after': '7' }, now)).toBe(7000);
  expect(retryAfterMs({ 'retry-after': 'Sun, 01 Mar 2026 12:00:30 GMT' }, now)).toBe(30_000);
  const headers = {
    'x-ratelimit-limit': '1000',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': String(now / 1000 + 60),
  };
  expect(retryAfterMs(headers, now)).toBe(60_000);
  expect(readRateLimit(headers)).toEqual({ limit: 1000, remaining: 0, resetAt: now + 60_000 });
  expect(readRateLimit({ 'x-ratelimit-limit': '1000' })).toBeUndefined();
  expect(readRateLimit({ ...headers, 'x-ratelimit-remaining': '' })).toBeUndefined();
  // The reset time in milliseconds, as some services send it, and from a service whose clock is an hour ahead.
  const headersInMs = { ...headers, 'x-ratelimit-reset': String(now + 60_000) };
  expect(readRateLimit(headersInMs)?.resetAt).toBe(now + 60_000);
  const headersOfFastClock = { ...headers, date: 'Sun, 01 Mar 2026 13:00:00 GMT' };
  expect(readRateLimit(headersOfFastClock, now)?.resetAt).toBe(now + 60_000 - 3600_000);
  expect(retryAfterMs({}, now)).toBeUndefined();
});

it('Upload-Metadata encodes values as Base64 of UTF-8 and omits undefined values', () => {
  expect(encodeMetadata({ filename: 'ü.mp4', workspace_uid: 'w', description: undefined })).toBe(
    'filename w7wubXA0,workspace_uid dw==',
  );
});

/** Lists `size` items whose later pages arrive first, and counts the requests in flight. */
async function listInParallel(size: number, { parallelism = 8, maxPageLength = 100 } = {}) {
  let inFlightCount = 0;
  let maxInFlight = 0;
  const offsets: number[] = [];
  const fetchPage = async (limit: number, offset: number) => {
    offsets.push(offset);
    maxInFlight = Math.max(maxInFlight, ++inFlightCount);
    await new Promise((resolve) => setTimeout(resolve, offset === 0 ? 0 : 30 - offset / 100));
    inFlightCount--;
    const count = Math.max(0, Math.min(limit, maxPageLength, size - offset));
    const items = Array.from({ length: count }, (_, n) => ({ uid: String(offset + n) }));
    return { items, count: size };
  };
  const listedUids: string[] = [];
  for await (const page of fetchPages<WalkedItem>(fetchPage, {}, {}, () => parallelism))
    listedUids.push(...page.map(({ uid }) => uid));
  return { maxInFlight, offsets, listedUids };
}

it('pages are fetched in parallel once the total is known, and are returned in order', async () => {
  const { maxInFlight, offsets, listedUids } = await listInParallel(2000);
  expect(maxInFlight).toBe(8);
  expect(offsets).toEqual(Array.from({ length: 21 }, (_, n) => n * 100)); // the last page is empty
  expect(listedUids).toEqual(Array.from({ length: 2000 }, (_, n) => String(n)));
});

it('paging advances by the number of items received when a page is smaller than requested', async () => {
  const { offsets, listedUids } = await listInParallel(100, { maxPageLength: 30 });
  expect(offsets).toEqual([0, 30, 60, 90]);
  expect(listedUids).toEqual(Array.from({ length: 100 }, (_, n) => String(n)));
});

it('a page of duplicates does not end paging when the total says that more items exist', async () => {
  const { listedUids } = await listItems(1000, { itemsAddedPerPage: 100, growingPages: 1 });
  for (let n = 0; n < 1000; n++) expect(listedUids).toContain(String(n));
});

it('paging returns as many items as the limit requests despite duplicates', async () => {
  for (const limit of [101, 150]) {
    const { listedUids } = await listItems(1000, { limit, itemsAddedPerPage: 1, growingPages: 1 });
    expect([listedUids.length, new Set(listedUids).size]).toEqual([limit, limit]);
  }
});

it('paging fails when the service ignores the offset and always returns the same page', async () => {
  const fetchPage = async () => ({ items: [{ uid: 'a' }], count: 1_000_000 });
  const listAll = async () => {
    for await (const _page of fetchPages(fetchPage, {}, {}));
  };
  await expect(listAll()).rejects.toThrow('the same items on every page');
});
