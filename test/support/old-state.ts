import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, realpathSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fixturePath, startSandbox, type TestSandbox } from './sandbox.ts';
import { openDatabase } from './sqlite.ts';
import { temporaryFolder } from './temporary-folder.ts';

/* State on disk and in queues as commit 5fb2bef left it: test/fixtures/5fb2bef, and its README. */

type Content = { seed: string; sizeBytes: number };
type Page = { id: string; baseUrl: string; realPath: string; identity?: string; metadata: object };

const folder = fixturePath('5fb2bef');
const dayMs = 24 * 3600 * 1000;

/** Returns a fixture as it is stored: with `{origin}`, `{media}` and `{state}` in place of what differs. */
export const oldText = (name: string): string => readFileSync(join(folder, name), 'utf8');

export const oldFiles: {
  origin: string;
  media: string;
  state: string;
  workspace: string;
  modified: string;
  mediaFiles: Record<string, Content>;
  spool: Record<string, Content>;
  service: Record<string, Content>;
} = JSON.parse(oldText('files.json'));

function write(path: string, content: string | Buffer): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, content, { mode: 0o600 });
}

const bytesBySeed = new Map<string, Buffer>();

/** Generates the bytes that were uploaded when the fixtures were made. A part of a file is the beginning of it. */
function bytesOf({ seed, sizeBytes }: Content): Buffer {
  const known = bytesBySeed.get(seed);
  if (known && known.length >= sizeBytes) return known.subarray(0, sizeBytes);
  const block = (n: number) => createHash('sha512').update(`${seed} ${n}`).digest();
  const bytes = Buffer.concat(Array.from({ length: Math.ceil(sizeBytes / 64) }, (_, n) => block(n)));
  bytesBySeed.set(seed, bytes);
  return bytes.subarray(0, sizeBytes);
}

/** Returns the bytes of a file of the fixture. */
export const oldBytes = (name: string): Buffer => bytesOf(oldFiles.mediaFiles[name] as Content);

/** Returns the bytes that came on stdin, by the id that the upload had. */
export const oldStdin = (id: string): Buffer => bytesOf(oldFiles.spool[id] as Content);

/** The algorithm of 5fb2bef: a copy, since today's must find what it named. */
const idOf = ({ baseUrl, realPath, identity, metadata }: Page) =>
  createHash('sha256')
    .update(JSON.stringify([baseUrl, identity ?? realPath, Object.entries(metadata).sort()]))
    .digest('hex')
    .slice(0, 16);

/** Starts today's sandbox with the data that the one of 5fb2bef left; its sessions last another day. */
export async function startOldService(): Promise<TestSandbox> {
  const dataDir = temporaryFolder();
  const database = openDatabase(join(dataDir, 'sandbox.db'));
  database.exec(oldText('service.sql'));
  database.prepare('UPDATE upload_sessions SET expires_at = ? WHERE completed_at IS NULL').run(Date.now() + dayMs);
  database.close();
  for (const [path, content] of Object.entries(oldFiles.service)) write(join(dataDir, path), bytesOf(content));
  return startSandbox({ dataDir, rateLimit: { limit: 100_000, windowSeconds: 3600 } });
}

/** Writes the files that 5fb2bef uploaded. @returns their folder */
export function writeOldMedia(under = ''): string {
  const media = realpathSync(temporaryFolder());
  const modified = new Date(oldFiles.modified);
  for (const name of Object.keys(oldFiles.mediaFiles).filter((each) => each.startsWith(under))) {
    write(join(media, name), oldBytes(name));
    utimesSync(join(media, name), modified, modified);
  }
  return media;
}

/** Replaces what differs from machine to machine; in JSON and SQL, no path here needs an escape. */
const relocated = (text: string, places: { origin: string; media: string; state?: string }) =>
  text
    .replaceAll('{origin}', places.origin)
    .replaceAll('{media}', places.media)
    .replaceAll('{state}', places.state ?? oldFiles.state);

