import { parentOf } from '../../contract/asset.ts';
import { shownWorkspace } from '../../contract/asset-workspace.ts';
import type { AssetRecord, WorkspaceRecord } from '../../contract/types.ts';
import { isSameUid, isUid, normalizeUid } from '../../contract/uid.ts';
import { asText, normalizeName } from '../../shared/json-values.ts';
import type { Api } from '../api/api.ts';
import { CodedError, usageError } from '../errors.ts';
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
  primary: string | undefined;
  /** True if the configured workspace was the primary one when it was configured. */
  wasPrimary: boolean;
  /** Selects the workspace of a name. @throws CodedError if there is not exactly one */
  selectByName(all: readonly WorkspaceRecord[], name: string): Promise<WorkspaceRecord>;
  /** Selects a workspace if none is configured and none is primary. @throws CodedError if it may not ask */
  selectAny(all: readonly WorkspaceRecord[], mayAsk: boolean): Promise<WorkspaceRecord>;
  /** Returns the workspaces that the API key could see within the last day, as an earlier command saw them. */
  recall?(): Promise<readonly WorkspaceRecord[] | undefined>;
  /** Keeps the workspaces that the API key can see, for `recall`. */
  remember?(all: readonly WorkspaceRecord[]): Promise<void>;
  /** Returns the error for a request that reaches the primary workspace only. */
  notPrimary(workspace: { uid: string; name?: unknown }, primary: WorkspaceRecord | undefined): CodedError;
};

/** Answer to "is this asset in the workspace in use?". */
export type Belonging = 'yes' | 'no' | 'unknown';

/**
 * How an asset was found: in a list of all workspaces, in a list of a folder that is in the workspace in use, or as the
 * row of a table that was exported from the workspace in use, or from another one.
 */
export type FoundBy = 'list' | 'folder' | 'row' | 'otherRow';

/**
 * What may be asked for an answer: `free` nothing, so that what was seen within a day counts; `read` what is not known;
 * `sure` everything that a change depends on.
 */
export type Certainty = 'free' | 'read' | 'sure';

/** What is known of workspaces: the uid of the one in use, and those that the API key can see. */
export type KnownWorkspaces = { inUse: string | undefined; visible: readonly WorkspaceRecord[] | undefined };

/** Decides whether an asset is in the workspace in use, from its record, how it was found, and what is known. */
function belongingOf(
  { uids, names }: ReturnType<typeof shownWorkspace>,
  foundBy: FoundBy,
  { inUse, visible }: KnownWorkspaces,
): Belonging {
  const named = names.flatMap((text) => {
    const [found, another] = visible?.filter(({ name }) => isSameName(asText(name), text)) ?? [];
    return found && !another ? [found.uid] : []; // text that is no name, or that of several, says nothing
  });
  const shown = [...uids, ...named];
  if (inUse !== undefined && shown.length > 0) return shown.some((uid) => isSameUid(uid, inUse)) ? 'yes' : 'no';
  if (foundBy === 'otherRow') return 'no';
  if (foundBy !== 'list') return 'yes';
  // One workspace, or none that is listed, is the one in use.
  return visible !== undefined && visible.length <= 1 ? 'yes' : 'unknown';
}

const isSameName = (one: string | undefined, other: string) =>
  one !== undefined && normalizeName(one) === normalizeName(other);

/** Assets by the answer. Records that were fetched replace those of a list. */
export type Membership = { own: AssetRecord[]; unknown: AssetRecord[]; others: AssetRecord[] };

/** The workspace in use. Every interface resolves it here, and every selection of assets is limited to it. */
export class WorkspaceInUse {
  readonly #api: () => Api;
  readonly #choice: () => Promise<WorkspaceChoice>;
  #all: Promise<readonly WorkspaceRecord[]> | undefined;
  #recalled: Promise<readonly WorkspaceRecord[] | undefined> | undefined;
  /** Uid of the workspace of the configured name, or that the user has chosen. */
  #chosen: string | undefined;
  /** True if the user has chosen it, since none is known to be primary. */
  #wasAsked = false;
  #trustsMemory = true;
  /** Uids (`normalizeUid`) of assets that were found to be in it, which records need not show again. */
  readonly #own = new Set<string>();

