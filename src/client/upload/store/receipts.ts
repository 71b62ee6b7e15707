import { MediactlError } from '../../errors.ts';
import type { Ledger } from './ledger.ts';

export type ReceiptKey = {
  service: string;
  workspace: string;
  /** Uid of the folder; empty for the top level. */
  folder: string;
  /** Real path of a local file, or URL of another source. */
  path: string;
};

/** Processing state of an asset, as last seen by this machine. */
type ProcessingState = 'pending' | 'ready' | 'failed';

/** Local record of a finished upload. */
export type Receipt = ReceiptKey & {
  sizeBytes: number;
  /** Modification time in ns since the epoch when the bytes were sent; for a URL, its strong ETag if any. */
  mtimeNs: string;
  /** BLAKE3 of the file, in hex. */
  blake3: string;
  /** True if the checksums are equal; null if the service sent no checksum. */
  verified: boolean | null;
  assetUid: string;
  sessionUid: string;
  name: string;
  state: ProcessingState;
  /** Reason why processing failed; null if it did not. */
  reason: string | null;
  /** Time at which the last byte was acknowledged, in ISO 8601. */
  at: string;
};

/** An incomplete asset that an interrupted upload left on the service, or might have left there. */
export type Orphan = {
  assetUid: string;
  name: string;
  path: string;
  /** Time at which the orphan was recorded, in ISO 8601. */
  at: string;
  /** True if the asset was matched only by name and might belong to another upload. */
  isGuessed: boolean;
};

/** An asset superseded by a newer upload of the same path. */
export type ReplacedAsset = { folder: string; path: string; assetUid: string };

/** Maps each field of a receipt to its column. */
const columnOf: Record<keyof Receipt, string> = {
  service: 'service',
  workspace: 'workspace',
  folder: 'folder',
  path: 'path',
  sizeBytes: 'size',
  mtimeNs: 'mtime_ns',
  blake3: 'blake3',
  verified: 'verified',
  assetUid: 'asset',
  sessionUid: 'session',
  name: 'name',
  state: 'state',
  reason: 'reason',
  at: 'at',
};
const columns = Object.values(columnOf).join(', ');
const placeholders = columns.replaceAll(/\w+/g, '?');
/** Columns to select. Imported receipts count as unverified, because this machine has not compared them. */
const selectedColumns = Object.entries(columnOf)
  .map(([field, column]) => `${field === 'verified' ? 'iif(imported, NULL, verified)' : column} AS ${field}`)
  .join(', ');
const byKey = 'service = ? AND workspace = ? AND folder = ? AND path = ?';

type ReceiptRow = Omit<Receipt, 'verified'> & { verified: number | null };

/** Receipts of finished uploads. They are local records, never read from the service, and never expire. */
export class Receipts {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  find(key: ReceiptKey): Receipt | undefined {
    const row = this.#ledger.get<ReceiptRow>(`SELECT ${selectedColumns} FROM receipts WHERE ${byKey}`, ...keyOf(key));
    return row && receiptOf(row);
  }

  /**
   * Returns true if a file of that size was uploaded to the workspace, since hashing is worthwhile only then. It
   * does not filter by folder, because no index covers folder and size.
   */
  hasSize({ service, workspace }: ReceiptKey, sizeBytes: number): boolean {
    const sql = 'SELECT 1 FROM receipts WHERE service = ? AND workspace = ? AND size = ? LIMIT 1';
    return this.#ledger.get(sql, service, workspace, sizeBytes) !== undefined;
  }

  /** Finds the latest receipt of any path. @param mark highest id to consider; later ones are of the run itself */
  findByContent(
    { service, workspace, folder }: ReceiptKey,
    { sizeBytes, blake3 }: { sizeBytes: number; blake3: string },
    mark: number,
  ): Receipt | undefined {
    const sql = `SELECT ${selectedColumns} FROM receipts
      WHERE service = ? AND workspace = ? AND size = ? AND blake3 = ? AND folder = ?
        AND state <> 'failed' AND (id <= ? OR imported = 1)
      ORDER BY id DESC LIMIT 1`;
    const row = this.#ledger.get<ReceiptRow>(sql, service, workspace, sizeBytes, blake3, folder, mark);
    return row && receiptOf(row);
  }

