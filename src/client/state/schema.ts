export const schemaVersion = 9;

/** SQL condition for unfinished uploads, spelled as in the index, so that SQLite uses it. */
export const isUnfinished = "state IN ('planned', 'intended', 'open', 'whole')";

/**
 * Maps each table to its columns. Rows belong to a service and workspace, not to an API key, so that they stay valid
 * when keys are rotated. They never expire.
 *
 * `uploads` has one row for each upload, from its lock to its receipt. The `state` of an unfinished upload is that of
 * its entry (`UploadEntry`); `planned` without an entry is a mere lock. `done` is a receipt, and `replaced` a receipt
 * whose path has a newer one. `failed` is an upload that was given up, whose asset may still be there (an orphan);
 * `asset` is null if the response to its creation was lost.
 * `seq` is renewed when an upload is done, so that receipts are numbered in the order in which they were written.
 * `entry` is JSON (`UploadEntry`). `process` and `pid` name the process that locks the row, and
 * `sent` is the offset up to which it has sent bytes, updated about once a second. `processing` is the state of
 * the asset, as last seen. `about` is JSON, the metadata that this machine gave to the asset last. `imported` marks
 * receipts of assets that this machine did not upload. `moved_to` is the path to which `--move-to` has moved the file, or
 * was about to move it. `evidence` is what shows that the asset has the file (`evidenceKinds`), found at `evidence_at`; null
 * if that is the upload itself.
 *
 * `listed_assets` caches the assets of target folders, so that a later comparison of local files with a folder lists
 * only the assets created `since` the last one (`listings`). `blake3` is that of a download (`check --download`).
 *
 * `downloads` has a row for each file that was downloaded to a path (`done`), for each that is about to get its name
 * (`whole`), and for each download that was not finished (`partial`), whose `resume` is JSON (`DownloadStart`). `source` is
 * the folder or glob that was asked for, and `workspace` the one that the asset was in; null if that is not known.
 *
 * `changes` and `change_items` are the history of changes to the library (`changes/change-history.ts`).
 */
export const tables = {
  uploads: `seq INTEGER PRIMARY KEY, id TEXT, state TEXT NOT NULL,
    service TEXT, workspace TEXT, folder TEXT, path TEXT, size INTEGER, source_version TEXT, ctime_ns TEXT,
    blake3 TEXT, verified INTEGER, asset TEXT, session TEXT, name TEXT, processing TEXT, reason TEXT, about TEXT,
    at TEXT,
    imported INTEGER NOT NULL DEFAULT 0, guessed INTEGER NOT NULL DEFAULT 0, process TEXT, pid INTEGER, sent INTEGER,
    entry TEXT, moved_to TEXT, evidence TEXT, evidence_at TEXT`,
  marks: 'id TEXT PRIMARY KEY, since INTEGER NOT NULL',
  folders: `id INTEGER PRIMARY KEY AUTOINCREMENT,
    service TEXT NOT NULL, workspace TEXT NOT NULL, path TEXT NOT NULL, uid TEXT NOT NULL`,
  listings: `service TEXT NOT NULL, workspace TEXT NOT NULL, folder TEXT NOT NULL, since TEXT NOT NULL,
    PRIMARY KEY (service, workspace, folder)`,
  listed_assets: `service TEXT NOT NULL, workspace TEXT NOT NULL, folder TEXT NOT NULL, asset TEXT NOT NULL,
    name TEXT NOT NULL, size INTEGER, blake3 TEXT, PRIMARY KEY (service, workspace, folder, asset)`,
  downloads: `path TEXT NOT NULL, state TEXT NOT NULL, service TEXT NOT NULL, asset TEXT NOT NULL, source TEXT,
    folder TEXT, name TEXT, record_size INTEGER, size INTEGER, mtime_ns TEXT, ctime_ns TEXT, blake3 TEXT, verified INTEGER, resume TEXT,
    workspace TEXT, PRIMARY KEY (path, state)`,
  changes: `seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, command TEXT NOT NULL, summary TEXT NOT NULL,
    service TEXT NOT NULL, workspace TEXT, profile TEXT, request_count INTEGER NOT NULL, started_at TEXT NOT NULL,
    state TEXT NOT NULL, undo_of TEXT, source TEXT, folder_paths TEXT NOT NULL`,
  change_items: `change_id TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, uid TEXT NOT NULL, name TEXT,
    old_values TEXT, new_values TEXT, tags TEXT, sent TEXT, local_path TEXT,
    planned_at TEXT NOT NULL, state TEXT NOT NULL, error TEXT, PRIMARY KEY (change_id, seq)`,
};

const addEvidence = 'ALTER TABLE uploads ADD COLUMN evidence TEXT; ALTER TABLE uploads ADD COLUMN evidence_at TEXT;';

/** SQL that brings a database of an earlier version to the present one, by that version. */
export const upgrades: { readonly [version: number]: string } = {
  6: `ALTER TABLE uploads ADD COLUMN moved_to TEXT; CREATE TABLE downloads (${tables.downloads}); ${addEvidence}`,
  7: `ALTER TABLE downloads ADD COLUMN workspace TEXT; ${addEvidence}`,
  8: addEvidence,
};

const createIndexes = `
CREATE UNIQUE INDEX unfinished ON uploads (id) WHERE ${isUnfinished};
CREATE UNIQUE INDEX done ON uploads (service, workspace, folder, path) WHERE state = 'done';
CREATE UNIQUE INDEX failed ON uploads (service, asset) WHERE state = 'failed';
CREATE INDEX replaced ON uploads (service, workspace, path) WHERE state = 'replaced';
CREATE INDEX by_content ON uploads (workspace, size, blake3) WHERE state = 'done';
CREATE INDEX by_asset ON uploads (asset) WHERE asset IS NOT NULL;
CREATE INDEX listed_by_asset ON listed_assets (asset);
CREATE INDEX change_items_by_uid ON change_items (uid);
CREATE INDEX changes_by_undo ON changes (undo_of) WHERE undo_of IS NOT NULL;
CREATE INDEX folders_by_path ON folders (service, workspace, path);
`;

/** SQL that creates the tables in an empty database. */
export const createSchema = `
${Object.entries(tables)
  .map(([name, columns]) => `CREATE TABLE ${name} (${columns});`)
  .join('\n')}
${createIndexes}
PRAGMA user_version = ${schemaVersion};`;
