import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { exitCodes, MediactlError, usageError } from '../../client/errors.ts';
import { readTextFile } from '../../client/read-file.ts';
import type { NameOverrides } from '../../contract/assumptions.ts';

/** One account on one service, as the config file keeps it. */
export type Profile = {
  /** The service host: an origin. */
  baseUrl: string;
  /** Absent where the key is in the keychain. */
  key?: string;
  keyStore: 'file' | 'keychain';
  /** Uid of the workspace that commands use. */
  workspace?: string;
  /** What it was called when it was chosen. */
  workspaceName?: string;
  /** What `config set` keeps for this profile: output, folder, color and others. */
  settings?: Record<string, string>;
  /** Of one that `sandbox start` made: the sandbox's data folder. */
  sandbox?: string;
  /** Field names of this service, where our guess is wrong (wire/assumptions). */
  names?: NameOverrides;
};

export type ProfileConfig = { current?: string; profiles: Record<string, Profile> };

/** Writes take milliseconds; half a minute is many of them, on a busy machine too. */
const lockWaitMs = 30_000;

/**
 * The config file. Read with `fs`, since every command does it and `conf` costs 88 ms to load;
 * written with `conf`: atomically, mode 0600. A corrupt file is an error and stays as it is.
 */
export class ProfileFile {
  readonly path: string;
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
    this.path = join(directory, 'config.json');
  }

  /** @throws MediactlError `config_corrupt`, naming the path */
  async read(): Promise<ProfileConfig> {
    let text: string;
    try {
      text = readTextFile(this.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT')
        return { profiles: Object.create(null) };
      throw this.#unusable((error as Error).message, error);
    }
    let config: unknown;
    try {
      config = JSON.parse(text);
    } catch (error) {
      throw this.#unusable((error as Error).message, error);
    }
    if (!isProfileConfig(config)) throw this.#unusable('it has no profiles in it');
    // Without a prototype: no profile is called `constructor` unless somebody named one so.
    return { ...config, profiles: Object.assign(Object.create(null), config.profiles) };
  }

  /** Reads, changes and writes in one go; others wait, so that no change is lost. */
  async update(change: (config: ProfileConfig) => void): Promise<ProfileConfig> {
    const [{ whileLocked }, { default: Conf }] = await Promise.all([
      import('../../client/lock.ts'),
      import('conf'), // before the lock, which nobody is to wait for longer than need be
    ]);
    const busy = () => this.#unusable('another mediactl process has locked it');
    const wanted = { path: `${this.path}.lock`, waitMs: lockWaitMs, busy };
    return whileLocked(wanted, async () => {
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
      await this.#sweep();
      return config;
    });
  }

  /** Half-written files of a process that was killed: they may hold keys. The lock is ours. */
  async #sweep(): Promise<void> {
    for (const name of await readdir(this.directory))
      if (name.startsWith('config.json.tmp')) await rm(join(this.directory, name), { force: true });
  }

  #unusable(reason: string, underlying?: unknown): MediactlError {
    return new MediactlError(`cannot use the config file ${this.path}`, {
      code: 'config_corrupt',
      exitCode: exitCodes.usage,
      reason: `${reason}; it was not changed`,
      hint: `mend it, or move it away: mv '${this.path}' '${this.path}.bad'`,
      underlying,
    });
  }
}

/** @throws MediactlError for names that a shell or JSON would trip over */
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
