import type { Problem } from './library.ts';

/** What is wrong with a request of the page itself, in words for people. */
export class PageProblem extends Error {
  readonly problem: Problem;

  constructor(problem: string) {
    super(problem);
    this.problem = { status: 400, problem };
  }

  /** The page's own problem, whatever it was wrapped in on its way. */
  static in(error: unknown): Problem | undefined {
    if (error instanceof PageProblem) return error.problem;
    return error instanceof Error && error.cause ? PageProblem.in(error.cause) : undefined;
  }
}
