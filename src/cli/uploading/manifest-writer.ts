import { type FileHandle, open } from 'node:fs/promises';
import { MediactlError } from '../../client/errors.ts';
import type { UploadRecord } from './upload-record.ts';

/** Writes the --manifest-out file, with the outcome of each file as a JSON line as it finishes. */
export class ManifestWriter {
  readonly #path: string;
  #handle: FileHandle | undefined;
  #failure: MediactlError | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Error that left the file incomplete, if any. The uploads continue without the file. */
  get failure(): MediactlError | undefined {
    return this.#failure;
  }

  async write(records: readonly UploadRecord[]): Promise<void> {
    if (this.#failure) return;
    try {
      this.#handle ??= await open(this.#path, 'w', 0o600);
      await this.#handle.appendFile(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    } catch (error) {
      const { message } = error as Error;
      const explanation = { code: 'manifest_out', reason: message, underlying: error } as const;
      this.#failure = new MediactlError(`${this.#path} is not whole`, explanation);
    }
  }

  async close(): Promise<void> {
    await this.#handle?.close();
  }
}
