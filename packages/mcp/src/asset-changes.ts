import { createHash } from 'node:crypto';
import type { Asset, AssetChange, Client, WaitResult } from 'mediactl';
import { cleanText, describeError, ToolError, tagsOf, textOrNull } from './answers.ts';

/** A change of assets, as an agent asks for it. */
export type ChangeWish = {
  uids: readonly string[];
  name?: string | undefined;
  description?: string | undefined;
  add_tags?: readonly string[] | undefined;
  remove_tags?: readonly string[] | undefined;
  folder?: string | undefined;
};

type PlannedAsset = { uid: string; record: Asset; mark: string; isDone: boolean };
type ChangePlan = {
  change: AssetChange;
  assets: PlannedAsset[];
  /** The application under way, which may outlast a call. */
  work?: Promise<WaitResult[]> | undefined;
  /** Warnings, such as a history that cannot be written. The changes were applied. */
  warnings: Set<string>;
};

const maxPlans = 100;

/** Returns a mark of what people edit, by which it is seen whether an asset is as it was planned. */
const markOf = ({ name, description, tags, parent, parent_uid, folder }: Asset) =>
  createHash('sha256')
    .update(JSON.stringify([name, description, tags, parent, parent_uid, folder]))
    .digest('base64');

/** Changes of assets: planned first, then applied by the id of the plan. */
export class AssetChanges {
  readonly #client: () => Promise<Client>;
  readonly #plans = new Map<string, ChangePlan>();

  constructor(client: () => Promise<Client>) {
    this.#client = client;
  }

  async plan({ uids, add_tags, remove_tags, ...fields }: ChangeWish, signal: AbortSignal) {
    const change: AssetChange = { ...fields, addTags: add_tags, removeTags: remove_tags };
    for (const [name, value] of Object.entries(change))
      if (value === undefined) delete change[name as keyof AssetChange];
    if (Object.keys(change).length === 0)
      throw new ToolError('nothing_to_change', 'the plan changes nothing', 'pass name, description, tags or a folder');
    const client = await this.#client();
    const { folder = '/' } = change;
    if (folder !== '/' && !(await hasFolder(client, folder, signal)))
      throw new ToolError('not_found', `folder ${cleanText(folder)} does not exist`, 'call folders_tree');
    const assets: PlannedAsset[] = [];
    const before: Record<string, unknown>[] = [];
    for (const uid of new Set(uids.map((each) => each.toLowerCase()))) {
      const asset = await client.assets.get(uid, { signal });
      assets.push({ uid, record: asset, mark: markOf(asset), isDone: false });
      before.push({ uid, name: textOrNull(asset.name), tags: tagsOf(asset) });
    }
    const marks = assets.map(({ uid, mark }) => [uid, mark]);
    const id = createHash('sha256')
      .update(JSON.stringify([change, marks]))
      .digest('hex')
      .slice(0, 16);
    this.#plans.set(id, { change, assets, warnings: new Set() });
    const [oldest] = this.#plans.keys();
    if (this.#plans.size > maxPlans && oldest !== undefined) this.#plans.delete(oldest);
    return { plan_id: id, applied: false, changed: [], left: before, failed: [], warnings: [] };
  }

  /**
   * Applies a plan to the assets that are as they were planned, as one change. If that outlasts the call, the same call once
   * more waits for it; assets that could not be changed can be tried again by it, too.
   *
   * @throws ToolError `stale_plan` before the first change if any asset is not as it was planned
   */
  async apply(id: string, signal: AbortSignal) {
    const plan = this.#plans.get(id);
    if (!plan) throw new ToolError('no_such_plan', `there is no plan ${cleanText(id)}`, 'plan the change again');
    plan.work ??= this.#write(id, plan).finally(() => {
      plan.work = undefined;
    });
    const results = (await orUndefined(plan.work, signal)) ?? [];
    const changed = results.flatMap(({ uid, asset }) => (asset ? [{ uid, name: textOrNull(asset.name) }] : []));
    const failed = results.flatMap(({ uid, error }) => (error ? [{ uid, error: describeError(error) }] : []));
    const left = plan.assets
      .filter(({ isDone }) => !isDone)
      .map(({ uid, record }) => ({ uid, name: textOrNull(record.name), tags: null }));
    return { plan_id: id, applied: left.length === 0, changed, left, failed, warnings: [...plan.warnings] };
  }

  async #write(id: string, { change, assets, warnings }: ChangePlan): Promise<WaitResult[]> {
    const client = await this.#client();
    const left = assets.filter(({ isDone }) => !isDone);
    if (left.length === 0) throw new ToolError('stale_plan', 'this plan was applied already', 'plan the change again');
    const stale: string[] = [];
    for (const { uid, mark } of left) if (markOf(await client.assets.get(uid)) !== mark) stale.push(uid);
    if (stale.length > 0) {
      this.#plans.delete(id);
      const problem = `${stale.length} assets were changed since; nothing was changed`;
      throw new ToolError('stale_plan', problem, 'plan the change again', { uids: stale });
    }
    const results = await client.assets.updateAll(
      left.map(({ uid }) => uid),
      change,
      {
        planned: left.map(({ record }) => record),
        onNotice: (notice) => {
          if (notice.kind === 'warning' && warnings.size < 5) warnings.add(cleanText(notice.message));
        },
      },
    );
    const done = new Set(results.flatMap(({ uid, error }) => (error ? [] : [uid])));
    for (const asset of left) asset.isDone = done.has(asset.uid);
    return results;
  }
}

/** Returns what a promise resolves to; undefined if the signal aborts before, which ends the wait only. */
function orUndefined<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const aborted = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  work.catch(() => {}); // the next call reports it
  return Promise.race([work, aborted]);
}

async function hasFolder(client: Client, folder: string, signal: AbortSignal): Promise<boolean> {
  const folders = await client.folders.list({ signal });
  const path = folder.replace(/\/+$/, '');
  return folders.some((each) => each.path === path || `/${each.path}` === path || each.uid === folder.toLowerCase());
}
