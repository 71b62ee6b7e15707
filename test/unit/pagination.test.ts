import { expect, it } from 'vitest';
import { fetchPages, type ListGap } from '../../src/client/api/pagination.ts';

type ListedItem = { uid: string };

/** A list of a service, which others change: `onPage` is called after each page, with the number of pages so far. */
function createList(count: number, onPage: (list: ListedItem[], pages: number) => void) {
  const list = Array.from({ length: count }, (_, at) => ({ uid: `item ${at}` }));
  let pages = 0;
  const fetchPage = async (limit: number, offset: number) => {
    const page = { items: list.slice(offset, offset + limit), count: list.length };
    onPage(list, ++pages);
    return page;
  };
  const readAll = async () => {
    const uids: string[] = [];
    for await (const page of fetchPages(fetchPage, {}, {}, () => 8)) uids.push(...page.map(({ uid }) => uid));
    return uids;
  };
  return { list, readAll, pages: () => pages };
}

it('paging returns every remaining item once when items are deleted during the listing', async () => {
  const { list, readAll } = createList(2_000, (items, pages) => {
    if (pages === 3) items.splice(0, 150);
  });
  const uids = await readAll();
  expect(new Set(uids).size).toBe(uids.length);
  expect(list.filter(({ uid }) => !uids.includes(uid))).toEqual([]);
});

it('a list that does not change or only grows is read in a single pass', async () => {
  const unchanged = createList(2_000, () => {});
  expect((await unchanged.readAll()).length).toBe(2_000);
  expect(unchanged.pages()).toBe(21); // a total may be too low, so the last page is asked for
  const growing = createList(2_000, (items, pages) => {
    if (pages === 3) items.unshift({ uid: 'new' });
  });
  expect(await growing.readAll()).toEqual(
    expect.arrayContaining(Array.from({ length: 2_000 }, (_, at) => `item ${at}`)),
  );
  expect(growing.pages()).toBeLessThanOrEqual(22);
});

it('paging fails with list_changed when the list shrinks during every pass', async () => {
  const { readAll } = createList(3_000, (items) => items.splice(0, 3));
  const error = await readAll().catch((thrown) => thrown);
  expect(error.explanation.code).toBe('list_changed');
});

it('a page in the middle that is shorter than requested loses no item', async () => {
  const uids = Array.from({ length: 1_000 }, (_, at) => `item ${at}`);
  const fetchPage = async (limit: number, offset: number) => {
    const count = offset === 0 ? limit : Math.min(limit, 70);
    return { items: uids.slice(offset, offset + count).map((uid) => ({ uid })), count: uids.length };
  };
  const listed: string[] = [];
  for await (const page of fetchPages(fetchPage, {}, {}, () => 8)) listed.push(...page.map(({ uid }) => uid));
  expect(listed).toEqual(uids);
});

it('a list without a total ends where a service answers an offset past the end with its last page again', async () => {
  const list = Array.from({ length: 200 }, (_, at) => ({ uid: `item ${at}` }));
  const fetchPage = async (limit: number, offset: number) => ({
    items: list.slice(Math.min(offset, list.length - limit)).slice(0, limit),
  });
  const uids: string[] = [];
  for await (const page of fetchPages(fetchPage, {}, {})) uids.push(...page.map(({ uid }) => uid));
  expect(uids).toEqual(list.map(({ uid }) => uid));
});

it('a service without a total that repeats its first page is said to ignore the offset', async () => {
  const list = Array.from({ length: 100 }, (_, at) => ({ uid: `item ${at}` }));
  const read = async () => {
    for await (const _page of fetchPages(async () => ({ items: list }), {}, {}));
  };
  await expect(read()).rejects.toThrow('the service returns the same items on every page');
});

/** Pages of a list of which some items are hidden after the service has counted and paged them. */
async function readHidden(count: number, isHidden: (at: number) => boolean, { total = count } = {}) {
  const requests: [limit: number, offset: number][] = [];
  const fetchPage = async (limit: number, offset: number) => {
    requests.push([limit, offset]);
    const items = Array.from({ length: Math.max(0, Math.min(limit, count - offset)) }, (_, at) => offset + at);
    return { items: items.filter((at) => !isHidden(at)).map((at) => ({ uid: `item ${at}` })), count: total };
  };
  const gaps: ListGap[] = [];
  const listed: string[] = [];
  for await (const page of fetchPages(fetchPage, { onGap: (gap) => gaps.push(gap) }, {}, () => 8))
    listed.push(...page.map(({ uid }) => uid));
  return { listed, gaps, requests };
}

it('a list is read on behind an empty page if its last item is there, and its gap is reported', async () => {
  const { listed, gaps, requests } = await readHidden(450, (at) => at >= 100 && at < 200);
  expect([listed.length, listed.at(-1)]).toEqual([350, 'item 449']);
  expect(gaps).toEqual([{ listed: 350, total: 450 }]);
  expect(requests).toContainEqual([1, 449]);
});

it('a list is read on if its first page is empty', async () => {
  const { listed, gaps } = await readHidden(250, (at) => at < 100);
  expect([listed.length, gaps]).toEqual([150, [{ listed: 150, total: 250 }]]);
});

it('a list whose total is too high ends at its last item, and the gap is reported', async () => {
  const { listed, gaps } = await readHidden(250, () => false, { total: 1_000 });
  expect([listed.length, gaps]).toEqual([250, [{ listed: 250, total: 1_000 }]]);
});

it('a list of short pages has no gap', async () => {
  const { listed, gaps, requests } = await readHidden(250, () => false);
  expect([listed.length, gaps, requests.length]).toEqual([250, [], 3]);
});
