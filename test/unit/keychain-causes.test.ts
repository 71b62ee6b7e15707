import { expect, it } from 'vitest';
import { toKeychainFailure } from '../../src/cli/account/keychain.ts';
import { CodedError } from '../../src/client/errors.ts';
import { TimeoutError } from '../../src/shared/retry.ts';

/* The causes that users read, by the messages of the keychains that no test can reach here. */

const failed = (message: string) => `Platform secure storage failure: ${message}`;
const noAccess = (message: string) => `Couldn't access platform secure storage: ${message}`;

it.each([
  ['macOS, without a user who could unlock it', failed('User interaction is not allowed.'), 'locked', 'it is locked'],
  ['macOS, in another language', failed('error code -25308'), 'locked', 'it is locked'],
  ['macOS, after a click on Cancel', failed('User canceled the operation.'), 'locked', 'it was not unlocked'],
  [
    ...['macOS, after a wrong password', failed('The user name or passphrase you entered is not correct.')],
    ...['locked', 'it was not unlocked'],
  ],
  [
    ...['macOS, without a login keychain', failed('A default keychain could not be found.')],
    ...['absent', 'this session has no keychain service'],
  ],
  [
    ...['macOS, over SSH', noAccess('No keychain is available. You may need to restart your computer.')],
    ...['absent', 'this session has no keychain service'],
  ],
  [
    ...['Windows, in a session without a logon', noAccess('Windows ERROR_NO_SUCH_LOGON_SESSION')],
    ...['absent', 'this session has no keychain service'],
  ],
  ['Windows, for a long key', failed('Windows error code 1783'), 'other', 'the key is too long for it'],
  [
    ...['Windows, for a key above the limit', "Attribute 'password' is longer than the platform limit of 2560 chars"],
    ...['other', 'the key is too long for it'],
  ],
  ['Linux, locked', noAccess('Secret Service: object is locked'), 'locked', 'it is locked'],
])('the keychain of %s has a cause that a user understands', (_system, message, kind, reason) => {
  expect(toKeychainFailure(new Error(message))).toMatchObject({ kind, reason });
});

it('a keychain error that is not known is shown as it is', () => {
  const message = failed('Windows error code 31337');
  expect(toKeychainFailure(new Error(message))).toMatchObject({ kind: 'other', reason: message });
});

it('a keychain that does not respond may be locked, and one whose package is missing is absent', () => {
  expect(toKeychainFailure(new TimeoutError()).kind).toBe('locked');
  const missing = new CodedError('cannot load it', { code: 'incomplete_install' });
  expect(toKeychainFailure(missing)).toMatchObject({ kind: 'absent', reason: 'cannot load it' });
});
