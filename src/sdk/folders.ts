import { changeDomains, restrictEmbedding } from '../client/changes/embed-changes.ts';
import { createFolderPath, parseFolderPath } from '../client/changes/folder-creation.ts';
import { CodedError } from '../client/errors.ts';
import { parseDomain } from '../client/library/embed-domains.ts';
import type { FolderNode } from '../client/library/folder-tree.ts';
import type { Library } from '../client/library/library.ts';
import { isRootPath } from '../client/library/library-paths.ts';
import { isPrimary, listWorkspaces } from '../client/library/workspaces.ts';
import { isUid } from '../contract/uid.ts';
import { asText } from '../shared/json-values.ts';
import * as argument from './arguments.ts';
import type { ClientParts } from './client-parts.ts';
import type * as Public from './public-types.ts';

export const createFolders = ({ run, labelOf }: ClientParts): Public.Client['folders'] => ({
  list: (call) => run(call, async ({ library }) => (await library.folders()).tree.all.map(toFolder)),
  ensure: (path, call) =>
    run(call, async ({ library }) => {
      argument.assertArgument('path', argument.text, path);
      return toFolder((await createFolderPath(library, parseFolderPath(path), true)).node);
    }),
  rename: (folder, name, call) =>
    run(call, async ({ library, writer }) => {
      const node = await findFolder(library, folder);
      argument.assertArgument('name', argument.text, name);
      const label = labelOf(`rename ${node.path}`);
      return toFolder(await (await writer()).changeFolder(node, { name }, label));
    }),
  move: (folder, parent, call) =>
    run(call, async ({ library, writer }) => {
      const [node, target] = [await findFolder(library, folder), await folderUid(library, parent)];
      const label = labelOf(`move ${node.path}`);
      return toFolder(await (await writer()).changeFolder(node, { parent: target }, label));
    }),
  remove: (folder, options) =>
    run(
      options,
      async ({ library, writer }) => {
        const node = await findFolder(library, folder);
        await (await writer()).deleteFolder(node, options?.recursive === true, labelOf(`delete ${node.path}`));
      },
      argument.removeOptions,
    ),
});

export const createWorkspaces = ({ run }: ClientParts): Public.Client['workspaces'] => ({
  list: (call) =>
    run(call, async ({ api }) =>
      (await listWorkspaces(api)).map((each) => ({
        uid: each.uid,
        name: asText(each.name) ?? each.uid,
        isPrimary: isPrimary(each),
      })),
    ),
});

export function createEmbed({ run }: ClientParts): Public.Client['embed'] {
  const read = async (library: Library) => {
    const workspace = await library.workspace();
    return { workspace, settings: await library.api.embeds.settings(workspace) };
  };
  const edit = (call: Public.CallOptions | undefined, change: 'added' | 'removed', domains: readonly string[]) =>
    run(call, async ({ api, library }) => {
      argument.assertArgument('domains', argument.domains, domains);
      const before = await read(library);
      const parsed = [...new Set(domains.map((domain) => parseDomain(domain, before.settings)))];
      const changes = { added: [], removed: [], [change]: parsed };
      const { outcomes, unverified } = await changeDomains(api, before, changes);
      const error = outcomes.find((outcome) => outcome.error)?.error ?? unverified;
      if (error) throw error;
      return toEmbedSettings((await read(library)).settings);
    });
  return {
    settings: (call) => run(call, async ({ library }) => toEmbedSettings((await read(library)).settings)),
    restrict: (isRestricted, call) =>
      run(call, async ({ api, library }) => {
        argument.assertArgument('isRestricted', argument.isRestricted, isRestricted);
        const { workspace, settings } = await read(library);
        return toEmbedSettings(await restrictEmbedding(api, workspace, settings, isRestricted));
      }),
    allow: (domains, call) => edit(call, 'added', domains),
    disallow: (domains, call) => edit(call, 'removed', domains),
  };
}

/** Returns the uid of a folder, given by path or uid; null for the top level. */
export async function folderUid(library: Library, folder: string): Promise<string | null> {
  argument.assertArgument('folder', argument.text, folder);
  if (isUid(folder)) return folder.toLowerCase();
  return isRootPath(folder) ? null : (await findFolder(library, folder)).folder.uid;
}

/** Returns a folder by path or uid. @throws CodedError `not_found`; `usage` if several are at the path */
export async function findFolder(library: Library, folder: string): Promise<FolderNode> {
  argument.assertArgument('folder', argument.text, folder);
  const { tree } = await library.folders();
  const byUid = isUid(folder) ? tree.find(folder) : undefined;
  const [found, another] = byUid ? [byUid] : tree.findByPath(folder);
  if (found && !another) return found;
  const meant = tree.findOtherCase(folder);
  const problem = another ? 'is ambiguous' : `does not exist${meant === undefined ? '' : `; did you mean ${meant}?`}`;
  throw new CodedError(`folder ${folder} ${problem}`, { code: another ? 'usage' : 'not_found' });
}

const toEmbedSettings = ({ enabled, spellings }: Awaited<ReturnType<Library['api']['embeds']['settings']>>) => ({
  isRestricted: enabled,
  domains: [...spellings],
});

const toFolder = ({ folder, name, path, parent }: FolderNode): Public.Folder => ({
  uid: folder.uid,
  name,
  path,
  parent: parent?.folder.uid ?? null,
});
