import { fieldsIn, textIn } from '../../contract/reading.ts';
import { printable } from '../../contract/sanitize.ts';
import type { Asset } from '../../contract/types.ts';
import { isUid, uidKey } from '../../contract/uid.ts';
import type { Context } from '../context.ts';
import { type KeptNames, keptFolders, keptWorkspaces } from './kept-names.ts';

/** A name that is so old may have changed; what is not among names so new is not there. */
const [oldMs, newMs] = [600_000, 60_000];

/** What people call the folders and workspaces that records name by uid. A name is dress: where none can be had, the uid stands. */
export class Places {
  readonly #folders: KeptNames;
  readonly #workspaces: KeptNames;
  readonly #known = new Map<string, string>();
  /** Those that nobody tells: the key may not read them, or no workspace is chosen. */
  readonly #silent = new Set<string>();

  constructor(context: Context) {
    this.#folders = keptFolders(context);
    this.#workspaces = keptWorkspaces(context);
  }

  /** Learns what those uids are called: a request for all of them, or none. What nobody tells is not asked for again. */
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

  /** The path of a folder or the name of a workspace, safe to show. */
  of(uid: string | undefined): string {
    if (!uid) return '';
    return printable(this.#known.get(uidKey(uid)) ?? uid);
  }
}

/** The workspace that a record says it is in. */
export function workspaceOf({ workspace, workspace_uid }: Asset): string | undefined {
  return textIn(workspace_uid) ?? textIn(workspace) ?? textIn(fieldsIn(workspace).uid);
}
