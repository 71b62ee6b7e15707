import { asObject, asText } from '../../contract/json-values.ts';
import { escapeControls } from '../../contract/sanitize.ts';
import type { Asset } from '../../contract/types.ts';
import { isUid, normalizeUid } from '../../contract/uid.ts';
import type { Context } from '../context.ts';
import { cachedFolders, cachedWorkspaces, type NameCache } from './name-cache.ts';

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

  /** Returns the loaded name of a uid, escaped for display; otherwise the uid, or '' if there is none. */
  displayName(uid: string | null | undefined): string {
    if (!uid) return '';
    return escapeControls(this.#names.get(normalizeUid(uid)) ?? uid);
  }
}

/** Returns the uid of an asset's workspace; undefined if the asset names none. */
export function workspaceOf({ workspace, workspace_uid }: Asset): string | undefined {
  return asText(workspace_uid) ?? asText(workspace) ?? asText(asObject(workspace).uid);
}
