import { blake3 } from '@napi-rs/blake-hash';
import type { RecordedRequest, Responder, StubResponse } from './recording-server.ts';

export const assetUid = '0c6f2a52-3c35-4f3e-9a51-2f2ed6b0a7c1';
export const workspaceUid = '7b1f4d0e-58a4-4c8e-9a0b-5d9c1f2e3a4b';
export const folderUid = '5d2c8e9f-1a2b-4c3d-8e4f-5a6b7c8d9e0f';
export const testKey = 'a-key-of-this-test';
const v1 = '/api/external/v1';

type Fields = Record<string, unknown>;

export type FakeAsset = {
  uid: string;
  name: string;
  size: number;
  /** Bytes received so far. */
  bytes: Buffer;
  blake3: string;
  folder: string | undefined;
  createdAt: string;
  /** Time of the last byte, in milliseconds since the epoch; undefined while incomplete. */
  completedAt: number | undefined;
  isTrashed: boolean;
  /** The stored bytes differ from the bytes that were sent. */
  isCorrupted: boolean;
  /** Fields of the record that the test or a client has set. */
  fields: Fields;
};
export type FakeFolder = { uid: string; name: string; parent: string | undefined };

export type LibraryOptions = {
  /** Fields of the assets, the newest first. In these and in `playback`, HERE stands for the service's origin. */
  assets?: (Fields & { uid: string })[];
  /** Playback info of every asset. */
  playback?: object;
  /** Fields of asset records that the specification does not require. */
  shows?: ('size' | 'checksum_blake3' | 'parent')[];
  /** Processing time: from the last byte to status `ready`. */
  readyAfterMs?: number;
  /** Selects the filters for which all assets are listed. */
  ignoresFilters?: (filters: Record<string, string>) => boolean;
  /** The body field that sets a folder's parent, and the record field that returns it, if any. */
  parentFields?: { inRequest: string; inResponse?: string };
  /** Changes a folder before it is created. */
  onNewFolder?: (folder: FakeFolder) => void;
  now?: () => number;
};

/** Returns the uid of the nth object that a library creates, which is the same in each run of a test. */
export const numberedUid = (n: number) => `${String(n).padStart(8, '0')}-a5f6-4788-99aa-bbccddeeff00`;

const notFound: StubResponse = { status: 404, body: { error: {} } };

/** The media API in memory, written from the specification: responses reflect earlier writes. */
export class FakeLibrary {
  readonly assets = new Map<string, FakeAsset>();
  /** Assets by the uid of their upload session. */
  readonly sessions = new Map<string, FakeAsset>();
  folders: FakeFolder[] = [];
  readonly #options: LibraryOptions;
  readonly #now: () => number;
  #isRestricted = false;
  #domains = ['old.example'];
  #createdCount = 0;

