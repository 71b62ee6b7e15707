import type { AssetRecord } from '../../contract/types.ts';
import { asCodedError, endsTheRun } from '../errors.ts';
import type { ReadContent } from '../upload/decide/check-directory.ts';
import { digestOfDownload, type MediaFinder, type TransferPorts } from './transfer.ts';

/** Returns a function that downloads an asset, and returns why that is not possible. */
export const createContentReader =
  (ports: TransferPorts & MediaFinder) =>
  async (asset: AssetRecord): Promise<ReadContent | string> => {
    try {
      return await digestOfDownload(ports, asset);
    } catch (thrown) {
      const error = asCodedError(thrown);
      if (endsTheRun(error)) throw error;
      return error.message;
    }
  };
