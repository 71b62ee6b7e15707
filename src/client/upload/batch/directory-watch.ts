import { Channel } from '../../../shared/channel.ts';
import { startAge } from '../../../shared/clock.ts';
import { type BackoffPolicy, backoff } from '../../../shared/retry.ts';
import { asCodedError, type CodedError } from '../../errors.ts';
import { fileExists, tryStat } from '../../local-path.ts';
import { Decider } from '../decide/decide.ts';
import type { UploadSettings } from '../decide/upload-settings.ts';
import { type FileOutcome, isInterruption, leftOutOutcome } from '../session/file-outcome.ts';
import { type FileChooser, leftOutPath } from '../sources/file-chooser.ts';
import { hasSameSizeAndTime, isSameVersion, type KnownIdentity } from '../sources/file-identity.ts';
import { fromMetadata, type UploadFile } from '../sources/upload-file.ts';
import type { CompleteEntry, OpenEntry } from '../store/upload-entry.ts';
import type { ListableUploadStore } from '../store/upload-store.ts';
import { type BatchRun, BatchUploader, type RunResult } from './batch-uploader.ts';
import { emptyPlan } from './plan.ts';
import type { UploadPorts } from './upload-ports.ts';

export type DirectoryWatchOptions = {
  /** Time in milliseconds for which a file must stand still before it is uploaded. */
  minAgeMs: number;
  /** Opens the directory for one scan. @throws CodedError if it cannot be read */
  openSources(): Promise<{ files(): AsyncIterable<UploadFile>; chooser: FileChooser }>;
  /** Called with what was left out of a scan, and what could not be read. */
  onScanned(chooser: FileChooser): void;
  /** Called before files are uploaded, and after each scan. */
  onState(state: WatchState): void;
  /** Called with the error of a scan or of a run that is tried again later, once for each message. */
  onProblem(error: CodedError): void;
};

/** @property settling number of files that are still written, or have changed less than the minimum age ago */
export type WatchState = { files: number; bytes: number; settling: number };

/** Shortest pause between two scans. */
const minPauseMs = 1_000;
/** Number of times that a pause is longer than the scan before it, so that scans take 5 % of a processor at most. */
const pausePerScan = 20;
/** Pauses before files that failed are tried again, and before the service is. */
const retryDelays = { minMs: 10_000, maxMs: 3_600_000 };
const outageDelays = { minMs: 5_000, maxMs: 300_000 };
/** Time after which the folders of the library are read again before a run. */
const maxTreeAgeMs = 60_000;

/** A file as it was first seen. It is stable while it is the same version. */
type Sighting = { file: UploadFile; ageMs: () => number };

/** A pause before the next attempt. @property failed the file that failed; empty in an outage, which concerns all */
type Pause = { failed: KnownIdentity; attempts: number; isOver: () => boolean };

/**
 * Follows a directory without an end: scans it again and again, and uploads what is new or changed. A scan asks this
 * machine's records and takes no request.
 *
 * A file is taken when its size and times were the same in all scans for the minimum age. That needs no clock of a file
 * system, and no notification: a network file system has neither. Empty files are left until something is written to them.
 */
export class DirectoryWatch implements BatchRun {
  readonly #options: UploadSettings;
  readonly #deps: UploadPorts;
  readonly #watch: DirectoryWatchOptions;
  readonly #outcomes = new Channel<FileOutcome>();
  readonly #running = new Set<Promise<void>>();
  /** Files of the present runs, by real path. */
  readonly #inFlight = new Map<string, UploadFile>();
  readonly #pauses = new Map<string, Pause>();
  readonly #state: WatchState = { files: 0, bytes: 0, settling: 0 };
  #sightings = new Map<string, Sighting>();
  /** Paths that the last scan left out. */
  #leftOut = new Set<string>();
  #freeLanes: number;
  #treeAgeMs: () => number;
  /** Pause of all uploads, since the service cannot be used. */
  #outage: Pause | undefined;
  #stopReason: CodedError | undefined;
  /** Messages of problems that were reported and have not ended. */
  #problems = new Set<string>();

  constructor(options: UploadSettings, deps: UploadPorts, watch: DirectoryWatchOptions) {
    this.#options = options;
    this.#deps = deps;
    this.#watch = watch;
    this.#freeLanes = options.transfers;
    this.#treeAgeMs = this.#startAge();
  }

