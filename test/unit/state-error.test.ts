import { join } from 'node:path';
import { expect, it } from 'vitest';
import { stateError } from '../../src/client/state-error.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

it.each([
  ['EMFILE', 'ulimit -n'],
  ['ENFILE', 'close other programs'],
  ['EFBIG', 'ulimit -f'],
])('the hint for a state file error %s contains "%s"', (code, hint) => {
  const error = Object.assign(new Error(`${code}: a limit, write`), { code });
  const { explanation, kind } = stateError(error, join(temporaryFolder(), 'receipts.db'));
  expect([kind, explanation.hint]).toEqual(['state', expect.stringContaining(hint)]);
});
