import { MediactlError } from '../../client/errors.ts';
import { withTimeout } from '../../contract/retry.ts';
import type { Profile } from './profile-file.ts';

/** Identifies a key in the OS keychain. Each profile in each config folder has its own entry. */
export type KeychainEntry = { configDir: string; profile: string };

/** Selects the Secret Service on Linux, since the kernel keyring loses its keys on reboot. */
const options = { linux: { store: 'secret-service' } } as const;
/** Timeout for keychain calls, which can hang on D-Bus or on an unlock dialog that is not visible. */
const keychainTimeoutMs = 3_000;

async function withKeychain<T>(
  { configDir, profile }: KeychainEntry,
  call: (entry: import('@napi-rs/keyring').AsyncEntry, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { AsyncEntry } = await import('@napi-rs/keyring');
  const entry = new AsyncEntry('mediactl', `${profile}@${configDir}`, options);
  return withTimeout(keychainTimeoutMs, (signal) => call(entry, signal));
}

/** @throws MediactlError `bad_key` (exit 2) if the key is empty or contains anything but visible ASCII characters */
export function assertKey(key: string): void {
  if (/^[\x21-\x7e]+$/.test(key)) return;
  throw new MediactlError(key === '' ? 'no API key given' : 'invalid API key', {
    code: 'bad_key',
    reason: key === '' ? 'the input is empty' : 'an API key contains only printable ASCII characters, without spaces',
  });
}

/** Stores a key in the OS keychain. Returns false if no keychain is available or the keychain does not respond. */
export async function storeInKeychain(entry: KeychainEntry, key: string): Promise<boolean> {
  try {
    await withKeychain(entry, (item, signal) => item.setPassword(key, signal));
    return (await withKeychain(entry, (item, signal) => item.getPassword(signal))) === key;
  } catch {
    return false; // the caller reports this and stores the key in the config file
  }
}

/** @throws MediactlError `keychain` (exit 4) if the keychain fails or does not respond */
export async function deleteFromKeychain(entry: KeychainEntry): Promise<void> {
  await withKeychain(entry, (item, signal) => item.deleteCredential(signal)).catch((error) => {
    throw keychainError(entry.profile, error, 'remove');
  });
}

export async function readApiKey(profile: Profile, entry: KeychainEntry): Promise<string> {
  if (profile.keyStore !== 'keychain') {
    if (profile.key) return profile.key;
    const hint = `mediactl auth login --profile ${entry.profile}`;
    throw new MediactlError(`profile ${entry.profile} has no API key`, { code: 'no_key', hint });
  }
  try {
    const key = await withKeychain(entry, (item, signal) => item.getPassword(signal));
    if (key) return key;
  } catch (error) {
    throw keychainError(entry.profile, error);
  }
  throw keychainError(entry.profile, new Error('the keychain has no entry for it'));
}

const keychainError = (profile: string, underlying: unknown, action: 'read' | 'remove' = 'read') =>
  new MediactlError(`cannot ${action} the key of profile ${profile} from the keychain`, {
    code: 'keychain',
    reason: (underlying as Error).message,
    hint:
      action === 'read'
        ? `unlock the keychain, or mediactl auth login --profile ${profile} --store file`
        : `unlock the keychain, then mediactl auth logout ${profile}`,
    underlying,
  });
