import { realpath } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { type ListedAsset, parentOf } from '../../../contract/asset.ts';
import { classifyStatus, isIncomplete, isUnusable } from '../../../contract/assumptions.ts';
import { possibleNames } from '../../../contract/tus.ts';
import type { AssetRecord } from '../../../contract/types.ts';
import { isSameUid, normalizeUid } from '../../../contract/uid.ts';
import { type EvidenceKind, type Existing, evidenceKinds, isKept } from '../../../shared/file-evidence.ts';
import { groupBy } from '../../../shared/groups.ts';
import { asNumber, asText, normalizeName } from '../../../shared/json-values.ts';
import { asCodedError, type CodedError } from '../../errors.ts';
import { isListRefused } from '../../library/folder-reader.ts';
import { fileExists } from '../../local-path.ts';
import { digestAndClose, digestIn } from '../sources/checksum.ts';
import { matchesReceipt } from '../sources/file-identity.ts';
import type { UploadFile } from '../sources/upload-file.ts';
import type { DownloadedFile, KnownAsset } from '../store/known-assets.ts';
import { kindOf, type Receipt, receiptOfFinding } from '../store/receipt-row.ts';
import { keep } from './by-receipt.ts';
import { type Decision, evidenceOf, sendNew } from './decision.ts';
import { FolderAssets } from './folder-assets.ts';
import type { MatcherDeps } from './matcher.ts';
import { isBelow } from './missing-files.ts';

/** Maximum number of assets of one name that a file is compared with, since each may cost a request. */
const maxNamesakes = 20;

/**
 * Compares files without a receipt with the assets that their folder already has, because another machine might have
 * uploaded them, or an older copy of the state folder was restored. See `FolderComparison`. Takes a request for 100
 * assets of a folder, or one for each file if that is less. Reads a file only if the checksum of its namesake is known.
 *
 * If a folder cannot be listed, notifies and decides nothing in it: outside the primary workspace (assumption A26), and
 * with a key that may not read. With `--existing name` that is an error.
 */
export async function inFolder(
  files: readonly UploadFile[],
  deps: MatcherDeps,
): Promise<ReadonlyMap<UploadFile, Decision>> {
  const { folders, policy } = deps;
  // Several files with one name are refused before anything is sent.
  if (policy.about.name !== undefined && files.length > 1) return new Map();
  const comparable = files.filter(
    (file) =>
      folders.find(file) !== null &&
      keyPathOf(file) !== undefined &&
      (file.sizeBytes !== undefined || policy.existing === 'name'),
  );
  const byFolder = groupBy(comparable, (file) => folders.find(file) ?? '');
  const comparison = new FolderComparison(deps);
  let refusal: CodedError | undefined;
  for (const [folder, filesOfFolder] of byFolder)
    await comparison.compare(folder, filesOfFolder).catch((thrown) => {
      const error = asCodedError(thrown);
      if (!isListRefused(error) || policy.existing === 'name') throw thrown;
      refusal ??= error;
    });
  const { found } = comparison;
  const sameName = [...found].flatMap(([file, { action }]) => (action === 'send' ? [file] : []));
  if (refusal) deps.notify({ notice: 'not_compared', error: refusal });
  if (sameName.length > 0) deps.notify({ notice: 'same_name', paths: sameName.map(({ path }) => path) });
  return found;
}

type ComparedFile = {
  file: UploadFile;
  /** Uid, or empty for the top level. */
  folder: string;
  /** Last download to its path, even if another file is there now. */
  downloaded: DownloadedFile | undefined;
  /** Returns the checksum of the file, which is read once; undefined if it cannot be read. */
  digest(): Promise<string | undefined>;
};

/**
 * Pairs files with the assets of their folder: those that this machine did not upload, that it uploaded from elsewhere than
 * the directory of the run, or that it downloaded to the path of the file. Each asset is that of one file. Which evidence is
 * enough to keep a file is in the table of `evidenceKinds`.
 */
class FolderComparison {
  readonly found = new Map<UploadFile, Decision>();
  readonly #deps: MatcherDeps;
  readonly #assets: FolderAssets;
  /** Uids of assets that are already the match of a file. */
  readonly #matched = new Set<string>();
  /** Real paths of the arguments by which files were found. */
  readonly #roots = new Map<string, Promise<string>>();

  constructor(deps: MatcherDeps) {
    this.#deps = deps;
    this.#assets = new FolderAssets(deps);
  }

