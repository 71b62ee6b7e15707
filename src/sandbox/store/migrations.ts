/**
 * Schema migrations; `user_version` counts those that were applied. Never change a migration that has shipped. The
 * first one also accepts databases created before migrations were counted.
 */
export const migrations = [
  `CREATE TABLE IF NOT EXISTS api_keys (
  hash TEXT PRIMARY KEY, name TEXT NOT NULL, scopes TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS workspaces (
  uid TEXT PRIMARY KEY, name TEXT NOT NULL, is_primary INTEGER NOT NULL, created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS assets (
  id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, workspace_uid TEXT NOT NULL,
  name TEXT NOT NULL, description TEXT NOT NULL, type TEXT NOT NULL, status TEXT NOT NULL,
  failure_reason TEXT, filename TEXT NOT NULL, content_type TEXT, size INTEGER NOT NULL,
  duration REAL, width INTEGER, height INTEGER, has_hls INTEGER NOT NULL DEFAULT 0,
  chapters TEXT NOT NULL DEFAULT '[]', tags TEXT NOT NULL DEFAULT '[]', parent_uid TEXT,
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL, deleted_at TEXT
);
CREATE INDEX IF NOT EXISTS assets_created ON assets (created_at, id);
CREATE INDEX IF NOT EXISTS assets_name ON assets (name, id);
CREATE INDEX IF NOT EXISTS assets_duration ON assets (duration, id);
CREATE INDEX IF NOT EXISTS assets_status ON assets (status);
CREATE VIRTUAL TABLE IF NOT EXISTS assets_text
  USING fts5 (name, description, content='assets', content_rowid='id');
CREATE TRIGGER IF NOT EXISTS assets_text_insert AFTER INSERT ON assets BEGIN
  INSERT INTO assets_text (rowid, name, description) VALUES (new.id, new.name, new.description);
END;
CREATE TRIGGER IF NOT EXISTS assets_text_update AFTER UPDATE OF name, description ON assets BEGIN
  INSERT INTO assets_text (assets_text, rowid, name, description)
    VALUES ('delete', old.id, old.name, old.description);
  INSERT INTO assets_text (rowid, name, description) VALUES (new.id, new.name, new.description);
END;
CREATE TABLE IF NOT EXISTS upload_sessions (
  uid TEXT PRIMARY KEY, asset_uid TEXT NOT NULL, total_size INTEGER NOT NULL,
  expires_at INTEGER NOT NULL, completed_at TEXT
);`,
  `ALTER TABLE workspaces ADD COLUMN embed_restricted INTEGER NOT NULL DEFAULT 0;
CREATE TABLE embed_domains (
  workspace_uid TEXT NOT NULL, domain TEXT NOT NULL, PRIMARY KEY (workspace_uid, domain)
);
CREATE TABLE folders (
  id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, workspace_uid TEXT NOT NULL,
  name TEXT NOT NULL, parent_uid TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL
);
CREATE INDEX folders_parent ON folders (parent_uid);
CREATE INDEX assets_parent ON assets (parent_uid);`,
  'ALTER TABLE assets ADD COLUMN resume_position_seconds REAL;',
  // Covering indexes for every ordering and the most common filters; they exclude the trash.
  `ALTER TABLE assets ADD COLUMN is_made_up INTEGER NOT NULL DEFAULT 0;
DROP INDEX assets_created;
DROP INDEX assets_name;
DROP INDEX assets_duration;
CREATE INDEX assets_by_created ON assets (created_at, id, type, status) WHERE deleted_at IS NULL;
CREATE INDEX assets_by_name ON assets (name, id, type, status) WHERE deleted_at IS NULL;
CREATE INDEX assets_by_duration ON assets (duration, id, type, status) WHERE deleted_at IS NULL;`,
  `ALTER TABLE assets ADD COLUMN extras TEXT NOT NULL DEFAULT '{}';`,
  // Index for the query for the next expiry, since complete sessions stay in the table.
  `CREATE INDEX upload_sessions_open ON upload_sessions (expires_at) WHERE completed_at IS NULL;`,
] as const;
