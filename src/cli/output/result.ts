import type { ChalkInstance } from 'chalk';

/** Terminal properties that output is rendered for. They affect layout only, never content. */
export type RenderContext = {
  isTerminal: boolean;
  columns: number;
  colors: ChalkInstance;
  now: number;
};

/** Resource type of a uid; short forms are unique only within one type. */
export type UidKind = 'asset' | 'folder' | 'workspace';

/** Shortens uids for display and remembers the short forms, so that users can type them. */
export type ShortUids = {
  shorten(kind: UidKind, uids: readonly string[]): Promise<(uid: string) => string>;
};

/** A table column. A pipe gets all columns except `terminalOnly` ones; a terminal gets those that fit. */
export type Column<T> = {
  header: string;
  value(record: T, render: RenderContext): string;
  /** Moved to the first position on a terminal, since users recognize a record by it. */
  isFirst?: boolean;
  /** Resource type if the value is a uid: shortened on a terminal, complete in a pipe. */
  uid?: UidKind;
  /** Record field that the column shows, for --fields. */
  field?: string;
  /** Never truncated to fit. */
  noTruncate?: boolean;
  /** Minimum width after truncation, in terminal columns. */
  minWidth?: number;
  /** Order in which columns are dropped on a narrow terminal: the highest first, 0 last. */
  dropPriority?: number;
  /** Omitted in a pipe. */
  terminalOnly?: boolean;
};

/** One field of a record as shown to users. */
export type DetailRow = readonly [label: string, value: string];

/** Result of a command. `view` renders it for users; machine-readable formats use the records. */
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
      /** Records have no fixed fields: print JSON in the `human` format too. */
      alwaysJson?: boolean;
      /** Returns a line to print under the complete table. */
      footer?: () => string | undefined;
      /** The list grows while it is shown, so it bypasses the pager. */
      isLive?: boolean;
    }
  | {
      kind: 'record';
      record: unknown;
      view: (render: RenderContext) => readonly DetailRow[] | string;
      id: string;
      /** Resource type of `id`; if set, its short form is remembered. */
      uid?: UidKind | undefined;
      /** Columns that format single fields, for --fields. */
      // biome-ignore lint/suspicious/noExplicitAny: columns and record agree inside record()
      columns?: readonly Column<any>[] | undefined;
    }
  | { kind: 'text'; text: string }
  /** Unmodified response of the service, the same in every format. */
  | { kind: 'raw'; text: string }
  | { kind: 'nothing' };

/** A result that has output. */
export type PrintableResult = Exclude<Result, { kind: 'nothing' }>;
export type ListResult = Extract<Result, { kind: 'list' }>;
export type RecordResult = Extract<Result, { kind: 'record' }>;

type WithUid = { uid: string };

/** Builds a list result from pages of records. @param id returns the text that --quiet prints */
const listPages = <T>(
  pages: AsyncIterable<T[]> | Iterable<T[]>,
  id: (record: T) => string,
  columns: readonly Column<T>[],
  empty: string,
): Result => ({ kind: 'list', pages, columns, empty, id });

/** Builds a list result of records that have a uid. @param empty message if there are no records */
export const list = <T extends WithUid>(
  pages: AsyncIterable<T[]> | Iterable<T[]>,
  columns: readonly Column<T>[],
  empty: string,
): Result => listPages(pages, ({ uid }: T) => uid, columns, empty);

/** Builds a list result of records without a uid. @param id returns the text that --quiet prints */
export const listBy = <T>(
  id: (record: T) => string,
  records: readonly T[],
  columns: readonly Column<T>[],
  empty: string,
): Result => listPages([[...records]], id, columns, empty);

/** Builds the result for one record. @param view returns rows of label and value, or preformatted text */
export const record = <T>(
  value: T,
  id: string,
  view: (record: T, render: RenderContext) => readonly DetailRow[] | string,
  { uid, columns }: { uid?: UidKind; columns?: readonly Column<T>[] } = {},
): Result => ({
  ...{ kind: 'record', record: value, id, view: (render) => view(value, render) },
  ...{ uid, columns },
});

/** Builds a result of plain text, such as a URL or a token. The same in every format except JSON. */
export const text = (value: string): Result => ({ kind: 'text', text: value });

export const noResult: Result = { kind: 'nothing' };
