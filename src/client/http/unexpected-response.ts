import { type Explanation, MediactlError } from '../errors.ts';

/** Creates the error for a response that does not match the API, which usually means that the base URL is wrong. */
export const unexpectedResponse = (problem: string, explanation: Partial<Explanation> = {}) =>
  new MediactlError(problem, {
    code: 'unexpected_answer',
    ...explanation,
  });
