import { join } from 'node:path';
import type { Command } from '@commander-js/extra-typings';
import type { Api } from '../client/api/api.ts';
import type { ListGap } from '../client/api/pagination.ts';
import type { LibraryWriter } from '../client/changes/writer.ts';
import type { WrapFirstRequest } from '../client/http/dispatcher.lazy.ts';
import { readProxySettings } from '../client/http/proxy.ts';
import type { TransportNotice } from '../client/http/rate-limiter.ts';
import type { Library } from '../client/library/library.ts';
import { LocalState } from '../client/open/local-state.ts';
import { type LibraryPorts, type OpenedLibrary, openApi, openLibrary } from '../client/open/open-library.ts';
import { OwnFiles } from '../client/own-files.ts';
import type { Processes } from '../client/processes.ts';
import type { Clock } from '../shared/clock.ts';
import { describeRateLimit, formatWait, pluralize } from '../shared/figures.ts';
import { escapeControls } from '../shared/sanitize.ts';
import {
  type Account,
  assertKey,
  baseUrlOf,
  isRemotePlaintext,
  type ProfileInUse,
  profileInUse,
  resolveAccount,
} from './account/account.ts';
import { Keychain } from './account/keychain.ts';
import { ShortUidStore } from './account/short-uid-store.ts';
import { ChangesMade } from './output/changes-made.ts';
import { type ProfileConfig, ProfileFile } from './settings/profile-file.ts';
import { type Environment, precedence } from './settings/setting-resolver.ts';
import { silence } from './settings/setting-table.ts';
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
  /** Paths of the built programs that are started: the sandbox server, and the process that asks the keychain. */
  sandboxProgram: string;
  keychainProgram: string;
  /** Folder of the built scripts for the pages. */
  scriptFolder: string;
  wrapFirstRequest?: WrapFirstRequest;
};

export const openProfileFile = ({ environment, directories }: Host) =>
  new ProfileFile(environment.MEDIACTL_CONFIG_DIR || directories.config);

type ContextDeps = Pick<Context, 'host' | 'settings' | 'profiles' | 'commandTree'> & {
  config: ProfileConfig;
  /** Returns the questions, words and caches of the command line for a library. */
  ports: (context: Context) => LibraryPorts;
};

/**
 * Dependencies of a command, such as settings, API clients, upload store and receipts. Expensive dependencies
 * are created on first use and memoized.
 */
export class Context {
  readonly host: Host;
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly settings: Settings;
  readonly profiles: ProfileFile;
  readonly keychain: Keychain;
  /** Folder for upload state, caches and the sandbox. */
  readonly stateDir: string;
  readonly sandboxDir: string;
  /** Unfinished uploads, receipts and the history of this machine. */
  readonly state: LocalState;
  /** Builds the complete tree of Commander commands, for documentation and completion. */
  readonly commandTree: () => Promise<Command>;
  /** Files of the program itself, which no command uploads or replaces. */
  readonly ownFiles: OwnFiles;
  readonly #config: ProfileConfig;
  #mediaApi: Promise<Api> | undefined;
  readonly #ports: ContextDeps['ports'];
  #opened: Promise<OpenedLibrary> | undefined;
  #account: Promise<Account> | undefined;
  readonly #connections: { close(): Promise<void> }[] = [];
  #hasWarnedOfProjectFile = false;
  /** Notes to print after the result, such as how to undo a change. */
  readonly closingNotes: string[] = [];
  readonly changesMade = new ChangesMade();
  /** Lists of assets that lacked items of their own total. */
  readonly listGaps: ListGap[] = [];

  constructor({ host, settings, profiles, config, commandTree, ports }: ContextDeps) {
    this.host = host;
    this.terminal = host.terminal;
    this.clock = host.clock;
    this.signal = host.signal;
    this.settings = settings;
    this.profiles = profiles;
    this.keychain = new Keychain(host, profiles.directory);
    this.commandTree = commandTree;
    this.#ports = ports;
    this.#config = config;
    this.stateDir = host.environment.MEDIACTL_STATE_DIR || host.directories.state;
    this.sandboxDir = join(this.stateDir, 'sandbox');
    const { clock, signal, terminal } = host;
    const warn = (message: string) => terminal.warn(message);
    this.state = new LocalState({ directory: this.stateDir, clock, signal, warn, pid: host.processes.pid });
    this.ownFiles = new OwnFiles({ config: profiles.directory, state: this.stateDir });
    this.terminal.redactor.add(settings.apiKey);
    this.terminal.redactor.add(host.environment.MEDIACTL_METRICS_TOKEN);
  }

  /** True if a user reads the result on a terminal, so that resolving names is worth a request. */
  get isHumanOutput(): boolean {
    return Boolean(this.terminal.stdout.isTTY) && !this.isMachineReadable;
  }

