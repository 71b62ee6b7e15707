import { asCodedError, endsTheRun } from '../../../client/errors.ts';
import { saveRecords } from '../../../client/upload/decide/decision.ts';
import { digestAndClose } from '../../../client/upload/sources/checksum.ts';
import { FileSource } from '../../../client/upload/sources/source.ts';
import type { ReceiptKey, UploadFile } from '../../../client/upload/sources/upload-file.ts';
import { toListedAsset } from '../../../contract/asset.ts';
import { asNumber } from '../../../contract/json-values.ts';
import { escapeControls } from '../../../contract/sanitize.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import type { Context } from '../../context.ts';
import { digestOfDownload } from '../../library/media-download.ts';
import type { ProgressDisplay } from '../../progress/progress.ts';

/**
 * Returns true if an asset has the bytes of a file, and undefined if its original cannot be downloaded. If a key is
 * given, saves a receipt of equal files, so that they count as uploaded and verified, and the checksum of a different
 * asset instead of a receipt that was not compared, so that the next upload does not take it for the file.
 */
export type ByteComparison = (file: UploadFile, asset: AssetRecord, key?: ReceiptKey) => Promise<boolean | undefined>;

export function createByteComparison(context: Context, progress: ProgressDisplay): ByteComparison {
  return async (file, asset, key) => {
    const { path, sizeBytes = 0, mtimeNs = '', ctimeNs = null } = file;
    let downloaded: Awaited<ReturnType<typeof digestOfDownload>>;
    const notCompared = (reason: string) => {
      context.terminal.warn(`${escapeControls(path)} was not compared: ${reason}`);
      return undefined;
    };
    try {
      downloaded = await digestOfDownload(context, asset, progress);
    } catch (thrown) {
      const error = asCodedError(thrown);
      if (endsTheRun(error)) throw error;
      return notCompared(error.message);
    }
    const blake3 = await digestAndClose(FileSource.open(path, context.ownFiles));
    if (blake3 !== downloaded.blake3) {
      const { isOriginal } = downloaded;
      const isOfSize = [undefined, sizeBytes].includes(asNumber(asset.size));
      if (!isOriginal && isOfSize) return notCompared(`the service returned a rendition of asset ${asset.uid}`);
      if (!key) return false;
      const receipts = await context.state.receipts();
      if (isOriginal) await receipts.saveDigest(key, toListedAsset(asset), downloaded.blake3);
      await saveRecords({ receipts }, [{ record: 'different', key }]);
      return false;
    }
    const content = { sizeBytes, mtimeNs, ctimeNs, blake3, verified: true };
    const at = new Date(context.clock.now()).toISOString();
    const { uid, name } = toListedAsset(asset);
    if (key)
      await (await context.state.receipts()).adopt([
        { ...key, ...content, assetUid: uid, sessionUid: '', name, state: 'ready', reason: null, about: null, at },
      ]);
    return true;
  };
}
