import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { setUpBulk } from '../support/bulk-setup.ts';
import { parseStrictCsv, writeCsv } from '../support/csv.ts';
import { isFullRun } from '../support/full-run.ts';

const assetCount = isFullRun ? 100_000 : 1;
const { setup, run } = setUpBulk(assetCount);

const maxMiB = 200;

/** Runs a command, and returns its result and the peak of its resident memory. */
async function measure(...args: string[]) {
  const finished = run(...args);
  let peakKiB = 0;
  const timer = setInterval(() => {
    try {
      const [, size = 0] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${setup.pid()}/status`, 'utf8')) ?? [];
      peakKiB = Math.max(peakKiB, Number(size));
    } catch {
      // the process has ended
    }
  }, 20);
  const { code, stderr } = await finished;
  clearInterval(timer);
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  return { peakMiB: peakKiB / 1024, stderr };
}

describe.runIf(isFullRun)('a table of 100,000 assets', { tags: ['Linux'] }, () => {
  it('export and apply of 100,000 rows stay within 200 MiB, and 3 changes take at most 10 requests', async () => {
    const table = join(setup.home, 'table.csv');
    const exported = await measure('export', '-o', table);
    const [header = [], ...rows] = parseStrictCsv(readFileSync(table, 'utf8'));
    expect(rows.length).toBe(assetCount);
    for (const n of [0, 50_000, 99_999]) rows[n] = rows[n]?.with(1, `edited ${n}`) ?? [];
    writeCsv(table, [header, ...rows]);
    const requests = setup.proxy.requests.length;
    const applied = await measure('apply', table, '--yes');
    expect(applied.stderr).toContain('100,000 rows: 3 cells to change in 3 assets; 3 requests');
    expect(setup.proxy.requests.length - requests).toBeLessThanOrEqual(10);
    for (const { peakMiB } of [exported, applied]) {
      expect(peakMiB).toBeGreaterThan(20);
      expect(peakMiB).toBeLessThan(maxMiB);
    }
  });
});
