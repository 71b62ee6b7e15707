import { posix } from 'node:path';
import type { Transport } from '../../client/http/transport.ts';
import { assertNoConfiguration } from '../../client/own-files.ts';
import type { FileChooser } from '../../client/upload/sources/file-chooser.ts';
import { versionOf } from '../../client/upload/sources/file-identity.ts';
import { RangeSource } from '../../client/upload/sources/range-source.ts';
import { openRclone, type RcloneFile, type RcloneFiles } from '../../client/upload/sources/rclone.ts';
import type { UploadSource } from '../../client/upload/sources/source.ts';
import { parseSourceUrl } from '../../client/upload/sources/source-url.ts';
import { isHttpUrl, type UploadFile } from '../../client/upload/sources/upload-file.ts';
import { parseTimestamp } from '../../shared/json-values.ts';
import { isOwnPath, stateMarker } from '../../shared/own-names.ts';
import type { Context } from '../context.ts';

/** Returns the path of the directory that a path is in, with slashes; empty for the top. */
const directoryOf = (path: string) => (path.includes('/') ? posix.dirname(path) : '');

/**
 * Checks the content of a source that may be a configuration of mediactl: only of JSON, since it takes one more request.
 *
 * @throws CodedError `usage` (exit 2) if it is one
 */
async function assertForeign(opening: Promise<UploadSource>): Promise<UploadSource> {
  const source = await opening;
  if (!/\.json/i.test(source.path)) return source;
  try {
    await assertNoConfiguration(source.path, source.sizeBytes, () => source.read(0, source.sizeBytes));
    return source;
  } catch (error) {
    await source.close();
    throw error;
  }
}

const maxConcurrentChecks = 8;

/** Inputs that are not local files: URLs and rclone remotes. */
export class RemoteSources {
  readonly #context: Context;
  /** Maps source ids to functions that open the source. Paths are not unique without a URL's query. */
  readonly #openers = new Map<string, () => Promise<UploadSource>>();
  readonly #remotes: RcloneFiles[] = [];
  readonly #chooser: FileChooser;
  readonly files: UploadFile[] = [];
  #transport: Transport | undefined;

  constructor(context: Context, chooser: FileChooser) {
    this.#context = context;
    this.#chooser = chooser;
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
    await source.close();
    const { identity, realPath, fileName: filename, contentType, sizeBytes } = source;
    const modifiedAtMs = identity.mtimeNs === '0' ? undefined : Number(BigInt(identity.mtimeNs) / 1_000_000n);
    const isTaken = this.#chooser.takes({
      ...{ path, source: address, realPath, relativeDir: '', filename },
      attributes: () => ({ kind: 'file', sizeBytes, changedAtMs: modifiedAtMs, isForeignTime: true }),
    });
    if (!isTaken) return;
    this.files.push({
      ...{ path, typedPath: address, realPath, relativeDir: '', filename, sizeBytes, modifiedAtMs },
      mtimeNs: versionOf(identity),
      ...(contentType !== undefined && { about: { contentType } }),
    });
    this.#openers.set(realPath, () => assertForeign(open()));
  }

  async #addRemote(address: string): Promise<void> {
    const { signal, host } = this.#context;
    const remote = await openRclone(address, {
      signal,
      environment: host.environment,
      transport: this.#anonymous(new URL('http://127.0.0.1')),
    });
    this.#remotes.push(remote);
    for (const file of this.#chooseListed(address, remote)) {
      const path = remote.addressOf(file);
      const mtimeNs = `${Math.floor(Date.parse(file.modTime) / 1000)}000000000`;
      const [filename, relativeDir] = [posix.basename(file.path), directoryOf(file.path)];
      const sizeBytes = Math.max(0, file.sizeBytes);
      this.files.push({ path, typedPath: address, realPath: path, sizeBytes, mtimeNs, filename, relativeDir });
      const open = async () => {
        const source = await remote.sourceOf(file);
        // Uses the listing's mtime, because that of rclone's HTTP server changes with each start.
        source.identity = { sizeBytes: source.sizeBytes, mtimeNs };
        return source;
      };
      this.#openers.set(path, () => assertForeign(open()));
    }
  }

  /** Returns the chosen files of a remote. Asks about each directory on the way to a file, which a listing does not name. */
  #chooseListed(source: string, { files, isDirectory: isTree, addressOf }: RcloneFiles): RcloneFile[] {
    const entries = new Map<string, Set<string>>();
    for (const { path } of files)
      for (let at = path; at !== ''; at = directoryOf(at)) {
        const names = entries.get(directoryOf(at)) ?? new Set();
        if (entries.set(directoryOf(at), names).get(directoryOf(at))?.has(posix.basename(at))) break;
        names.add(posix.basename(at));
      }
    const candidateAt = (file: Pick<RcloneFile, 'path'>) => ({
      ...{ source, path: addressOf(file), inside: isTree ? file.path : undefined },
      ...{ relativeDir: directoryOf(file.path), filename: posix.basename(file.path) },
      isBeside: (name: string) => entries.get(directoryOf(file.path))?.has(name) ?? false,
    });
    const entered = new Map([['', true]]);
    const enters = (path: string): boolean => {
      const known = entered.get(path);
      const isEntered =
        known ??
        (enters(directoryOf(path)) &&
          this.#chooser.takes({
            ...candidateAt({ path }),
            isDirectory: true,
            isOwn: () => entries.get(path)?.has(stateMarker) ?? false,
          }));
      entered.set(path, isEntered);
      return isEntered;
    };
    return files.filter(
      (file) =>
        enters(directoryOf(file.path)) &&
        this.#chooser.takes({
          ...candidateAt(file),
          realPath: addressOf(file),
          isOwn: () => isOwnPath(file.path),
          attributes: () => ({
            kind: 'file',
            sizeBytes: Math.max(0, file.sizeBytes),
            changedAtMs: parseTimestamp(file.modTime),
            isForeignTime: true,
          }),
        }),
    );
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
