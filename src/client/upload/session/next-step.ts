import { exitCodes } from '../../error-table.ts';
import type { MediactlError } from '../../errors.ts';
import type { FileOutcome, RunDeps, UploadOptions } from './upload-job.ts';

/** Errors after which the same command would fail again until the user has followed their own hint. */
const codesWithOwnHint = new Set<string>([
  'upload_in_progress',
  'session_broken',
  'file_missing',
  'session_expired',
  'stdin_size_differs',
]);

/** Adds a hint to the error of a failed upload. The hint names the command that resumes or restarts it. */
export async function withNextStep(
  { job, id, path, uploaded }: FileOutcome,
  error: MediactlError,
  { force: isFromScratch }: UploadOptions,
  { store, spool }: RunDeps,
): Promise<MediactlError> {
  const isState = error.exitCode === exitCodes.state && job.identity === undefined; // its own hint is better
  if (error.exitCode === exitCodes.integrity || isState || id === undefined) return error;
  const entry = store.isInMemory ? undefined : await store.read(id); // no other process finds it
  const resume = `mediactl uploads resume ${id}`;
  const isFromStdin = job.identity !== undefined || job.path === '-';
  const hasOwnHint = codesWithOwnHint.has(error.explanation.code);
  if (job.isSingleRead && !hasOwnHint)
    return error.with({ hint: 'run the same command again with the same input to continue' });
  if (!entry && job.path === '-' && !uploaded)
    return error.with({ hint: `mediactl upload '${path}' --name NAME, to upload the saved input; then delete it` });
  if (!entry || hasOwnHint) return error;
  if (error.explanation.code === 'session_unknown')
    return isFromStdin
      ? error.with({ hint: `${resume} --yes, to create a new asset and keep the existing one` })
      : error;
  if (entry.state === 'planned' && error.exitCode === exitCodes.rejected) {
    // The service would reject the file again, so there is nothing to resume.
    await store.remove(id);
    await spool().remove(path);
    return error;
  }
  if (entry.state === 'planned') return error.with({ hint: combineHints(error, resume) });
  const again = isFromStdin || isFromScratch ? resume : `run the same command again, or ${resume}`;
  return error.with({ hint: `${combineHints(error, again)}, to continue` });
}

/** Returns our hint. If the user first has to fix something, such as the key, puts the error's own hint before it. */
function combineHints({ exitCode, explanation: { hint } }: MediactlError, nextStep: string): string {
  const first: number[] = [exitCodes.unauthenticated, exitCodes.quota, exitCodes.forbidden, exitCodes.state];
  if (!hint || !first.includes(exitCode)) return nextStep;
  return `${hint.replace(/[,;] then run (?:it|the same command) again$/, '')}; then ${nextStep}`;
}
