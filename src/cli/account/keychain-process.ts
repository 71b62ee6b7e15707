import { text } from 'node:stream/consumers';
import { loadPackage } from '../../client/load-package.ts';
import type { KeychainAnswer, KeychainRequest } from './keychain.ts';

/*
 * A program that makes one call to the OS keychain. The call is native code that can block its whole process, so it has
 * a process of its own, which `Keychain` kills. Reads a request from stdin and writes an answer to stdout, as JSON.
 */

/** Selects the Secret Service on Linux, since the kernel keyring loses its keys on reboot. */
const options = { linux: { store: 'secret-service' } } as const;

/** Makes the call. @returns the key that the keychain then has; null for none */
async function call(request: KeychainRequest): Promise<string | null> {
  const { AsyncEntry } = await loadPackage('@napi-rs/keyring', () => import('@napi-rs/keyring'));
  const entry = new AsyncEntry('mediactl', request.account, options);
  if (request.action === 'write') await entry.setPassword(request.key);
  if (request.action !== 'delete') return entry.getPassword();
  await entry.deleteCredential();
  return null;
}

const send = (answer: KeychainAnswer) => process.stdout.write(`${JSON.stringify(answer)}\n`);

text(process.stdin)
  .then((request) => call(JSON.parse(request)))
  .then(
    (key) => send({ key: key ?? null }),
    ({ message, explanation }) => send({ message, code: explanation?.code }),
  );
