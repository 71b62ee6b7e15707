import { randomBytes } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { CreatedSession } from '../../../../client/api/upload-sessions.ts';
import type { FolderNode } from '../../../../client/library/folder-tree.ts';
import { fetchFolderTree } from '../../../../client/library/folder-tree.ts';
import { writeStateFile } from '../../../../client/state-files.ts';
import { paths } from '../../../../contract/paths.ts';
import type { AssetRecord } from '../../../../contract/types.ts';
import { isSameUid } from '../../../../contract/uid.ts';
import { asArray, asObject, asText, parseJsonOrUndefined } from '../../../../shared/json-values.ts';
import { recordsOf, type ServiceProbe, Untried } from './probe.ts';

/** Beginning of the names of all that a run creates. A random part follows, so that no other object has such a name. */
const namePrefix = 'mediactl-check-';

/** Assets and folders that a run creates, saved before the request or as soon as the uid is known. */
type TrialJournal = {
  origin: string;
  workspace: string;
  /** Name of its folder, with which all its names begin. */
  name: string;
  folders: string[];
  assets: string[];
};

const fileOf = (stateDir: string, { name }: Pick<TrialJournal, 'name'>) => join(stateDir, `doctor-${name}.json`);

/** A folder of its own with one file, which a run creates, changes and deletes. */
export class WriteTrial {
  readonly probe: ServiceProbe;
  /** Folder that the user named; undefined for the top level. */
  readonly place: FolderNode | undefined;
  readonly journal: TrialJournal;
  readonly #stateDir: string;
  /** Uid of its folder, and of the one in it that is the target of moves. */
  own: string | undefined;
  target: string | undefined;
  session: CreatedSession | undefined;
  asset: AssetRecord | undefined;
  /** True once its asset is known to be gone. */
  isEmpty = false;
  /** True once nothing is left that it has created. */
  isClean = false;

  constructor(probe: ServiceProbe, stateDir: string, place: FolderNode | undefined, journal?: TrialJournal) {
    this.probe = probe;
    this.place = place;
    this.#stateDir = stateDir;
    const { origin } = probe.api.transport.baseUrl;
    const name = namePrefix + randomBytes(6).toString('hex');
    this.journal = journal ?? { origin, workspace: probe.workspace, name, folders: [], assets: [] };
  }

  /** Returns the trials that killed runs have left in this workspace. */
  static async leftIn(probe: ServiceProbe, stateDir: string): Promise<WriteTrial[]> {
    const left: WriteTrial[] = [];
    for (const file of await readdir(stateDir).catch(() => [])) {
      if (!file.startsWith(`doctor-${namePrefix}`) || !file.endsWith('.json')) continue;
      const { origin, workspace, name, folders, assets } = asObject(
        parseJsonOrUndefined(await readFile(join(stateDir, file), 'utf8')),
      );
      const isOwn = origin === probe.api.transport.baseUrl.origin && workspace === probe.workspace;
      // Without its random name, nothing is known to be its own.
      if (!isOwn || !new RegExp(`^${namePrefix}[0-9a-f]{12}$`).test(asText(name) ?? '')) continue;
      const uids = (list: unknown) => asArray(list).flatMap((uid) => asText(uid) ?? []);
      const journal = { origin, workspace, name: String(name), folders: uids(folders), assets: uids(assets) };
      left.push(new WriteTrial(probe, stateDir, undefined, journal as TrialJournal));
    }
    return left;
  }

  get name(): string {
    return this.journal.name;
  }

  /** Writes what the next run has to clean if this one is killed. */
  save(): Promise<void> {
    return writeStateFile(fileOf(this.#stateDir, this.journal), JSON.stringify(this.journal));
  }

  async created(kind: 'folders' | 'assets', uid: string): Promise<void> {
    this.journal[kind].push(uid);
    await this.save();
  }

  /** Returns something that an earlier step has created. @throws Untried if it has not */
  need<Field extends 'own' | 'target' | 'session' | 'asset'>(field: Field): NonNullable<this[Field]> {
    const value = this[field];
    if (value === undefined || value === null) throw new Untried('an earlier step failed, see the others');
    return value;
  }

  /** Returns the folders as they are now. */
  tree() {
    return fetchFolderTree(this.probe.api, this.probe.workspace);
  }

  /** Lists the assets of a folder. @throws Untried if the service refuses it */
  async assetsIn(parent: string): Promise<AssetRecord[]> {
    return (await this.probe.listBy({ parent, limit: 100 })).records;
  }

  /**
   * Deletes all that this run has created, and nothing else: what has its uid, or its random name.
   *
   * @returns true if nothing is left
   * @throws CodedError if the service cannot be asked
   */
  async clean(): Promise<boolean> {
    const { api, workspace } = this.probe;
    const { all } = await this.tree();
    const isOwn = (node: FolderNode | undefined): boolean =>
      node !== undefined &&
      (node.name === this.name ||
        this.journal.folders.some((uid) => isSameUid(uid, node.folder.uid)) ||
        isOwn(node.parent));
    const folders = all.filter(isOwn).reverse();
    const assets = new Set(this.journal.assets);
    const queries = [...folders.map(({ folder }) => ({ parent: folder.uid })), { search: this.name }];
    for (const query of queries) {
      const answer = await this.probe.get(paths.collection('assets'), { ...query, limit: 100 });
      const found = answer.isOk ? recordsOf(answer) : [];
      for (const { uid, name } of found) if (asText(name)?.startsWith(this.name)) assets.add(uid);
    }
    let isClean = true;
    const requests = [
      ...[...assets].map((uid) => api.assets.deleteRequest(uid)),
      ...folders.map(({ folder }) => api.folders.deleteRequest(workspace, folder.uid)),
    ];
    for (const request of requests) {
      const { isOk, status } = await this.probe.send(request);
      isClean &&= isOk || status === 404 || status === 410;
    }
    this.isClean = isClean;
    if (isClean) await rm(fileOf(this.#stateDir, this.journal), { force: true });
    return isClean;
  }
}
