import { asObject, asText, isJsonObject, toJson } from '../../contract/json-values.ts';
import { displayText, escapeControls, escapeControlsInLines } from '../../contract/sanitize.ts';
import type { OutputOptions } from '../settings/output-options.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { selectFields } from './fields.ts';
import { formatJson, formatJsonLine, writeArray, writeFiltered, writeRows } from './machine-output.ts';
import type {
  DetailRow,
  ListResult,
  PrintableResult,
  RecordResult,
  RenderContext,
  Result,
  ShortUids,
} from './result.ts';

/** Everything that printing a result needs. */
type Output = {
  terminal: Terminal;
  options: OutputOptions;
  /** Milliseconds since the Unix epoch. */
  now: number;
  /** Returns the store that shortens uids; called only if uids are shown on a terminal. */
  uids: () => Promise<ShortUids | undefined>;
};

/**
 * Prints a command's result to stdout in the requested format. Uses the pager if the output is longer than the
 * terminal.
 */
export async function present(output: Output, result: Result): Promise<void> {
  if (result.kind === 'list' && result.isLive) return printResult(output, result);
  await output.terminal.withPager(() => printResult(output, result));
  if (result.kind !== 'list') return;
  const footer = result.footer?.();
  if (footer) output.terminal.info(footer);
}

async function printResult(output: Output, result: Result): Promise<void> {
  const { terminal, options, now } = output;
  const render: RenderContext = {
    isTerminal: Boolean(terminal.stdout.isTTY),
    columns: terminal.columns,
    colors: terminal.colors(terminal.stdout),
    now,
  };
  if (result.kind === 'nothing') return;
  const parsed = result.kind === 'raw' && isTabular(options) ? recordsIn(result) : result;
  if (parsed.kind === 'raw' && options.jq === undefined)
    return terminal.write(
      `${render.isTerminal ? escapeControlsInLines(parsed.text) : parsed.text}`.replace(/\n?$/, '\n'),
    );
  const selected = options.fields ? selectFields(parsed, options.fields, terminal) : parsed;
  if (options.jq !== undefined) return writeFiltered(terminal, options.jq, options.format, selected);
  if (selected.kind === 'raw' || selected.kind === 'text') {
    const machine = options.format === 'json' || options.format === 'jsonl';
    return terminal.write(`${machine ? toJson(selected.text) : selected.text}\n`);
  }
  if (options.format === 'csv' || options.format === 'tsv') return writeRows(terminal, options, selected, render);
  return selected.kind === 'record' ? writeRecord(output, selected, render) : writeList(output, selected, render);
}

/** Returns true if a raw response must be split into records, as for --csv, --tsv and --fields. */
const isTabular = ({ format, fields, jq }: OutputOptions) =>
  jq === undefined && (format === 'csv' || format === 'tsv' || fields !== undefined);

/**
 * Parses the records in a raw response, which can be a page of results, an array or a single object. Returns any
 * other response unchanged.
 */
function recordsIn(result: Extract<PrintableResult, { kind: 'raw' }>): PrintableResult {
  let value: unknown;
  try {
    value = JSON.parse(result.text);
  } catch {
    return result; // not JSON, so it has no fields
  }
  const items = Array.isArray(value) ? value : asObject(value).items;
  if (Array.isArray(items)) {
    const id = (item: unknown) => asText(asObject(item).uid) ?? '';
    return { kind: 'list', pages: [items.map(asObject)], columns: [], id, empty: '', alwaysJson: true };
  }
  if (!isJsonObject(value)) return result;
  const rows = Object.entries(value).map(([field, each]): DetailRow => [field, displayText(each)]);
  return { kind: 'record', record: value, id: asText(value.uid) ?? '', view: () => rows };
}

async function writeRecord(
  { terminal, options: { format }, uids }: Output,
  result: RecordResult,
  render: RenderContext,
): Promise<void> {
  if (format === 'quiet') return terminal.write(`${escapeControls(result.id)}\n`);
  if (format === 'jsonl') return terminal.write(`${formatJsonLine(result.record, render)}\n`);
  if (format === 'json') return terminal.write(`${formatJson(result.record, render)}\n`);
  const view = result.view(render);
  if (render.isTerminal && result.uid) await (await uids())?.shorten(result.uid, [result.id]);
  return terminal.write(typeof view === 'string' ? view : await formatDetail(view, render));
}

async function writeList(output: Output, result: ListResult, render: RenderContext): Promise<void> {
  const { terminal } = output;
  const { format } = output.options;
  if (format === 'json' || (format === 'human' && result.alwaysJson)) return writeArray(terminal, result.pages, render);
  if (format === 'human' && render.isTerminal) return writeTable(output, result, render);
  // Scripts count columns, so their order in a pipe is fixed.
  const columns = result.columns.filter(({ terminalOnly }) => !terminalOnly);
  for await (const page of result.pages)
    await terminal.write(
      page
        .map((item) => {
          if (format === 'quiet') return result.id(item) && `${escapeControls(result.id(item))}\n`;
          if (format === 'jsonl') return `${formatJsonLine(item, render)}\n`;
          return `${columns.map((column) => column.value(item, render)).join('\t')}\n`;
        })
        .join(''),
    );
}

/** Formats labels and values, one pair per line, aligned only on a terminal. Omits empty values. */
async function formatDetail(rows: readonly DetailRow[], render: RenderContext): Promise<string> {
  const nonEmptyRows = rows.filter(([, value]) => value !== '');
  // Labels become one word, repeated on continuation lines, so that scripts can split each line.
  if (!render.isTerminal) {
    let last = '';
    return nonEmptyRows
      .map(([label, value]) => {
        last = label.trim().replaceAll(' ', '_') || last;
        return `${last}\t${value}\n`;
      })
      .join('');
  }
  const { renderDetail } = await import('./detail.lazy.ts');
  return renderDetail(nonEmptyRows, render);
}

async function writeTable(
  { terminal, uids }: Output,
  { pages, columns: own, empty }: ListResult,
  render: RenderContext,
): Promise<void> {
  const columns = [...own.filter(({ isFirst }) => isFirst), ...own.filter(({ isFirst }) => !isFirst)];
  const rows: string[][] = [];
  for await (const page of pages)
    for (const item of page) rows.push(columns.map((column) => column.value(item, render)));
  if (rows.length === 0) return empty ? terminal.info(empty) : undefined;
  for (const [at, { uid: kind }] of columns.entries()) {
    if (!kind) continue;
    const shown = rows.map((row) => row[at] as string).filter(Boolean);
    const short = await (await uids())?.shorten(kind, shown);
    for (const row of rows) row[at] = short?.(row[at] as string) ?? (row[at] as string);
  }
  const { renderTable } = await import('./table.lazy.ts');
  await terminal.write(renderTable(columns, rows, render));
}
