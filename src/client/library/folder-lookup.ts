import { parentOf } from '../../contract/asset.ts';
import type { AssetRecord } from '../../contract/types.ts';
import { normalizeUid } from '../../contract/uid.ts';
import { asCodedError, type CodedError } from '../errors.ts';
import { isListRefused } from './folder-reader.ts';
import type { Library } from './library.ts';

/** Returns the folder of an asset: its uid, null at the top level, undefined if it is not known. */
export type FolderLookup = (asset: AssetRecord) => Promise<string | null | undefined>;

/** Callbacks of a folder lookup: before it lists many folders, and when the service refuses to list them. */
export type LookupNotices = {
  onFolderCount(count: number): void;
  onRefused(error: CodedError): void;
};

/**
 * Returns a function that finds the folder of an asset, as it is from now on. If the record does not show it, lists each
 * folder once. A folder that cannot be listed, as outside of the primary workspace (assumption A26), leaves it unknown.
 */
export function createFolderLookup(library: Library, loadNotices: () => Promise<Partial<LookupNotices>>): FolderLookup {
  const listAll = async () => {
    const folders = new Map<string, string | null>();
    const notices = await loadNotices();
    try {
      const { tree } = await library.folders();
      const parents = ['root', ...tree.all.map(({ folder }) => folder.uid)];
      notices.onFolderCount?.(parents.length);
      for await (const { parent, page } of library.folderReader.listEach(parents))
        for (const { uid } of page) folders.set(normalizeUid(uid), parent === 'root' ? null : parent);
      return folders;
    } catch (thrown) {
      if (!isListRefused(thrown)) throw thrown;
      notices.onRefused?.(asCodedError(thrown));
      return new Map<string, string | null>();
    }
  };
  let listed: ReturnType<typeof listAll> | undefined;
  return async (asset) => {
    const shown = parentOf(asset);
    if (shown !== undefined) return shown;
    listed ??= listAll();
    return (await listed).get(normalizeUid(asset.uid));
  };
}
