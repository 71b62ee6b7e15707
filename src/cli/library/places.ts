import { fieldsIn, textIn } from '../../contract/reading.ts';
import { printable } from '../../contract/sanitize.ts';
import type { Asset } from '../../contract/types.ts';
import { isUid, uidKey } from '../../contract/uid.ts';
import type { Context } from '../context.ts';
import { type KeptNames, keptFolders, keptWorkspaces } from './kept-names.ts';

/** Maximum age of cached names; and the shorter one after which a missing uid is looked up again. */
const [oldMs, newMs] = [600_000, 60_000];

/** Resolves folder and workspace uids to names for display; falls back to the uid. */
export class Places {
  readonly #folders: KeptNames;
  readonly #workspaces: KeptNames;
  readonly #known = new Map<string, string>();
  /** Kinds without names: the key may not read them, or no workspace is selected. */
  readonly #silent = new Set<string>();

  constructor(context: Context) {
    this.#folders = keptFolders(context);
    this.#workspaces = keptWorkspaces(context);
  }

  /** Loads the names of these uids, with at most one request. Unresolvable uids are not looked up again. */
  async learn(kind: 'folders' | 'workspaces', uids: readonly (string | undefined)[]) {
    const unknown = uids.filter((uid) => uid && isUid(uid) && !this.#known.has(uidKey(uid)));
    const kept = kind === 'folders' ? this.#folders : this.#workspaces;
    const isAsked = unknown.length > 0 && !this.#silent.has(kind);
    for (const ageMs of isAsked ? [oldMs, newMs] : []) {
      const told = await kept.within(ageMs).catch(() => undefined);
      if (!told) this.#silent.add(kind);
      for (const [name, uid] of told?.names ?? []) this.#known.set(uidKey(uid), name);
      if (!told || unknown.every((uid) => this.#known.has(uidKey(uid as string)))) break;
    }
    for (const uid of unknown as string[])
      if (!this.#known.has(uidKey(uid))) this.#known.set(uidKey(uid), uid);
  }

  /** Returns the path of a folder or the name of a workspace, sanitized for display. */
  of(uid: string | undefined): string {
    if (!uid) return '';
    return printable(this.#known.get(uidKey(uid)) ?? uid);
  }
}

/** Returns the workspace uid in a record. */
export function workspaceOf({ workspace, workspace_uid }: Asset): string | undefined {
  return textIn(workspace_uid) ?? textIn(workspace) ?? textIn(fieldsIn(workspace).uid);
}