  constructor(api: () => Api, choice: () => Promise<WorkspaceChoice>) {
    this.#api = api;
    this.#choice = choice;
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
    const all = await this.visible().catch((thrown: unknown) => {
      if (known !== undefined && isRefused(thrown)) throw cannotResolve(known);
      throw thrown;
    });
    const found = known === undefined ? findPrimary(all) : await selectByName(all, known);
    const chosen = found ?? (await selectAny(all, mayAsk));
    this.#wasAsked = found === undefined;
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
    const { configured, primary: stated, wasPrimary, notPrimary } = await this.#choice();
    if (configured === undefined) return undefined;
    if (stated !== undefined && isSameUid(stated, configured)) return configured;
    if (stated === undefined && wasPrimary && this.#trustsMemory) return configured;
    const all = (await this.visibleIfAllowed()) ?? [];
    const uid = await this.uid();
    const workspace = all.find((each) => isSameUid(each.uid, uid)) ?? { uid, name: configured };
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
    this.#all ??= listWorkspaces(this.#api()).then(async (all) => {
      await (await this.#choice()).remember?.(all);
      return all;
    });
    this.#all.catch(() => {
      this.#all = undefined; // the next call asks again
    });
    return this.#all;
  }

  /** Returns the workspaces that the API key can see, or none if it may not list them. */
  async visibleIfAllowed(): Promise<readonly WorkspaceRecord[] | undefined> {
    return this.visible().catch((thrown: unknown) => {
      if (!isRefused(thrown)) throw thrown;
      return undefined;
    });
  }

  /** Returns its uid without asking; undefined if none is configured and none is known to be primary. */
  async uidIfKnown(certainty: Certainty = 'sure'): Promise<string | undefined> {
    const { configured, primary } = await this.#choice();
    const known = configured ?? primary;
    if (known !== undefined && isUid(known)) return known;
    if (this.#chosen !== undefined) return this.#chosen;
    const recalled = certainty === 'sure' ? undefined : await this.#recall();
    const find = (all: readonly WorkspaceRecord[]) =>
      known === undefined ? findPrimary(all) : all.filter(({ name }) => asText(name) === known);
    const found = recalled && find(recalled);
    const [only, ...others] = found ? [found].flat() : [];
    if (only && others.length === 0) return only.uid;
    if (certainty === 'free') return undefined;
    if (known !== undefined) return this.uid(false);
    const all = recalled ?? (await this.visibleIfAllowed());
    return all && findPrimary(all)?.uid;
  }

  /** Answers for assets of a list, without a request. */
  async classifyListed(assets: readonly AssetRecord[], foundBy: FoundBy = 'list'): Promise<Membership> {
    return this.#group(assets, foundBy, await this.#known('free'));
  }

  /**
   * Groups assets by whether they are in the workspace in use. An asset whose record shows neither its workspace nor a
   * folder of it is fetched, unless it was found in one, or the API key can see one workspace only.
   */
  async classify(assets: readonly AssetRecord[], options: ClassifyOptions): Promise<Membership> {
    const groups = await this.#classify(assets, options);
    for (const { uid } of groups.own) this.#own.add(normalizeUid(uid));
    return groups;
  }

  async #classify(assets: readonly AssetRecord[], options: ClassifyOptions): Promise<Membership> {
    const { signal, ownFolders, onFetch, foundBy = 'list', certainty } = options;
    if (assets.length === 0) return { own: [], unknown: [], others: [] };
    const inUse = await this.uidIfKnown(certainty);
    const how = foundBy === 'folder' && this.#wasAsked ? 'list' : foundBy;
    const first = this.#group(assets, how, { inUse, visible: undefined });
    if (first.unknown.length === 0) return first;
    const known = { inUse, visible: (await this.#known(certainty)).visible };
    const second = this.#group(assets, how, known);
    if (second.unknown.length === 0 || inUse === undefined || options.isFromList) return second;
    const folders = await ownFolders();
    const isInFolder = (asset: AssetRecord) => folders.has(normalizeUid(parentOf(asset) ?? ''));
    const toFetch = second.unknown.filter((asset) => !isInFolder(asset));
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
      const answer = this.#belonging(asset, how, known);
      const isOwn = answer === 'yes' || (answer === 'unknown' && (isInFolder(asset) || gone.has(listed)));
      groups[isOwn ? 'own' : answer === 'no' ? 'others' : 'unknown'].push(asset);
    }
    return groups;
  }

  /** Returns the uid of an asset's workspace, as far as it is known without a request. */
  async workspaceOf(asset: AssetRecord, foundBy: FoundBy = 'list'): Promise<string | undefined> {
    const known = await this.#known('free');
    if (this.#belonging(asset, foundBy, known) === 'yes') return known.inUse;
    const [only, another] = shownWorkspace(asset, this.#api().names).uids;
    return another === undefined ? only : undefined;
  }

  /** Reports whether the API key is known, without a request, to see one workspace only. */
  async isOnlyOne(): Promise<boolean> {
    const { visible } = await this.#known('free');
    return visible !== undefined && visible.length <= 1;
  }

  #belonging(asset: AssetRecord, foundBy: FoundBy, known: KnownWorkspaces): Belonging {
    const isFound = foundBy === 'list' && this.#own.has(normalizeUid(asset.uid));
    return belongingOf(shownWorkspace(asset, this.#api().names), isFound ? 'folder' : foundBy, known);
  }

  #group(assets: readonly AssetRecord[], foundBy: FoundBy, known: KnownWorkspaces): Membership {
    const groups: Membership = { own: [], unknown: [], others: [] };
    const groupOf = { yes: groups.own, no: groups.others, unknown: groups.unknown };
    for (const asset of assets) groupOf[this.#belonging(asset, foundBy, known)].push(asset);
    return groups;
  }

  async #known(certainty: Certainty): Promise<KnownWorkspaces> {
    const recalled = certainty === 'sure' ? undefined : await this.#recall();
    const visible = recalled ?? (certainty === 'free' ? undefined : await this.visibleIfAllowed());
    return { inUse: await this.uidIfKnown(certainty), visible };
  }

  /** Returns the workspaces that were seen in this process, or within a day. */
  async #recall(): Promise<readonly WorkspaceRecord[] | undefined> {
    if (this.#all) return this.visibleIfAllowed();
    this.#recalled ??= this.#choice().then((choice) => choice.recall?.());
    return this.#recalled;
  }
}

const isRefused = (thrown: unknown) =>
  thrown instanceof CodedError && (thrown.kind === 'forbidden' || thrown.kind === 'notFound');

const cannotResolve = (name: string) =>
  usageError(
    `cannot find out which workspace is named ${name}`,
    'give its uid in place of its name',
    'the service does not let this API key list workspaces',
  );

/** Limits a list to the workspace in use, without a request: a list that does not show workspaces has all of them. */
export class ListScope {
  readonly #inUse: WorkspaceInUse;
  readonly #foundBy: FoundBy;
  /** True once the list had an asset whose workspace is not known. */
  isAll = false;
  /** Number of assets of other workspaces that were left out. */
  leftOut = 0;

  /** @param foundBy `folder` for a list of folders of the workspace in use */
  constructor(inUse: WorkspaceInUse, foundBy: FoundBy = 'list') {
    this.#inUse = inUse;
    this.#foundBy = foundBy;
  }

  async *keep(pages: AsyncIterable<AssetRecord[]> | Iterable<AssetRecord[]>): AsyncGenerator<AssetRecord[]> {
    for await (const page of pages) yield await this.keepOf(page);
  }

  /** Returns the uid of the workspace of a listed asset; undefined if it is not known. */
  workspaceOf(asset: AssetRecord, foundBy = this.#foundBy): Promise<string | undefined> {
    return this.#inUse.workspaceOf(asset, foundBy);
  }

  /** Leaves out the assets of a page that are known to be in another workspace. */
  async keepOf(page: readonly AssetRecord[]): Promise<AssetRecord[]> {
    const { others, unknown } = await this.#inUse.classifyListed(page, this.#foundBy);
    this.leftOut += others.length;
    this.isAll ||= unknown.length > 0;
    return page.filter((asset) => !others.includes(asset));
  }
}

type ClassifyOptions = {
  signal: AbortSignal;
  certainty: Certainty;
  /** Default: a list of all workspaces. */
  foundBy?: FoundBy | undefined;
  /** True to fetch no asset by itself. */
  isFromList?: boolean | undefined;
  /** Returns the uids (`normalizeUid`) of folders of the workspace in use, as far as they are worth a request. */
  ownFolders(): Promise<ReadonlySet<unknown>>;
  /** Called with the number of assets that are about to be fetched, at one request each. */
  onFetch?: ((count: number) => void) | undefined;
};
