import type { Transport } from '../../client/http/transport.ts';
import { versionOf } from '../../client/upload/decide/by-receipt.ts';
import { RangeSource } from '../../client/upload/sources/range-source.ts';
import { openRclone, type RcloneFiles } from '../../client/upload/sources/rclone.ts';
import type { UploadSource } from '../../client/upload/sources/source.ts';
import { parseSourceUrl } from '../../client/upload/sources/source-url.ts';
import { isHttpUrl, type UploadFile } from '../../client/upload/sources/upload-file.ts';
import type { Context } from '../context.ts';

/** Maximum number of URLs to check concurrently. */
const maxConcurrentChecks = 8;

/** Inputs that are not local files: URLs and rclone remotes. */
export class RemoteSources {
  readonly #context: Context;
  /** Maps source ids to functions that open the source. Paths are not unique without a URL's query. */
  readonly #openers = new Map<string, () => Promise<UploadSource>>();
  readonly #remotes: RcloneFiles[] = [];
  /** Remotes that have no file. */
  readonly emptySources: string[] = [];
  readonly files: UploadFile[] = [];
  #transport: Transport | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Returns the function that opens a source, if it is not a local file. */
  findOpener(realPath: string): (() => Promise<UploadSource>) | undefined {
    return this.#openers.get(realPath);
  }

  /** Checks all URLs and lists all remotes, to collect their files. @throws CodedError if one cannot be read */
  async addAll(addresses: readonly string[]): Promise<void> {
    for (let at = 0; at < addresses.length; at += maxConcurrentChecks)
      await Promise.all(
        addresses
          .slice(at, at + maxConcurrentChecks)
          .map((address) => (isHttpUrl(address) ? this.#addUrl(address) : this.#addRemote(address))),
      );
  }

  async #addUrl(address: string): Promise<void> {
    const { path } = parseSourceUrl(address);
    const { signal } = this.#context;
    const open = () => RangeSource.open(address, this.#anonymous(new URL(address)), { signal });
    const source = await open();
    const { identity, realPath, fileName, contentType } = source;
    this.files.push({
      path,
      typedPath: address,
      realPath: realPath,
      relativeDir: '',
      filename: fileName,
      sizeBytes: source.sizeBytes,
      mtimeNs: versionOf(identity),
      ...(contentType !== undefined && { about: { contentType } }),
    });
    this.#openers.set(realPath, open);
    await source.close();
  }

  async #addRemote(address: string): Promise<void> {
    const { signal, host } = this.#context;
    const remote = await openRclone(address, {
      signal,
      environment: host.environment,
      transport: this.#anonymous(new URL('http://127.0.0.1')),
    });
    this.#remotes.push(remote);
    if (remote.files.length === 0) this.emptySources.push(address);
    for (const file of remote.files) {
      const path = remote.addressOf(file);
      const mtimeNs = `${Math.floor(Date.parse(file.modTime) / 1000)}000000000`;
      this.files.push({
        path,
        typedPath: address,
        realPath: path,
        sizeBytes: Math.max(0, file.sizeBytes),
        mtimeNs,
        filename: file.path.split('/').at(-1),
        relativeDir: file.path.split('/').slice(0, -1).join('/'),
      });
      this.#openers.set(path, async () => {
        const source = await remote.sourceOf(file);
        // Uses the listing's mtime, because that of rclone's HTTP server changes with each start.
        source.identity = { sizeBytes: source.sizeBytes, mtimeNs };
        return source;
      });
    }
  }

  #anonymous(url: URL): Transport {
    this.#transport ??= this.#context.anonymousApi(url).transport;
    return this.#transport;
  }

  async close(): Promise<void> {
    await Promise.all(this.#remotes.map((remote) => remote.close()));
    await this.#transport?.close();
  }
}
