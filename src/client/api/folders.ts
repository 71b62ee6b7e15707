import { asObject, type JsonObject } from '../../contract/json-values.ts';
import { paths } from '../../contract/paths.ts';
import { MediactlError } from '../errors.ts';
import type { ApiRequest } from '../http/api-request.ts';
import { unexpectedResponse } from '../http/error-response.ts';
import { WorkspaceFolderTree } from './folder-tree.ts';
import { deleteRequest, parseIdentifier, Resource, readPurpose, writeRequest } from './resource.ts';

/** New name and parent of a folder. The parent is a uid, or null for the top level. Undefined leaves a value unchanged. */
export type FolderChange = { name?: string | undefined; parent?: string | null | undefined };

/** Client of the folder endpoints (§4). Requests use the field names found in the folder tree (assumption A02). */
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

  changeRequest(workspace: string, uid: string, tree: WorkspaceFolderTree, change: FolderChange): ApiRequest {
    const url = paths.folder(workspace, parseIdentifier(uid));
    return writeRequest('PATCH', url, this.#body(tree, change), 'change folders');
  }

  deleteRequest(workspace: string, uid: string): ApiRequest {
    return deleteRequest(paths.folder(workspace, parseIdentifier(uid)), 'folders');
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
}
