import type { ChalkInstance } from 'chalk';

export type RenderContext = {
  isTerminal: boolean;
  columns: number;
  colors: ChalkInstance;
  now: number;
};

/** Resource type of a uid. Shortened uids are unique only within one type. */
export type UidKind = 'asset' | 'folder' | 'workspace';

type CellValue<T> = (record: T, render: RenderContext) => string;

/**
 * A column has the name of the field that it shows, in its heading and for --fields, and shows its value as `cellOf` does
 * unless it has a `value`. Only a column that is more than one field has a heading of its own.
 */
type ColumnContent<T> =
  | { field: Extract<keyof T, string>; header?: undefined; value?: CellValue<T> }
  | { header: string; field?: undefined; value: CellValue<T> };

/**
 * Returns the heading of a column: `CREATED AT` for the field `created_at`, `SIZE` for `size_bytes`, which has a unit, and
 * `ASSETS` for `asset_count`.
 */
export const headerOf = ({ header, field = '' }: Pick<Column<never>, 'header' | 'field'>): string =>
  header ??
  field
    .replace(/_(?:bytes|seconds)$/, '')
    .replace(/^asset_count$/, 'assets')
    .replace(/_count$/, '')
    .replaceAll('_', ' ')
    .toUpperCase();

/** A table column. A pipe gets all columns that are not `terminalOnly`; a terminal gets the columns that fit. */
export type Column<T> = ColumnContent<T> & {
  /** True to show the column first on a terminal, since users recognize a record by it. */
  isFirst?: boolean;
  /** Resource type if the value is a uid, which is shortened on a terminal but complete in a pipe. */
  uid?: UidKind;
  noTruncate?: boolean;
  /** Minimum width after truncation, in terminal columns. */
  minWidth?: number;
  /** Priority for dropping columns on a narrow terminal; the highest is dropped first, 0 (default) last. */
  dropPriority?: number;
  terminalOnly?: boolean;
};

export type DetailRow = readonly [label: string, value: string];

/** Result of a command. Columns or `view` render it for users; machine-readable formats use the records. */
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
      /** Format in place of a table, for records that have no fixed fields. */
      defaultFormat?: 'json';
      /** Returns a line to print on stderr after the whole list, or undefined. */
      footer?: () => string | undefined;
      /** Tells that the list has more items than it shows, also with --quiet, whose output goes to other programs. */
      more?: () => string | undefined;
      /** True if the list grows while it is shown, so that it must bypass the pager. */
      isLive?: boolean;
    }
  | {
      kind: 'record';
      record: unknown;
      view: (render: RenderContext) => readonly DetailRow[] | string;
      id: string;
      /** Resource type of `id`; if set, the uid is stored so that users can enter its short form. */
      uid?: UidKind | undefined;
      // biome-ignore lint/suspicious/noExplicitAny: columns and record agree inside record()
      columns?: readonly Column<any>[] | undefined;
    }
  | { kind: 'text'; text: string }
  /** Unmodified response from the service, printed in every format unless records are requested. */
  | { kind: 'raw'; text: string }
  | { kind: 'nothing' };

export type PrintableResult = Exclude<Result, { kind: 'nothing' }>;
export type ListResult = Extract<Result, { kind: 'list' }>;
export type RecordResult = Extract<Result, { kind: 'record' }>;

/** Builds a list result from records that have a uid. @param empty message to print if there are no records */
export const list = <T extends { uid: string }>(
  pages: AsyncIterable<T[]> | Iterable<T[]>,
  columns: readonly Column<T>[],
  empty: string,
): ListResult => ({ kind: 'list', pages, columns, empty, id: ({ uid }: T) => uid });

/** Builds a list result from records without a uid. @param id returns the text that --quiet prints for a record */
export const listBy = <T>(
  id: (record: T) => string,
  records: readonly T[],
  columns: readonly Column<T>[],
  empty: string,
): ListResult => ({ kind: 'list', pages: [[...records]], columns, empty, id });

/** Builds the result for a single record. @param view returns rows of labels and values, or preformatted text */
export const record = <T>(
  value: T,
  id: string,
  view: (record: T, render: RenderContext) => readonly DetailRow[] | string,
  { uid, columns }: { uid?: UidKind; columns?: readonly Column<T>[] } = {},
): Result => ({ kind: 'record', record: value, id, view: (render) => view(value, render), uid, columns });

/** Builds a result from plain text, such as a URL or a token. All formats except JSON print it unchanged. */
export const text = (value: string): Result => ({ kind: 'text', text: value });

export const noResult: Result = { kind: 'nothing' };
