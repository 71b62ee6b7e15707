import { MediactlError } from '../../client/errors.ts';
import type { Profile } from './profile-file.ts';

/**
 * Creates the error for a missing account.
 *
 * @param names existing profiles, none of which is current
 */
export const noProfile = (names: readonly string[]) =>
  new MediactlError(names.length > 0 ? 'no profile is current' : 'no profile and no API key', {
    code: 'no_profile',
    reason:
      names.length > 0 ? `there are ${names.join(', ')}` : 'there is no service to call and no key to call it with',
    hint:
      names.length > 0
        ? 'mediactl auth switch NAME, or --profile NAME'
        : 'mediactl sandbox start for a service on this machine, mediactl auth login for yours, or set MEDIACTL_API_KEY and MEDIACTL_BASE_URL',
  });

export const noBaseUrl = () =>
  new MediactlError('no base URL', {
    code: 'no_base_url',
    reason: 'MEDIACTL_API_KEY is set, but the service it belongs to is not known',
  });

export const noSuchProfile = (name: string, profiles: Record<string, Profile>) =>
  new MediactlError(`no profile is called ${name}`, {
    code: 'no_such_profile',
    reason: `there ${Object.keys(profiles).length === 1 ? 'is' : 'are'} ${Object.keys(profiles).join(', ') || 'none'}`,
    hint: `mediactl auth ls, or mediactl auth login --profile ${name}`,
  });
