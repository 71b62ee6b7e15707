import { join } from 'node:path';
import { noBaseUrl, noProfile, noSuchProfile } from './account/account-errors.ts';
import { isPlaintextElsewhere, parseBaseUrl } from './account/base-url.ts';
import { assertKey, keyOf } from './account/key-stores.ts';
import { type Profile, ProfileFile } from './account/profile-file.ts';
import { Api } from './api/api.ts';
import { proxiesOf } from './api/proxy.ts';
import { Transport, type TransportNotice } from './api/transport.ts';
import type { Clock } from './clock.ts';
import { exitCodes, MediactlError } from './errors.ts';
import type { Processes } from './processes.ts';
import type { Environment, Settings } from './settings/settings.ts';
import { printableLines } from './terminal/printable.ts';
import type { Terminal } from './terminal/terminal.ts';
import type { Journal } from './upload/journal.ts';
import type { NameOverrides } from './wire/assumptions.ts';

/** The machine as `main` finds it, and as tests make it. */
export type Host = {
  terminal: Terminal;
  environment: Environment;
  cwd: string;
  clock: Clock;
  processes: Processes;
  /** Aborts with the error to end with: interrupted, terminated. */
  signal: AbortSignal;
  /** Where this user's files go unless MEDIACTL_CONFIG_DIR and MEDIACTL_STATE_DIR say otherwise. */
  directories: { config: string; state: string };
  version: string;
  /** The built sandbox server. */
  sandboxProgram: string;
  /** The built script of a page that plays. */
  playerScript: string;
};

/** Who calls, and where: what flags, variables and the profile come to. */
export type Account = {
  /** The profile's name; `environment` where MEDIACTL_API_KEY alone gives the account. */
  profile: string;
  baseUrl: URL;
  apiKey: string;
  workspace: string | undefined;
  names: NameOverrides;
};

const callTimeoutMs = 30_000;
const lockWaitMs = 60_000;

const configDirOf = ({ environment, directories }: Host) =>
  environment.MEDIACTL_CONFIG_DIR || directories.config;

export const profilesOf = (host: Host) => new ProfileFile(configDirOf(host));

/** What a command is handed. Everything costly is made when it is first asked for. */
export class Context {
  readonly host: Host;
  readonly settings: Settings;
  readonly profiles: ProfileFile;
  /** Where uploads under way are kept. */
  readonly stateDir: string;
  readonly configDir: string;
  /** The whole tree of Commander's commands, for what is made from it. */
  readonly commandTree: () => Promise<unknown>;
  /** Told of every wait; a command with a progress display listens here. */
  onNotice: ((notice: TransportNotice) => void) | undefined;
  #api: Promise<Api> | undefined;
  #mediaApi: Promise<Api> | undefined;
  #account: Promise<Account> | undefined;

  constructor(
    host: Host,
    settings: Settings,
    profiles: ProfileFile,
    commandTree: () => Promise<unknown>,
  ) {
    this.host = host;
    this.settings = settings;
    this.profiles = profiles;
    this.commandTree = commandTree;
    this.configDir = configDirOf(host);
    this.stateDir = host.environment.MEDIACTL_STATE_DIR || host.directories.state;
    this.terminal.redactor.add(settings.apiKey);
  }

  get terminal(): Terminal {
    return this.host.terminal;
  }

  get clock(): Clock {
    return this.host.clock;
  }

  get signal(): AbortSignal {
    return this.host.signal;
  }

  get sandboxDir(): string {
    return join(this.stateDir, 'sandbox');
  }

  async journal(): Promise<Journal> {
    const { Journal: Opened } = await import('./upload/journal.ts');
    return new Opened(this.stateDir, this.host.processes.pid);
  }

  /** @throws MediactlError `no_profile`, `no_key` … with exit code 4 */
  account(): Promise<Account> {
    this.#account ??= this.#resolveAccount();
    return this.#account;
  }

  api(): Promise<Api> {
    this.#api ??= this.account().then((account) => this.apiFor(account));
    return this.#api;
  }

