import { parentOf, workspaceOf } from '../../contract/asset.ts';
import type { AssetRecord, WorkspaceRecord } from '../../contract/types.ts';
import { isSameUid, isUid, normalizeUid } from '../../contract/uid.ts';
import type { Api } from '../api/api.ts';
import type { CodedError } from '../errors.ts';
import { runEach } from '../run-each.ts';
import { findPrimary, listWorkspaces } from './workspaces.ts';

/**
 * The workspace that an interface (command line, browse page or package) is configured to use, and its questions and
 * errors if the configuration is not enough.
 */
export type WorkspaceChoice = {
  /** Uid or name of the workspace; undefined for the primary one. */
  configured: string | undefined;
  /** Uid of the primary workspace, as the user has set it. */
  primary?: string | undefined;
  /** True if the configured workspace was the primary one when it was configured. */
  wasPrimary?: boolean;
  /** Selects the workspace of a name. @throws CodedError if there is not exactly one */
  selectByName(all: readonly WorkspaceRecord[], name: string): Promise<WorkspaceRecord>;
  /** Selects a workspace if none is configured and none is primary. @throws CodedError if it may not ask */
  selectAny(all: readonly WorkspaceRecord[], mayAsk: boolean): Promise<WorkspaceRecord>;
  /** Returns the error for a request that reaches the primary workspace only. */
  notPrimary(workspace: { uid: string; name?: unknown }, primary: WorkspaceRecord | undefined): CodedError;
};

/** Assets by the answer to "is it in the workspace in use?". Records that were fetched replace those of a list. */
export type Membership = { own: AssetRecord[]; unknown: AssetRecord[]; others: AssetRecord[] };

/** The workspace in use. Every interface resolves it here, and every selection of assets is limited to it. */
export class WorkspaceInUse {
  readonly #api: () => Api;
  readonly #choice: () => Promise<WorkspaceChoice>;
  #all: Promise<readonly WorkspaceRecord[]> | undefined;
  /** Uid of the workspace of the configured name, or that the user has chosen. */
  #chosen: string | undefined;
  #trustsMemory = true;

  constructor(api: () => Api, choice: () => Promise<WorkspaceChoice>) {
    this.#api = api;
    this.#choice = choice;
  }