/**
 * Writes the state folder that 5fb2bef left. An upload's id is a hash of the service's origin and the
 * file's path, so each gets the one that 5fb2bef would have given it here.
 *
 * @returns today's ids by those of the fixture
 */
export function writeOldState(origin: string, media: string, stateDir: string): Map<string, string> {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const state = realpathSync(stateDir);
  const places = { origin, media, state };
  const pages = readdirSync(join(folder, 'state/uploads')).map((name) => {
    const text = oldText(`state/uploads/${name}`);
    const recorded: Page = JSON.parse(relocated(text, oldFiles));
    if (idOf(recorded) !== recorded.id) throw new Error(`${name}: its id is none of 5fb2bef`);
    return { text, id: recorded.id };
  });
  const ids = new Map<string, string>();
  for (const { text, id } of pages) ids.set(id, idOf(JSON.parse(relocated(text, places))));
  const expiresAt = new Date(Date.now() + dayMs).toISOString();
  const renamed = (text: string) =>
    [...ids]
      .reduce((all, [before, now]) => all.replaceAll(before, now), relocated(text, places))
      .replace(/("expiresAt": )"[^"]*"/, `$1"${expiresAt}"`);
  for (const { text, id } of pages)
    write(join(state, 'uploads', `${ids.get(id)}.json`), renamed(text).padEnd(4096, '\n'));
  for (const [id, content] of Object.entries(oldFiles.spool))
    write(join(state, 'spool', ids.get(id) as string), bytesOf(content));
  for (const name of readdirSync(join(folder, 'state/runs'))) write(join(state, 'runs', name), '');
  write(join(state, 'last-upload'), renamed(oldText('state/last-upload.json')));
  write(join(state, 'shown', encodeURIComponent(origin)), oldText('state/shown.txt'));
  const database = openDatabase(join(state, 'receipts.db'));
  database.exec('PRAGMA journal_mode = WAL');
  database.exec(renamed(oldText('state/receipts.sql')));
  database.close();
  return ids;
}

type Task = {
  service: string;
  source: { root?: string; path: string };
  [field: string]: unknown;
};

/** The algorithm of 5fb2bef, as `idOf`. */
function taskIdOf(task: Task): string {
  const { root = null, path } = task.source;
  const fields = ['service', 'workspace', 'folder', 'filename', 'name', 'sizeBytes'];
  const parts = [...fields, 'fileVersion', 'again'].map((field) => task[field]);
  const hash = createHash('sha256').update(JSON.stringify([root, path, ...parts]));
  return `u${hash.digest('hex').slice(0, 15)}`;
}

/** Returns the id and the data of each job: of Redis, from JSON; of PostgreSQL, from SQL. */
function jobsIn(text: string): [id: string, data: string][] {
  if (text.startsWith('{'))
    return Object.entries<{ value: { data?: string } }>(JSON.parse(text)).flatMap(([key, { value }]) =>
      value.data === undefined ? [] : [[key.slice('bull:fixture:'.length), value.data]],
    );
  const row = /INTO bullmq\.job \([^)]*\) VALUES \('fixture', '(\w+)', \d+, '[^']*', '\w+', '([^']*)'/g;
  return [...text.matchAll(row)].map(([, id = '', data = '']) => [id, data]);
}

/** Returns a queue that 5fb2bef left. A job's id is a hash of the service's origin too: as `writeOldState`. */
export function oldQueue(name: string, places: { origin: string; media: string }): string {
  const text = oldText(name);
  const jobs = jobsIn(text);
  if (jobs.length !== 7) throw new Error(`${name}: ${jobs.length} of 7 jobs found`);
  return jobs.reduce(
    (all, [id, data]) => {
      if (taskIdOf(JSON.parse(relocated(data, oldFiles))) !== id)
        throw new Error(`${name}: the id ${id} is none of 5fb2bef`);
      return all.replaceAll(id, taskIdOf(JSON.parse(relocated(data, places))));
    },
    relocated(text, places),
  );
}
