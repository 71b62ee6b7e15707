import type { Problem } from './backend.ts';

/** Error for an invalid request of the page (status 400). */
export class BadRequestError extends Error {
  readonly problem: Problem;

  constructor(problem: string) {
    super(problem);
    this.problem = { status: 400, problem };
  }

  /** Finds such an error in the chain of causes. */
  static findIn(error: unknown): Problem | undefined {
    if (error instanceof BadRequestError) return error.problem;
    return error instanceof Error && error.cause ? BadRequestError.findIn(error.cause) : undefined;
  }
}
