import { tryLstat } from '../../local-path.ts';
import { type FileIdentity, isStillAt, wasCreatedAfter } from '../sources/file-identity.ts';
import type { Receipt } from '../store/receipt-row.ts';
import type { MatcherDeps } from './matcher.ts';
import { type DoubtfulDirectory, isBelow, MissingFiles } from './missing-files.ts';

/** A file that has the content of a receipt whose path it does not have. */
export type RenamedFile = { realPath: string; identity: FileIdentity; receipt: Receipt };

type DiskCheckOptions = {
  /** Real path of the mirrored directory. */
  real: string;
  /** Returns true if a receipt is of a file below that directory, and its asset in the folder for it. */
  isMirrored(receipt: Receipt): boolean;
};

/**
 * Tells whether a file was renamed, or is a copy of one that is only missing because its disk is not mounted. Reads all
 * receipts of the directory and looks for their files, once, and only if the times of a file do not tell.
 */
export class DiskCheck {
  readonly #deps: MatcherDeps;
  readonly #options: DiskCheckOptions;
  #counts: Promise<{ files: MissingFiles; doubtful: readonly DoubtfulDirectory[] }> | undefined;
  /** Numbers of renamed files that were found, by the directories that they left. */
  readonly #found = new Map<string, { all: number; inside: number }>();

  constructor(deps: MatcherDeps, options: DiskCheckOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Counts files that were found by their content, before `isRenamed` is asked about any. */
  async addFound(found: readonly RenamedFile[]): Promise<void> {
    const { files } = await this.#count();
    for (const { realPath, receipt } of found.filter((each) => this.#options.isMirrored(each.receipt)))
      for (const path of files.directoriesOf(receipt.realPath)) {
        const { all, inside } = this.#found.get(path) ?? { all: 0, inside: 0 };
        this.#found.set(path, { all: all + 1, inside: inside + Number(isBelow(realPath, path)) });
      }
  }

  /**
   * Returns true unless the disk of the file's old directory may not be mounted. If it may not be, the file was renamed all
   * the same if all missing files of that directory were found, and either it is gone or they are still in it.
   */
  async isRenamed({ receipt }: Pick<RenamedFile, 'receipt'>): Promise<boolean> {
    // An asset whose folder is not that of its old directory is in another one of the mirror, as after a kill.
    if (!isBelow(receipt.realPath, this.#options.real)) return false;
    const { doubtful } = await this.#count();
    return doubtful.every(({ path, missing, isGone }) => {
      if (!isBelow(receipt.realPath, path)) return true;
      const { all, inside } = this.#found.get(path) ?? { all: 0, inside: 0 };
      return all === missing && (isGone || inside === missing);
    });
  }

  #count() {
    this.#counts ??= this.#countAll();
    return this.#counts;
  }

  async #countAll() {
    const { receipts, api, workspace, mark } = this.#deps;
    const { real, isMirrored } = this.#options;
    const files = new MissingFiles(real);
    for await (const receipt of receipts?.listBelow(api.transport.baseUrl.origin, workspace, real) ?? []) {
      if (receipt.state === 'failed' || !isMirrored(receipt)) continue;
      // Another file at its path may be one of the mount point.
      const isMissing = !(await isStillAt(receipt.realPath, receipt));
      if (isMissing || receipt.id <= mark) files.add(receipt.realPath, isMissing);
    }
    return { files, doubtful: await files.findDoubtful({ isStrict: true }) };
  }
}

/**
 * Returns true if the times of a renamed file show that it is the file that was uploaded, not a copy. To rename a directory
 * changes no time of its files. To rename a file changes the change time, but not the time at which it was created, which
 * only Linux protects.
 */
export async function isOriginalByTimes({ realPath, identity, receipt }: RenamedFile): Promise<boolean> {
  const { mtimeNs, ctimeNs } = receipt;
  if (ctimeNs === null || mtimeNs === '0' || mtimeNs !== identity.mtimeNs) return false;
  if (ctimeNs === identity.ctimeNs) return true;
  const found = await tryLstat(realPath);
  return found !== undefined && wasCreatedAfter(found, ctimeNs) === false;
}
