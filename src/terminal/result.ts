import type { ChalkInstance } from 'chalk';

/** What human output is rendered for; its content never depends on it. */
export type RenderContext = {
  isTerminal: boolean;
  columns: number;
  colors: ChalkInstance;
  now: number;
};

export type Column<T> = {
  header: string;
  value(record: T, render: RenderContext): string;
  /** Never cut to fit: uids. */
  whole?: boolean;
  /** Cells are cut to no less, in columns of the terminal; then whole columns are left out. */
  least?: number;
  /** The first to be left out. */
  spare?: boolean;
};

export type Row = readonly [label: string, value: string];

/** What a command's `run` returns. `view` is for people; the machine formats take the records. */
export type Result =
  | {
      kind: 'list';
      // biome-ignore lint/suspicious/noExplicitAny: columns and records agree inside list()
      pages: AsyncIterable<any[]> | Iterable<any[]>;
      // biome-ignore lint/suspicious/noExplicitAny: columns and records agree inside list()
      columns: readonly Column<any>[];
      // biome-ignore lint/suspicious/noExplicitAny: columns and records agree inside list()
      id: (record: any) => string;
      empty: string;
      /** Records of any shape: JSON for people too. */
      alwaysJson?: boolean;
    }
  | {
      kind: 'record';
      record: unknown;
      view: (render: RenderContext) => readonly Row[] | string;
      id: string;
    }
  | { kind: 'text'; text: string }
  /** What the service sent, the same in every format. */
  | { kind: 'raw'; text: string }
  | { kind: 'nothing' };

/** What there is to print. */
export type Shown = Exclude<Result, { kind: 'nothing' }>;
export type ListResult = Extract<Result, { kind: 'list' }>;
export type RecordResult = Extract<Result, { kind: 'record' }>;

type WithUid = { uid: string };

/** Pages of anything; `id` is what --quiet prints. */
const listPages = <T>(
  pages: AsyncIterable<T[]> | Iterable<T[]>,
  id: (record: T) => string,
  columns: readonly Column<T>[],
  empty: string,
): Result => ({ kind: 'list', pages, columns, empty, id });

export const list = <T extends WithUid>(
  pages: AsyncIterable<T[]> | Iterable<T[]>,
  columns: readonly Column<T>[],
  empty: string,
): Result => listPages(pages, ({ uid }: T) => uid, columns, empty);

export const listBy = <T>(
  id: (record: T) => string,
  records: readonly T[],
  columns: readonly Column<T>[],
  empty: string,
): Result => listPages([[...records]], id, columns, empty);

/** One object. The view gives rows of label and value, or a text as it is. */
export const record = <T>(
  value: T,
  id: string,
  view: (record: T, render: RenderContext) => readonly Row[] | string,
): Result => ({ kind: 'record', record: value, id, view: (render) => view(value, render) });

/** A text that is the result itself: a URL, a token. The same in every format but JSON. */
export const text = (value: string): Result => ({ kind: 'text', text: value });

export const nothing: Result = { kind: 'nothing' };
