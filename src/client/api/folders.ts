import type { NameKey } from '../../contract/assumptions.ts';
import { asObject, asText, type JsonObject } from '../../contract/json-values.ts';
import { paths } from '../../contract/paths.ts';
import type { ApiFolder } from '../../contract/types.ts';
import { normalizeUid } from '../../contract/uid.ts';
import { MediactlError } from '../errors.ts';
import type { ApiRequest } from '../http/api-request.ts';
import { unexpectedResponse } from '../http/error-response.ts';
import { parseJsonResponse } from '../http/json.ts';
import { type FolderNode, folderValuesOf, parseParentUid, WorkspaceFolderTree } from './folder-tree.ts';
import { deleteRequest, parseIdentifier, parseRecord, Resource, readPurpose, writeRequest } from './resource.ts';
import { assertApplied, sendWithNameHint } from './write-check.ts';

/** New name and parent of a folder. The parent is a uid, or null for the top level. Undefined leaves a value unchanged. */
export type FolderChange = { name?: string | undefined; parent?: string | null | undefined };

/** A folder that was written, and the folder tree after the write. */
export type FolderWriteResult = { node: FolderNode; tree: WorkspaceFolderTree };

/** Returns the config key that overrides the name of a field in the body of a folder request. */
const nameKeyOf = (field: string): NameKey => (/parent/i.test(field) ? 'folder_parent' : 'folder_name');

/** Client of the folder endpoints (§4). Writes use the field names found in the folder tree (assumption A02). */
export class FoldersApi extends Resource {
  async tree(workspace: string): Promise<WorkspaceFolderTree> {
    const folders = await this.read(paths.folders(workspace), readPurpose('folders'));
    // §4 specifies an "array of folders". A page envelope around the array is accepted too.
    const list = Array.isArray(folders) ? folders : asObject(folders).items;
    if (Array.isArray(list)) return new WorkspaceFolderTree(list, this.names);
    const reason = 'it is not an array and has no `items`';
    throw unexpectedResponse('the response is not a list of folders', { reason });
  }

  createRequest(workspace: string, tree: WorkspaceFolderTree, change: FolderChange): ApiRequest {
    // Omit the parent at the top level ("folder name and optional parent", §4).
    const body = this.#body(tree, { ...change, parent: change.parent ?? undefined });
    return writeRequest('POST', paths.folders(workspace), body, 'create folders');
  }

  /**
   * Creates a folder and verifies its name and parent in the folder tree.
   *
   * @param trustsResponse true to verify only if the response shows another name or parent than was sent
   * @throws MediactlError `write_ignored` (exit 6) if the folder has another name or parent
   */
  async create(workspace: string, tree: WorkspaceFolderTree, change: FolderChange, trustsResponse = false) {
    const { name, parent = null } = change;
    const request = this.createRequest(workspace, tree, { name, parent });
    const response = await sendWithNameHint(this.transport, request, nameKeyOf);
    const made = parseRecord<ApiFolder>(parseJsonResponse(response));
    const { uid } = made;
    const shownName = asText(made[tree.nameField]) ?? name;
    const hasOtherParent = Object.keys(made)
      .filter((field) => field === tree.parentField || /parent/i.test(field))
      .map((field) => parseParentUid(made[field]))
      .some((shown) => shown !== undefined && normalizeUid(shown ?? '') !== normalizeUid(parent ?? ''));
    if (trustsResponse && shownName === name && !hasOtherParent) return { uid, tree, node: undefined };
    return { uid, ...(await this.#verify(workspace, uid, { name, parent }, true)) };
  }

  changeRequest(workspace: string, uid: string, tree: WorkspaceFolderTree, change: FolderChange): ApiRequest {
    const url = paths.folder(workspace, parseIdentifier(uid));
    return writeRequest('PATCH', url, this.#body(tree, change), 'change folders');
  }

  /** Renames or moves a folder and verifies the change. @throws MediactlError `write_ignored` (exit 6) */
  async change(workspace: string, uid: string, tree: WorkspaceFolderTree, change: FolderChange) {
    const request = this.changeRequest(workspace, uid, tree, change);
    await sendWithNameHint(this.transport, request, nameKeyOf);
    return this.#verify(workspace, uid, change);
  }

  deleteRequest(workspace: string, uid: string): ApiRequest {
    return deleteRequest(paths.folder(workspace, parseIdentifier(uid)), 'folders');
  }

  /**
   * Deletes a folder. Accepts any 2xx, because the specification does not show the response (§4, assumption A04), so
   * that only `findRemaining` shows if it is deleted.
   */
  async delete(workspace: string, uid: string): Promise<void> {
    await this.transport.send(this.deleteRequest(workspace, uid));
  }

  /** Returns those of some deleted folders that the service still has, with the error that says so. */
  async findRemaining(workspace: string, uids: readonly string[]): Promise<Map<string, MediactlError>> {
    const tree = await this.tree(workspace);
    const remaining = uids.flatMap((uid) => tree.find(uid) ?? []);
    return new Map(
      remaining.map(({ folder: { uid }, path }) => [
        uid,
        new MediactlError(`the service did not delete ${path}`, {
          code: 'write_ignored',
          reason: 'it accepted the request, but still has the folder',
          hint: 'list the folders, to see it',
          details: { uid },
        }),
      ]),
    );
  }

  #body(tree: WorkspaceFolderTree, { name, parent }: FolderChange): JsonObject {
    return {
      ...(name !== undefined && { [tree.nameField]: name }),
      ...(parent !== undefined && { [tree.parentField]: parent }),
    };
  }

  /** Verifies a write in the folder tree, because the record of a folder does not always name its parent. */
  async #verify(workspace: string, uid: string, requested: FolderChange, isNew = false): Promise<FolderWriteResult> {
    const tree = await this.tree(workspace);
    const node = tree.find(uid);
    if (!node)
      throw new MediactlError('the workspace does not contain the folder', {
        code: 'write_ignored',
        reason: `the service accepted the change, but its folder tree has no ${uid}`,
        remedy: ['set_field_names', 'folder_children'],
        details: { uid },
      });
    const actual = { uid, ...folderValuesOf(node) };
    const { name, parent } = requested;
    assertApplied({
      noun: isNew ? `the new folder ${node.path} (${uid})` : 'the folder',
      requested: { ...(name !== undefined && { name }), ...(parent !== undefined && { parent }) },
      actual,
      remedy: [
        'set_field_names',
        ...(name !== undefined && name !== actual.name ? (['folder_name'] as const) : []),
        ...(parent !== undefined && parent !== actual.parent ? (['folder_parent'] as const) : []),
      ],
    });
    return { node, tree };
  }
}
