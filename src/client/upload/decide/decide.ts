import type { Api } from '../../api/api.ts';
import { digestOf } from '../sources/checksum.ts';
import type { UploadSource } from '../sources/source.ts';
import {
  type ContentTypeOf,
  givenMetadataOf,
  loadContentTypes,
  metadataOf,
  type ReceiptKey,
  receiptKeyOf,
  targetFile,
  type UploadFile,
  uploadIdOf,
} from '../sources/upload-file.ts';
import { hasSentContent, knownUnfinished, listKnownEntries, movedUnfinished, unfinished } from './by-entry.ts';
import { mayBeDuplicate, sameContent, sameFile } from './by-receipt.ts';
import type { Renames } from './by-rename.ts';
import { type Decision, type LocalRecord, type SendDecision, sendNew } from './decision.ts';
import type { DecidePorts, FileMatcher, MatcherDeps, Subject } from './matcher.ts';
import { newMetadata, withMetadata } from './metadata.ts';
import type { UploadSettings } from './upload-settings.ts';

/** Decide the files of a run one by one, by this machine's records: no request, and no byte is read. */
const byRecords: readonly FileMatcher[] = [sameFile, knownUnfinished];

/** Decides some of the files of a run, which it has to see together. @param isNew returns true for a file without a receipt */
type BatchMatcher = (
  files: readonly UploadFile[],
  isNew: (file: UploadFile) => boolean,
  deps: MatcherDeps,
) => Promise<ReadonlyMap<UploadFile, Decision>>;

export type Candidates = AsyncIterable<UploadFile> | Iterable<UploadFile>;

/** Number of assets that are read at the same time. */
const metadataLanes = 8;

const sendAnyway = { action: 'send', reason: 'wanted', mayBeDuplicate: false } as const satisfies SendDecision;
const sendSameSize = { action: 'send', reason: 'new', mayBeDuplicate: true } as const satisfies SendDecision;

/** Decides what is to be done with the files of a run. Changes nothing; `saveRecords` writes what follows. */
export class Decider {
  readonly #deps: MatcherDeps;
  readonly #records: LocalRecord[] = [];
  readonly #contentTypes = loadContentTypes();
  readonly #decidesAgain: boolean;
  #unfinished: Promise<ReadonlyMap<string, string>> | undefined;
  /** Files of a mirror that were renamed; undefined before all files were decided, and if there is no mirror. */
  #renames: Renames | undefined;
  #requests = 0;
  /** Matches a renamed file that was not read before it was opened. */
  readonly #renamed: FileMatcher = async (subject, before, deps) =>
    before.entry ? undefined : this.#renames?.matchOpened(subject, deps);
  /** Read the file. For all files of a run, that would delay the first byte. */
  readonly #byReading: readonly FileMatcher[] = [this.#renamed, sameContent, movedUnfinished];
  /** Decide a file right before its first byte is sent, and under its lock, since other processes upload files too. */
  readonly #whenOpened: readonly FileMatcher[] = [sameFile, unfinished, ...this.#byReading];

