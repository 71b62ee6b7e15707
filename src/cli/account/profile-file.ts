import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { exitCodes, MediactlError, usageError } from '../../client/errors.ts';
import { readTextFile } from '../../client/read-file.ts';
import type { NameOverrides } from '../../contract/assumptions.ts';

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
  /** Settings stored by `config set`: output, folder, color and others. */
  settings?: Record<string, string>;
  /** Data folder of the sandbox, if `sandbox start` created this profile. */
  sandbox?: string;
  /** Field names of this service that differ from our assumptions (wire/assumptions). */
  names?: NameOverrides;
};

/** Content of the config file. */
export type ProfileConfig = { current?: string; profiles: Record<string, Profile> };

/** Maximum wait for the lock of the config file. Writes take milliseconds, even on a busy machine far less than this. */
const maxLockWaitMs = 30_000;

/**
 * The config file with all profiles. Read with `fs`, since every command reads it and `conf` takes 88 ms
 * to load; written with `conf`: atomic rename, mode 0600. A corrupt file is an error and never overwritten.
 */
export class ProfileFile {
  readonly path: string;
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
    this.path = join(directory, 'config.json');
  }

  /** Reads all profiles; none if the file is missing. @throws MediactlError `config_corrupt` with the path */
  async read(): Promise<ProfileConfig> {
    let text: string;
    try {
      text = readTextFile(this.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT')
        return { profiles: Object.create(null) };
      throw this.#configError((error as Error).message, error);
    }
    let config: unknown;
    try {
      config = JSON.parse(text);
    } catch (error) {
      throw this.#configError((error as Error).message, error);
    }
    if (!isProfileConfig(config)) throw this.#configError('it has no profiles in it');
    // Without a prototype, so that `constructor` is no profile unless the user created one.
    return { ...config, profiles: Object.assign(Object.create(null), config.profiles) };
  }

  /** Reads, changes and writes the file under a lock, so that concurrent processes lose no change. */
  async update(change: (config: ProfileConfig) => void): Promise<ProfileConfig> {
    const [{ withLock }, { default: Conf }] = await Promise.all([
      import('../../client/lock.ts'),
      import('conf'), // loaded before locking, to hold the lock as briefly as possible
    ]);
    const busy = () => this.#configError('another mediactl process has locked it');
    const lockRequest = { path: `${this.path}.lock`, waitMs: maxLockWaitMs, busy };
    return withLock(lockRequest, async () => {
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
      await this.#deleteTemporaryFiles();
      return config;
    });
  }

  /** Deletes temporary files of killed processes, which may contain keys. Safe since we hold the lock. */
  async #deleteTemporaryFiles(): Promise<void> {
    for (const name of await readdir(this.directory))
      if (name.startsWith('config.json.tmp')) await rm(join(this.directory, name), { force: true });
  }

  #configError(reason: string, underlying?: unknown): MediactlError {
    return new MediactlError(`cannot use the config file ${this.path}`, {
      code: 'config_corrupt',
      exitCode: exitCodes.usage,
      reason: `${reason}; it was not changed`,
      hint: `mend it, or move it away: mv '${this.path}' '${this.path}.bad'`,
      underlying,
    });
  }
}

/** Validates a profile name. @throws MediactlError for names with characters special to a shell or JSON */
export function assertProfileName(name: string): void {
  if (!/^[A-Za-z0-9][\w.@-]*$/.test(name))
    throw usageError(
      `not a name for a profile: ${name}`,
      'letters, digits and . _ - @, a letter or digit first',
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
    Object.values(profiles).every(
      (profile) => typeof profile === 'object' && typeof profile?.baseUrl === 'string',
    )
  );
}
