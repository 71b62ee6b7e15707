import { loadSqlite, type SqlDatabase } from '../shared/sqlite.ts';
import { CodedError } from './errors.ts';

/** Loads a package that is installed beside mediactl. @throws CodedError `incomplete_install` (exit 1) if it is missing */
export async function loadPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const [reason] = (error as Error).message.split('\n');
    const explanation = { code: 'incomplete_install', reason, underlying: error } as const;
    throw new CodedError(`the installation is incomplete: cannot load ${name}`, explanation);
  }
}

/** Loads SQLite. @throws CodedError `incomplete_install` (exit 1) if Node.js has none and libsql is missing */
export const openSqlite = async (path: string): Promise<SqlDatabase> => (await loadPackage('libsql', loadSqlite))(path);
