import { exitCodes, type MediactlError } from '../../errors.ts';
import { isCorrupt } from '../store/journal-entry.ts';
import type { UploadOptions } from './job.ts';
import type { FileOutcome, RunTools } from './outcome.ts';
import { asksForNewAsset } from './session-gone.ts';

/** Adds a hint to a failed upload's error: the command that resumes or restarts it. */
export async function withNextStep(
  { job, id, path, uploaded }: FileOutcome,
  error: MediactlError,
  { again: isAnew }: UploadOptions,
  { journal, spool }: RunTools,
): Promise<MediactlError> {
  const isState = error.exitCode === exitCodes.state && job.identity === undefined; // its own hint is better
  if (error.exitCode === exitCodes.integrity || isState || id === undefined) return error;
  const kept = await journal.read(id);
  if (job.isOnce)
    return error.with({
      hint: 'run the same command again, with the same input, to continue from here',
    });
  const isFromStdin = job.identity !== undefined || job.path === '-';
  if (!kept && job.path === '-' && !uploaded)
    return error.with({
      hint: `it is kept: mediactl upload '${path}' --name NAME, then delete it`,
    });
  if (!kept || isCorrupt(kept)) return error;
  if (asksForNewAsset(error)) {
    if (!isFromStdin) return error;
    const anew = `mediactl uploads resume ${id} --yes`;
    return error.with({ hint: `${anew} makes a new asset and leaves what there is` });
  }
  if (kept.state === 'intended')
    return isFromStdin
      ? error.with({ hint: joined(error, `mediactl uploads resume ${id}`) })
      : error;
  if (kept.state === 'planned') {
    if (error.exitCode !== exitCodes.rejected)
      return error.with({ hint: joined(error, `mediactl uploads resume ${id}`) });
    // The service would refuse it again: nothing is worth keeping.
    await journal.remove(id);
    await spool.remove(path);
    return error;
  }
  if (error.explanation.code === 'already_uploading') return error;
  const finish = `mediactl uploads resume ${id}`;
  const again = isFromStdin || isAnew ? finish : `run the same command again, or ${finish}`;
  return error.with({ hint: `${joined(error, again)}, to continue from here` });
}

/** Puts our hint after the error's own one, or in its place if that only says to run the command again. */
function joined({ exitCode, explanation: { hint } }: MediactlError, ours: string): string {
  const first: number[] = [
    ...[exitCodes.unauthenticated, exitCodes.quota, exitCodes.forbidden, exitCodes.state],
  ];
  if (!hint || !first.includes(exitCode)) return ours;
  return `${hint.replace(/[,;] then run (?:it|the same command) again$/, '')}; then ${ours}`;
}