  constructor(options: LibraryOptions = {}) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    for (const { uid, ...fields } of (options.assets ?? []).toReversed())
      this.#add({ uid, completedAt: this.#now(), fields });
  }

  /** Assets that are complete and not in the trash. */
  get completeAssets(): FakeAsset[] {
    return [...this.assets.values()].filter(({ completedAt, isTrashed }) => completedAt && !isTrashed);
  }

  /** Sorted paths of complete assets, such as `/Rushes/day 1/a.bin`. */
  get paths(): string[] {
    const pathOf = (uid: string | undefined): string => {
      const found = this.folders.find((each) => each.uid === uid);
      return found ? `${pathOf(found.parent)}/${found.name}` : '';
    };
    return this.completeAssets.map(({ name, folder }) => `${pathOf(folder)}/${name}`).sort();
  }

  /** Tags of each asset that has tags. */
  get tags(): unknown[] {
    return [...this.assets.values()].flatMap(({ fields }) => (fields.tags ? [fields.tags] : []));
  }

  /** Responds to a request and applies it. */
  respond(request: RecordedRequest): StubResponse {
    const { body, ...response } = this.#route(request);
    if (typeof body !== 'object') return { ...response, body };
    const text = JSON.stringify(body).replaceAll('HERE', `http://${request.headers.host}`);
    return { ...response, body: JSON.parse(text) };
  }

  #route(request: RecordedRequest): StubResponse {
    const { path, query } = request;
    const [collection, uid = '', part = '', partUid = ''] = path.replace(v1, '').split('/').slice(1);
    const type = path.endsWith('.jpg') ? 'image/jpeg' : 'application/pdf';
    if (collection === 'media') return { body: 'some bytes', headers: { 'content-type': type } };
    if (collection === 'playback') return { body: this.#options.playback };
    if (collection === 'upload') return uid === '' ? this.#create(request) : this.#transfer(request, uid);
    if (part === 'folders') return this.#changeFolders(request, partUid);
    if (part.startsWith('embed-')) return this.#changeEmbedding(request);
    if (collection === 'workspaces') return { body: { items: [{ uid: workspaceUid, name: 'Main' }], count: 1 } };
    if (uid === '') return this.#list(query);
    const asset = this.assets.get(uid);
    if (!asset || asset.isTrashed) return notFound;
    return part === 'player' ? { body: playerOf(uid) } : this.#changeAsset(request, asset);
  }

  #add(asset: Partial<FakeAsset>): FakeAsset {
    const empty = { name: '', size: 0, bytes: Buffer.alloc(0), blake3: '', folder: undefined, fields: {} };
    const state = { completedAt: undefined, isTrashed: false, isCorrupted: false };
    const createdAt = new Date(this.#now()).toISOString();
    const added = { uid: numberedUid(++this.#createdCount), createdAt, ...empty, ...state, ...asset };
    this.assets.set(added.uid, added);
    return added;
  }

  #create({ headers }: RecordedRequest): StubResponse {
    const pairs = String(headers['upload-metadata'])
      .split(',')
      .map((pair) => pair.split(' '));
    const { asset_name, filename, description, parent_folder_uid } = Object.fromEntries(
      pairs.map(([key = '', value = '']) => [key, Buffer.from(value, 'base64').toString()]),
    );
    if (parent_folder_uid !== undefined && !this.folders.some(({ uid }) => uid === parent_folder_uid))
      return { status: 404, body: 'the parent folder does not exist', headers: { 'content-type': 'text/plain' } };
    const asset = this.#add({
      name: asset_name ?? filename,
      size: Number(headers['upload-length']),
      folder: parent_folder_uid,
      fields: { description },
    });
    const uid = numberedUid(++this.#createdCount);
    this.sessions.set(uid, asset);
    this.#store(asset, Buffer.alloc(0));
    const location = `${v1}/upload/${uid}/`;
    const expires_at = new Date(this.#now() + 86_400_000).toISOString();
    const body = { uid, asset_uid: asset.uid, location, total_size: asset.size, expires_at };
    return { status: 201, body, headers: { location } };
  }

  #transfer({ method, headers, bytes }: RecordedRequest, uid: string): StubResponse {
    const asset = this.sessions.get(uid);
    if (!asset) return notFound;
    if (method === 'HEAD') return { headers: { ...offsetOf(asset), 'upload-length': String(asset.size) } };
    if (Number(headers['upload-offset']) !== asset.bytes.length) return { status: 409, headers: offsetOf(asset) };
    this.#store(asset, bytes);
    const checksum: Record<string, string> = asset.completedAt ? { 'x-checksum-blake3': asset.blake3 } : {};
    return { status: 204, headers: { ...offsetOf(asset), ...checksum } };
  }

  #store(asset: FakeAsset, bytes: Buffer): void {
    asset.bytes = Buffer.concat([asset.bytes, bytes]);
    if (asset.bytes.length < asset.size) return;
    asset.blake3 = blake3(asset.bytes).toString('hex');
    asset.completedAt = this.#now();
  }

  #changeAsset({ method, body }: RecordedRequest, asset: FakeAsset): StubResponse {
    if (method === 'DELETE') {
      asset.isTrashed = true;
      return { status: 204 };
    }
    const { name, description, tags, parent } = (body ?? {}) as Fields;
    const given = Object.entries({ name, description, tags }).filter(([, value]) => value !== undefined);
    Object.assign(asset.fields, Object.fromEntries(given));
    if (name !== undefined) asset.name = String(name);
    if (parent !== undefined) asset.folder = (parent as string | null) ?? undefined;
    return { body: this.#recordOf(asset) };
  }

  #list({ offset = '0', limit = '20', ...filters }: Record<string, string>): StubResponse {
    const records = [...this.assets.values()]
      .filter(({ isTrashed }) => !isTrashed)
      .filter((asset) => this.#options.ignoresFilters?.(filters) || matches(asset, this.#recordOf(asset), filters))
      .map((asset) => this.#recordOf(asset))
      .reverse();
    const items = records.slice(Number(offset), Number(offset) + Number(limit));
    return { body: { items, count: records.length } };
  }

  #recordOf({ uid, name, size, blake3, folder, completedAt, createdAt, fields }: FakeAsset): Fields {
    const { status = this.#statusAfter(completedAt), created_at = createdAt } = fields;
    const optional = { size, checksum_blake3: blake3, parent: folder ?? null };
    const shown = (this.#options.shows ?? []).map((field) => [field, optional[field]]);
    return { uid, name, ...fields, status, created_at, ...Object.fromEntries(shown) };
  }

  #statusAfter(completedAt: number | undefined): string {
    if (completedAt === undefined) return 'uploading';
    return this.#now() >= completedAt + (this.#options.readyAfterMs ?? 0) ? 'ready' : 'processing';
  }

  #changeFolders({ method, body }: RecordedRequest, uid: string): StubResponse {
    const { onNewFolder, parentFields = { inRequest: 'parent_uid' } } = this.#options;
    if (method === 'GET') return { body: this.#foldersIn(undefined) };
    if (method === 'DELETE') {
      this.folders = this.folders.filter((folder) => folder.uid !== uid);
      return { status: 204 };
    }
    const { name, [parentFields.inRequest]: parent } = body as Record<string, string | null | undefined>;
    const created: FakeFolder = { uid: numberedUid(++this.#createdCount), name: '', parent: undefined };
    const folder = this.folders.find((each) => each.uid === uid) ?? created;
    if (name) folder.name = name;
    if (parent !== undefined) folder.parent = parent ?? undefined;
    if (folder !== created) return { body: this.#folderRecordOf(folder) };
    onNewFolder?.(created);
    this.folders.push(created);
    return { status: 201, body: this.#folderRecordOf(created) };
  }

  #foldersIn(uid: string | undefined): Fields[] {
    return this.folders.filter(({ parent }) => parent === uid).map((folder) => this.#folderRecordOf(folder));
  }

  #folderRecordOf({ uid, name, parent }: FakeFolder): Fields {
    const { inResponse } = this.#options.parentFields ?? {};
    return { uid, name, ...(inResponse && { [inResponse]: parent ?? null }), children: this.#foldersIn(uid) };
  }

  #changeEmbedding({ method, body }: RecordedRequest): StubResponse {
    const { domain = '', enabled } = (body ?? {}) as { domain?: string; enabled?: boolean };
    if (enabled !== undefined) this.#isRestricted = enabled;
    if (method === 'POST') this.#domains.push(domain);
    if (method === 'DELETE') this.#domains = this.#domains.filter((each) => each !== domain);
    return { status: method === 'POST' ? 201 : 200, body: { enabled: this.#isRestricted, domains: this.#domains } };
  }
}

export const offsetOf = ({ bytes }: FakeAsset) => ({ 'upload-offset': String(bytes.length) });

const playerOf = (uid: string) => ({
  uid,
  playback_token: 'token-of-this-test',
  player_config: { auto_play: false, theme: 'dark' },
  items: [{ asset: { uid, thumbnail_url: 'https://media.example/t.jpg' } }],
});

/** Applies the filters of §4 to an asset and its record. */
function matches({ folder }: FakeAsset, record: Fields, filters: Record<string, string>): boolean {
  const { parent, search, status, type, tag, created_after, created_before } = filters;
  const day = String(record.created_at).slice(0, 10);
  const text = `${record.name} ${record.description ?? ''}`.toLowerCase();
  return (
    (parent === undefined || (folder ?? 'root') === parent) &&
    (search === undefined || text.includes(search.toLowerCase())) &&
    (status === undefined || record.status === status) &&
    (type === undefined || record.type === type) &&
    (tag === undefined || (record.tags as string[]).includes(tag)) &&
    (created_after === undefined || day >= created_after) &&
    (created_before === undefined || day <= created_before)
  );
}

/** Creates a library with one asset and one folder, which returns all fields of §2. */
export function createLibrary(options: LibraryOptions = {}): Responder {
  const asset = {
    uid: assetUid,
    name: 'Quay',
    description: 'two\nlines',
    type: 'document',
    status: 'ready',
    tags: [],
    created_at: '2026-03-01T11:00:00Z',
    duration: null,
    size: 10,
    thumbnail_url: 'HERE/media/t.jpg',
  };
  const library = new FakeLibrary({
    assets: [asset],
    parentFields: { inRequest: 'parent_uid', inResponse: 'parent_uid' },
    playback: { type: 'document', blocked: false, url: 'HERE/media/a.pdf' },
    ...options,
  });
  library.folders.push({ uid: folderUid, name: 'Campaigns', parent: undefined });
  return (request) => library.respond(request);
}
