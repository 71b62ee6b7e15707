import type { ChildProcess } from 'node:child_process';
import type { ErrorCode } from '../../client/error-table.ts';
import { CodedError } from '../../client/errors.ts';
import { type Processes, withoutSecrets } from '../../client/processes.ts';
import { TimeoutError, withTimeout } from '../../shared/retry.ts';

/** A call to the keychain, as the keychain process reads it from stdin. `write` returns what is then stored. */
export type KeychainRequest = { account: string } & KeychainCall;
type KeychainCall = { action: 'read' | 'delete' } | { action: 'write'; key: string };

/** The result of a call, as the keychain process writes it to stdout: the key, null for none, or why it failed. */
export type KeychainAnswer = { key: string | null } | { message: string; code?: ErrorCode | undefined };

/** Timeout for a keychain call, which can hang on D-Bus or on an unlock dialog that is not visible. */
const keychainTimeoutMs = 3_000;

/** Why a keychain cannot be used. A locked one can be used later, an absent one cannot. */
export type KeychainFailure = { kind: 'locked' | 'absent' | 'other'; reason: string; underlying: unknown };

/** Causes by the messages of libsecret and D-Bus, macOS, and Windows Credential Manager. The package has no codes. */
const causes: readonly [kind: KeychainFailure['kind'], message: RegExp, reason: string][] = [
  ['locked', /prompt was dismissed|is locked|interaction is not allowed|error code -25308/i, 'it is locked'],
  ['locked', /user canceled|passphrase .* not correct|error code -(128|25293)\b/i, 'it was not unlocked'],
  [
    'absent',
    /dbus|no result found|keychain (could not be found|is available)|error code -2(5307|5294|5291)\b|LOGON_SESSION|error code 1312\b/i,
    'this session has no keychain service',
  ],
  ['other', /error code 1783\b|longer than the platform limit/i, 'the key is too long for it'],
];

/** Classifies an error. A message that is not known is the reason itself. */
export function toKeychainFailure(error: unknown): KeychainFailure {
  const { message } = error as Error;
  if (error instanceof TimeoutError)
    return { kind: 'locked', reason: 'it does not respond; it may be waiting to be unlocked', underlying: error };
  if (error instanceof CodedError) return { kind: 'absent', reason: message, underlying: error };
  const [kind, , reason] = causes.find(([, pattern]) => pattern.test(message)) ?? ['other', /$/, message];
  return { kind, reason, underlying: error };
}

type KeychainDeps = {
  processes: Pick<Processes, 'execPath'>;
  keychainProgram: string;
  environment: NodeJS.ProcessEnv;
  /** Aborts a call, which then throws the abort reason. */
  signal: AbortSignal;
};

/** The OS keychain. Each call has its own process, since native code that hangs cannot be stopped in this one. */
export class Keychain {
  readonly #deps: KeychainDeps;
  readonly #configDir: string;

  /** @param configDir each profile in each config folder has its own entry */
  constructor(deps: KeychainDeps, configDir: string) {
    this.#deps = deps;
    this.#configDir = configDir;
  }

  /** Looks for an entry that does not exist, which needs no unlocked keychain. @returns undefined if that works */
  async probe(): Promise<KeychainFailure | undefined> {
    try {
      await this.#call('doctor', { action: 'read' });
      return undefined;
    } catch (error) {
      return this.#toFailure(error);
    }
  }

  /** Stores a key. @returns why it could not, or undefined once it is stored */
  async store(profile: string, key: string): Promise<KeychainFailure | undefined> {
    try {
      const stored = await this.#call(profile, { action: 'write', key });
      if (stored !== key) throw new Error('it does not return the key that was stored');
      return undefined;
    } catch (error) {
      return this.#toFailure(error);
    }
  }

