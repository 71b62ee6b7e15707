import { expect, it, onTestFinished } from 'vitest';
import { ChangeHistory } from '../../src/client/changes/change-history.ts';
import type { ChangeItem } from '../../src/client/changes/change-item.ts';
import type { SqlValue } from '../../src/client/state/sqlite-database.ts';
import { StateDatabase } from '../../src/client/state/state-database.ts';
import { systemClock } from '../../src/shared/clock.ts';

const service = 'https://service.example';
const plan = { command: 'tag', summary: 'add tag sea', service, workspace: null, profile: null, requestCount: 40 };
const item = { kind: 'asset', name: 'a', before: { tags: [] }, after: {}, tags: { add: ['sea'], remove: [] } };
const createItems = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ ...item, uid: `uid-${n}` })) as unknown as ChangeItem[];

it('a question about one change reads no items of other changes', async () => {
  const database = await StateDatabase.openInMemory();
  onTestFinished(() => database.close());
  const history = new ChangeHistory(database, systemClock);
  const ids: string[] = [];
  for (let n = 0; n < 3; n++) {
    const { change, items } = await history.create(plan, createItems(20));
    await history.setItemState(change.id, items, 'done');
    ids.push(change.id);
  }
  const [first = '', , last = ''] = ids;
  const statements: [sql: string, values: SqlValue[]][] = [];
  const { select } = database;
  database.select = (sql, ...values) => {
    statements.push([sql, values]);
    return select.call(database, sql, ...values) as never;
  };
  expect((await history.find(first.slice(0, 6)))?.done).toBe(20);
  expect((await history.findLast(service))?.id).toBe(last);
  const ofItems = statements.filter(([sql]) => sql.includes('change_items'));
  expect(ofItems.length).toBeGreaterThan(0);
  for (const [sql, values] of ofItems) {
    expect([first, last]).toContain(values[0]);
    const steps = await select.call(database, `EXPLAIN QUERY PLAN ${sql}`, ...values);
    const details = steps.map((step) => (step as { detail: string }).detail);
    for (const detail of details.filter((each) => each.includes('change_items')))
      expect(detail).toMatch(/^SEARCH change_items USING .*\(change_id=\?\)/);
  }
});
