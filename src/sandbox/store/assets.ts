import { type AssetFilterName, type AssetFilters, activeFilters } from '../../contract/asset-filters.ts';
import type { AssetStatus, AssetType } from '../../contract/asset-values.ts';
import type { DerivedFiles } from './derived-files.ts';
import { type ColumnValue, StoreTable } from './sandbox-store.ts';

export type AssetRow = {
  uid: string;
  workspace_uid: string;
  name: string;
  description: string;
  type: AssetType;
  status: AssetStatus;
  failure_reason: string | null;
  filename: string;
  content_type: string | null;
  size: number;
  duration: number | null;
  width: number | null;
  height: number | null;
  has_hls: number;
  chapters: string;
  /** JSON of `DerivedFiles`. A missing key means that the asset has no such file. */
  extras: string;
  tags: string;
  /** Folder in the asset's workspace; null for the top level. */
  parent_uid: string | null;
  resume_position_seconds: number | null;
  /** 1 for seeded sample assets, which have no media files, otherwise 0. */
  is_made_up: number;
  created_at: string;
  updated_at: string;
};

export type NewAsset = Pick<
  AssetRow,
  'uid' | 'workspace_uid' | 'name' | 'description' | 'type' | 'filename' | 'content_type' | 'size' | 'parent_uid'
>;

/** Filters, ordering and pagination for an asset list (§4). */
export type AssetListQuery = AssetFilters & { ordering: string; limit: number; offset: number };

/** Fields that PATCH can change. The API specification does not name them (assumption A08). */
type EditableFields = Pick<AssetRow, 'name' | 'description' | 'parent_uid'> & { tags: string[] };

/** Processing results that are stored with the asset. */
export type ProcessingResult = Pick<AssetRow, 'type' | 'duration' | 'width' | 'height'> & {
  content_type: string;
  hasHls: boolean;
  chapters: { title: string; start_time: number }[];
  derivedFiles: DerivedFiles;
};

/** Maximum number of cached lists. A list of 100,000 assets takes 800 kB. */
const maxCachedLists = 16;

export class Assets extends StoreTable {
  /** LRU cache of the ordered ids of lists, since OFFSET would walk all earlier rows. Any write clears it. */
  readonly #orderedIds = new Map<string, Float64Array>();
  #cacheToken = '';

  insert(asset: NewAsset, now: string): void {
    this.store.insert('assets', { ...asset, status: 'uploading', created_at: now, updated_at: now });
  }

  find(uid: string): AssetRow | undefined {
    return this.store.get('SELECT * FROM assets WHERE uid = ? AND deleted_at IS NULL', uid);
  }

  /** Returns the given uids for which there is no asset, not even in the trash. */
  findUnknown(uids: readonly string[]): string[] {
    const sql = 'SELECT value AS uid FROM json_each(?) WHERE value NOT IN (SELECT uid FROM assets)';
    return this.store.uids(sql, JSON.stringify(uids));
  }

