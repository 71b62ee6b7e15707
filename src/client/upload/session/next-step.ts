import { type ErrorCode, exitCodes } from '../../error-table.ts';
import type { MediactlError } from '../../errors.ts';
import { isCorrupt } from '../store/journal-entry.ts';
import type { FileOutcome, RunDeps } from './file-outcome.ts';
import { isResolvedByNewAsset } from './session-gone.ts';
import type { UploadOptions } from './upload-job.ts';

/** Adds a hint to the error of a failed upload. The hint names the command that resumes or restarts it. */
export async function withNextStep(
  { job, id, path, uploaded }: FileOutcome,
  error: MediactlError,
  { again: isFromScratch }: UploadOptions,
  { journal, spool }: RunDeps,
): Promise<MediactlError> {
  const isState = error.exitCode === exitCodes.state && job.identity === undefined; // its own hint is better
  if (error.exitCode === exitCodes.integrity || isState || id === undefined) return error;
  const entry = await journal.read(id);
  if (job.isSingleRead)
    return error.with({
      hint: 'run the same command again, with the same input, to continue from here',
    });
  const isFromStdin = job.identity !== undefined || job.path === '-';
  if (!entry && job.path === '-' && !uploaded)
    return error.with({
      hint: `it is kept: mediactl upload '${path}' --name NAME, then delete it`,
    });
  if (!entry || isCorrupt(entry)) return error;
  if (isResolvedByNewAsset(error)) {
    if (!isFromStdin) return error;
    const confirm = `mediactl uploads resume ${id} --yes`;
    return error.with({ hint: `${confirm} makes a new asset and leaves what there is` });
  }
  if (entry.state === 'intended')
    return isFromStdin ? error.with({ hint: combineHints(error, `mediactl uploads resume ${id}`) }) : error;
  if (entry.state === 'planned') {
    if (error.exitCode !== exitCodes.rejected)
      return error.with({ hint: combineHints(error, `mediactl uploads resume ${id}`) });
    // The service would reject the file again, so there is nothing to resume.
    await journal.remove(id);
    await spool.remove(path);
    return error;
  }
  if (codesWithOwnHint.has(error.explanation.code)) return error;
  const finish = `mediactl uploads resume ${id}`;
  const again = isFromStdin || isFromScratch ? finish : `run the same command again, or ${finish}`;
  return error.with({ hint: `${combineHints(error, again)}, to continue from here` });
}

/** Errors after which the same command would fail again until the user has followed their own hint. */
const codesWithOwnHint = new Set<ErrorCode>(['already_uploading', 'broken_session', 'file_gone', 'session_expired']);

/** Returns our hint. If the user first has to fix something, such as the key, puts the error's own hint before it. */
function combineHints({ exitCode, explanation: { hint } }: MediactlError, nextStep: string): string {
  const first: number[] = [...[exitCodes.unauthenticated, exitCodes.quota, exitCodes.forbidden, exitCodes.state]];
  if (!hint || !first.includes(exitCode)) return nextStep;
  return `${hint.replace(/[,;] then run (?:it|the same command) again$/, '')}; then ${nextStep}`;
}
