import type { Problem } from './backend.ts';

/** Error for an invalid request from the page (HTTP status 400). */
export class BadRequestError extends Error {
  readonly problem: Problem;

  constructor(problem: string) {
    super(problem);
    this.problem = { status: 400, problem };
  }

  /** Returns the problem of the first BadRequestError in an error's chain of causes; undefined if there is none. */
  static findIn(error: unknown): Problem | undefined {
    if (error instanceof BadRequestError) return error.problem;
    return error instanceof Error && error.cause ? BadRequestError.findIn(error.cause) : undefined;
  }
}
