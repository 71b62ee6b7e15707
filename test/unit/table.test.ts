import { describe, expect, it } from 'vitest';
import { normalizeCell } from '../../src/client/changes/sheet.ts';
import { createTableEncoder } from '../../src/client/table/format-table.ts';
import { describeReformatting, guardCell, unguardCell } from '../../src/client/table/guard.ts';
import { readTable } from '../../src/client/table/read-table.ts';
import { parseStrictCsv } from '../support/csv.ts';
import { hostileNames } from '../support/hostile-names.ts';
import { Random } from '../support/random.ts';

const read = async (bytes: Buffer | string, encoding?: string) => {
  const { rows, ...table } = await readTable(Buffer.from(bytes), 'a.csv', encoding);
  const found: { line: number; cells: unknown }[] = [];
  for await (const row of rows) found.push(row);
  return { ...table, rows: found.map(({ cells }) => cells), lines: found.map(({ line }) => line) };
};

describe('readTable', () => {
  it.each([
    ['a comma', 'uid,name\r\n1,"a, b"\r\n'],
    ['a semicolon', 'uid;name\r\n1;"a, b"\r\n'],
    ['a tab', 'uid\tname\n1\ta, b\n'],
    ['a byte order mark', '\uFEFFuid,name\n1,"a, b"\n'],
    ['UTF-16', Buffer.from('\uFEFFuid,name\n1,"a, b"\n', 'utf16le')],
    ['a first line that names the delimiter', 'sep=;\nuid;name\n1;"a, b"\n'],
    ['capitals and spaces in the header', ' UID , Name \n1,"a, b"'],
  ])('readTable reads a table with %s', async (_, bytes) => {
    expect(await read(bytes)).toEqual({
      columns: ['uid', 'name'],
      rows: [{ uid: '1', name: 'a, b' }],
      lines: [2],
    });
  });

  it.each([
    ['Windows-1252', Buffer.from('uid,name\n1,Caf\xe9\n', 'latin1'), 'UTF-8', 'line 2 cannot be decoded'],
    ['UTF-8 with a broken byte', Buffer.from('uid,name\n1,\xc3\xa9\n2,\xc3\n', 'latin1'), 'UTF-8', 'line 3 '],
    ['UTF-16 with half a letter', Buffer.from('\uFEFFuid,name\n1,\uD83D\n', 'utf16le'), 'utf-16le', 'line 2 '],
    ['UTF-16 with half a byte pair', Buffer.from('\uFEFFuid\n1', 'utf16le').subarray(0, -1), 'utf-16le', 'line 2 '],
    ['UTF-16 without a byte order mark', Buffer.from('uid,name\n', 'utf16le'), 'UTF-8', 'without a byte order mark'],
  ])('readTable refuses %s', async (_, bytes, encoding, reason) => {
    await expect(read(bytes)).rejects.toMatchObject({
      message: `a.csv is not valid ${encoding}`,
      kind: 'usage',
      explanation: { reason: expect.stringContaining(reason) },
    });
  });

  it.each([
    ['windows-1252', Buffer.from('Caf\xe9 \x96 \x80', 'latin1'), 'Café – €'],
    ['CP1250', Buffer.from([0xa3, 0xf3, 0x64, 0x9f]), 'Łódź'],
    ['macintosh', Buffer.from([0x35, 0xdb]), '5€'],
    ['Shift_JIS', Buffer.from([0x95, 0x5c]), '表'],
    ['utf-16le', Buffer.from('Łódź 🎬', 'utf16le'), 'Łódź 🎬'],
    ['utf-16be', Buffer.from('Łódź 🎬', 'utf16le').swap16(), 'Łódź 🎬'],
  ])('readTable reads %s if it is named', async (encoding, name, expected) => {
    const isWide = encoding.startsWith('utf-16');
    const head = Buffer.from('uid,name\n1,', isWide ? 'utf16le' : 'latin1');
    const bytes = Buffer.concat([encoding === 'utf-16be' ? head.swap16() : head, name]);
    expect((await read(bytes, encoding)).rows).toEqual([{ uid: '1', name: expected }]);
  });

  it('readTable reads letters that are split between two parts of a large file, and names the line of a broken one', async () => {
    const rows = Array.from({ length: 40_000 }, (_, n) => `${n},${'x'.repeat(n % 2)}表計算\n`);
    const text = (all: readonly string[]) =>
      Buffer.from(all.join('').replaceAll('表計算', '\x95\x5c\x8cv\x8eZ'), 'latin1');
    const found = await read(text(['uid,name\n', ...rows]), 'shift_jis');
    expect(found.rows.filter((cells) => !(cells as { name: string }).name.endsWith('表計算'))).toEqual([]);
    expect(found.rows).toHaveLength(rows.length);
    const broken = read(text(['uid,name\n', ...rows, '1,\x81\n']), 'shift_jis');
    await expect(broken).rejects.toMatchObject({ explanation: { reason: 'line 40002 cannot be decoded' } });
  });

  it('readTable reads JSON lines with their types, and has no header', async () => {
    const { columns, rows, lines } = await read('{"uid":"1","tags":["a"]}\n\n{"uid":"2","name":null}\n');
    expect([columns, lines]).toEqual([undefined, [1, 3]]);
    expect(rows).toEqual([
      { uid: '1', tags: ['a'] },
      { uid: '2', name: null },
    ]);
  });

  it('readTable skips rows without any value, and reads a header alone as no rows', async () => {
    expect((await read('uid,name\n,\n1,a\n\n')).rows).toEqual([{ uid: '1', name: 'a' }]);
    expect(await read('uid,name\n')).toMatchObject({ columns: ['uid', 'name'], rows: [] });
    expect(await read('')).toMatchObject({ columns: [], rows: [] });
  });

  it.each([
    ['a row with more cells than the header', 'uid,name\n1,a,b\n', 'line 2 of a.csv is invalid'],
    ['an Excel workbook', 'PK\x03\x04rest', 'a.csv is a workbook, not a table'],
    ['a quote that never ends', 'uid,name\n1,"a\n', 'cannot parse a.csv'],
    ['a column that occurs twice', 'uid,name,Name\n1,a,b\n', 'line 1 of a.csv is invalid'],
    ['a line that is not JSON', '{"uid":"1"}\n{"uid":\n', 'line 2 of a.csv is invalid'],
    ['a line that is a list', '{"uid":"1"}\n["2"]\n', 'line 2 of a.csv is invalid'],
  ])('readTable rejects %s', async (_, text, message) => {
    await expect(read(text)).rejects.toMatchObject({ message, kind: 'usage' });
  });
});

