import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { listWorkspaces } from '../../client/library/workspaces.ts';
import { readTextFileOrEmpty } from '../../client/read-file.ts';
import { writeStateFile } from '../../client/state-files.ts';
import { isUid, normalizeUid } from '../../contract/uid.ts';
import { asObject, asText, parseJsonOrUndefined } from '../../shared/json-values.ts';
import { escapeControls } from '../../shared/sanitize.ts';
import type { Context } from '../context.ts';
import { fetchFolderTree } from './folders.ts';

/** A name and the uid that it stands for; for shell completion, a candidate and its description. */
export type CachedName = [name: string, which: string];

type CachedNames = { at: number; names: CachedName[] };

/** On-disk cache of names, so that tables and shell completion do not need a request each time. */
export type NameCache = ReturnType<typeof nameCache>;

export function nameCache(context: Context, kind: string, fetchNames: () => Promise<CachedName[]>) {
  const findPath = async () => {
    const { profile, baseUrl, workspace } = await context.account();
    const key = JSON.stringify([kind, profile, baseUrl.href, workspace]);
    return join(context.stateDir, 'names', createHash('sha256').update(key).digest('hex').slice(0, 16));
  };
  return {
    async get(maxAgeMs: number): Promise<CachedNames> {
      const path = await findPath();
      const now = context.clock.now();
      const cached = readCache(path);
      if (cached && cached.at <= now && now - cached.at < maxAgeMs) return cached;
      const fresh = { at: now, names: await fetchNames() };
      // If the write fails, the next call fetches the names again.
      await writeStateFile(path, JSON.stringify(fresh)).catch(() => {});
      return fresh;
    },
    /** Invalidates the cache after a change. Ignores errors, since the change itself has succeeded. */
    invalidate: async () => rm(await findPath(), { force: true }).catch(() => {}),
  };
}

function readCache(path: string): CachedNames | undefined {
  const { at, names } = asObject(parseJsonOrUndefined(readTextFileOrEmpty(path)));
  const isName = (each: unknown): each is CachedName =>
    Array.isArray(each) && each.length === 2 && each.every((part) => typeof part === 'string');
  return typeof at === 'number' && Array.isArray(names) && names.every(isName) ? { at, names } : undefined;
}

export const cachedWorkspaces = (context: Context) =>
  nameCache(context, 'workspaces', async () => {
    const workspaces = await listWorkspaces(await context.api());
    return workspaces.map(({ uid, name }) => [asText(name) || uid, uid]);
  });

export const cachedFolders = (context: Context) =>
  nameCache(context, 'folders', async () => {
    const { tree } = await fetchFolderTree(context, { mayPrompt: false, isFresh: true });
    return tree.all.map(({ path, folder }) => [path, folder.uid]);
  });

/** Maximum age of cached names, and the shorter maximum age if a uid is missing from them. */
const [maxNameAgeMs, maxMissAgeMs] = [600_000, 60_000];

/** Resolves folder and workspace uids to names for display. Falls back to the uid. */
export class LocationNames {
  readonly #caches: Record<'folders' | 'workspaces', NameCache>;
  readonly #names = new Map<string, string>();
  /** Kinds whose names cannot be loaded, because the key lacks the scope or no workspace is selected. */
  readonly #unavailable = new Set<string>();

  constructor(context: Context) {
    this.#caches = { folders: cachedFolders(context), workspaces: cachedWorkspaces(context) };
  }

  /** Loads the names for these uids, with at most one fetch. Unresolvable uids are not looked up again. */
  async load(kind: 'folders' | 'workspaces', uids: readonly (string | null | undefined)[]) {
    const asked = uids.flatMap((uid) => (uid && isUid(uid) ? normalizeUid(uid) : []));
    const findUnknown = () => asked.filter((uid) => !this.#names.has(uid));
    for (const ageMs of [maxNameAgeMs, maxMissAgeMs]) {
      if (this.#unavailable.has(kind) || findUnknown().length === 0) break;
      const cached = await this.#caches[kind].get(ageMs).catch(() => undefined);
      if (!cached) this.#unavailable.add(kind);
      for (const [name, uid] of cached?.names ?? []) this.#names.set(normalizeUid(uid), name);
    }
    for (const uid of findUnknown()) this.#names.set(uid, uid);
  }

  /** Returns the path of a name in a folder, such as `/Campaigns/clip.mp4`. An empty uid is the top level. */
  async pathOf(folder: string | undefined, name: string): Promise<string> {
    if (!folder) return `/${name}`;
    await this.load('folders', [folder]);
    return `${this.#names.get(normalizeUid(folder)) ?? folder}/${name}`;
  }

  /** Returns the path of a folder, such as `/Campaigns`, or `/` for the top level. */
  async folderPath(folder: string | null | undefined): Promise<string> {
    return (await this.pathOf(folder ?? undefined, '')).slice(0, -1) || '/';
  }

  /** Returns the loaded name of a uid, escaped for display; otherwise the uid, or '' if there is none. */
  displayName(uid: string | null | undefined): string {
    if (!uid) return '';
    return escapeControls(this.#names.get(normalizeUid(uid)) ?? uid);
  }
}
