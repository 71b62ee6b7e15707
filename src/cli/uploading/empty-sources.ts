import { type CodedError, partialFailure, usageError } from '../../client/errors.ts';
import { pluralize } from '../../contract/figures.ts';
import { escapeControls } from '../../contract/sanitize.ts';

/**
 * Adds the sources that gave no file, beside others that did, to the error of a run. An error that ended the run stays
 * as it is: the next run names the sources.
 *
 * @param error of the run; undefined if it succeeded
 * @param onlyFile path of the only file, if the error is about it
 */
export function addEmptySources(
  error: CodedError | undefined,
  sources: readonly string[],
  onlyFile?: string,
): CodedError | undefined {
  if (sources.length === 0) return error;
  const isOfFiles = error?.explanation.code === 'partial_failure';
  if (error && !isOfFiles && onlyFile === undefined) return error;
  const empty = sources.map((path) => usageError('no files found', 'check the path').withSubject(escapeControls(path)));
  const problem = `${pluralize(sources.length, 'source')} gave no files`;
  if (!error) return partialFailure(problem, empty, 'check the paths');
  const { failures = [], hint } = error.explanation;
  return isOfFiles
    ? partialFailure(`${error.message}; ${problem}`, [...failures, ...empty], hint)
    : partialFailure(problem, [error.withSubject(onlyFile ?? ''), ...empty], hint);
}