describe('createTableEncoder', () => {
  const encode = async (format: 'csv' | 'tsv' | 'jsonl', names: readonly string[]) => {
    const encoder = createTableEncoder(format, ['uid', 'name'], ['name']);
    return (await encoder.head()) + (await encoder.rows(names.map((name, n) => ({ uid: String(n), name }))));
  };

  it('a CSV table has a byte order mark and CRLF, and a strict parser reads every hostile name', async () => {
    const text = await encode('csv', hostileNames);
    expect(text.startsWith('\uFEFFuid,name\r\n')).toBe(true);
    const [, ...rows] = parseStrictCsv(text);
    expect(rows.map(([, name = '']) => unguardCell(name))).toEqual(hostileNames);
  });

  it.each(['csv', 'tsv'] as const)('readTable reads the hostile names of a %s table', async (format) => {
    const { rows } = await read(await encode(format, hostileNames));
    expect(rows.map((cells) => unguardCell((cells as { name: string }).name))).toEqual(hostileNames);
  });

  it('a JSON lines table has the columns in order, without protection', async () => {
    expect(await encode('jsonl', ['=1'])).toBe('{"uid":"0","name":"=1"}\n');
  });
});

describe('guardCell', () => {
  it.each(['=1+1', '+1', '-', '-x', '@a', '007', '1,5', '1e5', '1.5E+10', '3/4', '2026-01-02', '12:30', '50 %', '€ 5'])(
    'guardCell protects %j, which a spreadsheet changes',
    (text) => expect(guardCell(text)).toBe(`'${text}`),
  );
  it.each(['TRUE', 'falsch', '3. Apr', '12 March 2026', 'Mar 3', "'Round Midnight", '(5)'])(
    'guardCell protects %j, which a spreadsheet changes',
    (text) => expect(guardCell(text)).toBe(`'${text}`),
  );
  it.each(['', 'Quay', '/Campaigns/2026', '4k press', 'A-roll', 'Take 2', '100 years'])(
    'guardCell leaves %j as it is',
    (text) => expect(guardCell(text)).toBe(text),
  );
  it.each([
    ['clip;=1+1', "clip;'=1+1"],
    ['a; @b', "a;' @b"],
    ["a;'=b", "a;''=b"],
    ['=1;-2', "'=1;'-2"],
    ['first line\n=cmd()', "first line\n'=cmd()"],
  ])('guardCell protects %j within, where a spreadsheet that separates by semicolons splits it', (text, expected) => {
    expect(guardCell(text)).toBe(expected);
    expect(unguardCell(expected)).toBe(text);
  });
  it.each(['a; b', "rock;'n roll", 'a - b', 'a=b;c=d', 'two\nlines'])('guardCell leaves %j as it is within', (text) => {
    expect([guardCell(text), unguardCell(text)]).toEqual([text, text]);
  });
  it('no part of a guarded cell begins with a formula, and unguardCell returns what was guarded', () => {
    const random = new Random(55);
    const letters = [
      "'",
      ';',
      '=',
      '+',
      '-',
      '@',
      '\t',
      ' ',
      '\n',
      '\r',
      '\u0001',
      '\u00a0',
      '\u0338',
      '\u037e',
      'a',
      '1',
    ];
    const dropControls = (text: string) => text.replace(/(?!\n)\p{Cc}/gu, ''); // as LibreOffice and the hashes do
    for (let n = 0; n < 50_000; n++) {
      const text = Array.from({ length: random.below(9) }, () => random.pick(letters)).join('');
      const cell = guardCell(text);
      expect(unguardCell(normalizeCell(cell)), JSON.stringify(text)).toBe(normalizeCell(text));
      const saved = unguardCell(normalizeCell(dropControls(normalizeCell(cell))));
      expect(normalizeCell(saved), JSON.stringify(text)).toBe(normalizeCell(dropControls(normalizeCell(text))));
      const parts = cell.split(/[;\r\n]/).map((part) => part.replace(/^[\s\p{Cc}]+/u, ''));
      expect(
        parts.filter((part) => /^[=+\-@]/.test(part)),
        JSON.stringify(text),
      ).toEqual([]);
    }
  });
  it('unguardCell removes one leading apostrophe only', () => {
    expect([unguardCell("''Round"), unguardCell('a'), unguardCell("'")]).toEqual(["'Round", 'a', '']);
  });
});

