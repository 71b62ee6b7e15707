import type { Ledger } from './ledger.ts';

/** Where a file goes, and from where: the same is the same upload. */
export type ReceiptKey = {
  /** Origin of the service. */
  service: string;
  workspace: string;
  /** Uid; empty for the top level. */
  folder: string;
  /** The real path of a file; of other sources, what they are known by. */
  path: string;
};

/** What became of an asset, as far as this machine has looked. */
export type AssetState = 'pending' | 'ready' | 'failed';

/** An upload that this machine has seen through. */
export type Receipt = ReceiptKey & {
  sizeBytes: number;
  /** As the file was when its bytes were sent; of a server's file, the server's word for its version. */
  mtimeNs: string;
  /** Of the file, in hex. */
  blake3: string;
  /** Null: the service named no checksum to compare with. */
  verified: boolean | null;
  assetUid: string;
  sessionUid: string;
  name: string;
  state: AssetState;
  /** Why it failed. */
  reason: string | null;
  /** ISO 8601: when the last byte was acknowledged. */
  at: string;
};

type Row = {
  service: string;
  workspace: string;
  folder: string;
  path: string;
  size: number;
  mtime_ns: string;
  blake3: string;
  verified: number | null;
  asset: string;
  session: string;
  name: string;
  state: AssetState;
  reason: string | null;
  at: string;
};

/** An empty asset that a creation of ours may have left, whose answer was lost. */
export type Orphan = {
  assetUid: string;
  name: string;
  path: string;
  /** ISO 8601. */
  at: string;
  /** Found by its name, after an answer was lost: it may be somebody else’s. */
  isGuessed: boolean;
};

/** An asset in whose place another one came. */
export type Replaced = { folder: string; path: string; assetUid: string };

const columns =
  'service, workspace, folder, path, size, mtime_ns, blake3, verified, asset, session, name, state, reason, at';
/** What another machine sent was not compared by this one. */
const selected = columns.replace('verified', 'iif(imported, NULL, verified) AS verified');
const byKey = 'service = ? AND workspace = ? AND folder = ? AND path = ?';

/** What this machine has sent: never asked of the service, and never forgotten by itself. */
export class Receipts {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  find({ service, workspace, folder, path }: ReceiptKey): Receipt | undefined {
    const sql = `SELECT ${selected} FROM receipts WHERE ${byKey}`;
    return receiptIn(this.#ledger.get<Row>(sql, service, workspace, folder, path));
  }

  /**
   * Whether something of that size was sent to the workspace: only then a digest may tell more. Not of the
   * folder alone: no index has its sizes.
   */
  hasSize({ service, workspace }: ReceiptKey, sizeBytes: number): boolean {
    const sql = 'SELECT 1 FROM receipts WHERE service = ? AND workspace = ? AND size = ? LIMIT 1';
    return this.#ledger.get(sql, service, workspace, sizeBytes) !== undefined;
  }

