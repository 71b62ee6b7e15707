/** SQLite of Node.js 22.13 and later. The types of Node.js 20, the oldest version that is supported, lack it. */
declare module 'node:sqlite' {
  type Value = string | number | null | Uint8Array;
  type Options = { enableForeignKeyConstraints?: boolean; enableDoubleQuotedStringLiterals?: boolean };

  export class StatementSync {
    all(...values: Value[]): unknown[];
    get(...values: Value[]): unknown;
    run(...values: Value[]): { changes: number | bigint };
  }

  export class DatabaseSync {
    constructor(path: string, options?: Options);
    exec(sql: string): void;
    prepare(sql: string): StatementSync;
    close(): void;
  }
}
