import { expect, it } from 'vitest';
import { failureOf } from '../../src/cli/commands/bulk-result.ts';
import type { Context } from '../../src/cli/context.ts';
import { CodedError } from '../../src/client/errors.ts';
import { numberedUid } from '../support/fake-library.ts';

it('a failure that has the uid of its asset is told with the name, and each other one with the uid', () => {
  const [one, two] = [numberedUid(1), numberedUid(2)];
  const error = (message: string) => new CodedError(message, { code: 'not_found' });
  const outcomes = [
    { uid: one, name: 'quay.mp4', error: error(`asset ${one} cannot be played`) },
    { uid: two, name: 'pier.mp4', error: error('not found') },
  ];
  const { signal } = new AbortController();
  const failure = failureOf({ signal } as Context, outcomes, 'assets');
  expect(failure?.explanation.lines).toEqual([`quay.mp4: asset ${one} cannot be played`, `${two}: not found`]);
});
