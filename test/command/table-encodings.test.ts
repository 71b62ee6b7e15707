import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { setUpCli } from '../support/cli-setup.ts';
import { parseStrictCsv, writeCsv } from '../support/csv.ts';
import { errorOf } from '../support/errors.ts';
import { writeRandomFile } from '../support/files.ts';
import { rawHttp } from '../support/raw-http.ts';
import { anyWorkspace } from '../support/sandbox.ts';

const { setup } = setUpCli();
const { createUploadOfSize } = rawHttp(() => setup.sandbox);

/** Exports three assets with names that contain a text, and changes the name of the first in the table. */
async function exportEdited(tag: string, text: string): Promise<string> {
  for (const n of [1, 2, 3]) {
    const { asset_uid } = await (await createUploadOfSize(5, { asset_name: 'new' })).json();
    const fields = ['--set', `tags=${tag}`, '--name', `${text} ${n}`, '--description', text];
    expect((await setup.cli.run(['update', asset_uid, ...fields])).code).toBe(0);
  }
  const path = join(setup.cli.home, `${tag}.csv`);
  expect((await setup.cli.run(['export', '--tag', tag, '-o', path])).code).toBe(0);
  const rows = parseStrictCsv(readFileSync(path, 'utf8'));
  (rows[1] as string[])[1] = 'edited';
  writeCsv(path, rows);
  return path;
}
/** Saves a file in an encoding. In iconv-lite, Mac Roman has the currency sign at the place of the euro sign. */
const encodeFile = (path: string, encoding: string) => {
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, iconv.encode(encoding === 'macintosh' ? text.replaceAll('€', '¤') : text, encoding));
};
const apply = async (...args: string[]) => {
  const result = await setup.cli.run(['apply', '--json', '--dry-run', ...anyWorkspace, ...args]);
  const planned = () => JSON.parse(result.stdout).map((each: { line: number; column: string }) => Object.values(each));
  return { ...result, planned };
};
const editOf = (name: unknown) => [2, expect.any(String), name, 'name', name, 'edited', 'planned', null];

describe('apply of a table in another encoding', () => {
  it.each([
    ['windows-1250', 'Łódź żółta', 'windows-1252'],
    ['windows-1251', 'Привет мир', 'koi8-r'],
    ['windows-1253', 'Καλημέρα', 'windows-1251'],
    ['windows-1252', 'Crème „brûlée“ – €', 'iso-8859-15'],
    ['ibm850', 'Café Ørsted', 'windows-1252'],
    ['ibm437', 'Café ½ Ωmega', 'ibm850'],
    ['macintosh', 'Café naïve 5 €', 'windows-1252'],
    ['iso-8859-15', 'Œuvre à 5 €', 'windows-1252'],
    ['shift_jis', '日本語の表', 'gb18030'],
    ['gb18030', '中文 鎔 𠀀', 'big5'],
    ['euc-kr', '안녕하세요', 'gb18030'],
    ['big5', '繁體中文', 'shift_jis'],
    ['koi8-r', 'Привет мир', 'windows-1251'],
  ])(
    'apply refuses %s, names it, and reads it with --encoding but not with another one',
    async (encoding, text, wrong) => {
      const path = await exportEdited(encoding.replace('_', '-'), text);
      expect((await apply(path)).planned()).toEqual([editOf(expect.stringContaining(text))]);
      encodeFile(path, encoding);
      for (const args of [[], ['--encoding', wrong]]) {
        const refused = await apply(path, ...args);
        expect(errorOf(refused)).toMatchObject({ code: 'usage', exit: 2, hint: expect.stringContaining(encoding) });
        expect(refused.stderr).toContain(`${path} is not valid ${args[1] ?? 'UTF-8'}`);
        expect(refused.stdout).toBe('');
      }
      const applied = await apply(path, '--encoding', encoding.toUpperCase().replace('-', ''));
      expect([applied.code, applied.planned()]).toEqual([0, [editOf(expect.stringContaining(text))]]);
    },
  );

  it('apply names a single encoding as the command to type, and all of several that fit', async () => {
    const one = await exportEdited('one-fits', '日本語の表');
    encodeFile(one, 'shift_jis');
    expect(errorOf(await apply(one)).hint).toBe('--encoding shift_jis');
    const several = await exportEdited('several-fit', 'Café');
    encodeFile(several, 'windows-1252');
    const { hint } = errorOf(await apply(several));
    expect(hint).toMatch(/^--encoding windows-1252, or windows-1250, or .*iso-8859-15/);
    expect(hint).not.toContain('macintosh');
  });

  it('apply says that no known encoding fits the hashes', async () => {
    const path = await exportEdited('none-fits', 'Łódź');
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('Łódź', 'Caf\u00e9'), 'latin1');
    const { code, stderr } = await apply(path);
    expect([code, stderr]).toEqual([2, expect.stringContaining('no known encoding fits the hashes')]);
    expect((await apply(path, '--encoding', 'windows-1252')).code).toBe(0);
  });

  it.each([
    ['without', ''],
    ['with', '\uFEFF'],
  ])(
    'apply refuses UTF-8 %s a byte order mark in which one byte is broken, and names the line',
    async (which, mark) => {
      const path = await exportEdited(`broken-${which}`, '日本語 ü');
      const bytes = Buffer.from(mark + readFileSync(path, 'utf8'));
      bytes[bytes.lastIndexOf('ü') + 1] = 0x20;
      writeFileSync(path, bytes);
      const refused = await apply(path);
      expect(errorOf(refused)).toMatchObject({ code: 'usage', exit: 2 });
      expect(refused.stderr).toContain('is not valid UTF-8');
      expect(refused.stderr).toContain('line 4 cannot be decoded');
      expect((await apply(path, '--encoding', 'windows-1252')).code).toBe(2);
    },
  );

  it('apply checks the encoding that is named for a table in UTF-8, too', async () => {
    const path = await exportEdited('utf8', 'Łódź żółta');
    for (const wrong of ['windows-1250', 'shift_jis'])
      expect(errorOf(await apply(path, '--encoding', wrong))).toMatchObject({ exit: 2, hint: '--encoding utf-8' });
    expect((await apply(path, '--encoding', 'utf8')).planned()).toHaveLength(1);
    writeFileSync(path, `\uFEFF${readFileSync(path, 'utf8')}`);
    expect(errorOf(await apply(path, '--encoding', 'windows-1250')).hint).toBe('--encoding utf-8');
  });

  it('apply finds the encoding of JSON lines by their hashes', async () => {
    const csv = await exportEdited('json-lines', '日本語の表');
    const path = csv.replace('.csv', '.jsonl');
    expect((await setup.cli.run(['export', '--tag', 'json-lines', '-o', path])).code).toBe(0);
    encodeFile(path, 'shift_jis');
    expect(errorOf(await apply(path)).hint).toBe('--encoding shift_jis');
    expect((await apply(path, '--encoding', 'big5')).code).toBe(2);
    expect((await apply(path, '--encoding', 'shift_jis')).planned()).toEqual([]);
  });

  it('apply refuses a cell whose letters an encoding turned into question marks', async () => {
    const path = await exportEdited('lost', '日本語 Café');
    const bytes = iconv.encode(readFileSync(path, 'utf8'), 'shift_jis');
    expect(bytes.includes('Caf?')).toBe(true);
    writeFileSync(path, bytes);
    const { planned } = await apply(path, '--encoding', 'shift_jis');
    const outcomes = planned().map(([line, , , column, , , outcome]: unknown[]) => [line, column, outcome]);
    expect(outcomes).toEqual([
      [2, 'name', 'planned'],
      [2, 'description', 'refused'],
      ...[3, 4].flatMap((line) => ['name', 'description'].map((column) => [line, column, 'refused'])),
    ]);
  });

  it('apply lists the names of encodings if it does not know the one that is named', async () => {
    const path = await exportEdited('unknown', 'a');
    for (const unknown of ['windows-9999', 'hex', 'base64', 'constructor']) {
      const refused = await apply(path, '--encoding', unknown);
      const hint = expect.stringMatching(/utf-8, .*windows-1250, .*shift_jis, .*ibm850, /);
      expect(errorOf(refused)).toMatchObject({ code: 'usage', exit: 2, hint });
      expect(refused.stderr).toContain(`unknown encoding ${unknown}`);
    }
  });
});

