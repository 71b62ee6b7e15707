import type { Format } from '../profiles/format.ts';
import { printable, printableJson, printableLines } from './printable.ts';
import type { Dress, Result, Row } from './result.ts';
import type { Terminal } from './terminal.ts';

/** Result to stdout, in the format asked for. */
export async function present(
  terminal: Terminal,
  format: Format,
  result: Result,
  now: number,
): Promise<void> {
  const dress: Dress = {
    isTerminal: Boolean(terminal.stdout.isTTY),
    columns: terminal.columns,
    colors: terminal.colors(terminal.stdout),
    now,
  };
  if (result.kind === 'nothing') return;
  if (result.kind === 'raw')
    return terminal.write(
      `${dress.isTerminal ? printableLines(result.text) : result.text}`.replace(/\n?$/, '\n'),
    );
  if (result.kind === 'text') {
    const machine = format === 'json' || format === 'jsonl';
    return terminal.write(`${machine ? JSON.stringify(result.text) : result.text}\n`);
  }
  if (result.kind === 'record') {
    if (format === 'quiet') return terminal.write(`${printable(result.id)}\n`);
    if (format === 'jsonl') return terminal.write(`${line(result.record, dress)}\n`);
    if (format === 'json') return terminal.write(`${json(result.record, dress)}\n`);
    const view = result.view(dress);
    return terminal.write(typeof view === 'string' ? view : await detailOf(view, dress));
  }
  if (format === 'json' || (format === 'human' && result.alwaysJson))
    return writeArray(terminal, result.pages, dress);
  if (format === 'human' && dress.isTerminal) return writeTable(terminal, result, dress);
  for await (const page of result.pages)
    await terminal.write(
      page
        .map((item) => {
          if (format === 'quiet') return `${printable(result.id(item))}\n`;
          if (format === 'jsonl') return `${line(item, dress)}\n`;
          return `${result.columns.map((column) => column.value(item, dress)).join('\t')}\n`;
        })
        .join(''),
    );
}

/** Label and value, a line each; empty ones are left out. Measuring text is for terminals only. */
async function detailOf(rows: readonly Row[], dress: Dress): Promise<string> {
  const shown = rows.filter(([, value]) => value !== '');
  if (!dress.isTerminal) return shown.map(([label, value]) => `${label}\t${value}\n`).join('');
  const { detail } = await import('./detail.lazy.ts');
  return detail(shown, dress);
}

const json = (value: unknown, dress: Dress) =>
  dress.isTerminal ? printableJson(JSON.stringify(value, null, 2)) : JSON.stringify(value);

/** One record a line, whoever reads it. */
const line = (value: unknown, dress: Dress) =>
  dress.isTerminal ? printableJson(JSON.stringify(value)) : JSON.stringify(value);

/** One JSON array, written while pages arrive. */
async function writeArray(
  terminal: Terminal,
  pages: AsyncIterable<unknown[]> | Iterable<unknown[]>,
  dress: Dress,
): Promise<void> {
  let before = '[';
  for await (const page of pages) {
    const items = page.map((item) => indent(json(item, dress))).join(',\n');
    if (items) await terminal.write(`${before}\n${items}`);
    if (items) before = ',';
  }
  await terminal.write(before === '[' ? '[]\n' : '\n]\n');
}

const indent = (text: string) => text.replace(/^/gm, '  ');

async function writeTable(
  terminal: Terminal,
  result: Extract<Result, { kind: 'list' }>,
  dress: Dress,
): Promise<void> {
  const rows: string[][] = [];
  for await (const page of result.pages)
    for (const item of page) rows.push(result.columns.map((column) => column.value(item, dress)));
  if (rows.length === 0) return result.empty ? terminal.say(result.empty) : undefined;
  const { table } = await import('./table.lazy.ts');
  await terminal.write(table(result.columns, rows, dress));
}
