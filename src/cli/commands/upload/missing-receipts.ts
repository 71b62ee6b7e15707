import { fileExists } from '../../../client/local-path.ts';
import { MissingFiles } from '../../../client/upload/decide/missing-files.ts';
import type { MovedReceipt } from '../../../client/upload/store/receipt-moves.ts';
import type { Receipt } from '../../../client/upload/store/receipt-row.ts';
import type { Receipts, ReplacedAsset } from '../../../client/upload/store/receipts.ts';

/** Returns an existing file with the content of a receipt that another machine has uploaded, compared if there is one. */
export async function findImportedCopy(
  receipts: Receipts,
  receipt: Receipt,
  {
    service,
    workspace,
    real,
    adopted,
  }: { service: string; workspace: string; real: string; adopted: readonly Receipt[] },
): Promise<Receipt | undefined> {
  const isCopy = ({ sizeBytes, blake3 }: Receipt) =>
    sizeBytes === receipt.sizeBytes && (blake3 === null || blake3 === receipt.blake3);
  const stored = await receipts.findAdoptedCopies(service, workspace, real, receipt);
  const found: Receipt[] = [];
  for (const each of [...stored, ...adopted.filter(isCopy)]) if (await fileExists(each.realPath)) found.push(each);
  return found.find(({ blake3 }) => blake3 !== null) ?? found[0];
}

type MissingOptions = {
  /** Real path of the directory. */
  real: string;
  /** Id of the newest receipt when the run started. Later ones prove nothing about the disk. */
  startMark: number;
  moves: PlannedMoves;
  /** Returns true unless the filters of the upload leave the file out. */
  isSelected(receipt: Receipt): boolean;
  isInPrunedFolder(folder: string | null): boolean;
};

/**
 * Looks for the file of each receipt. Returns the receipts of those that are missing, sorted by path, and of those whose
 * place a renamed file takes.
 */
export async function findMissing(
  receipts: ReturnType<Receipts['listBelow']>,
  { real, startMark, moves, isSelected, isInPrunedFolder }: MissingOptions,
) {
  let leftOut = 0;
  const missingNow: Receipt[] = [];
  /** Maps content (size and checksum) to the receipt of an existing file. */
  const copies = new Map<string, Receipt>();
  const counts = new MissingFiles(real);
  const replacedNow: ReplacedAsset[] = [];
  for await (const stored of receipts) {
    const receipt = { ...stored, ...moves.placeOf(stored) };
    if (!isInPrunedFolder(receipt.folder)) continue;
    if (moves.takerOf(receipt)) {
      replacedNow.push(receipt);
      continue;
    }
    const isGone = !(await fileExists(receipt.realPath));
    if (isGone && !isSelected(receipt)) {
      leftOut++;
      continue;
    }
    if (isGone) missingNow.push(receipt);
    else copies.set(contentKeyOf(receipt), receipt);
    if (isGone || receipt.id <= startMark) counts.add(receipt.realPath, isGone);
  }
  missingNow.sort((a, b) => (a.realPath < b.realPath ? -1 : 1));
  return { missingNow, replacedNow, copies, counts, leftOut };
}

/** Finds where receipts will be after those of renamed files have moved. A preview moves none. */
export class PlannedMoves {
  readonly #moved: ReadonlyMap<string, MovedReceipt>;
  /** Uids of moved assets by the new places of their receipts. */
  readonly #takers: ReadonlyMap<string, string>;

  constructor(moved: readonly MovedReceipt[]) {
    this.#moved = new Map(moved.map((each) => [each.from.assetUid, each]));
    // A folder that does not exist yet has no receipts.
    this.#takers = new Map(
      moved.flatMap(({ from, to: { folder, realPath } }) =>
        folder === undefined ? [] : [[JSON.stringify([folder, realPath]), from.assetUid]],
      ),
    );
  }

  has(assetUid: string): boolean {
    return this.#moved.has(assetUid);
  }

  placeOf({ assetUid, realPath, folder }: ReplacedAsset): Pick<ReplacedAsset, 'realPath' | 'folder'> {
    const { from, to } = this.#moved.get(assetUid) ?? {};
    if (!to || from?.realPath !== realPath) return { realPath, folder };
    return { realPath: to.realPath, folder: to.folder ?? folder };
  }

  /** Returns the uid of the asset of a renamed file that takes the place of another asset's receipt. */
  takerOf({ assetUid, realPath, folder }: ReplacedAsset): string | undefined {
    const taker = this.#takers.get(JSON.stringify([folder, realPath]));
    return taker === assetUid ? undefined : taker;
  }
}

export const contentKeyOf = ({ sizeBytes, blake3 }: Receipt) => `${sizeBytes} ${blake3}`;
