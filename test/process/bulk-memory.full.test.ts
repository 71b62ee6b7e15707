import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { setUpBulk } from '../support/bulk-setup.ts';
import { parseStrictCsv, writeCsv } from '../support/csv.ts';
import { isFullRun } from '../support/full-run.ts';

const assetCount = isFullRun ? 100_000 : 1;
const { setup, run, changeAsset, readStore } = setUpBulk(assetCount);

const maxMiB = 200;

/** Runs a command, and returns its result and the peak of its resident memory. */
async function measure(args: readonly string[], exitCode = 0) {
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
  expect([code, stderr]).toEqual([exitCode, expect.any(String)]);
  return { peakMiB: peakKiB / 1024, stderr };
}

describe.runIf(isFullRun)('a table of 100,000 assets', { tags: ['Linux'] }, () => {
  it('export and apply of 100,000 rows stay within 200 MiB, and 3 changes take at most 10 requests', async () => {
    const table = join(setup.home, 'table.csv');
    const exported = await measure(['export', '-o', table]);
    const [header = [], ...rows] = parseStrictCsv(readFileSync(table, 'utf8'));
    expect(rows.length).toBe(assetCount);
    for (const n of [0, 50_000, 99_999]) rows[n] = rows[n]?.with(1, `edited ${n}`) ?? [];
    writeCsv(table, [header, ...rows]);
    const requests = setup.proxy.requests.length;
    const applied = await measure(['apply', table, '--yes']);
    expect(applied.stderr).toContain('100,000 rows: 3 cells to change in 3 assets; about 6 requests, after 3 to read');
    expect(setup.proxy.requests.length - requests).toBeLessThanOrEqual(10);
    for (const { peakMiB } of [exported, applied]) {
      expect(peakMiB).toBeGreaterThan(20);
      expect(peakMiB).toBeLessThan(maxMiB);
    }
  });

  it('a dry run of an apply of 5,000 edited rows of 100,000 stays within 240 MiB', async () => {
    const table = join(setup.home, 'table.csv');
    await run('export', '-o', table);
    const [header = [], ...rows] = parseStrictCsv(readFileSync(table, 'utf8'));
    writeCsv(table, [header, ...rows.map((row, n) => (n < 5_000 ? row.with(1, `edited again ${n}`) : row))]);
    const { peakMiB, stderr } = await measure(['apply', table, '-n']);
    expect(stderr).toContain('100,000 rows: 5,000 cells to change in 5,000 assets');
    expect(peakMiB).toBeLessThan(240);
  });

  it('apply of 100,000 rows in Windows-1250 finds the encoding, reads it and stays within 200 MiB', async () => {
    const table = join(setup.home, 'table.csv');
    for (const uid of [...readStore().keys()].filter((_, n) => n % 200 === 0)) await changeAsset(uid, { name: 'Łódź' });
    await run('export', '-o', table);
    const [header = [], first = [], ...rows] = parseStrictCsv(readFileSync(table, 'utf8'));
    writeCsv(table, [header, first.with(1, 'edited'), ...rows]);
    writeFileSync(table, iconv.encode(readFileSync(table, 'utf8'), 'windows-1250'));
    const refused = await measure(['apply', table, '-n'], 2);
    expect(refused.stderr).toContain('--encoding windows-1250');
    const applied = await measure(['apply', table, '-n', '--encoding', 'windows-1250']);
    expect(applied.stderr).toContain('100,000 rows: 1 cell to change in 1 asset');
    for (const { peakMiB } of [refused, applied]) expect(peakMiB).toBeLessThan(maxMiB);
  });
});
