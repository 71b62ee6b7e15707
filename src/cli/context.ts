import { join } from 'node:path';
import type { Command } from '@commander-js/extra-typings';
import { Api } from '../client/api/api.ts';
import type { RunStore } from '../client/bulk/run-store.ts';
import type { WrapFirstRequest } from '../client/http/dispatcher.lazy.ts';
import { readProxySettings } from '../client/http/proxy.ts';
import type { TransportNotice } from '../client/http/rate-limiter.ts';
import { Transport } from '../client/http/transport.ts';
import type { Library } from '../client/library/library.ts';
import type { WorkspaceChoice } from '../client/library/workspace-in-use.ts';
import type { Processes } from '../client/processes.ts';
import type { QueueAddress } from '../client/queue/queue-address.ts';
import type { QueueClient } from '../client/queue/queue-client.ts';
import { OwnFiles } from '../client/upload/sources/own-files.ts';
import type { Receipts } from '../client/upload/store/receipts.ts';
import type { DatabaseUse, StateDatabase } from '../client/upload/store/state-database.ts';
import type { LocalUploadStore } from '../client/upload/store/upload-store.ts';
import type { Clock } from '../contract/clock.ts';
import { formatWait } from '../contract/figures.ts';
import { escapeControls } from '../contract/sanitize.ts';
import {
  type Account,
  assertKey,
  baseUrlOf,
  isRemotePlaintext,
  type ProfileInUse,
  profileInUse,
  resolveAccount,
} from './account/account.ts';
import { ShortUidStore } from './account/short-uid-store.ts';
import { hintOf } from './error-hints.ts';
import { type ProfileConfig, ProfileFile } from './settings/profile-file.ts';
import { type Environment, precedence } from './settings/setting-resolver.ts';
import type { Settings } from './settings/settings.ts';
import type { Terminal } from './terminal/terminal.ts';

/** The program's environment, such as streams, clock, folders and signals. Set up by `main` or by tests. */
export type Host = {
  terminal: Terminal;
  environment: Environment;
  cwd: string;
  clock: Clock;
  processes: Processes;
  /** Aborts on SIGINT or SIGTERM; the reason is the error to exit with. */
  signal: AbortSignal;
  /** Default folders of this user; MEDIACTL_CONFIG_DIR and MEDIACTL_STATE_DIR override them. */
  directories: { config: string; state: string };
  version: string;
  /** Paths of the built sandbox server, and of the built scripts for the player page and the library page. */
  sandboxProgram: string;
  playerScript: string;
  browseScript: string;
  wrapFirstRequest?: WrapFirstRequest;
  /** Wraps the queueing of files, of which there can be many. */
  wrapQueueing?: (work: () => Promise<void>) => Promise<void>;
};

const defaultRequestTimeoutMs = 30_000;
const maxLockWaitMs = 60_000;

export const openProfileFile = ({ environment, directories }: Host) =>
  new ProfileFile(environment.MEDIACTL_CONFIG_DIR || directories.config);

/** Questions about the workspace, and the cache of folders: both need a context themselves. */
export type LibraryPorts = {
  workspaceChoice(context: Context): Promise<WorkspaceChoice>;
  /** Drops the names of folders that are cached on disk. */
  onFoldersChanged(context: Context): Promise<void>;
};

type ContextDeps = Pick<Context, 'host' | 'settings' | 'profiles' | 'commandTree'> & {
  config: ProfileConfig;
  libraryPorts: LibraryPorts;
};

/**
 * Dependencies of a command, such as settings, API clients, upload store, receipts and queues. Expensive dependencies
 * are created on first use and memoized.
 */
export class Context {
  readonly host: Host;
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly settings: Settings;
  readonly profiles: ProfileFile;
  /** Folder for upload state, caches and the sandbox. */
  readonly stateDir: string;
  readonly sandboxDir: string;
  /** Builds the complete tree of Commander commands, for documentation and completion. */
  readonly commandTree: () => Promise<Command>;
  /** Files of the program itself, which no command uploads or replaces. */
  readonly ownFiles: OwnFiles;
  readonly #config: ProfileConfig;
  #api: Promise<Api> | undefined;
  #mediaApi: Promise<Api> | undefined;
  readonly #libraryPorts: LibraryPorts;
  #library: Promise<Library> | undefined;
  #account: Promise<Account> | undefined;
  #database: Promise<StateDatabase> | undefined;
  readonly #queues: QueueClient[] = [];
  #hasWarnedOfProjectFile = false;
  /** Notes to print after the result, such as how to undo a change. */
  readonly closingNotes: string[] = [];

