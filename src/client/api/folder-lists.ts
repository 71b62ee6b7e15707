import type { AssetFilters } from '../../contract/asset-filters.ts';
import type { AssetRecord, PageEnvelope } from '../../contract/types.ts';
import { AssetsApi } from './assets.ts';
import type { ListWindow } from './pagination.ts';

/**
 * The lists of folders (§4: "a parent folder uid in the primary workspace, or the literal root"). They need not be what
 * they are asked for, so only the reader of folders, which checks them, may import this module; the lists of `AssetsApi`
 * have no folder. test/architecture/writers.test.ts says so.
 */
export class FolderLists extends AssetsApi {
  pageOf(filters: AssetFilters, limit: number, offset: number): Promise<PageEnvelope<AssetRecord>> {
    return this.fetchPage(filters, limit, offset);
  }

  listOf(filters: AssetFilters, window: ListWindow): AsyncGenerator<AssetRecord[]> {
    return this.fetchList(filters, window);
  }

  namedOf(name: string, filters: AssetFilters, window: ListWindow): AsyncGenerator<AssetRecord[]> {
    return this.fetchNamed(name, filters, window);
  }
}