describe('upload of a manifest or a list of files in another encoding', () => {
  const writeList = (name: string, text: (file: string) => string) => {
    const file = join(setup.cli.home, name, '動画の表.mp4');
    mkdirSync(dirname(file));
    writeRandomFile(file, { size: 50, seed: name });
    const list = join(setup.cli.home, `${name}.txt`);
    writeFileSync(list, iconv.encode(text(file), 'cp932'));
    return list;
  };
  const upload = (...args: string[]) => setup.cli.run(['upload', '--json', '--progress', 'none', ...args]);

  it.each([
    ['--manifest', 'csv', (file: string) => `path,name\n${file},日本語の表\n`],
    ['--manifest', 'jsonl', (file: string) => `${JSON.stringify({ path: file, name: '日本語の表' })}\n`],
    ['--files-from', 'list', (file: string) => `${file}\n`],
  ])('upload %s refuses %s in CP932, and reads it with --encoding', async (option, name, text) => {
    const list = writeList(name, text);
    const refused = await upload(option, list);
    const hint = expect.stringContaining('--encoding');
    expect(errorOf(refused)).toMatchObject({ code: 'usage', exit: 2, hint });
    expect(refused.stderr).toContain('is not valid UTF-8');
    const broken = await upload(option, list, '--encoding', 'euc-jp');
    expect([broken.code, broken.stderr]).toEqual([2, expect.stringContaining('is not valid euc-jp')]);
    const { code, stdout } = await upload(option, list, '--encoding', 'shift_jis');
    const [{ asset_uid }] = JSON.parse(stdout);
    const [asset] = await setup.cli.json(['get', asset_uid]);
    expect([code, asset.name]).toEqual([0, name === 'list' ? '動画の表.mp4' : '日本語の表']);
  });

  it.each([
    ['without', ''],
    ['with', '\uFEFF'],
  ])('upload refuses a manifest and a list in UTF-8 %s a byte order mark with one broken byte', async (_, mark) => {
    const list = join(setup.cli.home, 'broken.csv');
    writeFileSync(
      list,
      Buffer.concat([Buffer.from(`${mark}path\né.mp4\n`), Buffer.from([0xe9]), Buffer.from('.mp4\n')]),
    );
    for (const option of ['--manifest', '--files-from']) {
      const { code, stderr } = await upload(option, list);
      expect([code, stderr]).toEqual([2, expect.stringContaining('is not valid UTF-8')]);
      expect(stderr).toContain('line 3 cannot be decoded');
    }
  });

  it('upload --encoding without a manifest or a list exits with 2', async () => {
    const { code, stderr } = await upload(setup.cli.home, '--encoding', 'shift_jis');
    expect([code, stderr]).toEqual([2, expect.stringContaining('--encoding needs --manifest or --files-from')]);
  });
});
