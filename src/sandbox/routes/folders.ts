import { createRoute, type z } from '@hono/zod-openapi';
import { type App, apiPrefix, requireJson, requireScope } from '../http.ts';
import type { Service } from '../service.ts';
import { invalidError, ServiceError } from '../service-error.ts';
import type { FolderRow, FolderRowTree } from '../store/folders.ts';
import type { ResponseBody } from './response-schemas.ts';
import { folderChange, folderParameter, jsonBody, jsonContent, newFolder, uidParameter } from './schemas.ts';
import { findWorkspace } from './workspaces.ts';

const path = `${apiPrefix}/workspaces/{uid}/folders` as const;

/** Registers the routes for folders (§4): tree, create, rename and move, delete. */
export function folderRoutes(app: App, service: Service): void {
  for (const route of [listRoute, createFolderRoute, updateRoute, deleteRoute]) route(app, service);
}

function listRoute(app: App, service: Service): void {
  const { folder, serialize } = service.responseSchemas;
  app.openapi(
    createRoute({
      operationId: 'listFolders',
      summary: 'Get the folder tree of a workspace',
      method: 'get',
      path: `${path}/`,
      middleware: requireScope('Read Assets'),
      request: { params: uidParameter },
      responses: { 200: jsonContent(folder.array(), 'root folders with nested children') },
    }),
    (c) => {
      const { uid } = findWorkspace(service, c.req.valid('param').uid);
      return c.json(serialize(folder.array(), service.folders.tree(uid).map(toFolder)), 200);
    },
  );
}

function createFolderRoute(app: App, service: Service): void {
  const { folder, serialize } = service.responseSchemas;
  app.openapi(
    createRoute({
      operationId: 'createFolder',
      summary: 'Create a folder',
      method: 'post',
      path: `${path}/`,
      middleware: [requireScope('Write Assets'), requireJson],
      request: { params: uidParameter, body: jsonBody(newFolder, 'name and optional parent') },
      responses: { 201: jsonContent(folder, 'the folder') },
    }),
    (c) => {
      const { uid } = findWorkspace(service, c.req.valid('param').uid);
      const { name, parent_uid = null } = c.req.valid('json');
      if (parent_uid !== null) assertDepth(service, findParentFolder(service, uid, parent_uid), 1);
      const made = service.folders.insert(uid, name, parent_uid, service.timestamp());
      return c.json(serialize(folder, toFolder({ ...made, children: [] })), 201);
    },
  );
}

function updateRoute(app: App, service: Service): void {
  const { folders, responseSchemas } = service;
  const { folder, serialize } = responseSchemas;
  app.openapi(
    createRoute({
      operationId: 'updateFolder',
      summary: 'Rename a folder, or move it below another parent',
      method: 'patch',
      path: `${path}/{folder_uid}/`,
      middleware: [requireScope('Write Assets'), requireJson],
      request: { params: folderParameter, body: jsonBody(folderChange, 'rename and/or move') },
      responses: { 200: jsonContent(folder, 'the folder') },
    }),
    (c) => {
      const found = findFolder(service, c.req.valid('param'));
      const fields = c.req.valid('json');
      if (fields.parent_uid != null) {
        const parent = findParentFolder(service, found.workspace_uid, fields.parent_uid);
        if (folders.lineage(parent.uid).includes(found.uid)) {
          const msg = 'this is the folder itself or one of its subfolders';
          throw invalidError(['body', 'parent_uid'], msg, 'a folder cannot be moved into itself');
        }
        assertDepth(service, parent, heightOf(folders.subtree(found)));
      }
      folders.update(found, fields, service.timestamp());
      return c.json(serialize(folder, toFolder(folders.subtree(found))), 200);
    },
  );
}

function deleteRoute(app: App, service: Service): void {
  app.openapi(
    createRoute({
      operationId: 'deleteFolder',
      summary: 'Delete an empty folder',
      method: 'delete',
      path: `${path}/{folder_uid}/`,
      middleware: requireScope('Delete Assets'),
      request: { params: folderParameter },
      responses: { 204: { description: 'deleted' } },
    }),
    (c) => {
      const { uid } = findFolder(service, c.req.valid('param'));
      // "DELETE … responses: not shown" (§4, assumption A04). Reject a non-empty folder, to lose nothing.
      if (!service.folders.isEmpty(uid))
        throw invalidError(['path', 'folder_uid'], 'it contains folders or assets', 'this folder is not empty');
      service.folders.delete(uid);
      return c.body(null, 204);
    },
  );
}

function findFolder(service: Service, { uid, folder_uid }: z.infer<typeof folderParameter>) {
  const found = service.folders.find(findWorkspace(service, uid).uid, folder_uid);
  if (!found) throw new ServiceError(404, `folder ${folder_uid} does not exist`);
  return found;
}

const maxFolderDepth = 100;

const heightOf = ({ children }: FolderRowTree): number => 1 + Math.max(0, ...children.map(heightOf));

/** Checks that a folder tree is not nested too deeply for a response. @throws ServiceError 422 */
function assertDepth({ folders }: Service, parent: FolderRow, levels: number): void {
  if (folders.lineage(parent.uid).length + levels > maxFolderDepth)
    throw invalidError(
      ['body', 'parent_uid'],
      'this one is too deep',
      `folders can be nested at most ${maxFolderDepth} levels deep`,
    );
}

/** Finds the parent folder named in a request. @throws ServiceError 404 if the workspace has no such folder */
export function findParentFolder({ folders }: Service, workspace: string, uid: string): FolderRow {
  const found = folders.find(workspace, uid.toLowerCase());
  if (!found) throw new ServiceError(404, `parent folder ${uid} does not exist`);
  return found;
}

function toFolder(node: FolderRowTree): ResponseBody<'folder'> {
  const { uid, name, parent_uid, created_at, updated_at, children } = node;
  return { uid, name, parent_uid, created_at, updated_at, children: children.map(toFolder) };
}