  hasAsset(assetUid: string): boolean {
    const sql = 'SELECT 1 FROM receipts WHERE asset = ? LIMIT 1';
    return this.#ledger.get(sql, assetUid) !== undefined;
  }

  /**
   * Saves a receipt and resolves once it is on disk. It replaces an earlier receipt with the same key, whose asset
   * is then recorded as replaced.
   */
  save(receipt: Receipt): Promise<void> {
    return this.#ledger.writeDurably(() => {
      this.#ledger.execute(
        `INSERT OR IGNORE INTO replaced SELECT service, workspace, folder, path, asset FROM receipts
          WHERE ${byKey} AND asset <> ? AND imported = 0`,
        ...[...keyOf(receipt), receipt.assetUid],
      );
      const sql = `INSERT OR REPLACE INTO receipts (${columns}) VALUES (${placeholders})`;
      this.#ledger.execute(sql, ...valuesOf(receipt));
    });
  }

  updateMtime(key: ReceiptKey, mtimeNs: string): Promise<void> {
    return this.updatePath(key, { path: key.path, mtimeNs });
  }

  updatePath(key: ReceiptKey, to: { path: string; mtimeNs: string }): Promise<void> {
    const sql = `UPDATE OR IGNORE receipts SET path = ?, mtime_ns = ? WHERE ${byKey}`;
    return this.#ledger.writeDurably(() => void this.#ledger.execute(sql, to.path, to.mtimeNs, ...keyOf(key)));
  }

  /** @param result the ready asset, or the error of waiting for it; `not_found` deletes its receipts */
  async saveProcessingResult(assetUid: string, result: unknown): Promise<void> {
    const { code, reason = null } = result instanceof MediactlError ? result.explanation : { code: 'ready' };
    const sql = 'UPDATE receipts SET state = ?, reason = ? WHERE asset = ?';
    if (code === 'ready') await this.#ledger.write(sql, 'ready', null, assetUid);
    if (code === 'processing_failed') await this.#ledger.write(sql, 'failed', reason, assetUid);
    if (code === 'not_found') await this.forgetAsset(assetUid);
  }

  forgetAsset(assetUid: string): Promise<void> {
    return this.#ledger.transaction(() => {
      for (const table of ['orphans', 'replaced', 'receipts'])
        this.#ledger.execute(`DELETE FROM ${table} WHERE asset = ?`, assetUid);
    });
  }

  /** Returns the receipts of assets not known to be ready or failed, oldest first. */
  pending(service: string, workspace: string): Receipt[] {
    const sql = `SELECT ${selectedColumns} FROM receipts
      WHERE service = ? AND workspace = ? AND state = 'pending' ORDER BY id`;
    return this.#ledger.all<ReceiptRow>(sql, service, workspace).map((row) => receiptOf(row));
  }

  count(): number {
    return this.#ledger.get<{ count: number }>('SELECT count(*) AS count FROM receipts')?.count ?? 0;
  }

  *all(): Generator<Receipt> {
    for (const row of this.#ledger.each<ReceiptRow>(`SELECT ${selectedColumns} FROM receipts ORDER BY id`))
      yield receiptOf(row);
  }

  /**
   * Yields the receipts of files under a directory that this machine uploaded itself. An empty directory means all
   * local files. Ids increase with time (see `startRun`).
   */
  *listBelow(service: string, workspace: string, directory: string): Generator<Receipt & { id: number }> {
    const sql = `SELECT id, ${selectedColumns} FROM receipts
      WHERE service = ? AND workspace = ? AND path >= ? AND path < ? AND imported = 0
      ORDER BY path`;
    const range = [`${directory}/`, `${directory}0`]; // 0 is the character after the slash
    for (const row of this.#ledger.each<ReceiptRow & { id: number }>(sql, service, workspace, ...range))
      yield receiptOf(row);
  }

  listReplacedBelow(service: string, workspace: string, directory: string): ReplacedAsset[] {
    const sql = `SELECT folder, path, asset AS assetUid FROM replaced
      WHERE service = ? AND workspace = ? AND path >= ? AND path < ? ORDER BY path`;
    return this.#ledger.all<ReplacedAsset>(sql, service, workspace, `${directory}/`, `${directory}0`);
  }

  /** Imports receipts of another machine, all or none, and keeps existing ones. @returns number of new receipts */
  import(receipts: readonly Receipt[]): Promise<number> {
    const sql = `INSERT OR IGNORE INTO receipts (${columns}, imported) VALUES (${placeholders}, 1)`;
    return this.#ledger.transaction(
      () => receipts.filter((receipt) => this.#ledger.execute(sql, ...valuesOf(receipt)) > 0).length,
    );
  }

  /**
   * Starts a run and returns its mark, which is the highest receipt id at that time. A rerun after a kill gets the
   * mark of the first start. Dedupe by content ignores later receipts, so two files with the same content in one
   * command are both uploaded.
   */
  startRun(id: string): Promise<number> {
    return this.#ledger.transaction(() => {
      const sql = 'INSERT OR IGNORE INTO runs SELECT ?, coalesce(max(id), 0) FROM receipts';
      this.#ledger.execute(sql, id);
      return this.runMark(id) ?? 0;
    });
  }

  /** Returns the mark of a run that has started and not finished; undefined for any other run. */
  runMark(id: string): number | undefined {
    return this.#ledger.get<{ since: number }>('SELECT since FROM runs WHERE id = ?', id)?.since;
  }

  /**
   * Deletes the mark of a finished run (see `startRun`). Never throws: if the mark remains, a later run with the
   * same id merely counts as a rerun of this one, so its dedupe by content ignores this run's receipts.
   */
  async finishRun(id: string): Promise<void> {
    await this.#ledger.write('DELETE FROM runs WHERE id = ?', id).catch(() => {});
  }

  async saveOrphan(service: string, { assetUid, name, path, at, isGuessed }: Orphan): Promise<void> {
    const sql = 'INSERT OR REPLACE INTO orphans VALUES (?, ?, ?, ?, ?, ?)';
    await this.#ledger.write(sql, service, assetUid, name, path, at, Number(isGuessed));
  }

  async forgetOrphan(assetUid: string): Promise<void> {
    await this.#ledger.write('DELETE FROM orphans WHERE asset = ?', assetUid);
  }

  orphans(service: string): Orphan[] {
    const sql = `SELECT asset AS assetUid, name, path, at, guessed FROM orphans
      WHERE service = ? ORDER BY at`;
    const rows = this.#ledger.all<Omit<Orphan, 'isGuessed'> & { guessed: number }>(sql, service);
    return rows.map(({ guessed, ...orphan }) => ({ ...orphan, isGuessed: guessed === 1 }));
  }

  /** Returns the uid of the folder that this machine created at a path after a mark from `folderMark`. */
  findCreatedFolder(service: string, workspace: string, path: string, since: number): string | undefined {
    const sql = `SELECT uid FROM folders
      WHERE service = ? AND workspace = ? AND path = ? AND id > ? ORDER BY id DESC LIMIT 1`;
    return this.#ledger.get<{ uid: string }>(sql, service, workspace, path, since)?.uid;
  }

  async saveFolder(service: string, workspace: string, path: string, uid: string): Promise<void> {
    const sql = 'INSERT INTO folders (service, workspace, path, uid) VALUES (?, ?, ?, ?)';
    await this.#ledger.write(sql, service, workspace, path, uid);
  }

  folderMark(): number {
    const row = this.#ledger.get<{ mark: number | null }>('SELECT max(id) AS mark FROM folders');
    return row?.mark ?? 0;
  }
}

const keyOf = ({ service, workspace, folder, path }: ReceiptKey) => [service, workspace, folder, path];

const valuesOf = (receipt: Receipt) =>
  Object.keys(columnOf).map((field) => {
    const value = receipt[field as keyof Receipt];
    return typeof value === 'boolean' ? Number(value) : value;
  });

const receiptOf = <Row extends ReceiptRow>(row: Row) => ({
  ...row,
  verified: row.verified === null ? null : row.verified === 1,
});
