import { expect, expectTypeOf, it } from 'vitest';
import type { UploadResult } from '../../src/sdk/public-types.ts';
import {
  keptOutcomes,
  outcomeNames,
  plannedNames,
  plannedOutcomes,
  type SuccessOutcome,
  type UploadOutcome,
  uploadOutcomes,
} from '../../src/shared/upload-outcomes.ts';

const namesWhere = (isTrue: (row: (typeof uploadOutcomes)[UploadOutcome]) => boolean) =>
  outcomeNames.filter((name) => isTrue(uploadOutcomes[name]));

it('the library has the outcomes of a file that the service has, but for those that need an option', () => {
  expectTypeOf<UploadResult['outcome']>().toEqualTypeOf<Exclude<SuccessOutcome, 'exists' | 'moved'>>();
  expect(namesWhere(({ isThere }) => isThere)).toEqual(['uploaded', ...keptOutcomes]);
});

it('a preview has each outcome of a file that the service has already', () => {
  expect(plannedNames).toEqual(expect.arrayContaining(keptOutcomes));
  expect(plannedNames.filter((name) => plannedOutcomes[name].isSent)).toEqual(['new', 'changed', 'resumed']);
});

it('only content that is in the library counts as compared', () => {
  expect(namesWhere(({ isCompared }) => isCompared)).toEqual([
    ...['uploaded', 'skipped', 'moved', 'updated', 'duplicate'],
  ]);
});
