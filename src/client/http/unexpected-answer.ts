import { type Explanation, exitCodes, MediactlError } from '../errors.ts';

/** What answered is not as the API has it: `unexpected_answer`, mostly a wrong base URL. */
export const unexpectedAnswer = (problem: string, explanation: Partial<Explanation> = {}) =>
  new MediactlError(problem, {
    code: 'unexpected_answer',
    exitCode: exitCodes.unreachable,
    hint: 'check the base URL: mediactl auth status',
    ...explanation,
  });