  constructor({ host, settings, profiles, config, commandTree, libraryPorts }: ContextDeps) {
    this.host = host;
    this.terminal = host.terminal;
    this.clock = host.clock;
    this.signal = host.signal;
    this.settings = settings;
    this.profiles = profiles;
    this.commandTree = commandTree;
    this.#libraryPorts = libraryPorts;
    this.#config = config;
    this.stateDir = host.environment.MEDIACTL_STATE_DIR || host.directories.state;
    this.sandboxDir = join(this.stateDir, 'sandbox');
    this.ownFiles = new OwnFiles({ config: profiles.directory, state: this.stateDir });
    this.terminal.redactor.add(settings.apiKey);
    this.terminal.redactor.add(host.environment.MEDIACTL_METRICS_TOKEN);
  }

  /** True if a user reads the result on a terminal, so that resolving names is worth a request. */
  get isHumanOutput(): boolean {
    return Boolean(this.terminal.stdout.isTTY) && !this.isMachineReadable;
  }

  /** True if the user asked for a format other than `table`. The JSON of one item and of many then has one shape. */
  get isMachineReadable(): boolean {
    return this.settings.outputOptions.format !== 'table';
  }

  /** Returns the store of this machine's uploads. @throws MediactlError `state_…` (exit 14) if it cannot be opened */
  async uploadStore(): Promise<LocalUploadStore> {
    const { LocalUploadStore: Opened } = await import('../client/upload/store/upload-store.ts');
    return new Opened(await this.#openDatabase(), this.host.processes.pid);
  }

  /** Returns the upload store, or undefined if there has never been one (see `receiptsIfAny`). */
  async uploadStoreIfAny(): Promise<LocalUploadStore | undefined> {
    const { hasEverExisted } = await import('../client/upload/store/database-file.ts');
    return hasEverExisted(this.stateDir) ? this.uploadStore() : undefined;
  }

  /**
   * Returns the receipts for finished uploads from this machine.
   *
   * @throws MediactlError `state_…` (exit 14) if the database cannot be opened
   */
  async receipts(use?: DatabaseUse): Promise<Receipts> {
    const { Receipts: Opened } = await import('../client/upload/store/receipts.ts');
    return new Opened(await this.#openDatabase(use));
  }

  /** Returns the store of short uids for the current service; undefined if no service is configured. */
  async shortUids(): Promise<ShortUidStore | undefined> {
    // Only the base URL is needed, so the keychain is not accessed.
    const baseUrl = await this.profileInUse().then(
      (inUse) => baseUrlOf(this.settings, inUse),
      () => undefined,
    );
    return baseUrl && this.shortUidsFor(baseUrl.origin);
  }

  shortUidsFor(origin: string): ShortUidStore {
    return new ShortUidStore(join(this.stateDir, 'shown', encodeURIComponent(origin)));
  }

  /**
   * Returns the receipts, or undefined if there has never been a database. Does not create the database, so that
   * commands that upload nothing leave no files.
   */
  async receiptsIfAny(use?: DatabaseUse): Promise<Receipts | undefined> {
    const { hasEverExisted } = await import('../client/upload/store/database-file.ts');
    return hasEverExisted(this.stateDir) ? this.receipts(use) : undefined;
  }

  /**
   * Returns the history of changes on this machine.
   *
   * @param isPersistent false for one that ends with this process
   * @throws MediactlError `state_…` (exit 14) if it cannot be opened
   */
  async runStore({ isPersistent = true } = {}): Promise<RunStore> {
    const { RunStore: Opened } = await import('../client/bulk/run-store.ts');
    const { StateDatabase: Memory } = await import('../client/upload/store/state-database.ts');
    return new Opened(await (isPersistent ? this.#openDatabase() : Memory.openInMemory()), this.clock);
  }

  /** Returns the history, or undefined if there has never been a database. */
  async runStoreIfAny(): Promise<RunStore | undefined> {
    const { hasEverExisted } = await import('../client/upload/store/database-file.ts');
    return hasEverExisted(this.stateDir) ? this.runStore() : undefined;
  }

  /** Keeps the state of uploads in memory from now on, because the state folder cannot be used. */
  useMemoryDatabase(): void {
    this.#database = import('../client/upload/store/state-database.ts').then(({ StateDatabase: Opened }) =>
      Opened.openInMemory(),
    );
  }

  #openDatabase(use?: DatabaseUse): Promise<StateDatabase> {
    const { clock, signal, terminal } = this;
    this.#database ??= import('../client/upload/store/state-database.ts').then(({ StateDatabase: Opened }) =>
      Opened.open(this.stateDir, { clock, signal, warn: (message) => terminal.warn(message) }, use),
    );
    return this.#database;
  }

  /** Returns the account, memoized. @throws MediactlError `no_profile`, `no_key` … (exit 4) if it is incomplete */
  account(): Promise<Account> {
    this.#account ??= this.#resolveAccount();
    return this.#account;
  }

  /** Returns a context for another account. The caller closes the transport of its API client. */
  withAccount(account: Account): Context {
    const { host, settings, profiles, commandTree } = this;
    const libraryPorts = this.#libraryPorts;
    const other = new Context({ host, settings, profiles, config: this.#config, commandTree, libraryPorts });
    other.#account = Promise.resolve(account);
    return other;
  }

  api(): Promise<Api> {
    this.#api ??= this.account().then((account) => this.apiFor(account));
    return this.#api;
  }

  /** Returns the library of the account, with its workspace in use and its folders, memoized. */
  library(): Promise<Library> {
    this.#library ??= this.#openLibrary();
    return this.#library;
  }

  async #openLibrary(): Promise<Library> {
    const [{ Library: Opened }, { WorkspaceInUse }] = await Promise.all([
      import('../client/library/library.ts'),
      import('../client/library/workspace-in-use.ts'),
    ]);
    const api = await this.api();
    const ports = this.#libraryPorts;
    return new Opened({
      api,
      signal: this.signal,
      workspaceInUse: new WorkspaceInUse(
        () => api,
        () => ports.workspaceChoice(this),
      ),
      withLock: (work) => this.withLock('folders', work),
      onFoldersChanged: () => ports.onFoldersChanged(this),
    });
  }

  /** Creates an API client for any account, not only the current one. */
  apiFor({ baseUrl, apiKey, names }: Pick<Account, 'baseUrl' | 'apiKey' | 'names'>): Api {
    const findParentWorkspace = async () => (await this.library()).workspaceInUse.primary();
    return new Api(this.#transport(baseUrl, apiKey), names, findParentWorkspace);
  }

  /** Returns an API client without a key, for playback tokens and signed media URLs; memoized. */
  mediaApi(): Promise<Api> {
    this.#mediaApi ??= this.profileInUse().then((inUse) => this.anonymousApi(baseUrlOf(this.settings, inUse)));
    return this.#mediaApi;
  }

  anonymousApi(baseUrl: URL): Api {
    return new Api(this.#transport(baseUrl, undefined), {});
  }

  /**
   * Opens an upload queue shared by several machines; `close` closes it. If `use` is `work`, retries until the
   * queue's store is reachable.
   *
   * @throws the same errors as `openQueueClient`
   */
  async openQueue(address: QueueAddress, use: 'read' | 'write' | 'work'): Promise<QueueClient> {
    const { openQueueClient, openQueueClientWithRetry } = await import('../client/queue/open-queue-client.ts');
    const { classifyOpenError, isRejectedWrite } = await import('../client/queue/store-errors.ts');
    const { clock, signal, terminal } = this;
    let wasDisconnected = false;
    const onConnectionChange = (cause?: unknown) => {
      const isDisconnected = cause !== undefined;
      if (isDisconnected === wasDisconnected || signal.aborted) return;
      wasDisconnected = isDisconnected;
      if (!isDisconnected) return terminal.info(`reconnected to queue ${address.label}`);
      const outage = classifyOpenError(address, cause);
      const hint = isRejectedWrite(cause) ? `: ${hintOf(outage)}` : '';
      terminal.warn(escapeControls(`${outage.message}; retrying (${outage.explanation.reason})${hint}`));
    };
    const onEngineError = (message: string) => terminal.warn(escapeControls(message));
    const deps = {
      clock,
      signal,
      onConnectionChange,
      onEngineError,
      checksWriteAccess: use !== 'read',
      failsIfFull: use === 'write',
    };
    const client = await (use === 'work' ? openQueueClientWithRetry : openQueueClient)(address, deps);
    this.#queues.push(client);
    return client;
  }

  /** Returns true in a dry run, after printing what the command would do. Every command that writes calls it. */
  isDryRun(what: string): boolean {
    if (this.settings.dryRun) this.terminal.info(`dry run: would ${what}`);
    return this.settings.dryRun;
  }

  /** Runs `work` under a named mutex, which is a lock file shared by all of this user's processes on this machine. */
  async withLock<T>(name: string, work: () => Promise<T>): Promise<T> {
    const { lockTimeoutError, withLock } = await import('../client/lock.ts');
    const path = join(this.stateDir, `${name}.lock`);
    const onWait = (message: string) => this.terminal.warn(message);
    return withLock(
      {
        path,
        waitMs: maxLockWaitMs,
        clock: this.clock,
        signal: this.signal,
        busy: () => lockTimeoutError(path),
        onWait,
      },
      work,
    );
  }

  /** Closes connections, queues and the database. */
  async close(): Promise<void> {
    const api = await this.#api?.catch(() => undefined);
    if (this.settings.debug && api) {
      const { requestCount, rateLimit } = api.transport.connection;
      const left = rateLimit ? `, ${rateLimit.remaining} of ${rateLimit.limit} remaining` : '';
      this.terminal.emit(`debug: ${requestCount} requests${left}`);
    }
    await Promise.all(this.#queues.map((fleet) => fleet.close()));
    await (await this.#database?.catch(() => undefined))?.close();
    const media = await this.#mediaApi?.catch(() => undefined);
    await Promise.all([api?.transport.close(), media?.transport.close()]);
  }

  /** @throws MediactlError `profile_not_found` if the requested profile does not exist */
  async profileInUse(): Promise<ProfileInUse> {
    return profileInUse(this.settings, this.#config);
  }

  async #resolveAccount(): Promise<Account> {
    const { settings, terminal } = this;
    const account = await resolveAccount(settings, await this.profileInUse(), this.profiles.directory);
    terminal.redactor.add(account.apiKey);
    assertKey(account.apiKey);
    if (isRemotePlaintext(account.baseUrl))
      terminal.warn(`${account.baseUrl.origin} does not use HTTPS: your API key can be intercepted`);
    return account;
  }

  #transport(baseUrl: URL, apiKey: string | undefined): Transport {
    const { settings, terminal } = this;
    return new Transport({
      baseUrl,
      apiKey,
      clock: this.clock,
      userAgent: `mediactl/${this.host.version}`,
      requestTimeoutMs: settings.requestTimeoutMs ?? defaultRequestTimeoutMs,
      maxWaitMs: settings.maxWaitMs,
      signal: this.signal,
      proxy: readProxySettings(this.host.environment),
      wrapFirstRequest: this.host.wrapFirstRequest,
      onNotice: (notice) => this.#warnOfWait(notice),
      onWrite: () => this.warnOfProjectFile(),
      trace: settings.debug === 'http' ? (line) => terminal.emit(line) : undefined,
    });
  }

  /** Warns, once, if a project file sets the profile, workspace or folder that the command is about to change. */
  warnOfProjectFile(): void {
    const { resolver, profileInUse: inUse } = this.settings;
    const chosen = (['profile', 'workspace', 'folder'] as const)
      .map((name) => ({ name, ...resolver.resolve(name) }))
      .filter(({ name, rank, value }) => rank === precedence.project && (name !== 'profile' || value === inUse));
    const [first] = this.#hasWarnedOfProjectFile ? [] : chosen;
    this.#hasWarnedOfProjectFile = true;
    if (first)
      this.terminal.warn(
        `${first.origin} sets ${chosen.map(({ name, value = '' }) => `${name} ${escapeControls(value)}`).join(', ')}`,
      );
  }

  #warnOfWait(notice: TransportNotice): void {
    if (notice.kind === 'resumed') return;
    const why = notice.kind === 'rate-limited' ? 'rate limit reached' : notice.reason;
    if (notice.kind === 'rate-limited' || this.settings.debug)
      this.terminal.warn(`${why}; ${formatWait(notice.untilMs, this.clock.now())}`);
  }
}
