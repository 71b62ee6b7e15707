import { CodedError } from '../../client/errors.ts';
import { loadPackage } from '../../client/lock.ts';
import { TimeoutError, withTimeout } from '../../contract/retry.ts';

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
  const { AsyncEntry } = await loadPackage('@napi-rs/keyring', () => import('@napi-rs/keyring'));
  const entry = new AsyncEntry('mediactl', `${profile}@${configDir}`, options);
  return withTimeout(keychainTimeoutMs, (signal) => call(entry, signal));
}

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

/** Looks for an entry that does not exist, which needs no unlocked keychain. @returns undefined if that works */
export const probeKeychain = (configDir: string): Promise<KeychainFailure | undefined> =>
  withKeychain({ configDir, profile: 'doctor' }, (item, signal) => item.getPassword(signal)).then(
    () => undefined,
    toKeychainFailure,
  );

/** Stores a key in the OS keychain. @returns why it could not, or undefined once it is stored */
export async function storeInKeychain(entry: KeychainEntry, key: string): Promise<KeychainFailure | undefined> {
  try {
    await withKeychain(entry, (item, signal) => item.setPassword(key, signal));
    const stored = await withKeychain(entry, (item, signal) => item.getPassword(signal));
    if (stored !== key) throw new Error('it does not return the key that was stored');
    return undefined;
  } catch (error) {
    return toKeychainFailure(error);
  }
}

/** @throws CodedError `keychain_unavailable` (exit 4) if the keychain fails or does not respond */
export async function deleteFromKeychain(entry: KeychainEntry): Promise<void> {
  await withKeychain(entry, (item, signal) => item.deleteCredential(signal)).catch((error) => {
    throw keychainError(entry.profile, error, 'remove');
  });
}

/** @throws CodedError `keychain_unavailable` (exit 4) if the keychain fails, does not respond or has no such entry */
export async function readFromKeychain(entry: KeychainEntry): Promise<string> {
  try {
    const key = await withKeychain(entry, (item, signal) => item.getPassword(signal));
    if (key) return key;
  } catch (error) {
    throw keychainError(entry.profile, error);
  }
  throw keychainError(entry.profile, new Error('the keychain has no entry for it'));
}

function keychainError(profile: string, error: unknown, action: 'read' | 'remove' = 'read'): CodedError {
  const { kind, reason, underlying } = toKeychainFailure(error);
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
