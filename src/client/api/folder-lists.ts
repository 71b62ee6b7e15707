import type { AssetFilters } from '../../contract/asset-filters.ts';
import { AssetsApi } from './assets.ts';

/**
 * The lists of folders (§4: "a parent folder uid in the primary workspace, or the literal root"). They need not be what
 * they are asked for, so only the reader of folders, which checks them, may import this module; the lists of `AssetsApi`
 * have no folder. test/architecture/writers.test.ts says so.
 */
export class FolderLists extends AssetsApi<AssetFilters> {}
