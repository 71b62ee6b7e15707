import { asCodedError } from '../../client/errors.ts';
import { listFolders } from '../../client/library/filter-checks.ts';
import { parentOf } from '../../contract/asset.ts';
import { escapeControls } from '../../contract/sanitize.ts';
import type { AssetRecord } from '../../contract/types.ts';
import type { Context } from '../context.ts';
import { noticeFolderCount } from './asset-paths.ts';
import { fetchFolderTree } from './folders.ts';

/** Returns a function that finds the folder of an asset. If the list does not show it, lists each folder once. */
export function createFolderLookup(context: Context): (asset: AssetRecord) => Promise<string | null | undefined> {
  let listed: Promise<Map<string, string | null>> | undefined;
  const listAll = async () => {
    const { tree } = await fetchFolderTree(context);
    const parents = ['root', ...tree.all.map(({ folder }) => folder.uid)];
    noticeFolderCount(context, parents.length);
    const folders = new Map<string, string | null>();
    for await (const { parent, page } of listFolders((await context.api()).assets, parents))
      for (const { uid } of page) folders.set(uid, parent === 'root' ? null : parent);
    return folders;
  };
  /** The API finds assets by folder in the primary workspace only. */
  const withoutFolders = (thrown: unknown) => {
    const error = asCodedError(thrown);
    if (error.kind !== 'usage') throw error;
    context.terminal.warn(escapeControls(`the folders of assets are not known: ${error.explanation.reason}`));
    return new Map<string, string | null>();
  };
  return async (asset) => {
    const shown = parentOf(asset);
    if (shown !== undefined) return shown;
    listed ??= listAll().catch(withoutFolders);
    return (await listed).get(asset.uid);
  };
}
