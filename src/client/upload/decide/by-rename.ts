import { realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, relative } from 'node:path';
import { parentOf } from '../../../contract/asset.ts';
import { possibleNames } from '../../../contract/tus.ts';
import { isSameUid, normalizeUid } from '../../../contract/uid.ts';
import { addTo } from '../../../shared/groups.ts';
import { asText, normalizeName } from '../../../shared/json-values.ts';
import type { KeptOutcome } from '../../../shared/upload-outcomes.ts';
import type { Api } from '../../api/api.ts';
import { fileExists, isSameInode, toSlashes, tryStat } from '../../local-path.ts';
import { digestAndClose } from '../sources/checksum.ts';
import { type FileIdentity, fileTimesOf, matchesReceipt } from '../sources/file-identity.ts';
import { describeAt, fileAt, type UploadFile } from '../sources/upload-file.ts';
import type { Receipt } from '../store/receipt-row.ts';
import { keep } from './by-receipt.ts';
import { type Decision, type LocalRecord, sendNew } from './decision.ts';
import type { MatcherDeps, Subject } from './matcher.ts';
import { ifReadable } from './metadata.ts';
import { isBelow } from './missing-files.ts';
import { DiskCheck, isOriginalByTimes, type RenamedFile } from './rename-disk.ts';
import { FolderPlan } from './rename-folders.ts';

/** Number of assets that are read at the same time. */
const lanes = 8;

/** A receipt whose file is not at its path any more. */
type Vacated = {
  receipt: Receipt;
  /** True if the path has a newer receipt, such as that of a file that was uploaded before this one could follow. */
  isReplaced: boolean;
  /** Directory relative to the mirrored one, with slashes, if its asset is in the folder for it; else undefined. */
  mirroredDir: string | undefined;
  /** True if the asset is in a folder of the mirror that has moved on from that directory, as after a kill. */
  isInMirror: boolean;
  /** File that is at the path now, and differs from the receipt; undefined if there is none. */
  occupant: UploadFile | undefined;
};

/** A file of the run with a size and a path, by which receipts know it. */
type LocalFile = { file: UploadFile; realPath: string; identity: FileIdentity };

type Renamed = RenamedFile & { file: UploadFile; vacated: Vacated };

/**
 * Finds the files of a mirror that were renamed: those with the content of a receipt whose file is not at its path any
 * more. Their assets follow them. Each receipt is claimed by one file.
 *
 * `matchAll` decides before a file is opened, and reads only files of the name of such a receipt, or of its directory and
 * its modification time. `matchOpened` decides about the others, so that no file is read before the first byte is sent
 * only because its size is that of another.
 */
export class Renames {
  readonly #deps: MatcherDeps;
  readonly #real: string;
  /** By the size of their files. */
  readonly #vacated = new Map<number, Vacated[]>();
  readonly #claimed = new Set<Vacated>();
  readonly #digests = new Map<UploadFile, Promise<string | undefined>>();
  readonly #disk: DiskCheck;

  private constructor(deps: MatcherDeps, real: string) {
    this.#deps = deps;
    this.#real = real;
    const isMirrored = (receipt: Receipt) => this.#mirroredDirOf(receipt) !== undefined;
    this.#disk = new DiskCheck(deps, { real, isMirrored });
  }

  /** Looks for receipts whose files are gone and whose sizes are those of files to be sent. Takes no request. */
  static async open(files: readonly UploadFile[], mirror: string, deps: MatcherDeps): Promise<Renames> {
    const renames = new Renames(deps, await realpath(mirror));
    await renames.#findVacated(files.flatMap((file) => toLocalFile(file) ?? []));
    return renames;
  }

