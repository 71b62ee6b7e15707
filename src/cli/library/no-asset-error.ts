import { CodedError, type Explanation } from '../../client/errors.ts';

/** Error for an id, name or address without an asset, for commands that add a hint of their own. */
export class NoAssetError extends CodedError {
  /** Id, name or address as the user typed it. */
  readonly typed: string;
  /** True if it is the address of a folder. */
  readonly isFolder: boolean;

  constructor(typed: string, problem: string, explanation: Explanation, isFolder = false) {
    super(problem, explanation);
    this.typed = typed;
    this.isFolder = isFolder;
  }
}
