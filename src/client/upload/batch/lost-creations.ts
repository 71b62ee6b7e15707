import { fieldsIn } from '../../../contract/reading.ts';
import { exitCodes, type MediactlError } from '../../errors.ts';
import type { UploadTools } from '../session/job.ts';
import { Deferred, type FoundAssets, type LostCreation } from '../session/lost.ts';
import { findLost } from '../session/lost-creation.ts';
import type { Wanted } from '../sources/wanted.ts';

/** A file whose creation is lost again and again is one that fails. */
const mostRounds = 3;

type LostTools = Pick<UploadTools, 'api' | 'journal' | 'receipts' | 'findLost' | 'confirmNewAsset'>;

/**
 * The creations of a run whose answers were lost: of a single file it is looked up and asked at once; of
 * many they are kept for one look at the end. There nobody is asked. What was found is empty, so that a
 * new asset loses nothing, and is named for `uploads gc`.
 */
export class LostCreations {
  readonly #tools: Pick<LostTools, 'api' | 'journal' | 'receipts' | 'confirmNewAsset'>;
  readonly #found = new Map<string, FoundAssets>();
  readonly #waiting: { file: Wanted; lost?: LostCreation }[] = [];
  #rounds = 0;
  areMany = false;

  constructor(tools: Pick<LostTools, 'api' | 'journal' | 'receipts' | 'confirmNewAsset'>) {
    this.#tools = tools;
  }

  /** What an upload is to use. */
  get tools(): Pick<LostTools, 'findLost' | 'confirmNewAsset'> {
    return {
      findLost: (lost) => this.#find(lost),
      confirmNewAsset: async (refusal, assetUids) => {
        if (!this.areMany || !allowsNewAsset(refusal))
          await this.#tools.confirmNewAsset(refusal, assetUids);
      },
    };
  }

  get waiting(): readonly { file: Wanted }[] {
    return this.#waiting;
  }

  /** Whether a failure is one to come back to; then it is kept. */
  takes(thrown: unknown, file: Wanted): boolean {
    if (!(thrown instanceof Deferred)) return false;
    this.#waiting.push({ file, lost: thrown.lost });
    return true;
  }

  /** Whether an error may have left a creation whose answer is lost, that is worth another round. */
  isLost({ exitCode }: MediactlError): boolean {
    return exitCode === exitCodes.unreachable && this.#rounds < mostRounds;
  }

  keep(file: Wanted): void {
    this.#waiting.push({ file });
  }

  /** Looks all of them up at once. @returns the files to be sent */
  async lookUp(): Promise<Wanted[]> {
    this.#rounds++;
    const waiting = this.#waiting.splice(0);
    const losts = waiting.flatMap(({ lost }) => lost ?? []);
    if (losts.length > 0) {
      const found = await this.#lookedUp(losts);
      for (const [lost, assets] of found) this.#found.set(nameOf(lost), assets);
    }
    return waiting.map(({ file }) => file);
  }

  async #find(lost: LostCreation): Promise<FoundAssets> {
    const found = this.#found.get(nameOf(lost));
    this.#found.delete(nameOf(lost));
    if (found) return found;
    if (this.areMany) throw new Deferred(lost);
    return (await this.#lookedUp([lost])).get(lost) as FoundAssets;
  }

  #lookedUp(losts: readonly LostCreation[]) {
    const { api, journal, receipts } = this.#tools;
    const patient = this.areMany ? api.observed({ lane: 'bulk' }) : api;
    return findLost(patient, journal, (uid) => receipts?.hasAsset(uid) ?? false, losts);
  }
}

/** Whether what was found of a lost creation is empty, and all of it was found: a new asset loses nothing. */
export function allowsNewAsset({ explanation: { code, details } }: MediactlError): boolean {
  const { is_all: isAll, may_be_whole: mayBeWhole } = fieldsIn(details);
  return code === 'creation_unknown' && isAll === true && mayBeWhole === false;
}

/** A run has one of each. */
const nameOf = ({ metadata, begunAt }: LostCreation) => JSON.stringify([metadata, begunAt]);