  async #findVacated(files: readonly LocalFile[]): Promise<void> {
    const sizes = new Set(files.map(({ identity }) => identity.sizeBytes));
    const byPath = new Map(files.map((each) => [each.realPath, each]));
    const bySpelling = new Map(files.map((each) => [spellingOf(each.realPath), each]));
    const { receipts, api, workspace } = this.#deps;
    if (!receipts || sizes.size === 0) return;
    const list = (state: 'done' | 'replaced') => receipts.listBelow(api.transport.baseUrl.origin, workspace, '', state);
    const isCandidate = ({ sizeBytes, state, blake3 }: Receipt) =>
      sizes.has(sizeBytes) && state !== 'failed' && blake3 !== null;
    const add = (receipt: Receipt, isReplaced: boolean, occupant?: UploadFile) =>
      addTo(this.#vacated, receipt.sizeBytes, {
        ...{ receipt, isReplaced, occupant, isInMirror: false },
        mirroredDir: this.#mirroredDirOf(receipt),
      });
    for await (const receipt of list('done')) {
      if (!isCandidate(receipt)) continue;
      const sent = byPath.get(receipt.realPath);
      const occupant = sent ?? (await findOccupant(receipt.realPath, bySpelling));
      if (occupant === 'unknown') continue;
      const isThere = occupant && !(sent && this.#deps.policy.checksum) && matchesReceipt(receipt, occupant.identity);
      if (!isThere) add(receipt, false, occupant?.file);
    }
    for await (const receipt of list('replaced')) if (isCandidate(receipt)) add(receipt, true);
    await this.#findMovedFolders(files, list('done'));
  }

  /** Finds the receipts whose folders are those of other directories now, since a run that was killed has moved them. */
  async #findMovedFolders(files: readonly LocalFile[], receipts: AsyncIterable<Receipt>): Promise<void> {
    const isLost = ({ receipt: { realPath }, mirroredDir }: Vacated) =>
      mirroredDir === undefined && isBelow(realPath, this.#real) && this.#folderAt(dirname(realPath)) === null;
    const lost = [...this.#vacated.values()].flat().filter(isLost);
    if (lost.length === 0) return;
    const mirrored = new Set(files.map(({ file }) => normalizeUid(this.#deps.folders.find(file) ?? '')));
    for await (const receipt of receipts)
      if (this.#mirroredDirOf(receipt) !== undefined) mirrored.add(normalizeUid(receipt.folder));
    for (const each of lost) each.isInMirror = mirrored.has(normalizeUid(each.receipt.folder));
  }

  /** Returns the folder of a directory below the mirrored one; null if it does not exist. */
  #folderAt(directory: string): string | undefined | null {
    return this.#deps.folders.find(fileAt('', toSlashes(relative(this.#real, directory))));
  }

  #mirroredDirOf({ realPath, folder }: Receipt): string | undefined {
    const directory = toSlashes(relative(this.#real, dirname(realPath)));
    if (directory.startsWith('..') || isAbsolute(directory)) return undefined;
    return this.#folderAt(dirname(realPath)) === (folder || undefined) ? directory : undefined;
  }

  /** Returns true if the content of a file may show that it was renamed. */
  mayMatch({ sizeBytes = 0 }: UploadFile): boolean {
    return sizeBytes > 0 && (this.#vacated.get(sizeBytes) ?? []).some((each) => !this.#claimed.has(each));
  }

  /** Decides files before one of them is opened. @param deps with an API that counts the requests */
  async matchAll(files: readonly UploadFile[], deps: MatcherDeps): Promise<Map<UploadFile, Decision>> {
    const renamed = await this.#findRenamed(files.flatMap((file) => toLocalFile(file) ?? []));
    const movable: Renamed[] = [];
    if (renamed.length > 0 && !(await this.#areOriginalsByTimes(renamed))) await this.#disk.addFound(renamed);
    for (const each of renamed)
      if (await this.#mayFollow(each)) movable.push(each);
      else this.#claimed.delete(each.vacated); // a file that is read later may be the renamed one
    const plan = await this.#planFolders(movable, deps);
    const decided = new Map<UploadFile, Decision>();
    const queue = movable.values();
    const lane = async () => {
      for (const each of queue) {
        deps.signal.throwIfAborted();
        const decision = await this.#decide(each, deps.api, plan);
        if (decision) decided.set(each.file, decision);
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    return decided;
  }

  /** Decides a file that is open, and that nothing else has decided. */
  async matchOpened({ file, key, identity, digest }: Subject, { api }: MatcherDeps): Promise<Decision | undefined> {
    const { realPath } = file;
    if (!realPath || !identity || file.stream || !this.mayMatch({ ...file, sizeBytes: identity.sizeBytes }))
      return undefined;
    const local = { file, realPath, identity };
    const fits = (this.#vacated.get(identity.sizeBytes) ?? []).filter((each) => this.#fits(each, local));
    if (fits.length === 0) return undefined;
    const blake3 = await digest();
    const own = key && (await this.#deps.receipts?.find(key));
    if (own?.blake3 === blake3) return undefined; // the file was only touched
    const movable: Vacated[] = [];
    for (const vacated of fits) {
      const { receipt } = vacated;
      if (receipt.blake3 === blake3 && (await this.#mayFollow({ ...local, vacated, receipt }))) movable.push(vacated);
    }
    const vacated = await this.#claim(local, movable);
    // It may be there again, since this run may have taken long.
    const isBack = vacated && !vacated.isReplaced && !vacated.occupant && (await fileExists(vacated.receipt.realPath));
    return vacated && !isBack ? this.#decide({ ...local, vacated, receipt: vacated.receipt }, api) : undefined;
  }

  /** Claims a receipt for each file that has the content of one, as far as files are read before the first byte is sent. */
  async #findRenamed(files: readonly LocalFile[]): Promise<Renamed[]> {
    const byHint = new Map<string, Vacated[]>();
    for (const each of [...this.#vacated.values()].flat())
      for (const hint of hintsOf(each.receipt, each.receipt, [])) addTo(byHint, hint, each);
    const renamed = await this.#claimByHints(files, byHint, new Map());
    // A file that was renamed in a renamed directory has a new name and a new path: the others show the old directory.
    const oldDirs = new Map<string, Set<string>>();
    for (const { realPath, receipt } of renamed.values()) {
      const [now, before] = [dirname(realPath), dirname(receipt.realPath)];
      if (now !== before) oldDirs.set(now, (oldDirs.get(now) ?? new Set()).add(before));
    }
    const left = files.filter((local) => !renamed.has(local) && oldDirs.has(dirname(local.realPath)));
    const inRenamedDirs = left.length > 0 ? await this.#claimByHints(left, byHint, oldDirs) : [];
    return [...renamed.values(), ...inRenamedDirs.values()];
  }

  /** @param oldDirs directories that a directory may have been before, by its path */
  async #claimByHints(
    files: readonly LocalFile[],
    byHint: ReadonlyMap<string, readonly Vacated[]>,
    oldDirs: ReadonlyMap<string, ReadonlySet<string>>,
  ): Promise<Map<LocalFile, Renamed>> {
    const candidates = files.flatMap((local) => {
      const hints = hintsOf(local, local.identity, oldDirs.get(dirname(local.realPath)) ?? []);
      const fits = new Set(hints.flatMap((hint) => byHint.get(hint) ?? []));
      const found = [...fits].filter((each) => !this.#claimed.has(each) && this.#fits(each, local));
      return found.length > 0 ? [{ local, fits: found }] : [];
    });
    const unread = candidates.filter(({ local }) => !this.#digests.has(local.file));
    const bytes = unread.reduce((sum, { local }) => sum + local.identity.sizeBytes, 0);
    if (unread.length > 0) this.#deps.notify({ notice: 'reading', files: unread.length, bytes });
    const matched: { local: LocalFile; same: Vacated[] }[] = [];
    for (const { local, fits } of candidates) {
      this.#deps.signal.throwIfAborted();
      const blake3 = await this.#digestOf(local.file);
      matched.push({ local, same: fits.filter(({ receipt }) => receipt.blake3 === blake3) });
    }
    const renamed = new Map<LocalFile, Renamed>();
    // The times of a file tell it from its copies, and those of a renamed directory from each other.
    for (const isLikely of [isUnmodified, isOriginalByTimes, () => true])
      for (const { local, same } of matched) {
        if (renamed.has(local)) continue;
        const fits: Vacated[] = [];
        for (const each of same) if (await isLikely({ ...local, receipt: each.receipt })) fits.push(each);
        const vacated = await this.#claim(local, fits);
        if (vacated) renamed.set(local, { ...local, vacated, receipt: vacated.receipt });
      }
    return renamed;
  }

  /** Returns true if a file may have the receipt: as one of the mirror, or if the target folder has its asset already. */
  #fits({ receipt, mirroredDir, isInMirror }: Vacated, { file, realPath, identity }: LocalFile): boolean {
    if (receipt.realPath === realPath) return false;
    // An empty file has no content that could show where it comes from.
    if (identity.sizeBytes === 0 && (receipt.mtimeNs === '0' || receipt.mtimeNs !== identity.mtimeNs)) return false;
    return mirroredDir !== undefined || isInMirror || isFolderOf(receipt, this.#deps.folders.find(file));
  }

  /** Claims the best of some receipts with a file's content: of its folder, then of its name, then of its time. */
  async #claim({ file, realPath, identity }: LocalFile, same: readonly Vacated[]): Promise<Vacated | undefined> {
    const target = this.#deps.folders.find(file);
    const rank = ({ receipt }: Vacated) =>
      Number(!isFolderOf(receipt, target)) * 4 +
      Number(!isSameName(receipt.realPath, realPath)) * 2 +
      Number(receipt.mtimeNs !== identity.mtimeNs);
    for (const each of same.length > 1 ? [...same].sort((one, other) => rank(one) - rank(other)) : same) {
      if (this.#claimed.has(each) || !(await this.#isVacant(each)) || this.#claimed.has(each)) continue;
      this.#claimed.add(each);
      return each;
    }
    return undefined;
  }

  /** Returns true if the file of a receipt is still not at its path, or another is, not only touched. */
  async #isVacant({ receipt, occupant }: Vacated): Promise<boolean> {
    if (!occupant || occupant.sizeBytes !== receipt.sizeBytes) return true;
    const digest = await this.#digestOf(occupant);
    return digest !== undefined && digest !== receipt.blake3; // what cannot be read may be the uploaded file
  }

  /** Returns the checksum of a file; undefined for one that cannot be read, which fails when it is uploaded. */
  #digestOf(file: UploadFile): Promise<string | undefined> {
    const digest =
      this.#digests.get(file) ?? digestAndClose(this.#deps.openSource(file.path, file.realPath)).catch(() => undefined);
    this.#digests.set(file, digest);
    return digest;
  }

  async #areOriginalsByTimes(renamed: readonly Renamed[]): Promise<boolean> {
    for (const each of renamed) if (!this.#isInPlace(each) && !(await isOriginalByTimes(each))) return false;
    return true;
  }

  /** Returns true unless the asset is to be changed although the disk of its file may not be mounted. */
  async #mayFollow(renamed: Renamed): Promise<boolean> {
    return this.#isInPlace(renamed) || (await isOriginalByTimes(renamed)) || this.#disk.isRenamed(renamed);
  }

  /** Returns true if the asset has the folder and the name of the file already. */
  #isInPlace({ file, realPath, receipt }: Renamed): boolean {
    return isFolderOf(receipt, this.#deps.folders.find(file)) && isSameName(receipt.realPath, realPath);
  }

  async #planFolders(renamed: readonly Renamed[], deps: MatcherDeps): Promise<FolderPlan> {
    const files = renamed.flatMap(({ file, vacated: { receipt, mirroredDir } }) =>
      mirroredDir === undefined ? [] : [{ assetUid: receipt.assetUid, oldDir: mirroredDir, newDir: file.relativeDir }],
    );
    const replacedDirOf = async (assetUid: string) => {
      const receipt = await deps.receipts?.findByAsset(assetUid);
      const newer = receipt && (await deps.receipts?.find(receipt));
      const isReplaced = newer !== undefined && !isSameUid(newer.assetUid, assetUid);
      return receipt && isReplaced ? this.#mirroredDirOf(receipt) : undefined;
    };
    const plan = new FolderPlan(files, deps, replacedDirOf);
    await plan.plan();
    return plan;
  }

  /** Decides a renamed file. Reads its asset unless that is in place, or its folder is moved with it. */
  async #decide(renamed: Renamed, api: Api, plan?: FolderPlan): Promise<Decision | undefined> {
    const { file, receipt, realPath, vacated } = renamed;
    const target = plan ? plan.uidAt(file.relativeDir) : this.#deps.folders.find(file);
    const moves =
      (vacated.mirroredDir !== undefined && plan?.movesOf({ ...receipt, oldDir: vacated.mirroredDir })) || [];
    if (moves === 'left_behind') return undefined;
    const folderMoves = moves.length > 0 ? moves : undefined;
    const kept = (outcome: KeptOutcome) => keep(outcome, receipt, [movedRecord(renamed, target)]);
    const hasFolder = isFolderOf(receipt, target);
    if (hasFolder && isSameName(receipt.realPath, realPath))
      return folderMoves ? { ...kept('moved'), folderMoves } : kept('skipped');
    const record = await api.assets.get(receipt.assetUid).catch(ifReadable);
    if (record === 'unreadable') return undefined;
    if (!record) return { ...sendNew, records: [{ record: 'forgotten', assetUid: receipt.assetUid }] };
    const parent = parentOf(record);
    const isIn = (folder: string | undefined | null) => folder !== null && isSameUid(parent ?? '', folder ?? '');
    // Others have moved it elsewhere: it is not the asset of this directory any more. `--prune` keeps it, too.
    if (parent !== undefined && !isIn(receipt.folder) && !isIn(target)) return undefined;
    const movesFolder = !hasFolder && (parent === undefined || !isIn(target));
    const name = newNameOf(asText(record.name), receipt.realPath, realPath);
    if (!movesFolder && name === undefined)
      return folderMoves ? { ...kept('moved'), record, folderMoves } : { ...kept('skipped'), record };
    const change = { fields: name === undefined ? {} : { name }, addedTags: [], movesFolder };
    return { ...kept('moved'), record, change, folderMoves };
  }
}

const isUnmodified = ({ receipt, identity }: RenamedFile) => matchesReceipt(receipt, identity);

/** Returns a file with its path and times; undefined for one without. */
function toLocalFile(file: UploadFile): LocalFile | undefined {
  const { realPath, sizeBytes, mtimeNs = '0', ctimeNs, stream } = file;
  if (realPath === undefined || sizeBytes === undefined || stream || !isAbsolute(realPath)) return undefined;
  return { file, realPath, identity: { sizeBytes, mtimeNs, ctimeNs } };
}

const isFolderOf = ({ folder }: Receipt, uid: string | undefined | null) =>
  uid !== null && isSameUid(folder, uid ?? '');

const nameOf = (path: string) => normalizeName(basename(path));

const isSameName = (one: string, other: string) => nameOf(one) === nameOf(other);

/** Returns keys that a file shares with those of its name and size, and those of its directories, time and size. */
const hintsOf = (
  { realPath }: { realPath: string },
  { sizeBytes, mtimeNs }: { sizeBytes: number; mtimeNs: string },
  oldDirs: Iterable<string>,
) => [
  JSON.stringify(['name', sizeBytes, nameOf(realPath)]),
  ...(mtimeNs === '0' ? [] : [dirname(realPath), ...oldDirs]).map((directory) =>
    JSON.stringify(['time', sizeBytes, mtimeNs, directory]),
  ),
];

/** Returns a path so that spellings which some file systems take for the same are equal. */
const spellingOf = (path: string) => path.normalize('NFC').toLowerCase();

/** Returns the file at a path, unless there is none, or it is one of the run under another spelling. */
async function findOccupant(
  path: string,
  bySpelling: ReadonlyMap<string, LocalFile>,
): Promise<LocalFile | undefined | 'unknown'> {
  if (!(await fileExists(path))) return undefined;
  const other = bySpelling.get(spellingOf(path));
  const [found, sent] = await Promise.all([tryStat(path), other && tryStat(other.realPath)]);
  if (!found) return 'unknown';
  if (isSameInode(sent, found)) return undefined;
  return toLocalFile(describeAt(path, path, found));
}

/** Returns the new name of an asset in the form that it has; undefined if it stays, as it is not that of the old file. */
function newNameOf(shown: string | undefined, oldPath: string, newPath: string): string | undefined {
  const [was, is] = [oldPath, newPath].map((path) => [...possibleNames({ filename: basename(path) })]);
  const form = was?.indexOf(normalizeName(shown ?? '')) ?? -1;
  const name = form < 0 ? undefined : (is?.[form] ?? is?.[0]);
  return name === undefined || name === normalizeName(shown ?? '') ? undefined : form === 0 ? basename(newPath) : name;
}

/** @param folder uid of the folder of the file, null if it does not exist yet */
function movedRecord({ receipt, realPath, identity }: Renamed, folder: string | undefined | null): LocalRecord {
  const to = { realPath, ...fileTimesOf(identity), folder: folder === null ? undefined : (folder ?? '') };
  return { record: 'moved', from: receipt, to };
}
