import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';

/** Returns the log's path. When the log is full, it is rotated to `sandbox.log.1`. */
export const logPath = (dataDir: string) => join(dataDir, 'sandbox.log');

const blockBytes = 64 * 1024;

/** Reads the last lines of a log of any size, then the text that is appended to it. */
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
    const { size } = await this.#handle.stat();
    this.#position = size;
    const lines = await linesBefore(this.#handle, size, count);
    if (lines.length < count) lines.unshift(...(await this.#olderLines(count - lines.length)));
    return lines.join('\n');
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

  async #read(): Promise<string> {
    const bytes = await readAt(this.#handle, this.#position, blockBytes);
    this.#position += bytes.length;
    return this.#decoder.write(bytes); // the decoder buffers an incomplete character
  }

  async #olderLines(count: number): Promise<string[]> {
    const older = await open(`${this.#path}.1`).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (!older) return [];
    try {
      return await linesBefore(older, (await older.stat()).size, count);
    } finally {
      await older.close();
    }
  }
}

/** Returns the last `count` lines before offset `end`. Reads the file backwards, block by block. */
async function linesBefore(handle: FileHandle, end: number, count: number): Promise<string[]> {
  const blocks: Buffer[] = [];
  let newlines = 0;
  // One newline more than lines, because one ends the file and one precedes the first line.
  for (let at = end; at > 0 && newlines <= count; ) {
    const start = Math.max(0, at - blockBytes);
    const block = await readAt(handle, start, at - start);
    for (const byte of block) if (byte === 0x0a) newlines++;
    blocks.unshift(block);
    at = start;
  }
  const text = Buffer.concat(blocks).toString('utf8').replace(/\n$/, '');
  return text === '' ? [] : text.split('\n').slice(-count);
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await handle.read(buffer, 0, length, position);
  return buffer.subarray(0, bytesRead);
}
