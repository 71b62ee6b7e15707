import { assertArgument, profileOptions, text } from './arguments.ts';
import { ErrorConverter } from './client-parts.ts';
import { openClient } from './open-client.ts';
import type * as Public from './public-types.ts';
import { MediactlError } from './public-types.ts';

export type * from './public-types.ts';
export { MediactlError };

export const createClient: typeof Public.createClient = (options) => openClient(options, { profile: 'library' });

export const fromProfile: typeof Public.fromProfile = async (name, options = {}) => {
  const errors = new ErrorConverter('');
  try {
    assertArgument('options', profileOptions, options);
    if (name !== undefined) assertArgument('name', text, name);
    const { readProfileAccount } = await import('./profile-account.ts');
    const account = await readProfileAccount(name, options.signal ?? new AbortController().signal);
    const workspace = options.workspace ?? account.options.workspace;
    return openClient({ ...account.options, ...options, workspace }, account);
  } catch (error) {
    options.signal?.throwIfAborted();
    throw errors.toPublic(error);
  }
};