  /** Returns the uid or name that is configured; undefined for the primary workspace. */
  async configured(): Promise<string | undefined> {
    return (await this.#choice()).configured;
  }

  /**
   * Returns its uid. A configured uid needs no request.
   *
   * @param mayAsk false to throw instead of asking, for lookups that are only for display
   */
  async uid(mayAsk = true): Promise<string> {
    const { configured, primary, selectByName, selectAny } = await this.#choice();
    const known = configured ?? primary;
    if (known !== undefined && isUid(known)) return known;
    if (this.#chosen !== undefined) return this.#chosen;
    const all = await this.visible();
    const chosen =
      known === undefined ? (findPrimary(all) ?? (await selectAny(all, mayAsk))) : await selectByName(all, known);
    this.#chosen = chosen.uid;
    return chosen.uid;
  }

  /**
   * Returns its uid, for requests that reach the primary workspace only (assumption A26).
   *
   * @returns undefined if none is configured, so that the primary one is used
   * @throws CodedError (see `notPrimary`) if it is not known to be the primary one
   */
  async primary(): Promise<string | undefined> {
    const { configured, primary: stated, wasPrimary, selectByName, notPrimary } = await this.#choice();
    if (configured === undefined) return undefined;
    if (stated !== undefined && isSameUid(stated, configured)) return configured;
    if (stated === undefined && wasPrimary && this.#trustsMemory) return configured;
    const all = await this.visible();
    const workspace = isUid(configured)
      ? (all.find(({ uid }) => isSameUid(uid, configured)) ?? { uid: configured, name: configured })
      : await selectByName(all, configured);
    const primary =
      stated === undefined ? findPrimary(all) : (all.find(({ uid }) => isSameUid(uid, stated)) ?? { uid: stated });
    // A service that does not show the primary workspace does not refute what was true.
    if (primary ? isSameUid(primary.uid, workspace.uid) : wasPrimary) return workspace.uid;
    throw notPrimary(workspace, primary);
  }

  /** Asks the service again which workspace is primary, since a change depends on it. */
  beforeChange(): void {
    this.#trustsMemory = false;
  }

  /** Returns the workspaces that the API key can see, fetched once. */
  visible(): Promise<readonly WorkspaceRecord[]> {
    this.#all ??= listWorkspaces(this.#api());
    this.#all.catch(() => {
      this.#all = undefined; // the next call asks again
    });
    return this.#all;
  }

  /** Leaves out assets whose record shows another workspace, without a request for assets. */
  async keepShown(assets: readonly AssetRecord[]): Promise<AssetRecord[]> {
    if ((await this.configured()) === undefined || assets.every((asset) => workspaceOf(asset) === undefined))
      return [...assets];
    const uid = await this.uid(false);
    return assets.filter((asset) => isSameUid(workspaceOf(asset) ?? uid, uid));
  }

  /**
   * Groups assets that are to be changed by whether they are in the workspace in use. An asset whose record shows neither
   * its workspace nor a folder of it is fetched, unless the API key can see one workspace only.
   */
  async classify(
    assets: readonly AssetRecord[],
    { signal, ownFolders, onFetch }: ClassifyOptions,
  ): Promise<Membership> {
    const inUse = await this.#uidIfAny();
    const isHidden = (asset: AssetRecord) => workspaceOf(asset) === undefined;
    if (inUse === undefined || (assets.some(isHidden) && (await this.visible()).length === 1))
      return { own: [...assets], unknown: [], others: [] };
    const folders = assets.some(isHidden) ? await ownFolders() : new Set();
    const isInFolder = (asset: AssetRecord) => folders.has(normalizeUid(parentOf(asset) ?? ''));
    const toFetch = assets.filter((asset) => isHidden(asset) && !isInFolder(asset));
    if (toFetch.length > 0) onFetch?.(toFetch.length);
    const fetched = new Map<AssetRecord, AssetRecord>();
    const gone = new Set<AssetRecord>();
    const { assets: api } = this.#api();
    for (const { item, value, error } of await runEach(toFetch, ({ uid }) => api.get(uid), { signal })) {
      if (error && error.kind !== 'notFound') throw error;
      if (value) fetched.set(item, value);
      else gone.add(item); // the change itself finds out that it was deleted meanwhile
    }
    const groups: Membership = { own: [], unknown: [], others: [] };
    for (const listed of assets) {
      const asset = fetched.get(listed) ?? listed;
      const workspace = workspaceOf(asset);
      const isOwn = workspace === undefined ? isInFolder(asset) || gone.has(listed) : isSameUid(workspace, inUse);
      groups[isOwn ? 'own' : workspace === undefined ? 'unknown' : 'others'].push(asset);
    }
    return groups;
  }

  /** Returns its uid without asking; undefined if no workspace is configured and none is known to be primary. */
  async #uidIfAny(): Promise<string | undefined> {
    const { configured, primary } = await this.#choice();
    if (configured !== undefined || primary !== undefined) return this.uid(false);
    return findPrimary(await this.visible())?.uid;
  }
}

/** Limits a list to the workspace in use, without a request: a list that does not show workspaces has all of them. */
export class ListScope {
  readonly #inUse: WorkspaceInUse;
  /** True once the list had an asset whose workspace it does not show. */
  isAll = false;
  /** Number of assets of other workspaces that were left out. */
  leftOut = 0;

  constructor(inUse: WorkspaceInUse) {
    this.#inUse = inUse;
  }

  async *keep(pages: AsyncIterable<AssetRecord[]> | Iterable<AssetRecord[]>): AsyncGenerator<AssetRecord[]> {
    const isChosen = (await this.#inUse.configured()) !== undefined;
    for await (const page of pages) {
      const own = await this.#inUse.keepShown(page);
      this.leftOut += page.length - own.length;
      this.isAll ||= isChosen && own.some((asset) => workspaceOf(asset) === undefined);
      yield own;
    }
  }
}

type ClassifyOptions = {
  signal: AbortSignal;
  /** Returns the uids (`normalizeUid`) of folders of the workspace in use, as far as they are worth a request. */
  ownFolders(): Promise<ReadonlySet<unknown>>;
  /** Called with the number of assets that are about to be fetched, at one request each. */
  onFetch?: ((count: number) => void) | undefined;
};