  /** The API of an account that may not be the current one. */
  apiFor({ baseUrl, apiKey, names }: Pick<Account, 'baseUrl' | 'apiKey' | 'names'>): Api {
    return new Api(this.#transport(baseUrl, apiKey), names);
  }

  /** The service without a key, for playback by token and signed media; no key need be there. */
  mediaApi(): Promise<Api> {
    this.#mediaApi ??= this.profileInUse().then(({ profile }) =>
      this.anonymousApi(this.#baseUrl(profile)),
    );
    return this.#mediaApi;
  }

  /** The API of a base URL without a key. */
  anonymousApi(baseUrl: URL): Api {
    return new Api(this.#transport(baseUrl, undefined), {});
  }

  /** With --dry-run: says what would be done, and that it is not. Every command that writes asks. */
  onlyPretends(what: string): boolean {
    if (this.settings.dryRun) this.terminal.say(`dry run: would ${what}`);
    return this.settings.dryRun;
  }

  /** Holds a lock of this user under a name while the work goes on; others of this machine wait. */
  async exclusively<T>(name: string, work: () => Promise<T>): Promise<T> {
    const { locked, whileLocked } = await import('./lock.ts');
    const path = join(this.stateDir, `${name}.lock`);
    return whileLocked({ path, waitMs: lockWaitMs, busy: () => locked(path) }, work);
  }

  async close(): Promise<void> {
    const api = await this.#api?.catch(() => undefined);
    if (this.settings.debug && api) {
      const { requestCount, rateLimit } = api.transport;
      const left = rateLimit ? `, ${rateLimit.remaining} of ${rateLimit.limit} left` : '';
      this.terminal.say(`debug: ${requestCount} requests${left}`);
    }
    const media = await this.#mediaApi?.catch(() => undefined);
    await Promise.all([api?.transport.close(), media?.transport.close()]);
  }

  /** @throws MediactlError `no_such_profile` where one is asked for that is not there */
  async profileInUse(): Promise<Settings['inUse']> {
    const { profile: asked, inUse } = this.settings;
    if (asked !== undefined && !inUse.profile)
      throw noSuchProfile(asked, (await this.profiles.read()).profiles);
    return inUse;
  }

  #baseUrl(profile: Profile | undefined): URL {
    const { settings } = this;
    if (!profile && !settings.baseUrl) throw settings.apiKey ? noBaseUrl() : noProfile();
    return parseBaseUrl(settings.baseUrl ?? (profile as Profile).baseUrl);
  }

  async #resolveAccount(): Promise<Account> {
    const { settings } = this;
    const { name, profile } = await this.profileInUse();
    const baseUrl = this.#baseUrl(profile);
    if (isPlaintextElsewhere(baseUrl))
      this.terminal.warn(`${baseUrl.origin} is not https: the key can be read on the way`);
    const apiKey = settings.apiKey ?? (await this.#profileKey(name, profile, baseUrl));
    this.terminal.redactor.add(apiKey);
    assertKey(apiKey);
    return {
      profile: settings.apiKey ? 'environment' : (name ?? 'environment'),
      baseUrl,
      apiKey,
      workspace: settings.workspace,
      names: profile?.names ?? {},
    };
  }

  /** A key goes only to the origin of its own profile. */
  async #profileKey(name: string | undefined, profile: Profile | undefined, baseUrl: URL) {
    if (name === undefined || !profile) throw noProfile();
    const home = parseBaseUrl(profile.baseUrl);
    if (home.origin !== baseUrl.origin)
      throw new MediactlError(`the key of profile ${name} is not sent to ${baseUrl.origin}`, {
        code: 'foreign_base_url',
        exitCode: exitCodes.unauthenticated,
        reason: `it belongs to ${home.origin}`,
        hint: `set MEDIACTL_API_KEY, or mediactl auth login --profile NAME --base-url ${baseUrl.origin}`,
      });
    return keyOf(profile, { configDir: this.configDir, profile: name });
  }

  #transport(baseUrl: URL, apiKey: string | undefined): Transport {
    const { settings, terminal } = this;
    return new Transport({
      baseUrl,
      apiKey,
      clock: this.clock,
      userAgent: `mediactl/${this.host.version}`,
      requestTimeoutMs: settings.requestTimeoutMs ?? callTimeoutMs,
      maxWaitMs: settings.maxWaitMs,
      signal: this.signal,
      proxy: proxiesOf(this.host.environment),
      onNotice: (notice) => (this.onNotice ?? ((unheard) => this.#say(unheard)))(notice),
      trace: settings.debug === 'http' ? (line) => terminal.say(printableLines(line)) : undefined,
    });
  }

  #say(notice: TransportNotice): void {
    if (notice.kind === 'resumed') return;
    const seconds = Math.ceil((notice.untilMs - this.clock.now()) / 1000);
    const why = notice.kind === 'rate-limited' ? 'rate limit reached' : notice.reason;
    if (notice.kind === 'rate-limited' || this.settings.debug)
      this.terminal.warn(`${why}; waiting ${seconds} s`);
  }
}
