import { basename, sep } from 'node:path';
import type { ListedAsset } from '../../../contract/asset.ts';
import { CodedError } from '../../errors.ts';
import { rangeBelow } from '../../local-path.ts';
import { isUnfinished } from '../../state/schema.ts';
import type { SqlValue } from '../../state/sqlite-database.ts';
import type { StateDatabase } from '../../state/state-database.ts';
import type { GivenMetadata, ReceiptKey } from '../sources/upload-file.ts';
import {
  type DownloadedFile,
  type FoundContent,
  findDownloadedFile,
  findKnownAsset,
  type KnownAsset,
  saveAssetContent,
} from './known-assets.ts';
import { type MovedReceipt, moveReceipts } from './receipt-moves.ts';
import {
  byKey,
  isDone,
  keyOf,
  type Receipt,
  type ReceiptRow,
  receiptOf,
  saveReceipt,
  selectedColumns,
} from './receipt-row.ts';
import type { Orphan } from './upload-entry.ts';

/** @property since day (YYYY-MM-DD) from which assets might have been created that are not listed */
export type FolderListing = { since: string; assets: ListedAsset[] };

/** An asset superseded by a newer upload of the same path. */
export type ReplacedAsset = { folder: string; realPath: string; assetUid: string; sizeBytes: number };

/** Receipts of finished uploads. They are local records, never read from the service, and never expire. */
export class Receipts {
  readonly #database: StateDatabase;

  constructor(database: StateDatabase) {
    this.#database = database;
  }

  async find(key: ReceiptKey): Promise<Receipt | undefined> {
    const sql = `SELECT ${selectedColumns} FROM uploads WHERE ${byKey} AND ${isDone}`;
    return this.#find(sql, ...keyOf(key));
  }

  /** Returns the receipts of files with this name and size that were uploaded to the folder from other paths. */
  async findNamesakes({ service, workspace, folder, realPath }: ReceiptKey, sizeBytes: number): Promise<Receipt[]> {
    const end = sep + basename(realPath);
    const sql = `SELECT ${selectedColumns} FROM uploads
      WHERE +service = ? AND workspace = ? AND size = ? AND +folder = ? AND path <> ? AND substr(path, ?) = ? AND ${isDone}`;
    const values = [service, workspace, sizeBytes, folder, realPath, -[...end].length, end];
    return (await this.#database.select<ReceiptRow>(sql, ...values)).map(receiptOf);
  }

  async #find(sql: string, ...values: SqlValue[]): Promise<Receipt | undefined> {
    const row = await this.#database.selectFirst<ReceiptRow>(sql, ...values);
    return row && receiptOf(row);
  }

