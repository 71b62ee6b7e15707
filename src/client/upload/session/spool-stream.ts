import { normalizeName } from '../../../shared/json-values.ts';
import { usageError } from '../../errors.ts';
import { type TargetedFile, uploadIdOf } from '../sources/upload-file.ts';
import type { SessionPorts } from './session-ports.ts';

/**
 * Spools a stream to disk. It is then identified by checksum, size and name, since it has no path. Without the name, a
 * stream would take the asset of another one with its content.
 */
export async function spoolStream(
  file: TargetedFile,
  { stdin, signal, api, store }: SessionPorts,
): Promise<TargetedFile> {
  if (!stdin) throw usageError('stdin cannot be uploaded here');
  const { blake3, sizeBytes, saveAs } = await stdin.spool.write(
    stdin.open(),
    (id, part) => store.lock(id, part),
    signal,
  );
  const named = { ...file, filename: file.filename ?? file.about?.name ?? 'stdin' };
  const identity = `${blake3} ${sizeBytes} ${normalizeName(named.filename)}`;
  // Name the spool file by the upload id, since the entry of an earlier attempt with the same bytes refers to it.
  return {
    ...named,
    sizeBytes,
    stream: { spoolPath: await saveAs(uploadIdOf(named, identity, api.transport.baseUrl)), identity },
  };
}
