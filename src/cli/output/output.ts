import { asObject, asText, isJsonObject, parseJsonOrUndefined } from '../../shared/json-values.ts';
import { displayText, escapeControls, escapeControlsInLines } from '../../shared/sanitize.ts';
import type { Context } from '../context.ts';
import type { OutputOptions } from '../settings/output-options.ts';
import { cellOf } from './cells.ts';
import { selectFields } from './fields.ts';
import { formatJson, formatJsonLine, writeArray, writeFiltered, writeRows } from './machine-output.ts';
import type { DetailRow, ListResult, PrintableResult, RecordResult, RenderContext, Result } from './result.ts';

/** Prints a command's result to stdout in the requested format, or to the pager if it is longer than the terminal. */
export async function present(context: Context, result: Result): Promise<void> {
  if (result.kind === 'list' && result.isLive) return printResult(context, result);
  await context.terminal.withPager(() => printResult(context, result));
  const footer = result.kind === 'list' && result.footer?.();
  if (footer) context.terminal.info(footer);
  const more = result.kind === 'list' && result.more?.();
  if (more) context.terminal.emit(more);
}

async function printResult(context: Context, result: Result): Promise<void> {
  const { terminal, clock } = context;
  const { outputOptions: options } = context.settings;
  const render: RenderContext = {
    isTerminal: Boolean(terminal.stdout.isTTY),
    columns: terminal.columns,
    colors: terminal.colors(terminal.stdout),
    now: clock.now(),
  };
  if (result.kind === 'nothing') return;
  const parsed = result.kind === 'raw' && isTabular(options) ? recordsIn(result) : result;
  if (parsed.kind === 'raw' && options.jq === undefined)
    return terminal.write(
      (render.isTerminal ? rawForTerminal(parsed.text, render) : parsed.text).replace(/\n?$/, '\n'),
    );
  const selected = options.fields ? selectFields(parsed, options.fields, terminal) : parsed;
  if (options.jq !== undefined) return writeFiltered(terminal, options.jq, options.format, selected);
  if (selected.kind === 'raw' || selected.kind === 'text') {
    const machine = options.format === 'json' || options.format === 'jsonl';
    return terminal.write(`${machine ? JSON.stringify(selected.text) : selected.text}\n`);
  }
  if (options.format === 'csv' || options.format === 'tsv') return writeRows(terminal, options, selected, render);
  return selected.kind === 'record' ? writeRecord(context, selected, render) : writeList(context, selected, render);
}

/** Indents and colors a JSON object or array, and escapes the control characters of any other text. */
function rawForTerminal(text: string, render: RenderContext): string {
  const value = parseJsonOrUndefined(text);
  return value !== null && typeof value === 'object' ? formatJson(value, render) : escapeControlsInLines(text);
}

/** Returns true if a raw response must be split into records, as for --csv and --fields. */
const isTabular = ({ format, fields, jq }: OutputOptions) =>
  jq === undefined && (format === 'csv' || format === 'tsv' || fields !== undefined);

/** Parses the records in a raw response, which can be a page, an array or an object. Returns any other unchanged. */
function recordsIn(result: Extract<PrintableResult, { kind: 'raw' }>): PrintableResult {
  const value = parseJsonOrUndefined(result.text);
  const items = Array.isArray(value) ? value : asObject(value).items;
  if (Array.isArray(items)) {
    const id = (item: unknown) => asText(asObject(item).uid) ?? '';
    return { kind: 'list', pages: [items.map(asObject)], columns: [], id, empty: '', defaultFormat: 'json' };
  }
  if (!isJsonObject(value)) return result;
  const rows = Object.entries(value).map(([field, each]): DetailRow => [field, displayText(each)]);
  return { kind: 'record', record: value, id: asText(value.uid) ?? '', view: () => rows };
}

async function writeRecord(context: Context, result: RecordResult, render: RenderContext): Promise<void> {
  const { terminal, settings } = context;
  const { format } = settings.outputOptions;
  if (format === 'uid') return terminal.write(`${escapeControls(result.id)}\n`);
  if (format === 'jsonl') return terminal.write(`${formatJsonLine(result.record, render)}\n`);
  if (format === 'json') return terminal.write(`${formatJson(result.record, render)}\n`);
  const view = result.view(render);
  if (render.isTerminal && result.uid) await (await context.shortUids())?.shorten(result.uid, [result.id]);
  return terminal.write(typeof view === 'string' ? view : await formatDetail(view, render));
}

async function writeList(context: Context, result: ListResult, render: RenderContext): Promise<void> {
  const { terminal } = context;
  const { format: requested } = context.settings.outputOptions;
  const format = requested === 'table' ? (result.defaultFormat ?? requested) : requested;
  if (format === 'json') return writeArray(terminal, result.pages, render);
  if (format === 'table' && render.isTerminal) return writeTable(context, result, render);
  // Scripts count columns, so their order in a pipe is fixed.
  const columns = result.columns.filter(({ terminalOnly }) => !terminalOnly);
  for await (const page of result.pages)
    await terminal.write(
      page
        .map((item) => {
          if (format === 'uid') return result.id(item) && `${escapeControls(result.id(item))}\n`;
          if (format === 'jsonl') return `${formatJsonLine(item, render)}\n`;
          return `${columns.map((column) => cellOf(column, item, render)).join('\t')}\n`;
        })
        .join(''),
    );
}

/** Formats labels and values, one pair per line, aligned only on a terminal. Omits empty values. */
async function formatDetail(rows: readonly DetailRow[], render: RenderContext): Promise<string> {
  const nonEmptyRows = rows.filter(([, value]) => value !== '');
  // Labels become one word, repeated on continuation lines, so that scripts can split each line.
  let last = '';
  const lineOf = ([label, value]: DetailRow) => {
    last = label.trim().replaceAll(' ', '_') || last;
    return `${last}\t${value}\n`;
  };
  if (!render.isTerminal) return nonEmptyRows.map(lineOf).join('');
  return (await import('./detail.lazy.ts')).renderDetail(nonEmptyRows, render);
}

async function writeTable(context: Context, { pages, columns: own, empty }: ListResult, render: RenderContext) {
  const columns = [...own.filter(({ isFirst }) => isFirst), ...own.filter(({ isFirst }) => !isFirst)];
  const rows: string[][] = [];
  for await (const page of pages)
    for (const item of page) rows.push(columns.map((column) => cellOf(column, item, render)));
  if (rows.length === 0) return empty ? context.terminal.info(empty) : undefined;
  for (const [at, { uid: kind }] of columns.entries()) {
    if (!kind) continue;
    const shown = rows.map((row) => row[at] as string).filter(Boolean);
    const short = await (await context.shortUids())?.shorten(kind, shown);
    for (const row of rows) row[at] = short?.(row[at] as string) ?? (row[at] as string);
  }
  const { renderTable } = await import('./table.lazy.ts');
  await context.terminal.write(renderTable(columns, rows, render));
}
