import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CodedError, usageError } from '../../client/errors.ts';
import { readTextFile } from '../../client/read-file.ts';
import type { NameOverrides } from '../../contract/assumptions.ts';
import { quoteForShell } from '../../shared/sanitize.ts';

/** An account on a service, as stored in the config file. */
export type Profile = {
  /** Origin of the service, without a path. */
  baseUrl: string;
  /** API key; absent if it is in the keychain. */
  key?: string;
  keyStore: 'file' | 'keychain';
  /** Uid of the default workspace. */
  workspace?: string;
  /** Name of the workspace at the time it was selected. */
  workspaceName?: string;
  /** True if the workspace was the primary one when it was selected. */
  workspaceIsPrimary?: boolean;
  /** Settings stored by `config set`: output, folder, color and others. */
  settings?: Record<string, string>;
  /** Sandbox's data folder, if `sandbox start` created this profile. */
  sandbox?: string;
  /** Field names of this service that differ from the documented assumptions. */
  names?: NameOverrides;
  /** Assumptions that `doctor --service --learn` settled. */
  settled?: SettledAssumptions;
};

/** Assumptions that a service was asked about: whether each holds, by its number, and when the last was asked. */
type SettledAssumptions = { at: string; holds: Record<string, boolean> };

export type ProfileConfig = { current?: string; profiles: Record<string, Profile> };

/** Maximum wait for the config file's lock. Even on a busy machine, a write takes far less time. */
const maxLockWaitMs = 30_000;

/**
 * The config file with all profiles. Reads it with `fs`, since every command reads it and `conf` takes 88 ms to
 * load. Writes it with `conf`, for atomic renames and mode 0600. Never overwrites a corrupt file.
 */
export class ProfileFile {
  readonly path: string;
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
    this.path = join(directory, 'config.json');
  }

  /**
   * Reads all profiles; empty if the file does not exist.
   *
   * @throws CodedError `invalid_config` (exit 2) if the file cannot be read or is invalid
   */
  async read(): Promise<ProfileConfig> {
    let config: unknown;
    try {
      config = JSON.parse(readTextFile(this.path));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { profiles: Object.create(null) };
      throw this.#configError((error as Error).message, error);
    }
    if (!isProfileConfig(config)) throw this.#configError('it contains no profiles');
    // Without a prototype, so that `constructor` is a profile only if the user has created it.
    return { ...config, profiles: Object.assign(Object.create(null), config.profiles) };
  }

  /** Reads, changes and writes the file under a lock, so that no process overwrites another's changes. */
  async update(change: (config: ProfileConfig) => void): Promise<ProfileConfig> {
    const [{ withLock }, { default: Conf }] = await Promise.all([
      import('../../client/lock.ts'),
      import('conf'), // loaded before locking, to hold the lock as briefly as possible
    ]);
    const busy = () => this.#configError('another mediactl process has locked it');
    return withLock({ path: `${this.path}.lock`, waitMs: maxLockWaitMs, busy }, async () => {
      const config = await this.read();
      change(config);
      const conf = new Conf({
        projectName: 'mediactl',
        cwd: this.directory,
        configName: 'config',
        configFileMode: 0o600,
        clearInvalidConfig: false,
        accessPropertiesByDotNotation: false,
      });
      conf.store = config;
      // Temporary files of killed processes can contain keys.
      for (const name of await readdir(this.directory))
        if (name.startsWith('config.json.tmp')) await rm(join(this.directory, name), { force: true });
      return config;
    });
  }

  #configError(reason: string, underlying?: unknown): CodedError {
    return new CodedError(`cannot use the config file ${this.path}`, {
      code: 'invalid_config',
      reason: `${reason}; it was not changed`,
      hint: `fix it, or move it out of the way: mv ${quoteForShell(this.path)} ${quoteForShell(`${this.path}.bad`)}`,
      underlying,
    });
  }
}

/** @throws CodedError `usage` (exit 2) if a name contains characters other than letters, digits and . _ - @ */
export function assertProfileName(name: string): void {
  if (!/^[A-Za-z0-9][\w.@-]*$/.test(name))
    throw usageError(
      `invalid profile name: ${name}`,
      'use letters, digits and . _ - @, and start with a letter or digit',
    );
}

function isProfileConfig(value: unknown): value is ProfileConfig {
  if (typeof value !== 'object' || value === null) return false;
  const { profiles, current } = value as Partial<ProfileConfig>;
  return (
    (current === undefined || typeof current === 'string') &&
    typeof profiles === 'object' &&
    profiles !== null &&
    !Array.isArray(profiles) &&
    Object.values(profiles).every((profile) => typeof profile === 'object' && typeof profile?.baseUrl === 'string')
  );
}
