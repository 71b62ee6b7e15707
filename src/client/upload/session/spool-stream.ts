import { usageError } from '../../errors.ts';
import { type TargetedFile, uploadIdOf } from '../sources/upload-file.ts';
import type { RunDeps } from './upload-deps.ts';

/** Spools a stream to disk. It is then identified by checksum and size, since it has no stable path. */
export async function spoolStream(file: TargetedFile, { stdin, signal, api, store }: RunDeps): Promise<TargetedFile> {
  if (!stdin) throw usageError('stdin cannot be uploaded here');
  const { blake3, sizeBytes, saveAs } = await stdin.spool.write(
    stdin.open(),
    (id, part) => store.lock(id, part),
    signal,
  );
  const identity = `${blake3} ${sizeBytes}`;
  const named = { ...file, filename: file.filename ?? file.about?.name ?? 'stdin' };
  // Name the spool file by the upload id, since the entry of an earlier attempt with the same bytes refers to it.
  return {
    ...named,
    sizeBytes,
    stream: { spoolPath: await saveAs(uploadIdOf(named, identity, api.transport.baseUrl)), identity },
  };
}
