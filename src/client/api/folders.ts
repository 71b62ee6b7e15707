import { paths } from '../../contract/paths.ts';
import { asObject, type JsonObject } from '../../shared/json-values.ts';
import type { ApiRequest } from '../http/api-request.ts';
import { unexpectedResponse } from '../http/error-response.ts';
import { deleteRequest, parseIdentifier, Resource, readPurpose, writeRequest } from './resource.ts';

/** New name and parent of a folder. The parent is a uid, or null for the top level. Undefined leaves a value unchanged. */
export type FolderChange = { name?: string | undefined; parent?: string | null | undefined };

/** Names of the fields that a service uses for a folder's name and parent (assumption A02). */
export type FolderFields = { nameField: string; parentField: string };

/** Client of the folder endpoints (§4). */
export class FoldersApi extends Resource {
  /** Returns the root folders of a workspace, with nested children. */
  async list(workspace: string): Promise<readonly unknown[]> {
    const folders = await this.read(paths.folders(workspace), readPurpose('folders'));
    // §4 specifies an "array of folders". A page envelope around the array is accepted too.
    const list = Array.isArray(folders) ? folders : asObject(folders).items;
    if (Array.isArray(list)) return list;
    const reason = 'it is not an array and has no `items`';
    throw unexpectedResponse('the response is not a list of folders', { reason });
  }

  createRequest(workspace: string, fields: FolderFields, change: FolderChange): ApiRequest {
    // Omit the parent at the top level ("folder name and optional parent", §4).
    const body = bodyOf(fields, { ...change, parent: change.parent ?? undefined });
    return writeRequest('POST', paths.folders(workspace), body, 'create folders');
  }

  changeRequest(workspace: string, uid: string, fields: FolderFields, change: FolderChange): ApiRequest {
    const url = paths.folder(workspace, parseIdentifier(uid));
    return writeRequest('PATCH', url, bodyOf(fields, change), 'change folders');
  }

  deleteRequest(workspace: string, uid: string): ApiRequest {
    return deleteRequest(paths.folder(workspace, parseIdentifier(uid)), 'folders');
  }
}

const bodyOf = ({ nameField, parentField }: FolderFields, { name, parent }: FolderChange): JsonObject => ({
  ...(name !== undefined && { [nameField]: name }),
  ...(parent !== undefined && { [parentField]: parent }),
});
