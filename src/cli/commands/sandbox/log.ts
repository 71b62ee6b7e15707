import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';

/** Returns the log's path. When the log is full, it is rotated to `sandbox.log.1`. */
export const logPath = (dataDir: string) => join(dataDir, 'sandbox.log');

/** Maximum number of bytes to read of a log file: the size at which it is rotated. */
const maxBytes = 8 * 1024 * 1024;

/** Reads the last lines of a log, then the text that is appended to it. */
export class LogReader {
  readonly #path: string;
  readonly #decoder = new StringDecoder('utf8');
  #handle: FileHandle;
  #position = 0;

  private constructor(path: string, handle: FileHandle) {
    this.#path = path;
    this.#handle = handle;
  }

  /** Opens a log. @throws Error from the file system, such as ENOENT */
  static async open(path: string): Promise<LogReader> {
    return new LogReader(path, await open(path));
  }

  /** Returns the last `count` lines, including some from before the last rotation if needed. */
  async lastLines(count: number): Promise<string> {
    const older = await LogReader.open(`${this.#path}.1`).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    const before = older ? await older.#readTail().finally(() => older.close()) : '';
    const text = before + (await this.#readTail());
    return text.replace(/\n$/, '').split('\n').slice(-count).join('\n');
  }

  /** Returns text appended since the last call, or ''. After a rotation, reads the new file. */
  async readAppended(): Promise<string> {
    const added = await this.#read();
    if (added !== '') return added;
    const current = await open(this.#path).catch(() => undefined);
    if (!current) return ''; // it is being rotated, or was deleted
    const [mine, theirs] = [await this.#handle.stat(), await current.stat()];
    const isSame = mine.ino === theirs.ino && theirs.size >= this.#position;
    const rest = isSame ? '' : await this.#read(); // appended to the old file before the rotation
    await (isSame ? current : this.#handle).close();
    if (isSame) return '';
    this.#handle = current;
    this.#position = 0;
    return rest + (await this.#read());
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  async #readTail(): Promise<string> {
    this.#position = Math.max(0, (await this.#handle.stat()).size - maxBytes);
    return this.#read();
  }

  /** Reads from the position to the end. The decoder buffers an incomplete character. */
  async #read(): Promise<string> {
    const { size } = await this.#handle.stat();
    const buffer = Buffer.alloc(Math.max(0, size - this.#position));
    const { bytesRead } = await this.#handle.read(buffer, 0, buffer.length, this.#position);
    this.#position += bytesRead;
    return this.#decoder.write(buffer.subarray(0, bytesRead));
  }
}
