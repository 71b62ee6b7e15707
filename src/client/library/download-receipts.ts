import { rangeBelow, tryLstat } from '../local-path.ts';
import type { SqlValue } from '../state/sqlite-database.ts';
import type { StateDatabase } from '../state/state-database.ts';
import { identityOf, isSameVersion } from '../upload/sources/file-identity.ts';
import { withVerified } from '../upload/store/receipt-row.ts';
import type { DownloadStart } from './download.ts';

/** A file that this machine has downloaded. */
export type DownloadReceipt = {
  /** Real path of the file. */
  path: string;
  /** Origin of the service. */
  service: string;
  assetUid: string;
  /** Uid of the workspace that the asset was in; null if that is not known. */
  workspace: string | null;
  /** Folder or glob that was asked for, such as `/Campaigns/**`; null for single assets. */
  source: string | null;
  /** Folders between the fixed part of `source` and the asset, such as `day 1/cam a`. */
  folder: string;
  /** Name and size of the asset in its record, by which a change of the library is seen. */
  name: string | null;
  recordSize: number | null;
  sizeBytes: number;
  mtimeNs: string;
  /** Null until the file has its final name. */
  ctimeNs: string | null;
  /** BLAKE3 of the file, in hex. */
  blake3: string;
  /** True if the file is the one that this machine uploaded; null if that is not known. */
  verified: boolean | null;
};

/** A file that this machine has uploaded from a path, or has found to be that of an asset. */
export type UploadedFile = Pick<
  DownloadReceipt,
  'path' | 'assetUid' | 'name' | 'sizeBytes' | 'mtimeNs' | 'ctimeNs' | 'verified'
>;

/** A download that was not finished. `start.received` is the number of bytes that are on disk for certain. */
type PartialDownload = { path: string; service: string; assetUid: string; start: DownloadStart };

type DownloadRow = Omit<DownloadReceipt, 'verified'> & { verified: number | null };

const columns = `path, service, asset AS assetUid, workspace, source, folder, name, record_size AS recordSize, size AS sizeBytes,
  mtime_ns AS mtimeNs, ctime_ns AS ctimeNs, blake3, verified`;

/** Records of downloads in the database of the state directory: finished ones, and those to resume. */
export class DownloadReceipts {
  readonly #database: StateDatabase;

  constructor(database: StateDatabase) {
    this.#database = database;
  }

  /**
   * Returns the receipt of the file at a path, if it was not changed since its download. Also finds a download that was
   * killed after the file got its final name, and before its receipt was saved.
   */
  async findUnchanged(path: string, service: string): Promise<DownloadReceipt | undefined> {
    const found = await tryLstat(path);
    if (!found?.isFile()) return undefined;
    const sql = `SELECT ${columns} FROM downloads
      WHERE path = ? AND service = ? AND state IN ('done', 'whole')`;
    const rows = await this.#select(sql, path, service);
    return rows.find((receipt) => isSameVersion(receipt, identityOf(found)));
  }

  /** Returns the receipts of files below a directory that were downloaded as a part of a folder or glob of a workspace. */
  async listBelow(
    directory: string,
    { service, workspace, source }: { service: string; workspace: string | null; source: string },
  ): Promise<DownloadReceipt[]> {
    const sql = `SELECT ${columns} FROM downloads
      WHERE path >= ? AND path < ? AND service = ? AND workspace = ? AND source = ? AND state IN ('done', 'whole') ORDER BY path`;
    return this.#select(sql, ...rangeBelow(directory), service, workspace, source);
  }

  /** Returns the files below a directory whose content is known to be that of an asset by an upload or a comparison. */
  async listUploaded(directory: string, service: string): Promise<UploadedFile[]> {
    const sql = `SELECT path, asset AS assetUid, name, size AS sizeBytes, source_version AS mtimeNs, ctime_ns AS ctimeNs, verified
      FROM uploads WHERE +service = ? AND path >= ? AND path < ? AND state = 'done' AND blake3 IS NOT NULL
        AND verified IS NOT 0 AND moved_to IS NULL`;
    const rows = await this.#database.select<Omit<UploadedFile, 'verified'> & { verified: number | null }>(
      sql,
      service,
      ...rangeBelow(directory),
    );
    return rows.map(withVerified);
  }

  /** Returns true if a file was downloaded to a path, whatever is there now. */
  async hasReceipt(path: string): Promise<boolean> {
    const sql = "SELECT 1 FROM downloads WHERE path = ? AND state = 'done'";
    return (await this.#database.selectFirst(sql, path)) !== undefined;
  }

  async #select(sql: string, ...values: SqlValue[]): Promise<DownloadReceipt[]> {
    return (await this.#database.select<DownloadRow>(sql, ...values)).map(withVerified);
  }

  /** Records a complete file durably before it gets its final name, so that it is recognized after a kill. */
  async saveWhole(receipt: Omit<DownloadReceipt, 'ctimeNs'>): Promise<void> {
    await this.#database.change(() => this.#save('whole', { ...receipt, ctimeNs: null }), true);
  }

  /** Records a file that has its final name, and deletes what was needed to resume its download. */
  async save(receipt: DownloadReceipt): Promise<void> {
    const { path } = receipt;
    await this.#database.change(() => {
      this.#database.run("DELETE FROM downloads WHERE path = ? AND state <> 'done'", path);
      this.#save('done', receipt);
    });
  }

  #save(state: 'done' | 'whole', receipt: DownloadReceipt): void {
    const { path, service, assetUid, workspace, source, folder, name, recordSize, blake3, verified, ...file } = receipt;
    const sql = `INSERT OR REPLACE INTO downloads
      (path, state, service, asset, workspace, source, folder, name, record_size, size, mtime_ns, ctime_ns, blake3, verified)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
    const check = verified === null ? null : Number(verified);
    const about = [path, state, service, assetUid, workspace, source, folder, name, recordSize];
    this.#database.run(sql, ...about, file.sizeBytes, file.mtimeNs, file.ctimeNs, blake3, check);
  }

  /** Returns where to resume the download of an asset to a path. */
  async findPartial(path: string, service: string, assetUid: string): Promise<DownloadStart | undefined> {
    const sql = `SELECT resume FROM downloads WHERE path = ? AND service = ? AND asset = ? AND state = 'partial'`;
    const row = await this.#database.selectFirst<{ resume: string }>(sql, path, service, assetUid);
    return row && (JSON.parse(row.resume) as DownloadStart);
  }

  /** Deletes the record of a partial download durably, before other bytes are written to its path. */
  async deletePartial(path: string): Promise<void> {
    const where = "WHERE path = ? AND state = 'partial'";
    if (!(await this.#database.selectFirst(`SELECT 1 FROM downloads ${where}`, path))) return;
    await this.#database.change(() => this.#database.run(`DELETE FROM downloads ${where}`, path), true);
  }

  async savePartial({ path, service, assetUid, start }: PartialDownload): Promise<void> {
    const sql = `INSERT OR REPLACE INTO downloads (path, state, service, asset, resume) VALUES (?, 'partial', ?, ?, ?)`;
    await this.#database.execute(sql, path, service, assetUid, JSON.stringify(start));
  }
}
