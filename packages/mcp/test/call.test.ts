import { expect, it, onTestFinished } from 'vitest';
import { paced } from '../src/call.ts';

it('of changes that come at once, the first and the last are told', async () => {
  const told: number[] = [];
  let sent = 0;
  const reports = paced(() => told.push(sent), 100);
  onTestFinished(() => reports.stop());
  for (sent of [1, 2, 3]) reports.request();
  expect(told).toEqual([1]);
  await expect.poll(() => told).toEqual([1, 3]);
});