  /**
   * Returns true if a file of that size was uploaded to the workspace, since hashing is worthwhile only then. It
   * does not filter by folder, because no index covers folder and size. (`+` keeps SQLite from using another index.)
   */
  async hasSize({ service, workspace }: ReceiptKey, sizeBytes: number): Promise<boolean> {
    const sql = `SELECT 1 FROM uploads WHERE +service = ? AND workspace = ? AND size = ? AND ${isDone} LIMIT 1`;
    return (await this.#database.selectFirst(sql, service, workspace, sizeBytes)) !== undefined;
  }

  /** Returns up to 20 receipts of any path, the latest first. @param mark highest id to consider; later ones are of the run itself */
  async listByContent(
    { service, workspace, folder }: ReceiptKey,
    { sizeBytes, blake3 }: Pick<Receipt, 'sizeBytes' | 'blake3'>,
    mark: number,
    isAnywhere: boolean,
  ): Promise<Receipt[]> {
    const sql = `SELECT ${selectedColumns} FROM uploads
      WHERE +service = ? AND workspace = ? AND size = ? AND blake3 = ? AND (+folder = ? OR ?)
        AND ${isDone} AND processing <> 'failed' AND (seq <= ? OR imported = 1)
      ORDER BY seq DESC LIMIT 20`;
    const values = [service, workspace, sizeBytes, blake3, folder, Number(isAnywhere), mark];
    return (await this.#database.select<ReceiptRow>(sql, ...values)).map(receiptOf);
  }

  /** Finds the receipt of an asset that this machine uploaded itself, also if the file has a newer one. */
  findByAsset(assetUid: string): Promise<Receipt | undefined> {
    const sql = `SELECT ${selectedColumns} FROM uploads
      WHERE asset = ? AND state IN ('done', 'replaced') AND imported = 0 LIMIT 1`;
    return this.#find(sql, assetUid);
  }

  /** Returns the other paths of files that have an asset, such as that of a file that was renamed back under a queue. */
  async findOtherPaths(assetUid: string, realPath: string): Promise<string[]> {
    const sql = `SELECT path FROM uploads WHERE asset = ? AND path <> ? AND ${isDone}`;
    return (await this.#database.select<{ path: string }>(sql, assetUid, realPath)).map(({ path }) => path);
  }

  /** Returns the receipts of a file, one for each folder that it was uploaded to. */
  async listOf(service: string, workspace: string, realPath: string): Promise<Receipt[]> {
    const sql = `SELECT ${selectedColumns} FROM uploads WHERE +service = ? AND workspace = ? AND path = ? AND ${isDone}`;
    return (await this.#database.select<ReceiptRow>(sql, service, workspace, realPath)).map(receiptOf);
  }

  async hasAsset(assetUid: string): Promise<boolean> {
    const sql = "SELECT 1 FROM uploads WHERE asset = ? AND state IN ('done', 'replaced') LIMIT 1";
    return (await this.#database.selectFirst(sql, assetUid)) !== undefined;
  }

  /** Saves a receipt that has no entry in the upload store, durably. See `saveReceipt`. */
  save(receipt: Receipt): Promise<void> {
    return this.#database.change(() => saveReceipt(this.#database, receipt), true);
  }

  /** Moves receipts to the new paths of their files, durably. See `moveReceipts`. */
  move(moved: readonly MovedReceipt[]): Promise<void> {
    return this.#database.change(() => moveReceipts(this.#database, moved), true);
  }

  /** Updates path and times of a receipt, after the file was touched. Such a file has what a download has shown. */
  async updatePath(key: ReceiptKey, to: Pick<Receipt, 'realPath' | 'mtimeNs' | 'ctimeNs'>): Promise<void> {
    const sql = `UPDATE OR IGNORE uploads SET path = ?, source_version = ?, ctime_ns = ?,
      evidence = CASE verified WHEN 0 THEN 'bytes' ELSE evidence END, verified = CASE verified WHEN 0 THEN 1 ELSE verified END
      WHERE ${byKey} AND ${isDone}`;
    await this.#database.execute(sql, to.realPath, to.mtimeNs, to.ctimeNs, ...keyOf(key));
  }

  /**
   * Saves receipts of files whose asset another machine uploaded, durably. They are marked as imported, so that
   * `--prune` never moves these assets to the trash.
   */
  async adopt(receipts: readonly Receipt[]): Promise<void> {
    const mark = `UPDATE uploads SET imported = 1 WHERE ${byKey} AND ${isDone}`;
    const save = (receipt: Receipt) => {
      saveReceipt(this.#database, receipt);
      this.#database.run(mark, ...keyOf(receipt));
    };
    if (receipts.length > 0) await this.#database.change(() => receipts.forEach(save), true);
  }

  /** Returns what this machine knows of an asset; undefined if it knows nothing. */
  findAsset(assetUid: string): Promise<KnownAsset | undefined> {
    return findKnownAsset(this.#database, assetUid);
  }

  /** Returns what was downloaded to a path last, whatever is there now. */
  findDownloaded(service: string, realPath: string): Promise<DownloadedFile | undefined> {
    return findDownloadedFile(this.#database, service, realPath);
  }

  /** Records, durably, the content of an asset. See `saveAssetContent`. */
  saveContent(assetUid: string, content: FoundContent): Promise<void> {
    return this.#database.change(() => saveAssetContent(this.#database, assetUid, content), true);
  }

  /** Returns true if the file of an asset was moved away after its upload (`--move-to`). */
  async wasMovedAway(assetUid: string): Promise<boolean> {
    const sql = `SELECT 1 FROM uploads WHERE asset = ? AND moved_to IS NOT NULL AND ${isDone} LIMIT 1`;
    return (await this.#database.selectFirst(sql, assetUid)) !== undefined;
  }

  /**
   * Returns the receipts of files below a directory whose asset another machine uploaded, and which have the content of
   * a receipt, or its size and were not compared.
   */
  async findAdoptedCopies(
    service: string,
    workspace: string,
    directory: string,
    { sizeBytes, blake3 }: Pick<Receipt, 'sizeBytes' | 'blake3'>,
  ): Promise<Receipt[]> {
    const sql = `SELECT ${selectedColumns} FROM uploads WHERE +service = ? AND workspace = ? AND size = ?
      AND (blake3 = ? OR blake3 IS NULL) AND imported = 1 AND path >= ? AND path < ? AND ${isDone}`;
    const values = [service, workspace, sizeBytes, blake3, ...rangeBelow(directory)];
    return (await this.#database.select<ReceiptRow>(sql, ...values)).map(receiptOf);
  }

  /** Returns the assets that an earlier comparison has listed in a folder, and the day from which to list others. */
  async findListing({ service, workspace, folder }: Omit<ReceiptKey, 'realPath'>): Promise<FolderListing | undefined> {
    const byFolder = 'WHERE service = ? AND workspace = ? AND folder = ?';
    const where = [service, workspace, folder];
    const sql = `SELECT asset AS uid, name, size AS sizeBytes FROM listed_assets ${byFolder}`;
    const listing = await this.#database.selectFirst<{ since: string }>(
      `SELECT since FROM listings ${byFolder}`,
      ...where,
    );
    return listing && { ...listing, assets: await this.#database.select<ListedAsset>(sql, ...where) };
  }

  async saveListing({ service, workspace, folder }: Omit<ReceiptKey, 'realPath'>, listing: FolderListing) {
    const where = [service, workspace, folder];
    await this.#database.change(() => {
      this.#database.run('INSERT OR REPLACE INTO listings VALUES (?, ?, ?, ?)', ...where, listing.since);
      for (const { uid, name, sizeBytes } of listing.assets)
        this.#database.run(saveListed, ...where, uid, name, sizeBytes, null);
    });
  }

  /** Records the checksum of an asset that was downloaded and differs from the file of its name. */
  async saveDigest({ service, workspace, folder }: Omit<ReceiptKey, 'realPath'>, asset: ListedAsset, blake3: string) {
    const { uid, name, sizeBytes } = asset;
    await this.#database.execute(saveListed, service, workspace, folder, uid, name, sizeBytes, blake3);
  }

  /** @param result the ready asset, or the error of waiting for it; `not_found` deletes its receipts */
  async saveProcessingResult(assetUid: string, result: unknown): Promise<void> {
    const { code, reason = null } = result instanceof CodedError ? result.explanation : { code: 'ready' };
    const sql = `UPDATE uploads SET processing = ?, reason = ? WHERE asset = ? AND ${isDone}`;
    if (code === 'ready') await this.#database.execute(sql, 'ready', null, assetUid);
    if (code === 'processing_failed') await this.#database.execute(sql, 'failed', reason, assetUid);
    if (code === 'not_found') await this.forgetAsset(assetUid);
  }

  /** Records that an asset was moved to a folder, given by uid, or to the top level if it is empty. */
  async moveAsset(assetUid: string, folder: string): Promise<void> {
    const sql = `UPDATE OR REPLACE uploads SET folder = ? WHERE asset = ? AND ${isDone}`;
    await this.#database.execute(sql, folder, assetUid);
  }

  /**
   * Records, durably, where the file of a receipt is about to be moved to, so that it does not count as deleted or
   * renamed; null if it was not moved.
   *
   * @returns false if there is no such receipt
   */
  saveMovedTo(
    { assetUid, ...key }: Pick<Receipt, keyof ReceiptKey | 'assetUid'>,
    target: string | null,
  ): Promise<boolean> {
    const sql = `UPDATE uploads SET moved_to = ? WHERE ${byKey} AND asset = ? AND ${isDone}`;
    const save = () => this.#database.run(sql, target, ...keyOf(key), assetUid) > 0;
    return this.#database.change(save, true);
  }

  /** Returns where the file of a receipt was moved to; null if it was not. */
  async findMovedTo(key: ReceiptKey): Promise<string | null> {
    const sql = `SELECT moved_to FROM uploads WHERE ${byKey} AND ${isDone}`;
    const row = await this.#database.selectFirst<{ moved_to: string | null }>(sql, ...keyOf(key));
    return row?.moved_to ?? null;
  }

  /** Returns the receipts, since a time, of files that were moved to a directory or below it (`saveMovedTo`). */
  async listMoved({ service, workspace }: Pick<ReceiptKey, 'service' | 'workspace'>, directory: string, since: string) {
    const sql = `SELECT moved_to AS movedTo, ${selectedColumns} FROM uploads WHERE +service = ? AND +workspace = ?
      AND at >= ? AND moved_to >= ? AND moved_to < ? AND ${isDone} ORDER BY seq`;
    type Row = ReceiptRow & { movedTo: string };
    return (await this.#database.select<Row>(sql, service, workspace, since, ...rangeBelow(directory))).map(receiptOf);
  }

  /** Adds to the metadata that this machine gave to an asset. Tags are added to the earlier ones. */
  async saveAbout(assetUid: string, about: GivenMetadata): Promise<void> {
    const select = `SELECT about FROM uploads WHERE asset = ? AND ${isDone} LIMIT 1`;
    const update = `UPDATE uploads SET about = ?, name = coalesce(?, name) WHERE asset = ? AND ${isDone}`;
    const row = await this.#database.selectFirst<Pick<ReceiptRow, 'about'>>(select, assetUid);
    const earlier: GivenMetadata = row?.about ? JSON.parse(row.about) : {};
    const tags = [...new Set([...(earlier.tags ?? []), ...(about.tags ?? [])])];
    const merged = { ...earlier, ...about, ...(tags.length > 0 && { tags }) };
    await this.#database.execute(update, JSON.stringify(merged), about.name ?? null, assetUid);
  }

  /** Deletes what is recorded of an asset, unless its upload is unfinished. */
  async forgetAsset(assetUid: string): Promise<void> {
    await this.#database.execute(`DELETE FROM uploads WHERE asset = ? AND NOT ${isUnfinished}`, assetUid);
    await this.#database.execute('DELETE FROM listed_assets WHERE asset = ?', assetUid);
  }

  /** Deletes a receipt whose file was not compared with its asset, as they differ. */
  async forgetUncompared(key: ReceiptKey): Promise<void> {
    await this.#database.execute(`DELETE FROM uploads WHERE ${byKey} AND ${isDone} AND blake3 IS NULL`, ...keyOf(key));
  }

  /** Returns the receipts of assets not known to be ready or failed, oldest first. */
  async pending(service: string): Promise<Receipt[]> {
    const sql = `SELECT ${selectedColumns} FROM uploads
      WHERE service = ? AND processing = 'unchecked' AND ${isDone} ORDER BY seq`;
    const rows = await this.#database.select<ReceiptRow>(sql, service);
    return rows.map(receiptOf);
  }

  async count(): Promise<number> {
    const sql = `SELECT count(*) AS count FROM uploads WHERE ${isDone}`;
    return (await this.#database.selectFirst<{ count: number }>(sql))?.count ?? 0;
  }

  all(): AsyncGenerator<Receipt> {
    return this.#each(isDone);
  }

  /**
   * Yields the receipts of files under a directory that this machine uploaded itself, but for those that it moved away
   * (`saveMovedTo`). An empty directory means all local files. Ids increase with time (see `startMark`).
   *
   * @param state `replaced` for those whose path has a newer one. Default: `done`.
   */
  listBelow(
    service: string,
    workspace: string,
    directory: string,
    state: 'done' | 'replaced' = 'done',
  ): AsyncGenerator<Receipt & { id: number }> {
    const condition = `+service = ? AND +workspace = ? AND path >= ? AND path < ? AND imported = 0 AND moved_to IS NULL AND state = '${state}'`;
    return this.#each(condition, service, workspace, ...rangeBelow(directory));
  }

  /** Yields receipts in the order of their ids, in pages, because there might be too many for memory. */
  async *#each(condition: string, ...values: SqlValue[]): AsyncGenerator<Receipt & { id: number }> {
    const sql = `SELECT seq AS id, ${selectedColumns} FROM uploads
      WHERE ${condition} AND seq > ? ORDER BY seq LIMIT 1000`;
    type Row = ReceiptRow & { id: number };
    for (let after: number | undefined = 0; after !== undefined; ) {
      const rows: Row[] = await this.#database.select<Row>(sql, ...values, after);
      yield* rows.map((row) => receiptOf(row));
      after = rows.at(-1)?.id;
    }
  }

  listReplacedBelow(service: string, workspace: string, directory: string): Promise<ReplacedAsset[]> {
    const sql = `SELECT folder, path AS realPath, asset AS assetUid, size AS sizeBytes FROM uploads
      WHERE service = ? AND workspace = ? AND path >= ? AND path < ? AND state = 'replaced'
        AND moved_to IS NULL ORDER BY path`;
    return this.#database.select(sql, service, workspace, ...rangeBelow(directory));
  }

  /**
   * Returns the mark of a run, which is the highest receipt id at its start. A rerun after a kill gets the mark of the
   * first start. Dedupe by content ignores later receipts, so two files with the same content in one command are both
   * uploaded.
   */
  async startMark(id: string): Promise<number> {
    await this.#database.execute('INSERT OR IGNORE INTO marks SELECT ?, coalesce(max(seq), 0) FROM uploads', id);
    return (await this.findMark(id)) ?? 0;
  }

  async newestId(): Promise<number> {
    const sql = 'SELECT coalesce(max(seq), 0) AS id FROM uploads';
    return (await this.#database.selectFirst<{ id: number }>(sql))?.id ?? 0;
  }

  /** Returns the mark of a run that has started and not finished; undefined for any other run. */
  async findMark(id: string): Promise<number | undefined> {
    return (await this.#database.selectFirst<{ since: number }>('SELECT since FROM marks WHERE id = ?', id))?.since;
  }

  /**
   * Deletes the mark of a finished run (see `startMark`). Never throws: if the mark remains, a later run with the
   * same id merely counts as a rerun of this one, so its dedupe by content ignores this run's receipts.
   */
  async deleteMark(id: string): Promise<void> {
    await this.#database.execute('DELETE FROM marks WHERE id = ?', id).catch(() => {});
  }

  async saveOrphan(service: string, { isGuessed, ...orphan }: Orphan): Promise<void> {
    const { assetUid, workspace, name, path, sizeBytes, at } = orphan;
    const sql = `INSERT OR REPLACE INTO uploads (state, service, asset, workspace, name, path, size, at, guessed)
      VALUES ('failed', ?, ?, ?, ?, ?, ?, ?, ?)`;
    await this.#database.execute(sql, service, assetUid, workspace, name, path, sizeBytes, at, Number(isGuessed));
  }

  async forgetOrphan(service: string, { assetUid, path, at }: Pick<Orphan, 'assetUid' | 'path' | 'at'>): Promise<void> {
    const sql = "DELETE FROM uploads WHERE service = ? AND state = 'failed' AND asset IS ? AND path = ? AND at = ?";
    await this.#database.execute(sql, service, assetUid, path, at);
  }

  async orphans(service: string): Promise<Orphan[]> {
    const sql = `SELECT asset AS assetUid, workspace, name, path, size AS sizeBytes, at, guessed FROM uploads
      WHERE service = ? AND state = 'failed' ORDER BY at`;
    const rows = await this.#database.select<Omit<Orphan, 'isGuessed'> & { guessed: number }>(sql, service);
    return rows.map(({ guessed, ...orphan }) => ({ ...orphan, isGuessed: guessed === 1 }));
  }

  /** Returns the uid of the folder that this machine created at a path after a mark from `folderMark`. */
  async findCreatedFolder(service: string, workspace: string, path: string, since: number) {
    const sql = `SELECT uid FROM folders
      WHERE service = ? AND workspace = ? AND path = ? AND id > ? ORDER BY id DESC LIMIT 1`;
    return (await this.#database.selectFirst<{ uid: string }>(sql, service, workspace, path, since))?.uid;
  }

  async saveFolder(service: string, workspace: string, path: string, uid: string): Promise<void> {
    const sql = 'INSERT INTO folders (service, workspace, path, uid) VALUES (?, ?, ?, ?)';
    await this.#database.execute(sql, service, workspace, path, uid);
  }

  async folderMark(): Promise<number> {
    const sql = 'SELECT max(id) AS mark FROM folders';
    return (await this.#database.selectFirst<{ mark: number | null }>(sql))?.mark ?? 0;
  }
}

/** Adds a row to `listed_assets`, or updates it and keeps the checksum unless there is a new one. */
const saveListed = `INSERT INTO listed_assets VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET name = excluded.name, size = excluded.size, blake3 = coalesce(excluded.blake3, blake3)`;
