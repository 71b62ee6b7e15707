import type { CodedError } from '../../errors.ts';
import type { FileOutcome, RunDeps, UploadSettings } from './upload-job.ts';

/** Errors after which the same command would fail again until the user has followed their own hint. */
const codesWithOwnHint = new Set<string>(['upload_in_progress', 'session_broken', 'file_missing']);

/** Adds to the error of a failed upload how it is resumed or restarted. */
export async function withNextStep(
  { job, id, path, uploaded }: FileOutcome,
  error: CodedError,
  { force: isFromScratch }: UploadSettings,
  { store, stdin }: RunDeps,
): Promise<CodedError> {
  const isState = error.kind === 'state' && job.identity === undefined; // its own hint is better
  if (error.kind === 'integrity' || isState || id === undefined) return error;
  const entry = store.isInMemory ? undefined : await store.read(id); // no other process finds it
  const isFromStdin = job.identity !== undefined || job.path === '-';
  const hasOwnHint = codesWithOwnHint.has(error.explanation.code);
  if (!entry && job.path === '-' && !uploaded) return error.with({ remedy: ['upload_spooled', path] });
  if (!entry || hasOwnHint) return error;
  if (error.explanation.code === 'session_unknown')
    return isFromStdin ? error.with({ remedy: ['resume_upload', id, 'as_new_asset'] }) : error;
  if (entry.state === 'planned' && error.kind === 'rejected') {
    // The service would reject the file again, so there is nothing to resume.
    await store.remove(id);
    await stdin?.spool.remove(path);
    return error;
  }
  const how = isFromStdin || isFromScratch ? 'by_id' : 'by_command';
  return error.with({ remedy: ['resume_upload', id, entry.state === 'planned' ? 'from_start' : how] });
}
