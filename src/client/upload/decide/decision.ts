import type { AssetRecord } from '../../../contract/types.ts';
import type { EvidenceKind } from '../../../shared/file-evidence.ts';
import type { KeptOutcome } from '../../../shared/upload-outcomes.ts';
import type { CodedError } from '../../errors.ts';
import type { GivenMetadata, ReceiptKey } from '../sources/upload-file.ts';
import type { MovedReceipt } from '../store/receipt-moves.ts';
import { kindOf, type Receipt } from '../store/receipt-row.ts';
import type { FolderListing, Receipts } from '../store/receipts.ts';
import { type IntendedEntry, type OpenEntry, orphanOf, type UploadEntry } from '../store/upload-entry.ts';
import { ignoreAlreadyUploading, type UploadStore } from '../store/upload-store.ts';

/**
 * What is to be done with one file. A run carries it out, a preview shows it, and both get it from the same matchers
 * (`decide.ts`). To decide changes nothing: neither the library nor this machine's records.
 */
export type Decision = SendDecision | ResumeDecision | KeepDecision;

/** Sends the whole file, as a new asset. */
export type SendDecision = {
  action: 'send';
  /** `changed`: the file was uploaded with other content, or is to be hashed. `wanted`: it is sent whatever is known of it. */
  reason: 'new' | 'changed' | 'wanted';
  /** True if the content of the file, which was not read yet, may show that it is uploaded already. */
  mayBeDuplicate: boolean;
  /** Evidence of its own asset with other content, or of an asset with its name; absent if there is none. */
  evidence?: FileEvidence;
  /** Unfinished upload of the file that cannot be resumed: it has no asset yet, other content, or is replaced. */
  entry?: UploadEntry;
  /** Unfinished uploads that could be of this file before it was moved, but not certainly. */
  similar?: readonly OpenEntry[];
  /** Absent if there are none. */
  records?: readonly LocalRecord[];
};

/** Evidence of whether an asset has the content of a file. */
export type FileEvidence = {
  kind: EvidenceKind;
  assetUid: string;
  /** True if this machine uploaded the file as this asset. */
  isOwn: boolean;
  /** When it was found, in ISO 8601. */
  foundAt: string;
};

/** Returns what a receipt shows. */
export function evidenceOf(receipt: Receipt, kind = kindOf(receipt)): FileEvidence {
  const { assetUid, sessionUid, at, evidenceAt } = receipt;
  return { kind, assetUid, isOwn: sessionUid !== '', foundAt: evidenceAt ?? at };
}

/** What is decided of a file if nothing is known of it. */
export const sendNew = { action: 'send', reason: 'new', mayBeDuplicate: false } as const satisfies SendDecision;

/** Sends what is missing of an unfinished upload. */
export type ResumeDecision = {
  action: 'resume';
  entry: UploadEntry;
  /** True if the upload was started from another path, from which the file was moved. */
  isMoved: boolean;
};

/** Sends nothing, because an asset has the file. */
export type KeepDecision = {
  action: 'keep';
  outcome: KeptOutcome;
  /** Receipt of this machine, or one that describes an asset of another machine. */
  receipt: Receipt;
  /** The asset, if it was read. */
  record?: AssetRecord | undefined;
  /** Saved when the run begins; if the asset or its folder is changed, once that is done. */
  records: readonly LocalRecord[];
  /** Change of the asset, which was read, so that it follows its file; absent if there is none. */
  change?: FollowingChange | undefined;
  /** Changes of folders that take the asset along, in the order in which they are made; absent if there are none. */
  folderMoves?: readonly FolderMove[] | undefined;
  /** Given metadata that the asset does not get; absent if there are none. */
  unwritten?: GivenMetadata | undefined;
};

/** Returns true if the asset of a kept file, or its folder, is to be changed. */
export const hasChange = (decision: Decision): decision is FollowDecision =>
  decision.action === 'keep' && (decision.change !== undefined || decision.folderMoves !== undefined);

/** A kept file whose asset, or the folder of that, is to be changed. */
export type FollowDecision = KeepDecision & ({ change: FollowingChange } | { folderMoves: readonly FolderMove[] });

/** Change of a folder whose directory was renamed or moved. All assets in it and below move along with their files. */
export type FolderMove = {
  /** Position among the folder changes of the run, which are made in this order. */
  order: number;
  uid: string;
  /** New name; undefined if it stays. */
  name?: string | undefined;
  /** Uid of the new parent, null for the top level; undefined if it stays, or does not exist yet. */
  parent?: string | null | undefined;
  /** Directory of the new parent, relative to the mirrored one, if its folder does not exist yet. */
  newParentDir?: string | undefined;
};

