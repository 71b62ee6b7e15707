import type { NameKey, NameOverrides } from '../../contract/assumptions.ts';
import { paths } from '../../contract/paths.ts';
import { fieldsIn, textIn } from '../../contract/reading.ts';
import type { Folder } from '../../contract/types.ts';
import { uidKey } from '../../contract/uid.ts';
import { exitCodes, MediactlError } from '../errors.ts';
import { identified, identifier } from '../http/identifier.ts';
import type { ApiRequest } from '../http/messages.ts';
import type { Transport } from '../http/transport.ts';
import { unexpectedAnswer } from '../http/unexpected-answer.ts';
import { type FolderNode, FolderTree, parentIn } from './folder-tree.ts';
import { assertTaken, type Fields, otherNameHint, withNameHint } from './writes.ts';

/** New name and parent of a folder. The parent is a uid, or null for the top level. */
export type FolderChange = { name?: string | undefined; parent?: string | null | undefined };

/** A folder and the tree after a write. */
export type Changed = { placed: FolderNode; tree: FolderTree };

/** Returns the config key that overrides a field name of a folder's body. */
const keyOf = (field: string): NameKey => (/parent/i.test(field) ? 'folder_parent' : 'folder_name');

/** Client of the folder endpoints (§4). Writes use the field names seen in the tree (A02). */
export class FoldersApi {
  readonly #transport: Transport;
  readonly #names: NameOverrides;

  constructor(transport: Transport, names: NameOverrides) {
    this.#transport = transport;
    this.#names = names;
  }

  async tree(workspace: string): Promise<FolderTree> {
    const folders = await this.#transport.json({
      method: 'GET',
      url: paths.folders(workspace),
      purpose: { action: 'read folders', scope: 'Read Assets' },
    });
    // "array of folders" (§4); an envelope around it is accepted
    const list = Array.isArray(folders) ? folders : fieldsIn(folders).items;
    if (Array.isArray(list)) return new FolderTree(list, this.#names);
    throw unexpectedAnswer('the answer is not a list of folders', {
      reason: 'it is neither an array nor has `items`',
    });
  }

  creating(workspace: string, tree: FolderTree, change: FolderChange): ApiRequest {
    return {
      method: 'POST',
      url: paths.folders(workspace),
      // Omit the parent at the top level: "folder name and optional parent" (§4).
      json: this.#body(tree, { ...change, parent: change.parent ?? undefined }),
      purpose: { action: 'create folders', scope: 'Write Assets' },
    };
  }

  /**
   * Creates a folder and verifies it in the tree.
   *
   * @param trustsResponse verifies only if the response shows another name or parent than was sent
   * @throws MediactlError `write_ignored` if the folder has another name or parent
   */
  async create(
    workspace: string,
    tree: FolderTree,
    { name, parent = null }: FolderChange,
    isTrusted = false,
  ): Promise<Partial<Changed> & { uid: string; tree: FolderTree }> {
    const request = this.creating(workspace, tree, { name, parent });
    const creation = this.#transport.json(request);
    const made = identified<Folder>(await withNameHint(creation, request.json as Fields, keyOf));
    const { uid } = made;
    const shownName = textIn(made[tree.nameField]) ?? name;
    const isElsewhere = Object.keys(made)
      .filter((field) => field === tree.parentField || /parent/i.test(field))
      .map((field) => parentIn(made[field]))
      .some((shown) => shown !== undefined && uidKey(shown ?? '') !== uidKey(parent ?? ''));
    if (isTrusted && shownName === name && !isElsewhere) return { uid, tree };
    return { uid, ...(await this.#looked(workspace, uid, { name, parent }, true)) };
  }

  changing(workspace: string, uid: string, tree: FolderTree, change: FolderChange): ApiRequest {
    return {
      method: 'PATCH',
      url: paths.folder(workspace, identifier(uid)),
      json: this.#body(tree, change),
      purpose: { action: 'change folders', scope: 'Write Assets' },
    };
  }

  /** Renames or moves a folder and verifies the change. @throws MediactlError `write_ignored` if it was not applied */
  async change(
    workspace: string,
    uid: string,
    tree: FolderTree,
    change: FolderChange,
  ): Promise<Changed> {
    const request = this.changing(workspace, uid, tree, change);
    await withNameHint(this.#transport.send(request), request.json as Fields, keyOf);
    return this.#looked(workspace, uid, change);
  }

  deleting(workspace: string, uid: string): ApiRequest {
    return {
      method: 'DELETE',
      url: paths.folder(workspace, identifier(uid)),
      purpose: { action: 'delete folders', scope: 'Delete Assets' },
    };
  }

  /** Deletes a folder. Any 2xx is success, since the specification says "responses: not shown" (§4, A04). */
  async delete(workspace: string, uid: string): Promise<void> {
    await this.#transport.send(this.deleting(workspace, uid));
  }

  #body(tree: FolderTree, { name, parent }: FolderChange): Fields {
    return {
      ...(name !== undefined && { [tree.nameField]: name }),
      ...(parent !== undefined && { [tree.parentField]: parent }),
    };
  }

  /** Verifies a write against the tree, since the record of a folder need not name its parent. */
  async #looked(
    workspace: string,
    uid: string,
    asked: FolderChange,
    isNew = false,
  ): Promise<Changed> {
    const tree = await this.tree(workspace);
    const placed = tree.find(uid);
    if (!placed) throw notListed(uid);
    const shown = { uid, name: placed.name, parent: placed.parent?.folder.uid ?? null };
    const { name, parent } = asked;
    assertTaken(
      { ...(name !== undefined && { name }), ...(parent !== undefined && { parent }) },
      shown,
      isNew ? `the folder, and made ${placed.path} (${uid})` : 'the folder',
      [
        ...(name !== undefined && name !== shown.name ? [otherNameHint('folder_name')] : []),
        ...(parent !== undefined && parent !== shown.parent
          ? [otherNameHint('folder_parent')]
          : []),
      ].join('; '),
    );
    return { placed, tree };
  }
}

const notListed = (uid: string) =>
  new MediactlError('the folder is not among the folders of the workspace', {
    code: 'write_ignored',
    exitCode: exitCodes.rejected,
    reason: `the service accepted the change, but its tree does not show ${uid}`,
    hint: otherNameHint('folder_children'),
    details: { uid },
  });
