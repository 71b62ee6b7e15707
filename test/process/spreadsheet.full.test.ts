import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { setUpBulk } from '../support/bulk-setup.ts';
import { isFullRun } from '../support/full-run.ts';
import { hangMs } from '../support/hang.ts';
import { hostileNames } from '../support/hostile-names.ts';

// Runs LibreOffice headless: it opens an exported table, which is edited in its own format, and saves it as CSV.

const { setup, run, runKilled, changeAsset, readStore, countWrites } = setUpBulk(500);

/** CSV with UTF-8 and a delimiter, in the words of LibreOffice: delimiter, quote, character set, first line. */
const csvOf = (delimiter: string) => `${delimiter.charCodeAt(0)},34,76,1`;

function convert(file: string, to: string, ...options: string[]): string {
  const profile = `-env:UserInstallation=file://${join(setup.home, 'office')}`;
  const args = [profile, '--headless', ...options, '--convert-to', to, '--outdir', setup.home, file];
  const { status, stderr } = spawnSync('soffice', args, { encoding: 'utf8', timeout: hangMs });
  expect([status, stderr]).toEqual([0, expect.any(String)]);
  return file.replace(/\.\w+$/, `.${to.split(':')[0]}`);
}

/** Opens and saves a table in LibreOffice. @param edit changes the document as LibreOffice stores it (flat XML) */
function saveInOffice(table: string, delimiter: string, edit: (document: string) => string): void {
  const document = convert(table, 'fods', `--infilter=CSV:${csvOf(',')}`);
  writeFileSync(document, edit(readFileSync(document, 'utf8')));
  convert(document, `csv:Text - txt - csv (StarCalc):${csvOf(delimiter)},,0,false,true,false`);
}

describe.runIf(isFullRun)('a table that LibreOffice has saved', { tags: ['soffice'] }, () => {
  it.each([',', ';'])(
    'apply with the delimiter %j of a table that was not edited changes nothing',
    async (delimiter) => {
      const uids = [...readStore().keys()];
      for (const [n, name] of hostileNames.entries()) await changeAsset(uids[n] as string, { name, description: name });
      const table = join(setup.home, 'table.csv');
      await run('export', '-o', table);
      saveInOffice(table, delimiter, (document) => document);
      expect(await run('apply', table, '-n')).toMatchObject({
        stdout: '',
        code: 0,
        stderr: '500 rows: nothing to change\n',
      });
    },
  );

  it('apply that is killed after 120 of 499 edits and run again writes all edits except conflicts', async () => {
    const uids = [...readStore().keys()];
    for (const [n, description] of hostileNames.entries())
      await changeAsset(uids[n] as string, { name: `plain ${n}`, description });
    const table = join(setup.home, 'table.csv');
    await run('export', '-o', table);
    const edited = uids.slice(1);
    saveInOffice(table, ';', (document) => {
      let text = document;
      for (const [n, uid] of edited.entries()) {
        const from = text.indexOf('<text:p>', text.indexOf(`<text:p>${uid}</text:p>`) + 1);
        const to = text.indexOf('</text:p>', from);
        text = `${text.slice(0, from)}<text:p>Edited – ${n}${text.slice(to)}`;
      }
      return text;
    });
    const conflicts = edited.slice(-3);
    for (const uid of conflicts) await changeAsset(uid, { name: 'by someone else' });
    const expected = readStore();
    for (const [n, uid] of edited.entries())
      if (!conflicts.includes(uid)) Object.assign(expected.get(uid) ?? {}, { name: `Edited – ${n}` });
    await runKilled({ write: 120 }, 'apply', table, '--yes');
    const second = await run('apply', table, '--yes');
    expect([second.code, second.stderr]).toEqual([11, expect.stringContaining('3 of ')]);
    expect(readStore()).toEqual(expected);
    expect(countWrites()).toBe(edited.length - conflicts.length);
    await run('apply', table, '--yes');
    expect([readStore(), countWrites()]).toEqual([expected, edited.length - conflicts.length]);
  });
});