  get result(): RunResult {
    return { plan: emptyPlan(), stopReason: this.#stopReason, remaining: 0 };
  }

  outcomes(): AsyncGenerator<FileOutcome[]> {
    return this.#outcomes.streamWhile(() => this.#run().finally(() => this.#deps.onEnd?.()));
  }

  async #run(): Promise<void> {
    const { signal } = this.#deps;
    const { clock } = this.#deps.api.transport;
    while (!this.#isOver) {
      const scanAgeMs = this.#startAge();
      await this.#lookAtMoved();
      // While all lanes are taken, a scan could start nothing.
      if (this.#freeLanes > 0 && this.#outage?.isOver() !== false) await this.#scan();
      const pauseMs = Math.max(minPauseMs, pausePerScan * scanAgeMs());
      if (!this.#isOver) await clock.sleep(pauseMs, signal).catch(() => {});
    }
    await Promise.all(this.#running);
    await this.#lookAtMoved();
  }

  async #lookAtMoved(): Promise<void> {
    const { mover, onEvent } = this.#deps;
    for (const outcome of (await mover?.lookAtMoved(onEvent)) ?? []) this.#outcomes.push(outcome);
  }

  async #scan(): Promise<void> {
    try {
      const files = await this.#findFilesToUpload();
      this.#watch.onState(this.#state);
      this.#problems.clear();
      if (files.length > 0) await this.#start(files);
    } catch (thrown) {
      this.#onRunError(asCodedError(thrown));
    }
  }

  /** Returns the files that are not uploaded as they are, and have stood still. */
  async #findFilesToUpload(): Promise<UploadFile[]> {
    const decider = new Decider(this.#options, this.#deps);
    const sightings = new Map<string, Sighting>();
    const present = new Set<string>();
    const found: UploadFile[] = [];
    const { files, chooser } = await this.#watch.openSources();
    for await (const file of files()) {
      if (this.#isOver) return [];
      const path = pathOf(file);
      if (this.#pauses.has(path)) present.add(path);
      if (this.#inFlight.has(path) || file.sizeBytes === 0) continue;
      if (!this.#deps.mover && (await decider.isUploaded(file))) continue;
      const sighting = this.#sightingOf(file);
      sightings.set(path, sighting);
      const isSettled = sighting.ageMs() >= this.#watch.minAgeMs;
      if (isSettled && this.#mayTry(file) && !(await this.#mayBeInFlight(file))) found.push(file);
    }
    this.#sightings = sightings;
    for (const path of this.#pauses.keys()) if (!present.has(path)) this.#pauses.delete(path);
    this.#reportLeftOut(chooser);
    this.#state.settling = [...sightings.values()].filter(({ ageMs }) => ageMs() < this.#watch.minAgeMs).length;
    return found;
  }

  /** Reports each file once that is left out, for as long as it is there. */
  #reportLeftOut(chooser: FileChooser): void {
    const earlier = this.#leftOut;
    this.#leftOut = new Set(chooser.leftOut.map(leftOutPath));
    for (const left of chooser.leftOut) if (!earlier.has(leftOutPath(left))) this.#outcomes.push(leftOutOutcome(left));
    this.#watch.onScanned(chooser);
  }

  /** Returns the first sighting of a file as it is now. */
  #sightingOf(file: UploadFile): Sighting {
    const earlier = this.#sightings.get(pathOf(file));
    return earlier && isSameVersion(earlier.file, file) ? earlier : { file, ageMs: this.#startAge() };
  }

  /** Returns true for a file that may be one of those that are sent now, and was renamed meanwhile: its upload ends first. */
  async #mayBeInFlight(file: UploadFile): Promise<boolean> {
    for (const [path, other] of this.#inFlight)
      if (hasSameSizeAndTime(other, file) && !(await fileExists(path))) return true;
    return false;
  }

  /** Returns false for a file that has failed and not changed since, until it is time to try it again. */
  #mayTry(file: UploadFile): boolean {
    const pause = this.#pauses.get(pathOf(file));
    return !pause || !isSameVersion(pause.failed, file) || pause.isOver();
  }

  /** Starts to upload files, and returns as soon as another run may start. */
  async #start(files: readonly UploadFile[]): Promise<void> {
    const { receipts, folders, comparison, signal } = this.#deps;
    if (this.#treeAgeMs() > maxTreeAgeMs && folders.refresh) {
      await comparison.library.folders({ isFresh: true });
      await folders.refresh();
      this.#treeAgeMs = this.#startAge();
    }
    const lanes = Math.min(this.#freeLanes, files.length);
    let [unsent, held] = [files.length, lanes];
    this.#freeLanes -= lanes;
    const release = (left: number) => {
      unsent = left;
      this.#freeLanes += Math.max(0, held - left);
      held = Math.min(held, left);
    };
    this.#state.files += files.length;
    this.#state.bytes += files.reduce((sum, { sizeBytes = 0 }) => sum + sizeBytes, 0);
    this.#watch.onState(this.#state);
    for (const file of files) this.#inFlight.set(pathOf(file), file);
    const options = { ...this.#options, transfers: lanes };
    const toSend = await asBegun(files, this.#deps.store);
    const ports = { ...this.#deps, mark: (await receipts?.newestId()) ?? 0, onEnd: undefined };
    const run = new BatchUploader(options, ports, { onSent: () => release(unsent - 1) });
    const running = this.#follow(run, toSend).finally(() => {
      release(0);
      for (const file of files) this.#inFlight.delete(pathOf(file));
      this.#running.delete(running);
    });
    this.#running.add(running);
    if (signal.aborted) await running;
  }

  async #follow(run: BatchUploader, files: readonly UploadFile[]): Promise<void> {
    let error: CodedError | undefined;
    try {
      for await (const outcomes of run.outcomes(files))
        for (const outcome of outcomes) {
          this.#onOutcome(outcome);
          this.#outcomes.push(outcome);
        }
      error = run.result.stopReason;
    } catch (thrown) {
      error = asCodedError(thrown);
    }
    if (error) this.#onRunError(error);
    else this.#outage = undefined;
  }

  #onOutcome({ file, error, isBusy }: FileOutcome): void {
    const path = pathOf(file);
    // Its folder may be gone, whatever is known of it.
    if (error?.kind === 'notFound') this.#treeAgeMs = () => Number.POSITIVE_INFINITY;
    // A file that is uploaded is not found again.
    if (error || isBusy) this.#pauses.set(path, this.#pauseAfter(this.#pauses.get(path), retryDelays, file));
    else this.#pauses.delete(path);
  }

  /** Ends the watch, or waits before the next scan if the error may end by itself, as an outage does. */
  #onRunError(error: CodedError): void {
    if (isInterruption(error)) return;
    if (isLasting(error)) {
      this.#stopReason ??= error;
      return;
    }
    this.#outage = this.#pauseAfter(this.#outage, outageDelays);
    if (!this.#problems.has(error.message)) this.#watch.onProblem(error);
    this.#problems.add(error.message);
  }

  /** Starts a pause, which is longer after each failure of the same. */
  #pauseAfter(earlier: Pause | undefined, policy: BackoffPolicy, failed: KnownIdentity = {}): Pause {
    const attempts = earlier && isSameVersion(earlier.failed, failed) ? earlier.attempts + 1 : 1;
    const delayMs = backoff(attempts - 1, policy, this.#deps.api.transport.clock);
    const ageMs = this.#startAge();
    return { failed, attempts, isOver: () => ageMs() >= delayMs };
  }

  get #isOver(): boolean {
    return this.#stopReason !== undefined || this.#deps.signal.aborted;
  }

  #startAge(): () => number {
    return startAge(this.#deps.api.transport.clock);
  }
}

const pathOf = ({ realPath, path }: UploadFile) => realPath ?? path;

/** Returns true for an error after which each later scan would fail, too: a person has to act. */
const isLasting = ({ kind, explanation: { code, subcode } }: CodedError) =>
  ['unauthenticated', 'forbidden', 'notFound', 'state'].includes(kind) ||
  code === 'origin_mismatch' ||
  subcode === 'tls_failed';

/**
 * Returns files as they were when an upload of them was begun that a kill has interrupted, if they were renamed after that.
 * It ends as the upload of the file at its old path: then its receipt shows that the file was renamed. Otherwise the same
 * bytes would be sent again, though the service may have them all.
 */
async function asBegun(files: readonly UploadFile[], store: ListableUploadStore): Promise<readonly UploadFile[]> {
  const begun = (await store.list()).filter(
    (entry): entry is OpenEntry | CompleteEntry =>
      (entry.state === 'open' || entry.state === 'whole') && entry.identity === undefined,
  );
  if (begun.length === 0) return files;
  return Promise.all(files.map(async (file) => fileAsBegun(file, await findEntry(file, begun))));
}

/** Returns the entry of an upload of the same inode, with the same size and modification time, whose path is gone. */
async function findEntry(
  file: UploadFile,
  begun: readonly (OpenEntry | CompleteEntry)[],
): Promise<OpenEntry | CompleteEntry | undefined> {
  const similar = begun.filter((entry) => hasSameSizeAndTime(entry.file, file));
  if (similar.length === 0) return undefined;
  const found = await tryStat(file.path);
  for (const entry of similar) {
    const isSame = found && entry.file.ino === String(found.ino) && entry.file.dev === String(found.dev);
    if (isSame && !(await fileExists(entry.realPath))) return entry;
  }
  return undefined;
}

function fileAsBegun(file: UploadFile, entry: OpenEntry | CompleteEntry | undefined): UploadFile {
  if (!entry) return file;
  const begun = fromMetadata(entry.metadata);
  return { ...file, ...begun, about: { ...file.about, ...begun.about }, id: entry.id, realPath: entry.realPath };
}
