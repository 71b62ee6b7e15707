import { Cli } from './cli.ts';
import { acceleratedClock } from './clock.ts';
import { numberedUid, testKey, workspaceUid } from './fake-library.ts';
import type { Random } from './random.ts';
import { type StubResponse, startRecordingServer } from './recording-server.ts';

/** A way to answer that the specification leaves open, or forbids. */
export type Oddities = {
  /** Lists of a folder have what is in the folders below, too. */
  isDeep: boolean;
  showsParent: boolean;
  /** Positions of the list of all assets that are left out of each page, after it was cut. */
  hole: [from: number, to: number] | undefined;
  total: 'right' | 'too high' | 'none';
  pageSize: number;
  /** What DELETE does to an asset, and PATCH to its folder. */
  write: 'done' | 'nothing' | 'lost' | 'late';
  deleteStatus: 200 | 202 | 204;
  /** Status of a GET of a deleted asset. */
  getDeleted: 200 | 404 | 410;
  /** Time after which a late service shows a write, in ms. */
  lateMs: number;
};

export const randomOddities = (random: Random): Oddities => ({
  isDeep: random.chance(0.4),
  showsParent: random.chance(0.4),
  hole: random.chance(0.3) ? [random.below(80), 80 + random.below(60)] : undefined,
  total: random.pick(['right', 'right', 'right', 'too high', 'none']),
  pageSize: random.pick([100, 100, 20, 7]),
  write: random.pick(['done', 'done', 'nothing', 'lost', 'late']),
  deleteStatus: random.pick([200, 202, 204]),
  getDeleted: random.pick([200, 404, 410]),
  lateMs: random.below(3_000),
});

export type OddAsset = { uid: string; name: string; folder: string | null; isDeleted: boolean };

/** Folders: /F, /F/G and /H. */
export const [folderF, folderG, folderH] = [numberedUid(9001), numberedUid(9002), numberedUid(9003)];

/** Starts a service with 140 assets, of which every seventh is at the top level, and most are in /F and /F/G. */
export async function startOddService(odd: Oddities) {
  const clock = acceleratedClock({ speed: 1_000 });
  const places = [null, folderF, folderG, folderF, folderG, folderF, folderH];
  const assets: OddAsset[] = Array.from({ length: 140 }, (_, at) => {
    return { uid: numberedUid(at + 1), name: `a${at}.mp4`, folder: places[at % 7] as string | null, isDeleted: false };
  });
  /** Writes that the lists do not show yet. */
  const late: { at: number; apply: () => void }[] = [];
  const write = (apply: () => void): StubResponse | undefined => {
    if (odd.write === 'nothing') return undefined;
    if (odd.write === 'late') late.push({ at: clock.now() + odd.lateMs, apply });
    else apply();
    return undefined;
  };
  const recordOf = ({ uid, name, folder }: OddAsset) => ({
    ...{ uid, name, type: 'video', status: 'ready', created_at: '2026-01-01T00:00:00Z', size: 5 },
    ...(odd.showsParent && { parent: folder }),
  });
  const isIn = (asset: OddAsset, parent: string): boolean => {
    const folder = asset.folder ?? 'root';
    if (folder === parent) return true;
    return odd.isDeep && (parent === 'root' || (parent === folderF && folder === folderG));
  };
  const list = ({ parent, search, offset = '0', limit = '20' }: Record<string, string>): StubResponse => {
    const all = assets.filter((asset) => !asset.isDeleted);
    const found = all
      .map((asset) => ({ asset, position: assets.indexOf(asset) }))
      .filter(({ asset }) => !parent || isIn(asset, parent))
      .filter(({ asset }) => !search || asset.name.includes(search));
    const page = found.slice(Number(offset), Number(offset) + Math.min(Number(limit), odd.pageSize));
    const [from, to] = odd.hole ?? [0, 0];
    const items = page.filter(({ position }) => position < from || position >= to).map(({ asset }) => recordOf(asset));
    const count = odd.total === 'too high' ? found.length + 5 : found.length;
    return { body: odd.total === 'none' ? { items } : { items, count } };
  };
  let isLost = false;
  const { url, requests } = await startRecordingServer(({ method, path, query, body }) => {
    for (const each of late.filter(({ at }) => at <= clock.now())) {
      each.apply();
      late.splice(late.indexOf(each), 1);
    }
    if (path.includes('/folders/')) {
      const below = { uid: folderG, name: 'G', children: [] };
      return {
        body: [
          { uid: folderF, name: 'F', children: [below] },
          { uid: folderH, name: 'H', children: [] },
        ],
      };
    }
    if (path.includes('/workspaces/')) return { body: { items: [{ uid: workspaceUid, name: 'Main' }], count: 1 } };
    const asset = assets.find(({ uid }) => path.includes(uid));
    if (!asset) return list(query);
    if (method === 'GET')
      return asset.isDeleted && odd.getDeleted !== 200
        ? { status: odd.getDeleted, body: { error: {} } }
        : { body: recordOf(asset) };
    if (method === 'DELETE' && asset.isDeleted) return { status: 404, body: { error: {} } };
    write(() => {
      if (method === 'DELETE') asset.isDeleted = true;
      else asset.folder = (body as { parent: string | null }).parent;
    });
    isLost = odd.write === 'lost' && !isLost;
    if (isLost) return { status: 503, headers: { 'retry-after': '1' }, body: { error: {} } };
    if (method === 'DELETE') return { status: odd.deleteStatus, ...(odd.deleteStatus !== 204 && { body: {} }) };
    return { body: recordOf(asset) };
  });
  const cli = new Cli({ MEDIACTL_API_KEY: testKey, MEDIACTL_BASE_URL: url, MEDIACTL_WORKSPACE: workspaceUid });
  /** Waits until all writes are shown. */
  const settle = () => {
    for (const each of late.splice(0)) each.apply();
  };
  const isHidden = (asset: OddAsset) => {
    const [from, to] = odd.hole ?? [0, 0];
    return assets.indexOf(asset) >= from && assets.indexOf(asset) < to;
  };
  return { cli, clock, assets, requests, settle, isHidden };
}