  /** @throws CodedError `keychain_unavailable` (exit 4) if the keychain fails or does not respond */
  async delete(profile: string): Promise<void> {
    await this.#call(profile, { action: 'delete' }).catch((error) => {
      throw keychainError(profile, this.#toFailure(error), 'remove');
    });
  }

  /** @throws CodedError `keychain_unavailable` (exit 4) if the keychain fails, does not respond or has no such entry */
  async read(profile: string): Promise<string> {
    const key = await this.#call(profile, { action: 'read' }).catch((error) => {
      throw keychainError(profile, this.#toFailure(error), 'read');
    });
    if (key) return key;
    throw keychainError(profile, toKeychainFailure(new Error('the keychain has no entry for it')), 'read');
  }

  /** Classifies an error. @throws the abort reason of the signal */
  #toFailure(error: unknown): KeychainFailure {
    this.#deps.signal.throwIfAborted();
    return toKeychainFailure(error);
  }

  /** @throws Error with the keychain's message; TimeoutError; the abort reason of the signal */
  #call(profile: string, request: KeychainCall): Promise<string | null> {
    const { signal } = this.#deps;
    const full = { ...request, account: `${profile}@${this.#configDir}` };
    return withTimeout(keychainTimeoutMs, (stop) => this.#ask(full, stop), { signal });
  }

  /** Asks a new process, and kills it at its answer or an abort. */
  async #ask(request: KeychainRequest, signal: AbortSignal): Promise<string | null> {
    signal.throwIfAborted();
    const { processes, keychainProgram, environment } = this.#deps;
    const { spawn } = await import('node:child_process');
    const child: ChildProcess = spawn(processes.execPath, [keychainProgram], {
      env: withoutSecrets(environment),
      stdio: 'pipe',
      windowsHide: true,
    });
    const kill = () => child.kill('SIGKILL');
    signal.addEventListener('abort', kill, { once: true });
    child.stdin?.on('error', () => {}); // it ended early, and its exit is the error
    // The key is in a pipe only: other users can read arguments, and programs that it starts inherit its environment.
    child.stdin?.end(JSON.stringify(request));
    try {
      const answer: KeychainAnswer = JSON.parse(await firstLine(child));
      if ('key' in answer) return answer.key;
      const { message, code } = answer;
      throw code ? new CodedError(message, { code }) : new Error(message);
    } finally {
      signal.removeEventListener('abort', kill);
      kill();
    }
  }
}

/** Returns the first line that a process writes to stdout. @throws Error with the end of its stderr if it has none */
function firstLine(child: ChildProcess): Promise<string> {
  let [output, errors] = ['', ''];
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-10_000);
  });
  return new Promise((resolve, reject) => {
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const end = output.indexOf('\n');
      if (end >= 0) resolve(output.slice(0, end));
    });
    child.on('error', reject);
    child.once('close', (code, killedBy) => {
      const error = new Error(`the process that asks the keychain ended: ${killedBy ?? `exit code ${code}`}`);
      error.stack = `${error.stack}\n${errors.trim()}`; // shown by --debug
      reject(error);
    });
  });
}

function keychainError(profile: string, failure: KeychainFailure, action: 'read' | 'remove'): CodedError {
  const { kind, reason, underlying } = failure;
  const hints = {
    read: {
      locked: `unlock the keychain, then run the same command again; or mediactl auth login --profile ${profile} --key-store file`,
      absent: `set MEDIACTL_API_KEY, or mediactl auth login --profile ${profile} --key-store file`,
      other: `mediactl auth login --profile ${profile} --key-store file`,
    },
    remove: {
      locked: `unlock the keychain, then mediactl auth logout ${profile}`,
      absent: `mediactl auth logout ${profile}, in the desktop session whose keychain holds the key`,
      other: `mediactl auth logout ${profile}`,
    },
  };
  return new CodedError(`cannot ${action} the key of profile ${profile} from the keychain`, {
    code: 'keychain_unavailable',
    reason,
    hint: hints[action][kind],
    underlying,
  });
}
