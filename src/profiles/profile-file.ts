import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exitCodes, MediactlError } from '../errors.ts';
import type { NameOverrides } from '../wire/assumptions.ts';

/** One account on one service, as the config file keeps it. */
export type Profile = {
  /** The service host: an origin. */
  baseUrl: string;
  /** Absent where the key is in the keychain. */
  key?: string;
  keyStore: 'file' | 'keychain';
  /** Uid of the workspace that commands use. */
  workspace?: string;
  /** Field names of this service, where our guess is wrong (wire/assumptions). */
  names?: NameOverrides;
};

export type ProfileConfig = { current?: string; profiles: Record<string, Profile> };

/**
 * The config file. Read with `fs`, since every command does it and `conf` costs 88 ms to load;
 * written with `conf`: atomically, mode 0600. A corrupt file is an error and stays as it is.
 */
export class ProfileFile {
  readonly path: string;
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
    this.path = join(directory, 'config.json');
  }

  /** @throws MediactlError `config_corrupt`, naming the path */
  async read(): Promise<ProfileConfig> {
    let text: string;
    try {
      text = readFileSync(this.path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { profiles: {} };
      throw this.#unusable((error as Error).message, error);
    }
    let config: unknown;
    try {
      config = JSON.parse(text);
    } catch (error) {
      throw this.#unusable((error as Error).message, error);
    }
    if (!isProfileConfig(config)) throw this.#unusable('it does not hold profiles');
    return config;
  }

  /** Reads, changes and writes in one go. */
  async update(change: (config: ProfileConfig) => void): Promise<ProfileConfig> {
    const config = await this.read();
    change(config);
    const { Conf } = await import('./conf.lazy.ts');
    const conf = new Conf({
      projectName: 'mediactl',
      cwd: this.#directory,
      configName: 'config',
      configFileMode: 0o600,
      clearInvalidConfig: false,
      accessPropertiesByDotNotation: false,
    });
    conf.store = config;
    return config;
  }

  #unusable(reason: string, underlying?: unknown): MediactlError {
    return new MediactlError(`cannot use the config file ${this.path}`, {
      code: 'config_corrupt',
      exitCode: exitCodes.usage,
      reason: `${reason}; it has been left as it is`,
      hint: `mend it, or move it away: mv '${this.path}' '${this.path}.bad'`,
      underlying,
    });
  }
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
