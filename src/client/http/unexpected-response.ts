import { type Explanation, exitCodes, MediactlError } from '../errors.ts';

/** Creates the error for a response that does not match the API, usually because of a wrong base URL. */
export const unexpectedResponse = (problem: string, explanation: Partial<Explanation> = {}) =>
  new MediactlError(problem, {
    code: 'unexpected_answer',
    exitCode: exitCodes.unreachable,
    hint: 'check the base URL: mediactl auth status',
    ...explanation,
  });
