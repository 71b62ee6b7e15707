import { expect, it } from 'vitest';
import { hintOf } from '../../src/cli/error-hints.ts';
import { nameProfile, programFor } from '../../src/cli/profile-in-commands.ts';
import { CodedError } from '../../src/client/errors.ts';

const other = { profile: 'er', isCurrent: false };
const current = { profile: 'er', isCurrent: true };

it.each([
  ['mediactl sandbox start, if it is a sandbox', 'mediactl --profile er sandbox start, if it is a sandbox'],
  ['mediactl ls -q | mediactl rm -', 'mediactl --profile er ls -q | mediactl --profile er rm -'],
  ["'mediactl ls' is a name; mediactl get ID", "'mediactl ls' is a name; mediactl --profile er get ID"],
  ['mediactl auth login, or try again', 'mediactl --profile er auth login, or try again'],
])('a suggested command names a profile that is not the current one: %s', (text, named) => {
  expect(nameProfile(text, other)).toBe(named);
});

it.each([
  'mediactl auth ls, to list the profiles',
  'mediactl auth switch NAME',
  'mediactl help assumptions',
  'mediactl uploads resume --all --profile sf',
  'another mediactl process (pid 3) writes to it',
  'mediactl has stopped',
])('a text whose commands depend on no other profile stays as it is: %s', (text) => {
  expect(nameProfile(text, other)).toBe(text);
});

it('the current profile is named only where a command would use another: auth login', () => {
  expect(nameProfile('mediactl get ID', current)).toBe('mediactl get ID');
  expect(nameProfile('mediactl auth login', current)).toBe('mediactl --profile er auth login');
  expect(nameProfile('mediactl auth login', undefined)).toBe('mediactl auth login');
});

it('a profile whose name has a space is quoted', () => {
  expect(programFor({ profile: 'two words', isCurrent: false })).toBe("mediactl --profile 'two words'");
});

it('the hint of an error code names the asset that the error is about', () => {
  const error = new CodedError('x', { code: 'tags_unknown', details: { asset_uid: '0c6f2a52' } });
  expect(hintOf(error)).toBe('mediactl tag 0c6f2a52 --set SLUGS, to replace all tags');
});
