import { parentOf } from '../../../contract/asset.ts';
import { classifyStatus } from '../../../contract/assumptions.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { isSameUid } from '../../../contract/uid.ts';
import { evidenceKinds } from '../../../shared/file-evidence.ts';
import { ignoreNotFound } from '../../errors.ts';
import type { FileChooser } from '../sources/file-chooser.ts';
import { findLocalFiles } from '../sources/source.ts';
import type { UploadFile } from '../sources/upload-file.ts';
import { type CheckDeps, type CheckedFile, decideToCheck, evidenceIn } from './check-directory.ts';
import { type Decision, sendNew } from './decision.ts';

type CheckFilesDeps = Omit<CheckDeps, 'readContent' | 'onNotCompared'>;

/**
 * Compares single files with what is directly in a folder: at the requests that an upload needs to decide about them, and
 * one for each asset that is found, since a receipt says only what was done.
 */
export async function checkFiles(
  paths: readonly string[],
  chooser: FileChooser,
  deps: CheckFilesDeps,
): Promise<CheckedFile[]> {
  const walk = await findLocalFiles(paths, chooser);
  const checked: CheckedFile[] = [];
  for await (const file of walk.files()) checked.push({ path: file.path, ...(await checkFile(file, deps)) });
  return checked;
}

async function checkFile(file: UploadFile, deps: CheckFilesDeps): Promise<Omit<CheckedFile, 'path'>> {
  const { library, receipts, top } = deps;
  const { assets } = library.api.withObserver({ lane: 'bulk' });
  const readAsset = async (decision: Decision) =>
    decision.action === 'keep' ? assets.get(decision.receipt.assetUid).catch(ignoreNotFound) : undefined;
  let decision = await decide(file, deps);
  let asset = await readAsset(decision);
  if (decision.action === 'keep' && !asset) {
    await receipts?.forgetAsset(decision.receipt.assetUid);
    decision = await decide(file, deps);
    asset = await readAsset(decision);
  }
  const evidence = evidenceIn(decision);
  const asset_uid = evidence?.assetUid ?? null;
  if (!evidence || decision.action === 'resume') return { outcome: 'missing_remotely', asset_uid, evidence };
  const found = { asset_uid, evidence };
  if (asset && classifyStatus(asset.status) === 'failed') return { ...found, outcome: 'failed' };
  if (asset && isElsewhere(asset, top)) return { ...found, outcome: 'moved' };
  // An upload does not send a file whose content the folder has under another name.
  const { kept, check } = evidenceKinds[evidence.kind];
  return { ...found, outcome: kept === 'duplicate' ? 'match' : check };
}

/** Decides what an upload of a file to the folder would do with it. */
async function decide(file: UploadFile, deps: CheckFilesDeps): Promise<Decision> {
  const folder = deps.top?.folder.uid;
  const { workspace } = await deps.library.folders();
  const [[, decision] = [file, sendNew]] = await decideToCheck([file], 'content', {
    ...{ ...deps, workspace, api: deps.library.api.withObserver({ lane: 'bulk' }) },
    folders: { find: () => folder, findOrCreate: async () => folder },
    comparison: { library: deps.library },
  });
  return decision;
}

/** Returns true if an asset is not directly in a folder; false if its record does not tell. */
function isElsewhere(asset: AssetRecord, top: CheckFilesDeps['top']): boolean {
  const [parent, folder] = [parentOf(asset), top?.folder.uid ?? null];
  if (parent === undefined) return false;
  return parent === null || folder === null ? parent !== folder : !isSameUid(parent, folder);
}
