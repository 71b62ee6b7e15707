import type { ChalkInstance } from 'chalk';

/** What human output is rendered for; its content never depends on it. */
export type RenderContext = {
  isTerminal: boolean;
  columns: number;
  colors: ChalkInstance;
  now: number;
};

/** What a uid is of: an asset may begin like a folder. */
export type UidKind = 'asset' | 'folder' | 'workspace';

/** How uids are shown short, and remembered to be typed so. */
export type ShortUids = {
  shorten(kind: UidKind, uids: readonly string[]): Promise<(uid: string) => string>;
};

/** In a pipe all columns stand in their order, but for the `wide` ones; on a terminal those there is room for. */
export type Column<T> = {
  header: string;
  value(record: T, render: RenderContext): string;
  /** On a terminal it stands first: what people know a record by. */
  leads?: boolean;
  /** The value is a uid of that kind: short on a terminal, whole in a pipe. */
  uid?: UidKind;
  /** The field that it shows, for --fields. */
  field?: string;
  /** Never cut to fit. */
  whole?: boolean;
  /** Cells are cut to no less, in columns of the terminal. */
  least?: number;
  /** How soon it is left out for want of room: the highest first; 0, the last ones to go. */
  spare?: number;
  /** Not in a pipe. */
  wide?: boolean;
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
      /** What stands under the table, once all of it is there. */
      footer?: () => string | undefined;
      /** It goes on while it is read: not for a pager. */
      isLive?: boolean;
    }
  | {
      kind: 'record';
      record: unknown;
      view: (render: RenderContext) => readonly Row[] | string;
      id: string;
      /** What its id is of: it may be typed short from then on. */
      uid?: UidKind | undefined;
      /** How single fields are shown, for --fields. */
      // biome-ignore lint/suspicious/noExplicitAny: columns and record agree inside record()
      columns?: readonly Column<any>[] | undefined;
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
  { uid, columns }: { uid?: UidKind; columns?: readonly Column<T>[] } = {},
): Result => ({
  ...{ kind: 'record', record: value, id, view: (render) => view(value, render) },
  ...{ uid, columns },
});

/** A text that is the result itself: a URL, a token. The same in every format but JSON. */
export const text = (value: string): Result => ({ kind: 'text', text: value });

export const nothing: Result = { kind: 'nothing' };