  /** True if a command may print sentences in place of records: to a user who did not ask for fields of records. */
  get canUseSentences(): boolean {
    return this.isHumanOutput && this.settings.outputOptions.fields === undefined;
  }

  /** True if the user asked for a format other than `table`. The JSON of one item and of many then has one shape. */
  get isMachineReadable(): boolean {
    return this.settings.outputOptions.format !== 'table';
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

  /** Returns the account, memoized. @throws CodedError `not_logged_in` … (exit 4) if it is incomplete */
  account(): Promise<Account> {
    this.#account ??= this.#resolveAccount();
    return this.#account;
  }

  async api(): Promise<Api> {
    return (await this.open()).api;
  }

  async library(): Promise<Library> {
    return (await this.open()).library;
  }

  async writer(): Promise<LibraryWriter> {
    return (await this.open()).writer();
  }

  open(): Promise<OpenedLibrary> {
    this.#opened ??= this.#openLibrary();
    return this.#opened;
  }

  async #openLibrary(): Promise<OpenedLibrary> {
    const account = await this.account();
    return openLibrary(account, {
      ...this.#transportOptions(),
      signal: this.signal,
      state: this.state,
      keepsHistory: true,
      profile: account.profile,
      ports: this.#ports(this),
    });
  }

  apiFor(account: Pick<Account, 'baseUrl' | 'apiKey' | 'names'>): Api {
    return openApi(account, this.#transportOptions(), {
      findParentWorkspace: async () => (await this.library()).workspaceInUse.primary(),
    });
  }

  /** Returns an API client without a key, for playback tokens and signed media URLs; memoized. */
  mediaApi(): Promise<Api> {
    this.#mediaApi ??= this.profileInUse().then((inUse) => this.anonymousApi(baseUrlOf(this.settings, inUse)));
    return this.#mediaApi;
  }

  anonymousApi(baseUrl: URL): Api {
    return openApi({ baseUrl, apiKey: undefined }, this.#transportOptions());
  }

  /** Returns true in a dry run, after printing in a sentence what the command would do. */
  isDryRun(what: string): boolean {
    if (this.settings.dryRun) this.terminal.info(`dry run: would ${what}`);
    return this.settings.dryRun;
  }

  /** Closes a connection that a command has opened when this context is closed. */
  closeAtEnd(connection: { close(): Promise<void> }): void {
    this.#connections.push(connection);
  }

  async close(): Promise<void> {
    const api = (await this.#opened?.catch(() => undefined))?.api;
    if (this.settings.debug && api) {
      const { requestCount, rateLimit } = api.transport.connection;
      const left = rateLimit ? `, ${rateLimit.remaining} of ${rateLimit.limit} remaining` : '';
      this.terminal.emit(`debug: ${pluralize(requestCount, 'request')}${left}`);
    }
    await Promise.all(this.#connections.map((connection) => connection.close()));
    await this.state.close();
    const media = await this.#mediaApi?.catch(() => undefined);
    await Promise.all([api?.transport.close(), media?.transport.close()]);
  }

  /** @throws CodedError `not_logged_in` if the requested profile does not exist */
  async profileInUse(): Promise<ProfileInUse> {
    return profileInUse(this.settings, this.#config);
  }

  async #resolveAccount(): Promise<Account> {
    const { settings, terminal } = this;
    const account = await resolveAccount(settings, await this.profileInUse(), this.keychain);
    terminal.redactor.add(account.apiKey);
    assertKey(account.apiKey);
    if (isRemotePlaintext(account.baseUrl))
      terminal.warn(`${account.baseUrl.origin} does not use HTTPS: your API key can be intercepted`);
    return account;
  }

  #transportOptions() {
    const { settings, terminal } = this;
    return {
      clock: this.clock,
      userAgent: `mediactl/${this.host.version}`,
      requestTimeoutMs: settings.requestTimeoutMs ?? silence.requestMs,
      maxWaitMs: settings.maxWaitMs,
      maxBulkWaitMs: settings.resolver.resolve('max_wait').rank > precedence.fallback ? settings.maxWaitMs : undefined,
      signal: this.signal,
      proxy: readProxySettings(this.host.environment),
      wrapFirstRequest: this.host.wrapFirstRequest,
      onNotice: (notice: TransportNotice) => this.#warnOfWait(notice),
      onWrite: () => this.warnOfProjectFile(),
      trace: settings.debug === 'http' ? (line: string) => terminal.emit(line) : undefined,
    };
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
    const why = notice.kind === 'rate-limited' ? describeRateLimit(notice.kept) : notice.reason;
    if (notice.kind === 'rate-limited' || this.settings.debug)
      this.terminal.warn(`${why}; ${formatWait(notice.untilMs, this.clock.now())}`);
  }
}