  /**
   * The same content in the same folder, from whatever path.
   *
   * @param before by a run's mark: what came later is of that run itself
   */
  sameContent(
    { service, workspace, folder }: ReceiptKey,
    { sizeBytes, blake3 }: { sizeBytes: number; blake3: string },
    before: number,
  ): Receipt | undefined {
    const sql = `SELECT ${selected} FROM receipts
      WHERE service = ? AND workspace = ? AND size = ? AND blake3 = ? AND folder = ?
        AND state <> 'failed' AND (id <= ? OR imported = 1)
      ORDER BY id DESC LIMIT 1`;
    const found = [service, workspace, sizeBytes, blake3, folder, before];
    return receiptIn(this.#ledger.get<Row>(sql, ...found));
  }

  hasAsset(assetUid: string): boolean {
    const sql = 'SELECT 1 FROM receipts WHERE asset = ? LIMIT 1';
    return this.#ledger.get(sql, assetUid) !== undefined;
  }

  /**
   * Resolves once it is on the disk. It takes the place of an earlier one of the same file, whose asset
   * is remembered.
   */
  keep(receipt: Receipt): Promise<void> {
    const { service, workspace, folder, path, assetUid } = receipt;
    return this.#ledger.writeThrough(() => {
      this.#ledger.change(
        `INSERT OR IGNORE INTO replaced SELECT service, workspace, folder, path, asset FROM receipts
          WHERE ${byKey} AND asset <> ? AND imported = 0`,
        ...[service, workspace, folder, path, assetUid],
      );
      this.#ledger.change(
        `INSERT OR REPLACE INTO receipts (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ...valuesOf(receipt),
      );
    });
  }

  /** The file was touched, and holds what it held. */
  touched({ service, workspace, folder, path }: ReceiptKey, mtimeNs: string): Promise<void> {
    const sql = `UPDATE receipts SET mtime_ns = ? WHERE ${byKey}`;
    return this.#ledger.writeThrough(
      () => void this.#ledger.change(sql, mtimeNs, service, workspace, folder, path),
    );
  }

  /** The file is at another path now. */
  moved({ service, workspace, folder, path }: ReceiptKey, to: { path: string; mtimeNs: string }) {
    const sql = `UPDATE OR IGNORE receipts SET path = ?, mtime_ns = ? WHERE ${byKey}`;
    return this.#ledger.writeThrough(
      () => void this.#ledger.change(sql, to.path, to.mtimeNs, service, workspace, folder, path),
    );
  }

  /** What became of an asset. */
  async settled(assetUid: string, state: AssetState, reason: string | null = null): Promise<void> {
    const sql = 'UPDATE receipts SET state = ?, reason = ? WHERE asset = ?';
    await this.#ledger.write(sql, state, reason, assetUid);
  }

  /** Forgets an asset that is gone. */
  forgetAsset(assetUid: string): Promise<void> {
    return this.#ledger.transaction(() => {
      for (const table of ['orphans', 'replaced', 'receipts'])
        this.#ledger.change(`DELETE FROM ${table} WHERE asset = ?`, assetUid);
    });
  }

  /** Those that were not seen to be ready, the oldest first. */
  pending(service: string, workspace: string): Receipt[] {
    const sql = `SELECT ${selected} FROM receipts
      WHERE service = ? AND workspace = ? AND state = 'pending' ORDER BY id`;
    return this.#ledger.all<Row>(sql, service, workspace).map(receiptOf);
  }

  count(): number {
    return (
      this.#ledger.get<{ count: number }>('SELECT count(*) AS count FROM receipts')?.count ?? 0
    );
  }

  *all(): Generator<Receipt> {
    for (const row of this.#ledger.each<Row>(`SELECT ${selected} FROM receipts ORDER BY id`))
      yield receiptOf(row);
  }

  /**
   * Those of files below a directory, sent by this machine itself; of all local files, below ''. Their ids
   * grow with time: see `runBegins`.
   */
  *below(
    service: string,
    workspace: string,
    directory: string,
  ): Generator<Receipt & { id: number }> {
    const sql = `SELECT id, ${selected} FROM receipts
      WHERE service = ? AND workspace = ? AND path >= ? AND path < ? AND imported = 0
      ORDER BY path`;
    const first = `${directory}/`;
    const end = `${directory}0`; // the character after the slash
    const range = [service, workspace, first, end];
    for (const row of this.#ledger.each<Row & { id: number }>(sql, ...range))
      yield { ...receiptOf(row), id: row.id };
  }

  /** Assets of files below a directory that were sent anew since. */
  replacedBelow(service: string, workspace: string, directory: string): Replaced[] {
    const sql = `SELECT folder, path, asset AS assetUid FROM replaced
      WHERE service = ? AND workspace = ? AND path >= ? AND path < ? ORDER BY path`;
    return this.#ledger.all<Replaced>(sql, service, workspace, `${directory}/`, `${directory}0`);
  }

  /** Takes over those of another machine, all or none. One that is here already wins. @returns how many were new */
  import(receipts: readonly Receipt[]): Promise<number> {
    const sql = `INSERT OR IGNORE INTO receipts (${columns}, imported)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)`;
    return this.#ledger.transaction(
      () => receipts.filter((receipt) => this.#ledger.change(sql, ...valuesOf(receipt)) > 0).length,
    );
  }

  /**
   * A mark of what was known when a run began; of one that was killed, when it first did. What one
   * command names is wanted, two files of one content included: only what was sent before counts.
   */
  runBegins(id: string): Promise<number> {
    return this.#ledger.transaction(() => {
      const sql = 'INSERT OR IGNORE INTO runs SELECT ?, coalesce(max(id), 0) FROM receipts';
      this.#ledger.change(sql, id);
      return this.runMark(id) ?? 0;
    });
  }

  /** The mark of a run that has begun and not ended. */
  runMark(id: string): number | undefined {
    return this.#ledger.get<{ since: number }>('SELECT since FROM runs WHERE id = ?', id)?.since;
  }

  /** Never fails: a run that is not ended is the same run the next time. */
  async runEnds(id: string): Promise<void> {
    await this.#ledger.write('DELETE FROM runs WHERE id = ?', id).catch(() => {});
  }

  async keepOrphan(
    service: string,
    { assetUid, name, path, at, isGuessed }: Orphan,
  ): Promise<void> {
    const sql = 'INSERT OR REPLACE INTO orphans VALUES (?, ?, ?, ?, ?, ?)';
    await this.#ledger.write(sql, service, assetUid, name, path, at, Number(isGuessed));
  }

  /** It is gone, or holds a file. */
  async forgetOrphan(assetUid: string): Promise<void> {
    await this.#ledger.write('DELETE FROM orphans WHERE asset = ?', assetUid);
  }

  orphans(service: string): Orphan[] {
    const sql = `SELECT asset AS assetUid, name, path, at, guessed FROM orphans
      WHERE service = ? ORDER BY at`;
    const rows = this.#ledger.all<Omit<Orphan, 'isGuessed'> & { guessed: number }>(sql, service);
    return rows.map(({ guessed, ...orphan }) => ({ ...orphan, isGuessed: guessed === 1 }));
  }

  /** A folder that a run of this machine made since a mark of `folderMark`, by its path. */
  madeFolder(service: string, workspace: string, path: string, since: number): string | undefined {
    const sql = `SELECT uid FROM folders
      WHERE service = ? AND workspace = ? AND path = ? AND id > ? ORDER BY id DESC LIMIT 1`;
    return this.#ledger.get<{ uid: string }>(sql, service, workspace, path, since)?.uid;
  }

  async keepFolder(service: string, workspace: string, path: string, uid: string): Promise<void> {
    const sql = 'INSERT INTO folders (service, workspace, path, uid) VALUES (?, ?, ?, ?)';
    await this.#ledger.write(sql, service, workspace, path, uid);
  }

  folderMark(): number {
    const row = this.#ledger.get<{ mark: number | null }>('SELECT max(id) AS mark FROM folders');
    return row?.mark ?? 0;
  }
}

const valuesOf = (receipt: Receipt) => [
  ...[receipt.service, receipt.workspace, receipt.folder, receipt.path],
  ...[receipt.sizeBytes, receipt.mtimeNs, receipt.blake3],
  receipt.verified === null ? null : Number(receipt.verified),
  ...[receipt.assetUid, receipt.sessionUid, receipt.name],
  ...[receipt.state, receipt.reason, receipt.at],
];

const receiptIn = (row: Row | undefined) => row && receiptOf(row);

function receiptOf(row: Row): Receipt {
  const { size, mtime_ns, verified, asset, session, ...same } = row;
  return {
    ...{ service: same.service, workspace: same.workspace, folder: same.folder, path: same.path },
    ...{ sizeBytes: size, mtimeNs: mtime_ns, blake3: same.blake3 },
    verified: verified === null ? null : verified === 1,
    ...{ assetUid: asset, sessionUid: session, name: same.name },
    ...{ state: same.state, reason: same.reason, at: same.at },
  };
}
