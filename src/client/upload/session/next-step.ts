import type { ErrorCode } from '../../error-table.ts';
import type { CodedError } from '../../errors.ts';
import type { UploadSettings } from '../decide/upload-settings.ts';
import type { FileOutcome } from './file-outcome.ts';
import type { SessionPorts } from './session-ports.ts';

/** Errors after which the same command would fail again until the user has followed their own hint. */
const codesWithOwnHint: readonly ErrorCode[] = ['upload_in_progress', 'session_broken', 'file_unusable'];

/** Adds to the error of a failed upload how it is resumed or restarted. */
export async function withNextStep(
  { file, id, uploaded }: FileOutcome,
  error: CodedError,
  { existing }: UploadSettings,
  { store, stdin }: SessionPorts,
): Promise<CodedError> {
  const { spoolPath = '' } = file.stream ?? {};
  const isNewStream = file.stream !== undefined && file.id === undefined;
  const isState = error.kind === 'state' && (isNewStream || !file.stream); // its own hint is better
  if (error.kind === 'integrity' || isState || id === undefined) return error;
  const entry = store.isInMemory ? undefined : await store.read(id); // no other process finds it
  const hasOwnHint = codesWithOwnHint.includes(error.explanation.code);
  if (!entry && isNewStream && !uploaded) return error.with({ remedy: ['upload_spooled', spoolPath] });
  if (!entry || hasOwnHint) return error;
  if (error.explanation.code === 'session_unknown')
    return file.stream ? error.with({ remedy: ['resume_upload', id, 'as_new_asset'] }) : error;
  if (entry.state === 'planned' && error.kind === 'rejected') {
    // The service would reject the file again, so there is nothing to resume.
    await store.remove(id);
    if (file.stream) await stdin?.spool.remove(spoolPath);
    return error;
  }
  const how = file.stream || existing === 'upload' ? 'by_id' : 'by_command';
  return error.with({ remedy: ['resume_upload', id, entry.state === 'planned' ? 'from_start' : how] });
}