/** Change of an asset whose file was renamed, or got other metadata. All changes of a run are written together. */
export type FollowingChange = {
  /** Fields of a PATCH, by their names. */
  fields: { name?: string; description?: string };
  /** Slugs of the tags to add. */
  addedTags: readonly string[];
  /** True to move the asset to the folder of its file, which may not exist yet. */
  movesFolder: boolean;
};

/** A change of this machine's records that follows from a decision. */
export type LocalRecord =
  /** Another machine has uploaded the file. */
  | { record: 'adopted'; receipt: Receipt }
  /** Creation of the file's asset whose response was lost, although another asset is kept. It may have left an empty one. */
  | { record: 'lost'; entry: IntendedEntry }
  /** The file was touched. */
  | { record: 'path'; key: ReceiptKey; to: Pick<Receipt, 'realPath' | 'mtimeNs' | 'ctimeNs'> }
  /** The file was renamed, and its asset is where it belongs now. */
  | ({ record: 'moved' } & MovedReceipt)
  /** The asset got metadata that the user gave. */
  | { record: 'about'; assetUid: string; about: GivenMetadata }
  /** The asset no longer exists. */
  | { record: 'forgotten'; assetUid: string }
  /** The file differs from the asset of its receipt, which was not compared with it before. */
  | { record: 'different'; key: ReceiptKey }
  /** The assets of a folder were listed. */
  | { record: 'listing'; key: Omit<ReceiptKey, 'realPath'>; listing: FolderListing };

type RecordStores = { receipts?: Receipts | undefined; store?: UploadStore | undefined };

/** Writes what decisions say of this machine's records: first what is deleted, then moved and adopted receipts, all at once. */
export async function saveRecords({ receipts, store }: RecordStores, records: readonly LocalRecord[]): Promise<void> {
  if (!receipts) return;
  const adopted: Receipt[] = [];
  const moved: MovedReceipt[] = [];
  const updates: (() => Promise<void>)[] = [];
  for (const each of records)
    switch (each.record) {
      case 'forgotten':
        await receipts.forgetAsset(each.assetUid);
        break;
      case 'different':
        await receipts.forgetUncompared(each.key);
        break;
      case 'lost':
        if (store) await giveUp(each.entry, receipts, store);
        break;
      case 'adopted':
        adopted.push(each.receipt);
        break;
      case 'moved':
        moved.push(each);
        break;
      case 'path':
        updates.push(() => receipts.updatePath(each.key, each.to));
        break;
      case 'about':
        updates.push(() => receipts.saveAbout(each.assetUid, each.about));
        break;
      case 'listing':
        updates.push(() => receipts.saveListing(each.key, each.listing));
    }
  if (moved.length > 0) await receipts.move(moved);
  await receipts.adopt(adopted);
  await Promise.all(updates.map((update) => update()));
}

/** Replaces an upload whose creation was lost by an orphan, unless another run is at it. */
async function giveUp({ id }: IntendedEntry, receipts: Receipts, store: UploadStore): Promise<void> {
  const release = await store.lock(id).catch(ignoreAlreadyUploading);
  const entry = release && (await store.read(id));
  if (entry?.state === 'intended') {
    await receipts.saveOrphan(entry.baseUrl, orphanOf(entry));
    await store.remove(id);
  }
  await release?.();
}

/** What the matchers have to say besides their decisions. The command line words it. */
export type DecideNotice =
  /** Files are read, to find out whether they were uploaded before they were moved. */
  | { notice: 'reading'; files: number; bytes: number }
  /** A folder with many assets is listed. */
  | { notice: 'listing'; assets: number }
  /** Files are sent although their folder has another asset with their name. */
  | { notice: 'same_name'; paths: readonly string[] }
  /** A folder cannot be listed, so that its files are not compared with it. */
  | { notice: 'not_compared'; error: CodedError };

const maxNamesInWarning = 10;

/** Returns the words of a notice that is a warning; undefined for one that only says what is done. */
export function warningOf(each: DecideNotice): string | undefined {
  if (each.notice === 'not_compared') {
    const { message, explanation } = each.error;
    return `files that this machine has not uploaded are not compared with the folder: ${explanation.reason ?? message}`;
  }
  if (each.notice !== 'same_name') return undefined;
  const { paths } = each;
  const names = [...paths.slice(0, maxNamesInWarning), ...(paths.length > maxNamesInWarning ? ['…'] : [])].join(', ');
  const have = paths.length === 1 ? 'file has' : 'files have';
  return `${paths.length} ${have} the name of another asset in the folder, and will be uploaded beside it: ${names}`;
}