  /** @param folder uid, or empty for the top level */
  async compare(folder: string, files: readonly UploadFile[]): Promise<void> {
    const downloads = new Map<UploadFile, DownloadedFile>();
    const { receipts, api } = this.#deps;
    const { origin } = api.transport.baseUrl;
    for (const file of files) {
      const downloaded = file.stream ? undefined : await receipts?.findDownloaded(origin, file.realPath ?? '');
      if (downloaded) downloads.set(file, downloaded);
    }
    const names = files.map((file) => this.#namesOf(file));
    const others = [...downloads.values()].map(({ assetUid }) => assetUid);
    const listed = await this.#assets.list(this.#placeOf(folder), names, others);
    const byName = groupBy(listed, ({ name }) => normalizeName(name));
    const byUid = new Map(listed.map((asset) => [normalizeUid(asset.uid), asset]));
    for (const file of files) {
      this.#deps.signal.throwIfAborted();
      const downloaded = downloads.get(file);
      const source = downloaded && byUid.get(normalizeUid(downloaded.assetUid));
      const named = [...this.#namesOf(file)].flatMap((name) => byName.get(name) ?? []);
      const candidates = [...new Set([...(source ? [source] : []), ...named])].slice(0, maxNamesakes);
      const compared = { file, folder, downloaded, digest: this.#digestOf(file, downloaded) };
      const decision = await this.#pair(compared, candidates);
      if (decision) this.found.set(file, decision);
    }
  }

  #digestOf(file: UploadFile, downloaded: DownloadedFile | undefined): ComparedFile['digest'] {
    const { path, realPath, stream, sizeBytes = 0, mtimeNs = '0', ctimeNs } = file;
    if (downloaded && matchesReceipt(downloaded, { sizeBytes, mtimeNs, ctimeNs })) return async () => downloaded.blake3;
    let digest: Promise<string | undefined> | undefined;
    return () => {
      // An unreadable file fails later, when it is uploaded.
      digest ??= digestAndClose(this.#deps.openSource(stream?.spoolPath ?? path, realPath)).catch(() => undefined);
      return digest;
    };
  }

  #namesOf(file: UploadFile): Set<string> {
    return possibleNames({ filename: fileNameOf(file), asset_name: file.about?.name ?? this.#deps.policy.about.name });
  }

  /** Decides a file by the first asset that is its own, else by one of its name; undefined if there is none. */
  async #pair(compared: ComparedFile, candidates: readonly ListedAsset[]): Promise<Decision | undefined> {
    const { existing } = this.#deps.policy;
    let namesake: Receipt | undefined;
    for (const asset of candidates) {
      if (this.#matched.has(asset.uid)) continue;
      const found = await this.#compareWith(compared, asset);
      if (!found) continue;
      const receipt = this.#receiptOf(compared, asset, found);
      const { kept } = evidenceKinds[found.kind];
      if (kept !== 'exists' && isKept(existing, found.kind)) {
        this.#matched.add(asset.uid);
        return keep(kept, receipt, [{ record: 'adopted', receipt }]);
      }
      // The one that may be the file's, rather than one that is not.
      if (!namesake || rankOf(found.kind, existing) > rankOf(kindOf(namesake), existing)) namesake = receipt;
    }
    if (!namesake) return undefined;
    const kind = kindOf(namesake);
    return isKept(existing, kind)
      ? keep(evidenceKinds[kind].kept, namesake)
      : { ...sendNew, evidence: evidenceOf(namesake) };
  }

  /** Returns what is known of a file and an asset; undefined if the asset is another file's, or no longer exists. */
  async #compareWith(compared: ComparedFile, listed: ListedAsset): Promise<PairFinding | undefined> {
    const { file, folder, downloaded } = compared;
    const known = await this.#deps.receipts?.findAsset(listed.uid);
    const isSource = downloaded !== undefined && isSameUid(downloaded.assetUid, listed.uid);
    const isOthers = known?.isOwn === true && !isSource && !(await this.#isFromElsewhere(known, file));
    if (isOthers && this.#deps.policy.existing !== 'name') return undefined;
    const asset = await this.#assets.read(listed.uid);
    if (!asset || !(isSource || this.#isNamedLike(asset, file))) return undefined;
    const parent = parentOf(asset);
    if (parent !== undefined && !isSameUid(parent ?? '', folder)) return undefined;
    if (isUnusable(asset.status)) return { kind: 'incomplete' };
    // Another file, whose content was not compared either, might be this asset.
    const others = isSource ? [] : (known?.uncomparedPaths.filter((path) => path !== keyPathOf(file)) ?? []);
    if (isOthers || (await Promise.all(others.map(fileExists))).includes(true)) return { kind: 'name' };
    return this.#compareContent(compared, asset, known, isSource ? downloaded : undefined);
  }

  async #compareContent(
    { file, folder, digest }: ComparedFile,
    asset: AssetRecord,
    known: KnownAsset | undefined,
    source: DownloadedFile | undefined,
  ): Promise<PairFinding> {
    const size = asNumber(asset.size);
    const content = contentOf(asset, known, source);
    if (!content && source) return { kind: (await digest()) === source.blake3 ? 'rendition' : 'changed' };
    if (size !== undefined && size !== file.sizeBytes) return { kind: source ? 'changed' : 'contradicted' };
    if (!content) {
      if (size === undefined) return { kind: 'name' };
      return { kind: isIncomplete(asset.status) ? 'incomplete' : 'name_and_size' };
    }
    const blake3 = await digest();
    this.#deps.signal.throwIfAborted();
    if (blake3 === content.blake3) return { kind: content.evidence, blake3 };
    const realPath = keyPathOf(file) ?? '';
    if (blake3 !== undefined && known?.uncomparedPaths.includes(realPath))
      this.#deps.note({ record: 'different', key: { ...this.#placeOf(folder), realPath } });
    return { kind: blake3 === undefined ? 'name' : source ? 'changed' : 'contradicted' };
  }

  /**
   * Returns true if this machine uploaded an asset, and only from other places than the argument by which a file was found,
   * such as the directory of which that is a copy. With `content`, its receipt shows that later.
   */
  async #isFromElsewhere({ ownPaths }: KnownAsset, { typedPath, realPath, path }: UploadFile): Promise<boolean> {
    const { existing } = this.#deps.policy;
    if (ownPaths.length === 0 || (existing !== 'file' && existing !== 'name')) return false;
    const typed = this.#deps.mirror ?? typedPath ?? path;
    const root = this.#roots.get(typed) ?? realpath(typed).catch(() => dirname(realPath ?? path));
    this.#roots.set(typed, root);
    const top = await root;
    return ownPaths.every((each) => each !== top && !isBelow(each, top));
  }

  /** Returns true for the name of the file, and without its extension only if the record shows no other file name. */
  #isNamedLike({ name, filename }: AssetRecord, file: UploadFile): boolean {
    const shown = normalizeName(asText(name) ?? '');
    const [first] = this.#namesOf(file);
    const original = asText(filename);
    if (shown !== first && original !== undefined) return normalizeName(original) === normalizeName(fileNameOf(file));
    return this.#namesOf(file).has(shown);
  }

  #placeOf(folder: string) {
    return { service: this.#deps.api.transport.baseUrl.origin, workspace: this.#deps.workspace, folder };
  }

  /** Returns the receipt of a file for an asset that it may have, as far as they were compared. */
  #receiptOf(
    { file, folder }: ComparedFile,
    { uid: assetUid, name }: ListedAsset,
    { kind, blake3 }: PairFinding,
  ): Receipt {
    const isReady = classifyStatus(this.#assets.find(assetUid)?.status) === 'ready';
    const verified = blake3 === undefined || kind === 'unconfirmed' ? null : true;
    return receiptOfFinding({ ...this.#placeOf(folder), realPath: keyPathOf(file) ?? '' }, file, {
      ...{ blake3: blake3 ?? null, verified, assetUid, name, evidence: kind },
      state: isReady ? 'ready' : 'unchecked',
      at: new Date(this.#deps.api.transport.clock.now()).toISOString(),
    });
  }
}

/** Result of comparing a file with an asset. @property blake3 of both, if they have the same content */
type PairFinding = { kind: EvidenceKind; blake3?: string };

const rankOf = (kind: EvidenceKind, existing: Existing) =>
  Number(isKept(existing, kind)) * 2 + Number(evidenceKinds[kind].content !== 'other');

/** Returns the content of an asset, and how it is known: the record shows it, this machine knows it, or has downloaded it. */
function contentOf(
  asset: AssetRecord,
  known: KnownAsset | undefined,
  source: DownloadedFile | undefined,
): KnownAsset['content'] {
  const shown = digestIn(asset);
  if (shown !== undefined) return { blake3: shown, evidence: 'checksum' };
  // A rendition of the same size is hardly one.
  const isOriginal = source && (source.verified || source.recordSize === source.sizeBytes);
  const isSource = source && known?.content?.blake3 === source.blake3;
  if (known?.content && !isSource) return known.content;
  return isOriginal || isSource ? { blake3: source.blake3, evidence: 'download' } : undefined;
}

/** Returns the path by which receipts know a file; of a spooled stream, its identity. */
const keyPathOf = ({ realPath, stream }: UploadFile) => realPath ?? stream?.identity;

const fileNameOf = ({ path, filename }: UploadFile) => filename ?? basename(path);
