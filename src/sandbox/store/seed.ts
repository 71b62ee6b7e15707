import { type AssetType, assetTypes, isTimedType } from '../../contract/asset-values.ts';
import { ArgumentError } from '../options.ts';
import type { SandboxStore } from './sandbox-store.ts';

/** Maximum number of seeded assets, since more assets would delay the start. */
const maxSeededAssets = 100_000;

const words = (text: string) => text.split('|');
const subjects = words(
  'Harbour|Lighthouse|Night market|Assembly line|Winter trail|Board meeting|Spring launch|Old town|Rooftop garden|Test flight|River delta|Season opener|Workshop|Coffee roastery|Marathon|Rehearsal|Glacier|Town hall|Ferry crossing|Orchard',
);
const treatments = words(
  'at dawn|interview|B-roll|teaser|full recording|highlights|behind the scenes|drone pass|final cut|rough cut|for social|with captions|master|walkthrough|Q and A|time-lapse',
);
const places = words('Aarhus|Bilbao|Ghent|Gdańsk|Kyoto|Lima|Lyon|Mombasa|Montréal|Oslo|Porto|Tartu|Valparaíso|Zürich');
const descriptions = [
  'Recorded in %, color corrected, cleared for the web.',
  'Raw material from %. Sound on the second track only.',
  'Approved by the team in %.',
  'Shot in % over two days.',
  '',
];
const tagSlugs = words('press|internal|campaign|archive|social|training|event|product|4k|draft');
const folderNames = ['Campaigns', 'Events', 'Training', 'Press', 'Archive footage', 'Podcasts'];

/** Asset types with their share of the sample assets, file extension and content type. */
const seededTypes = {
  video: { share: 0.58, ext: 'mp4', mime: 'video/mp4', hasFrame: true },
  audio: { share: 0.14, ext: 'mp3', mime: 'audio/mpeg', hasFrame: false },
  image: { share: 0.16, ext: 'jpg', mime: 'image/jpeg', hasFrame: true },
  document: { share: 0.07, ext: 'pdf', mime: 'application/pdf', hasFrame: false },
  third_party: { share: 0.03, ext: 'url', mime: null, hasFrame: false },
  generic: { share: 0.02, ext: 'zip', mime: 'application/zip', hasFrame: false },
} satisfies Record<AssetType, object>;
const assetKinds = assetTypes.map((type) => ({ type, ...seededTypes[type] }));

const dayMs = 86_400_000;

/**
 * Fills an empty database with `count` sample assets and some folders. The same count and time give the same
 * assets. Sample assets have no media files, so `is_made_up` excludes them from the storage quota and, except for
 * third-party media, from playback. None is queued or processing, since that status would never change.
 * @throws ArgumentError if the count is invalid or the database contains assets, even in the trash
 */
export function seed(store: SandboxStore, workspace: string, count: number, now: number): void {
  if (!Number.isSafeInteger(count) || count < 1 || count > maxSeededAssets)
    throw new ArgumentError(`--seed must be a number from 1 to ${maxSeededAssets}`);
  if (store.get('SELECT 1 FROM assets LIMIT 1'))
    throw new ArgumentError('--seed needs an empty sandbox, but this one already has assets');
  const random = new SeededRandom(4520);
  store.transaction(() => {
    const folders = folderNames.map((name) => {
      const uid = random.uuid();
      const made = new Date(now - 731 * dayMs).toISOString();
      store.insert('folders', { uid, workspace_uid: workspace, name, created_at: made, updated_at: made });
      return uid;
    });
    withoutIndexes(store, () => {
      for (let at = 0; at < count; at++) {
        const picked = random.pickWeighted(assetKinds);
        // The first ones have one type each, so that a small library has all of them.
        store.insert('assets', createRecord(random, assetKinds[at] ?? picked, { workspace, folders, now }));
      }
    });
  });
}

function createRecord(
  random: SeededRandom,
  kind: (typeof assetKinds)[number],
  { workspace, folders, now }: { workspace: string; folders: string[]; now: number },
) {
  const place = random.pick(places);
  const name = `${random.pick(subjects)} ${random.pick(treatments)}, ${place}`;
  const slug = name
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/[^a-z0-9]+/g, '-');
  const { status: randomStatus } = random.pickWeighted([
    { status: 'ready', share: 0.93 },
    { status: 'failed', share: 0.04 },
    { status: 'uploading', share: 0.03 },
  ]);
  // Third-party media are never uploaded, so they are always ready.
  const status = kind.type === 'third_party' ? 'ready' : randomStatus;
  const isReady = status === 'ready';
  const created = new Date(now - Math.floor(random.next() * 730 * dayMs)).toISOString();
  // The distribution is skewed, so that most media are short and some are long.
  const seconds = Math.round(4 + 5400 * random.next() ** 4);
  const hasFrame = kind.hasFrame && isReady;
  return {
    uid: random.uuid(),
    workspace_uid: workspace,
    name,
    description: random.pick(descriptions).replace('%', place),
    type: kind.type,
    status,
    failure_reason: status === 'failed' ? 'the file is truncated' : null,
    filename: `${slug}.${kind.ext}`,
    content_type: kind.mime,
    size: sizeOf(kind.type, seconds, random),
    duration: isTimedType[kind.type] && isReady ? seconds : null,
    width: hasFrame ? 1920 : null,
    height: hasFrame ? 1080 : null,
    tags: JSON.stringify(tagSlugs.filter(() => random.next() < 0.15)),
    parent_uid: random.next() < 0.4 ? random.pick(folders) : null,
    is_made_up: 1,
    created_at: created,
    updated_at: created,
  };
}

function sizeOf(type: AssetType, seconds: number, random: SeededRandom): number {
  if (type === 'third_party') return 0;
  return isTimedType[type] ? seconds * 350_000 : 50_000 + Math.floor(random.next() * 9_000_000);
}

/** Drops the indexes and triggers of the assets table while `work` runs, which takes a third of the time. */
function withoutIndexes(store: SandboxStore, work: () => void): void {
  const made = store.all<{ type: string; name: string; sql: string }>(
    `SELECT type, name, sql FROM sqlite_master
     WHERE tbl_name = 'assets' AND type IN ('index', 'trigger') AND sql IS NOT NULL`,
  );
  for (const { type, name } of made) store.run(`DROP ${type} ${name}`);
  work();
  for (const { sql } of made) store.run(sql);
  store.run("INSERT INTO assets_text (assets_text) VALUES ('rebuild')");
}

/** Pseudorandom number generator (mulberry32). The same seed gives the same sequence. */
class SeededRandom {
  #state: number;

  constructor(start: number) {
    this.#state = start;
  }

  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.next() * values.length)] as T;
  }

  /** Picks a value at random, weighted by `share`. The shares must add up to 1. */
  pickWeighted<T extends { share: number }>(values: readonly T[]): T {
    let left = this.next();
    for (const value of values) {
      if (left < value.share) return value;
      left -= value.share;
    }
    return values.at(-1) as T;
  }

  uuid(): string {
    const words = [0, 1, 2, 3].map(() => Math.floor(this.next() * 2 ** 32));
    const hex = words.map((word) => word.toString(16).padStart(8, '0')).join('');
    return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-a$4-$5');
  }
}
