export const schemaVersion = 6;

/** SQL that creates the tables in an empty database. The covering indexes are for every ordering and the most common filters. */
export const createSchema = `CREATE TABLE api_keys (hash TEXT PRIMARY KEY, name TEXT NOT NULL, scopes TEXT NOT NULL);
CREATE TABLE workspaces (
  uid TEXT PRIMARY KEY, name TEXT NOT NULL, is_primary INTEGER NOT NULL, created_at TEXT NOT NULL,
  embed_restricted INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE embed_domains (
  workspace_uid TEXT NOT NULL, domain TEXT NOT NULL, PRIMARY KEY (workspace_uid, domain)
);
CREATE TABLE folders (
  id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, workspace_uid TEXT NOT NULL,
  name TEXT NOT NULL, parent_uid TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL
);
CREATE INDEX folders_parent ON folders (parent_uid);
CREATE TABLE assets (
  id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, workspace_uid TEXT NOT NULL,
  name TEXT NOT NULL, description TEXT NOT NULL, type TEXT NOT NULL, status TEXT NOT NULL,
  failure_reason TEXT, filename TEXT NOT NULL, content_type TEXT, size INTEGER NOT NULL,
  duration REAL, width INTEGER, height INTEGER, has_hls INTEGER NOT NULL DEFAULT 0,
  chapters TEXT NOT NULL DEFAULT '[]', extras TEXT NOT NULL DEFAULT '{}', tags TEXT NOT NULL DEFAULT '[]',
  parent_uid TEXT, resume_position_seconds REAL, is_made_up INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL, deleted_at TEXT
);
CREATE INDEX assets_by_created ON assets (created_at, id, type, status) WHERE deleted_at IS NULL;
CREATE INDEX assets_by_name ON assets (name, id, type, status) WHERE deleted_at IS NULL;
CREATE INDEX assets_by_duration ON assets (duration, id, type, status) WHERE deleted_at IS NULL;
CREATE INDEX assets_status ON assets (status);
CREATE INDEX assets_parent ON assets (parent_uid);
CREATE VIRTUAL TABLE assets_text USING fts5 (name, description, content='assets', content_rowid='id');
CREATE TRIGGER assets_text_insert AFTER INSERT ON assets BEGIN
  INSERT INTO assets_text (rowid, name, description) VALUES (new.id, new.name, new.description);
END;
CREATE TRIGGER assets_text_update AFTER UPDATE OF name, description ON assets BEGIN
  INSERT INTO assets_text (assets_text, rowid, name, description)
    VALUES ('delete', old.id, old.name, old.description);
  INSERT INTO assets_text (rowid, name, description) VALUES (new.id, new.name, new.description);
END;
CREATE TABLE upload_sessions (
  uid TEXT PRIMARY KEY, asset_uid TEXT NOT NULL, total_size INTEGER NOT NULL,
  expires_at INTEGER NOT NULL, completed_at TEXT
);
CREATE INDEX upload_sessions_open ON upload_sessions (expires_at) WHERE completed_at IS NULL;
PRAGMA user_version = ${schemaVersion};`;