  /** @param decidesAgain false if `decideAll` is final, since workers upload the files and do not know this machine's receipts */
  constructor(settings: UploadSettings, ports: DecidePorts, decidesAgain = true) {
    const { store, mark = Number.MAX_SAFE_INTEGER, onDecideNotice = () => {} } = ports;
    this.#decidesAgain = decidesAgain;
    this.#deps = {
      ...ports,
      ...{ mark, policy: settings },
      notify: onDecideNotice,
      note: (record) => this.#records.push(record),
      renamed: new Set(),
      listUnfinished: () => {
        this.#unfinished ??= store ? listKnownEntries(store) : Promise.resolve(new Map());
        return this.#unfinished;
      },
    };
  }

  /** Number of requests that the decisions about all files have taken. */
  get requests(): number {
    return this.#requests;
  }

  /** Returns, once, the changes of this machine's records that no single decision has, such as a folder's listing. */
  takeRecords(): LocalRecord[] {
    return this.#records.splice(0);
  }

  /**
   * Decides the files of a run before one of them is opened. Those that this machine's records decide are yielded as
   * they are found, and not kept; then the others, in the given order.
   */
  async *decideAll(files: Candidates): AsyncGenerator<[UploadFile, Decision]> {
    const open = new Map<UploadFile, Decision>();
    for await (const file of files) {
      const decision = await this.#matchRecords(file);
      if (decision.action === 'send' || this.#hasNewMetadata(file, decision)) open.set(file, decision);
      else yield [file, decision];
    }
    for (const match of await this.#batchMatchers()) await this.#matchTogether(match, open);
    for await (const [file, decision] of this.#withAllMetadata(open)) {
      open.delete(file); // the consumer keeps what it needs
      yield [file, await this.#withDoubt(file, decision)];
    }
  }

  /** Returns true if this machine's records show that a file is uploaded as it is, with its metadata. Takes no request. */
  async isUploaded(file: UploadFile): Promise<boolean> {
    const decision = await this.#matchRecords(file);
    return decision.action === 'keep' && !this.#hasNewMetadata(file, decision);
  }

  async #matchRecords(file: UploadFile): Promise<Decision> {
    return this.#match(byRecords, await this.#subjectOf(file), sendNew, this.#deps);
  }

  async #matchTogether(match: BatchMatcher, open: Map<UploadFile, Decision>): Promise<void> {
    const unmatched = [...open].flatMap(([file, { action }]) => (action === 'send' ? [file] : []));
    if (unmatched.length === 0) return;
    const isNewFile = (file: UploadFile) => isNew(open.get(file) as Decision);
    const deps = this.#counting(unmatched.length > 1 ? 'bulk' : 'interactive');
    for (const [file, decision] of await match(unmatched, isNewFile, deps)) {
      const before = open.get(file);
      open.set(file, before?.action === 'send' ? decideAfter(before, decision) : decision);
    }
  }

  #hasNewMetadata(file: UploadFile, decision: Decision): boolean {
    if (decision.action !== 'keep') return false;
    return Object.keys(newMetadata(givenMetadataOf(file, this.#deps.policy.about), decision.receipt.about)).length > 0;
  }

  /** Adds the metadata of kept files, several at a time, and yields all files in the given order. */
  async *#withAllMetadata(decided: ReadonlyMap<UploadFile, Decision>): AsyncGenerator<[UploadFile, Decision]> {
    const deps = this.#counting(decided.size > 1 ? 'bulk' : 'interactive');
    const all = [...decided];
    for (let at = 0; at < all.length; at += metadataLanes) {
      deps.signal.throwIfAborted();
      const some = all.slice(at, at + metadataLanes);
      const decisions = await Promise.all(some.map(([file, decision]) => this.#withMetadata(file, decision, deps)));
      for (const [index, [file]] of some.entries()) yield [file, decisions[index] as Decision];
    }
  }

  /** Adds what the user gave for a kept file to its decision. */
  async #withMetadata(file: UploadFile, decision: Decision, { api, policy }: MatcherDeps): Promise<Decision> {
    return decision.action === 'keep' ? withMetadata(decision, givenMetadataOf(file, policy.about), api) : decision;
  }

  /** Decides finally, as when the file is opened, what `decideAll` has decided: for a preview, which reads the file. */
  async decideFinally(file: UploadFile, before: Decision): Promise<Decision> {
    if (!this.#decidesAgain) return before;
    const subject = await this.#subjectOf(file);
    if (before.action === 'resume' && before.entry.state === 'whole') {
      const { entry } = before;
      return (await hasSentContent(entry, subject)) ? before : { ...sendNew, entry };
    }
    if (before.action !== 'send' || before.entry) return before;
    const deps = this.#counting('bulk');
    const decision = await this.#match(this.#byReading, subject, { ...before, mayBeDuplicate: false }, deps);
    return this.#withMetadata(file, decision, deps);
  }

  /**
   * Decides a stream whose bytes are on disk now: it can be compared with the assets of its folder. The name of stdin says
   * nothing, so that only a checksum shows that an asset is the same.
   *
   * @param found the stream as it was found, with the metadata that the user gave
   */
  async decideSpooled(file: UploadFile, found: UploadFile): Promise<Decision> {
    if (this.#deps.policy.existing === 'upload') return sendNew;
    const { inFolder } = await import('./by-folder.ts');
    const decided = await inFolder([file], this.#counting('interactive'));
    const decision = decided.get(file) ?? sendNew;
    const isGuess = decision.action === 'keep' && decision.outcome === 'same_name_and_size';
    if (!isGuess || file.path !== '-') return this.#withMetadata(found, decision, this.#deps);
    return this.#deps.policy.existing === 'name' ? { ...decision, outcome: 'exists' } : sendNew;
  }

  /** Decides again whether the receipts have a file, which another process might have finished. No byte is read. */
  async decideAgain(file: UploadFile): Promise<Decision> {
    const decision = await this.#match([sameFile], await this.#subjectOf(file), sendNew, this.#deps);
    return this.#withMetadata(file, decision, this.#deps);
  }

  /**
   * Decides an opened file.
   *
   * @param file the file as it was found, with the metadata that the user gave
   * @param api client that counts the requests as those of the file
   */
  async decide(subject: Subject, file: UploadFile, api: Api): Promise<Decision> {
    const deps = { ...this.#deps, api };
    return this.#withMetadata(file, await this.#match(this.#whenOpened, subject, sendNew, deps), deps);
  }

  async #match(
    matchers: readonly FileMatcher[],
    subject: Subject,
    before: SendDecision,
    deps: MatcherDeps,
  ): Promise<Decision> {
    const sendsAnyway = deps.policy.existing === 'upload';
    let decision = sendsAnyway ? sendAnyway : before;
    // If every file is sent, only its entry under its lock matters, since the asset of that is replaced.
    for (const match of sendsAnyway ? matchers.filter((each) => each === unfinished) : matchers) {
      const matched = await match(subject, decision, deps);
      if (matched && matched.action !== 'send') return matched;
      decision = matched ?? decision;
    }
    return decision;
  }

  /** Returns the matchers that see the files together, whose code is loaded when they are needed. */
  async #batchMatchers(): Promise<readonly BatchMatcher[]> {
    const { policy, mirror, receipts } = this.#deps;
    if (policy.existing === 'upload') return [];
    const matchers: BatchMatcher[] = [];
    if (mirror !== undefined && receipts) {
      const { Renames: Opened } = await import('./by-rename.ts');
      matchers.push(async (files, _, deps) => {
        this.#renames = await Opened.open(files, mirror, this.#deps);
        return this.#renames.matchAll(files, deps);
      });
    }
    const { inFolder } = await import('./by-folder.ts');
    // A name counts for a file that has changed, too.
    matchers.push((files, isNewFile, deps) =>
      inFolder(policy.existing === 'name' ? files : files.filter(isNewFile), deps),
    );
    return matchers;
  }

  /** Adds whether the content of a file that was not read may show that it is uploaded. */
  async #withDoubt(file: UploadFile, decision: Decision): Promise<Decision> {
    if (!this.#decidesAgain && decision.action === 'send') return { ...decision, mayBeDuplicate: false };
    if (!isNew(decision) || decision.entry) return decision;
    const mayMatch =
      this.#renames?.mayMatch(file) ||
      (await mayBeDuplicate(receiptKeyOf(file, this.#deps), file.sizeBytes, this.#deps));
    if (!mayMatch) return decision;
    return decision === sendNew ? sendSameSize : { ...decision, mayBeDuplicate: true };
  }

  async #subjectOf(file: UploadFile): Promise<Subject> {
    return unopenedFile(file, this.#deps, await this.#contentTypes);
  }

  #counting(lane: 'bulk' | 'interactive'): MatcherDeps {
    const onRequest = () => {
      this.#requests++;
    };
    return { ...this.#deps, api: this.#deps.api.withObserver({ lane, onRequest }) };
  }
}

/** Adds what was known of a file to its decision. */
function decideAfter(before: SendDecision, decision: Decision): Decision {
  const { entry, reason } = before;
  if (decision.action === 'send') {
    const { records, evidence } = decision;
    return { ...before, ...(records && { records }), ...(evidence && reason === 'new' && { evidence }) };
  }
  if (decision.action !== 'keep' || entry?.state !== 'intended') return decision;
  return { ...decision, records: [...decision.records, { record: 'lost', entry }] };
}

const isNew = (decision: Decision): decision is SendDecision => decision.action === 'send' && decision.reason === 'new';

/** Describes a file of a run that is not open. */
function unopenedFile(file: UploadFile, deps: MatcherDeps, contentType: ContentTypeOf): Subject {
  const { api, workspace, policy } = deps;
  const key = receiptKeyOf(file, deps);
  const targetOf = ({ folder }: ReceiptKey) =>
    targetFile(file, { workspace, folder: folder || undefined, about: policy.about, contentType });
  const read = async <T>(work: (source: UploadSource) => Promise<T>): Promise<T> => {
    const source = await deps.openSource(file.path, file.realPath);
    return work(source).finally(() => source.close());
  };
  const { sizeBytes, mtimeNs = '', ctimeNs } = file;
  let digest: Promise<string> | undefined;
  return {
    file,
    key,
    get id() {
      return file.id ?? (key && uploadIdOf(targetOf(key), key.realPath, api.transport.baseUrl));
    },
    identity: sizeBytes === undefined ? undefined : { sizeBytes, mtimeNs, ctimeNs },
    get metadata() {
      return key && metadataOf(targetOf(key));
    },
    digest: () => {
      digest ??= read(digestOf);
      return digest;
    },
    read,
  };
}
