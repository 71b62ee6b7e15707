import { parentOf } from '../../../contract/asset.ts';
import { classifyStatus } from '../../../contract/assumptions.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { isSameUid } from '../../../contract/uid.ts';
import { evidenceKinds } from '../../../shared/file-evidence.ts';
import { ignoreNotFound } from '../../errors.ts';
import type { FileChooser } from '../sources/file-chooser.ts';
import { FileWalker } from '../sources/file-walker.ts';
import { FileSource } from '../sources/source.ts';
import type { UploadFile } from '../sources/upload-file.ts';
import type { CheckDeps, CheckedFile } from './check-directory.ts';
import { Decider } from './decide.ts';
import { type Decision, evidenceOf, saveRecords, sendNew } from './decision.ts';
import { defaultSettings } from './upload-settings.ts';

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
  const walk = new FileWalker(chooser);
  await walk.checkPaths(paths);
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
  const evidence = decision.action === 'keep' ? evidenceOf(decision.receipt) : undefined;
  const known = evidence ?? (decision.action === 'send' ? decision.evidence : undefined);
  if (!known) return { outcome: 'missing_remotely', asset_uid: null, evidence: undefined };
  const found = { asset_uid: known.assetUid, evidence: known };
  if (asset && classifyStatus(asset.status) === 'failed') return { ...found, outcome: 'failed' };
  if (asset && isElsewhere(asset, top)) return { ...found, outcome: 'moved' };
  // An upload does not send a file whose content the folder has under another name.
  const { kept, check } = evidenceKinds[known.kind];
  return { ...found, outcome: kept === 'duplicate' ? 'match' : check };
}

/** Decides what an upload of a file to the folder would do with it. */
async function decide(file: UploadFile, deps: CheckFilesDeps): Promise<Decision> {
  const { library, top, receipts, store, own, signal, onDecideNotice } = deps;
  const folder = top?.folder.uid;
  const { workspace } = await library.folders();
  const decider = new Decider(
    { ...defaultSettings, existing: 'content' },
    {
      ...{ workspace, receipts, store, signal, onDecideNotice },
      api: library.api.withObserver({ lane: 'bulk' }),
      folders: { find: () => folder, findOrCreate: async () => folder },
      comparison: { library },
      openSource: (path, realPath) => FileSource.open(path, own, realPath),
    },
  );
  let decision: Decision = sendNew;
  for await (const [, decided] of decider.decideAll([file])) decision = await decider.decideFinally(file, decided);
  await saveRecords({ receipts }, decider.takeRecords());
  return decision;
}

/** Returns true if an asset is not directly in a folder; false if its record does not tell. */
function isElsewhere(asset: AssetRecord, top: CheckFilesDeps['top']): boolean {
  const [parent, folder] = [parentOf(asset), top?.folder.uid ?? null];
  if (parent === undefined) return false;
  return parent === null || folder === null ? parent !== folder : !isSameUid(parent, folder);
}
