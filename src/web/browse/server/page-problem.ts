import type { Problem } from './library.ts';

/** Error for an invalid request of the page (status 400). */
export class PageProblem extends Error {
  readonly problem: Problem;

  constructor(problem: string) {
    super(problem);
    this.problem = { status: 400, problem };
  }

  /** Finds such an error in the chain of causes. */
  static in(error: unknown): Problem | undefined {
    if (error instanceof PageProblem) return error.problem;
    return error instanceof Error && error.cause ? PageProblem.in(error.cause) : undefined;
  }
}