describe('describeReformatting', () => {
  it.each([
    ['007', '7'],
    ['1e5', '100000'],
    ['1e5', '1.00E+05'],
    ['3/4', '03/04/26'],
    ['3/4', '03. Apr'],
    ['3/4', '4. Mrz'],
    ['3/4', '0.75'],
    ['3/4', '45750'],
    ['Gdańsk', 'Gdansk'],
    ['2026-01-02', '02.01.2026'],
    ['1.50', '1,5'],
    ['Gdańsk 東京', 'Gda?sk ??'],
    ['日本 Café', '日本 Caf?'],
    ['Take 🎬', 'Take ??'],
    [`${'a'.repeat(32_767)}b`, 'a'.repeat(32_767)],
  ])('describeReformatting recognizes what a spreadsheet made of %j', (before, now) => {
    expect(describeReformatting(before, now)).toEqual(expect.any(String));
  });
  it.each([
    ['Quay', 'Quay at dusk'],
    ['Take 1', 'Take 2'],
    ['007', '008'],
    ['3/4', '4/4'],
    ['Why', 'Why?'],
    ['Café', 'Cafe'],
    ['2026-01-02', '2026-01-03'],
    ['2024-01', '2024-01-15'],
    ['', '7'],
  ])('describeReformatting accepts the edit of %j to %j', (before, now) => {
    expect(describeReformatting(before, now)).toBeUndefined();
  });
});