  page(query: AssetListQuery): { items: AssetRow[]; count: number } {
    const { where, values } = conditions(query);
    const field = query.ordering.replace(/^-/, '');
    const direction = query.ordering.startsWith('-') ? 'DESC' : 'ASC';
    const ids = this.#idsOf(
      // safe in SQL, since the route has validated `field` against an enum
      `SELECT id FROM assets WHERE ${where} ORDER BY ${field} ${direction}, id ${direction}`,
      values,
    );
    const page = ids.subarray(query.offset, query.offset + query.limit);
    const items = this.store.all<AssetRow>(
      `SELECT assets.* FROM json_each(?) AS page JOIN assets ON assets.id = page.value
       ORDER BY page.key`,
      JSON.stringify([...page]),
    );
    return { items, count: ids.length };
  }

  #idsOf(sql: string, values: ColumnValue[]): Float64Array {
    const token = this.store.changeToken();
    if (token !== this.#cacheToken) this.#orderedIds.clear();
    this.#cacheToken = token;
    const key = JSON.stringify([sql, values]);
    const ids = this.#orderedIds.get(key) ?? this.#readIds(sql, values);
    this.#orderedIds.delete(key); // re-insert as the most recently used
    this.#orderedIds.set(key, ids);
    const [oldest] = this.#orderedIds.keys();
    if (this.#orderedIds.size > maxCachedLists && oldest !== undefined) this.#orderedIds.delete(oldest);
    return ids;
  }

  /** Reads the ids as one JSON text, since a row per id would allocate an object per id. */
  #readIds(sql: string, values: ColumnValue[]): Float64Array {
    const list = this.store.get<{ ids: string }>(`SELECT json_group_array(id) AS ids FROM (${sql})`, ...values);
    return Float64Array.from(JSON.parse(list?.ids ?? '[]'));
  }

  edit(uid: string, { tags, ...texts }: Partial<EditableFields>, now: string): void {
    this.#update(uid, { ...texts, tags: tags && JSON.stringify(tags), updated_at: now });
  }

  /** Moves an asset to the trash ("soft-delete", §1). The row and the files stay. */
  trash(uid: string, now: string): void {
    this.#update(uid, { deleted_at: now });
  }

  /** Returns the total size in bytes, including the trash and unfinished uploads, but not sample assets. */
  storedBytes(): number {
    const stored = this.store.get<{ n: number | null }>('SELECT sum(size) AS n FROM assets WHERE is_made_up = 0');
    return stored?.n ?? 0;
  }

  findInterrupted(): string[] {
    return this.store.uids(
      "SELECT uid FROM assets WHERE status IN ('queued', 'processing') AND deleted_at IS NULL ORDER BY id",
    );
  }

  setStatus(uid: string, status: AssetStatus, now: string, failureReason: string | null = null): void {
    this.#update(uid, { status, failure_reason: failureReason, updated_at: now });
  }

  /** Sets the resume position for playback in seconds; null means the beginning. Does not change `updated_at`. */
  setResumePosition(uid: string, seconds: number | null): void {
    this.#update(uid, { resume_position_seconds: seconds });
  }

  setProcessed(uid: string, { hasHls, chapters, derivedFiles, ...found }: ProcessingResult, now: string): void {
    this.#update(uid, {
      ...found,
      has_hls: hasHls ? 1 : 0,
      chapters: JSON.stringify(chapters),
      extras: JSON.stringify(derivedFiles),
      status: 'ready',
      failure_reason: null,
      updated_at: now,
    });
  }

  #update(uid: string, columns: Partial<AssetRow & { deleted_at: string }>): void {
    this.store.update('assets', uid, columns);
  }
}

/** Returns the SQL condition of each filter, and the value of its parameter if it has one. */
const conditionsByFilter: Record<AssetFilterName, (value: string) => [condition: string, value?: string]> = {
  // "full-text match on name and description" (§4)
  search: (words) => ['id IN (SELECT rowid FROM assets_text WHERE assets_text MATCH ?)', toFtsQuery(words)],
  status: (status) => ['status = ?', status],
  type: (type) => ['type = ?', type],
  tag: (slug) => ['EXISTS (SELECT 1 FROM json_each(assets.tags) WHERE value = ?)', slug],
  // "created on or after the date" and "on or before the date" include the whole day
  created_after: (day) => ['created_at >= ?', `${day}T00:00:00.000Z`],
  created_before: (day) => ['created_at <= ?', `${day}T23:59:59.999Z`],
  // "a parent folder uid in the primary workspace, or the literal root for top level"
  parent: (uid) => [
    "workspace_uid = (SELECT uid FROM workspaces WHERE is_primary) AND parent_uid IS nullif(?, 'root')",
    uid,
  ],
};

function conditions(query: AssetListQuery): { where: string; values: string[] } {
  const parts = activeFilters(query).map(({ name, value }) => conditionsByFilter[name](value));
  return {
    where: ['deleted_at IS NULL', ...parts.map(([condition]) => condition)].join(' AND '),
    values: parts.flatMap(([, value]) => value ?? []),
  };
}

/** Builds an FTS query from quoted prefixes, so that user input is never parsed as FTS syntax. */
const toFtsQuery = (search: string) =>
  search
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter(Boolean)
    .map((word) => `"${word}"*`)
    .join(' ') || '""';
