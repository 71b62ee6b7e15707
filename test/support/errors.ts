import { type ErrorRecord, exitCodeOf, hintOf } from '../../src/cli/error-hints.ts';
import { causeOf, type ErrorCode, type Subcode } from '../../src/client/error-table.ts';
import { CodedError } from '../../src/client/errors.ts';
import type { CliResult } from './cli.ts';

/** Public fields of an error: code, exit code and hint. */
export type SeenError = { code: string; exit: number; hint: string | null };

/** Returns the error of a command that ran with --json. */
export function errorOf({ code: exit, stderr }: Pick<CliResult, 'stderr'> & { code: number | null }): SeenError {
  const { code, exit_code, hint } = JSON.parse(stderr.slice(stderr.lastIndexOf('{"error":'))).error;
  if (exit_code !== exit) throw new Error(`exit_code is ${exit_code}, and the exit code ${exit}`);
  return { code, exit: exit_code, hint };
}

/** Returns the public fields of an error in a record, such as a file's record or a check of `doctor`. */
export const recordedError = ({ code, exit_code: exit, hint }: ErrorRecord): SeenError => ({ code, exit, hint });

/** Returns the public fields of a thrown error. */
export const seenError = (error: CodedError): SeenError => ({
  code: error.explanation.code,
  exit: exitCodeOf(error),
  hint: hintOf(error) ?? null,
});

/** Returns the public fields of an error with a code, or with a subcode that stands for one, and nothing else. */
export const errorInTable = (cause: ErrorCode | Subcode): SeenError => seenError(new CodedError('', causeOf(cause)));
