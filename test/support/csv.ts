import { writeFileSync } from 'node:fs';

/** Parses CSV as RFC 4180 defines it, in which only CRLF ends a row, and a cell with a line feed must be quoted. */
export function parseStrictCsv(text: string): string[][] {
  const rows: string[][] = [];
  for (let rest = text.replace(/^\uFEFF/, ''); rest !== ''; ) {
    const row: string[] = [];
    for (let isLast = false; !isLast; ) {
      const [whole, quoted, plain = '', end] = /^(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/.exec(rest) ?? [];
      if (whole === undefined) throw new Error(`not RFC 4180: ${JSON.stringify(rest.slice(0, 40))}`);
      row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
      rest = rest.slice(whole.length);
      isLast = end !== ',';
    }
    rows.push(row);
  }
  return rows;
}

/** Writes rows with every cell in quotes. */
export function writeCsv(path: string, rows: readonly (readonly string[])[], delimiter = ','): void {
  const quote = (cell: string) => `"${cell.replaceAll('"', '""')}"`;
  writeFileSync(path, rows.map((row) => `${row.map(quote).join(delimiter)}\r\n`).join(''));
}
