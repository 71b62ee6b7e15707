import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Random } from './random.ts';

type FileChange = { at: number; bytes: Buffer } | { truncateTo: number };
type TracedFile = { synced: Buffer; unsynced: FileChange[] };

/** Arguments of strace that record what `SyncedState` replays. */
export const straceArguments = (log: string) => [
  ...['-D', '-f', '-qq', '-y', '-xx', '-s', '65536', '-o', log],
  ...['-e', 'trace=pwrite64,ftruncate,fsync,fdatasync,rename,renameat,renameat2,link,linkat'],
];

/** Simulates the files of a traced process after a power failure: synced writes and a random subset of the others. */
export class SyncedState {
  readonly #files = new Map<string, TracedFile>();
  syncs = 0;

  constructor(log: string) {
    /** The unfinished part of a call by process id, until strace says that it has resumed. */
    const unfinished = new Map<string, { text: string; until: number }>();
    for (const line of readFileSync(log, 'utf8').split('\n')) {
      const [, pid = '', text = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
      const begun = / *<unfinished \.\.\.>$/.exec(text);
      if (begun) {
        const call = text.slice(0, begun.index);
        unfinished.set(pid, { text: call, until: this.#positionOf(call) });
        continue;
      }
      const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(text);
      const begin = resumed && unfinished.get(pid);
      if (begin) this.#replay(begin.text + resumed[1], begin.until);
      else if (text !== '') this.#replay(text);
    }
  }

  /** Returns how many changes of a file a sync that begins now covers. */
  #positionOf(call: string): number {
    const path = /^f(?:data)?sync\(\d+<(.*?)>/.exec(call)?.[1];
    return path === undefined ? 0 : this.#file(decode(path)).unsynced.length;
  }

  #file(path: string): TracedFile {
    const found = this.#files.get(path) ?? { synced: Buffer.alloc(0), unsynced: [] };
    this.#files.set(path, found);
    return found;
  }

  #replay(call: string, covered?: number): void {
    const result = Number(/ = (-?\d+)[^=]*$/.exec(call)?.[1]);
    if (!(result >= 0)) return;
    const write = /^pwrite64\(\d+<(.*?)>, "(.*)", \d+, (\d+)\)/.exec(call);
    if (write) this.#file(decode(write[1])).unsynced.push({ at: Number(write[3]), bytes: bytesOf(write[2]) });
    const truncate = /^ftruncate\(\d+<(.*?)>, (\d+)\)/.exec(call);
    if (truncate) this.#file(decode(truncate[1])).unsynced.push({ truncateTo: Number(truncate[2]) });
    const sync = /^f(?:data)?sync\(\d+<(.*?)>/.exec(call);
    if (sync) {
      this.syncs++;
      const file = this.#file(decode(sync[1]));
      for (const change of file.unsynced.splice(0, covered ?? file.unsynced.length)) apply(file, change);
    }
    const moved = /^(?:rename|link)\w*\((?:AT_FDCWD\S*, )?"(.*?)", (?:AT_FDCWD\S*, )?"(.*?)"/.exec(call);
    if (moved) this.#files.set(decode(moved[2]), this.#file(decode(moved[1])));
  }

  /** Replaces an SQLite database by what the disk has of it after the power failure; without `random`, synced writes only. */
  restoreDatabase(path: string, random?: Random): void {
    for (const file of [path, `${path}-wal`]) writeFileSync(file, this.#contentAfterPowerLoss(file, random));
    rmSync(`${path}-shm`, { force: true });
  }

  /** Returns a file as it is after the power failure: each unsynced change is applied or dropped at random. */
  #contentAfterPowerLoss(path: string, random: Random | undefined): Buffer {
    const { synced, unsynced } = this.#file(path);
    const file = { synced, unsynced: [] };
    for (const change of unsynced) if (random?.chance(0.5)) apply(file, change);
    return file.synced;
  }
}

function apply(file: TracedFile, change: FileChange): void {
  if ('truncateTo' in change) {
    file.synced = file.synced.subarray(0, change.truncateTo);
    return;
  }
  const end = change.at + change.bytes.length;
  const grown = Buffer.alloc(Math.max(end, file.synced.length));
  file.synced.copy(grown);
  change.bytes.copy(grown, change.at);
  file.synced = grown;
}

/** Decodes bytes that strace prints as `\x41\x42`. */
const bytesOf = (text = ''): Buffer => Buffer.from(text.replaceAll('\\x', ''), 'hex');

const decode = (text = ''): string => (text.startsWith('\\x') ? bytesOf(text).toString() : text);
