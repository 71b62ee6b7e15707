import { OutputFailed } from '../../client/errors.ts';
import { loadPackage } from '../../client/load-package.ts';
import { formatCell, formatCsv, type TableRows } from '../../client/table/format-table.ts';
import { asObject } from '../../shared/json-values.ts';
import { escapeControlsInJson, escapeControlsInLines } from '../../shared/sanitize.ts';
import type { Format, OutputOptions } from '../settings/output-options.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { ListResult, PrintableResult, RecordResult, RenderContext } from './result.ts';

/** Formats a value as JSON, indented and colored on a terminal, compact in a pipe. */
export const formatJson = (value: unknown, render: RenderContext) =>
  render.isTerminal ? colorJson(JSON.stringify(value, null, 2), render) : JSON.stringify(value);

/** Formats a record as JSON on one line (JSONL), colored on a terminal. */
export const formatJsonLine = (value: unknown, render: RenderContext) =>
  render.isTerminal ? colorJson(JSON.stringify(value), render) : JSON.stringify(value);

const jsonToken = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g;

/** Escapes control characters in JSON text and colors it as jq does. */
function colorJson(text: string, { colors }: RenderContext): string {
  const safe = escapeControlsInJson(text);
  if (colors.level === 0) return safe;
  return safe.replace(jsonToken, (token, quoted?: string, colon?: string) => {
    if (colon !== undefined) return `${colors.blue(quoted)}${colon}`;
    return quoted === undefined ? colors.yellow(token) : colors.green(token);
  });
}

/** Prints all records as one JSON array, streaming each page of results as it arrives. */
export async function writeArray(terminal: Terminal, pages: ListResult['pages'], render: RenderContext) {
  let before = '[';
  for await (const page of pages) {
    const items = page.map((item) => indent(formatJson(item, render))).join(',\n');
    if (items) await terminal.write(`${before}\n${items}`);
    if (items) before = ',';
  }
  await terminal.write(before === '[' ? '[]\n' : '\n]\n');
}

const indent = (text: string) => text.replace(/^/gm, '  ');

async function collectValue(result: Exclude<PrintableResult, { kind: 'raw' }>): Promise<unknown> {
  if (result.kind === 'record') return result.record;
  if (result.kind === 'text') return result.text;
  const all: unknown[] = [];
  for await (const page of result.pages) all.push(...page);
  return all;
}

/** Applies --jq to the whole value, or with --jsonl to each record as it arrives, and prints the output. */
export async function writeFiltered(terminal: Terminal, filter: string, format: Format, result: PrintableResult) {
  const { runJq } = await loadPackage('jq-web', () => import('./jq.lazy.ts'));
  const write = async (value: string) => {
    const outcome = await runJq(value, filter);
    if ('problem' in outcome) {
      const problem = outcome.problem.replace(/\s*\n\s*/g, '; ');
      const hint = 'https://jqlang.org/manual';
      throw new OutputFailed('--jq: the filter failed', { code: 'usage', hint, reason: problem });
    }
    const { text } = outcome;
    if (text !== '')
      await terminal.write(`${terminal.stdout.isTTY ? escapeControlsInLines(text) : text}`.replace(/\n?$/, '\n'));
  };
  if (result.kind === 'raw') return write(result.text);
  if (format !== 'jsonl' || result.kind !== 'list') return write(JSON.stringify(await collectValue(result)));
  for await (const page of result.pages) for (const item of page) await write(JSON.stringify(item));
}

/**
 * Prints records as CSV or TSV with a header. The columns are the fields requested by --fields, otherwise all
 * fields that occur in any record.
 */
export async function writeRows(
  terminal: Terminal,
  { format, fields }: OutputOptions,
  result: ListResult | RecordResult,
  render: RenderContext,
): Promise<void> {
  const value = await collectValue(result);
  const records = (Array.isArray(value) ? value : [value]).map(asObject);
  const header = fields ?? [...new Set(records.flatMap((record) => Object.keys(record)))];
  if (header.length === 0) return; // no records and no --fields: the column names are unknown
  const rows = records.map((record) => header.map((field) => record[field]));
  const text = await (format === 'csv' ? formatCsv : formatTsv)([header, ...rows]);
  await terminal.write(render.isTerminal ? escapeControlsInLines(text) : text);
}

const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };
const escapeTsv = (text: string) => text.replace(/[\\\t\n\r]/g, (each) => escapes[each] as string);

/** Formats rows as TSV. Escapes tabs, line endings and backslashes in values as jq's @tsv does. */
const formatTsv = (rows: TableRows) =>
  rows.map((row) => `${row.map((value) => escapeTsv(formatCell(value))).join('\t')}\n`).join('');
