import { loadSqlite } from '../../src/shared/sqlite.ts';

/**
 * Opens a database as another program would. Uses the same SQLite as mediactl: two of them in one process would not see
 * each other's locks.
 */
export const openDatabase = await loadSqlite();
