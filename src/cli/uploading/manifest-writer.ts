import { type FileHandle, open } from 'node:fs/promises';
import { MediactlError } from '../../client/errors.ts';
import type { UploadRecord } from './upload-record.ts';

/** Writes the --manifest-out file, with the outcome of each file as a JSON line as it finishes. */
export class ManifestWriter {
  readonly #path: string | undefined;
  #handle: FileHandle | undefined;
  #failure: MediactlError | undefined;

  constructor(path: string | undefined) {
    this.#path = path;
  }

  /** Error that left the file incomplete, if any. The uploads continue without the file. */
  get failure(): MediactlError | undefined {
    return this.#failure;
  }

  async write(records: readonly UploadRecord[]): Promise<void> {
    if (this.#path === undefined || this.#failure) return;
    try {
      this.#handle ??= await open(this.#path, 'w', 0o600);
      await this.#handle.appendFile(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    } catch (error) {
      this.#failure = manifestOutError(this.#path, error as Error);
    }
  }

  async close(): Promise<void> {
    await this.#handle?.close();
  }
}

const manifestOutError = (path: string, underlying: Error) =>
  new MediactlError(`${path} is not whole`, {
    code: 'manifest_out',
    reason: underlying.message,
    underlying,
  });
