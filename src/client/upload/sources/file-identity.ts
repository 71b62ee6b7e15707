import type { BigIntStats } from 'node:fs';
import { isLinux } from '../../../shared/platform.ts';
import { tryStat } from '../../local-path.ts';

/*
 * Whether a file is unchanged. All of it asks `describeChange`, or compares size and modification time where a rename, which
 * changes the other attributes, does not count.
 */

/** Size and times of a file. In a receipt, `mtimeNs` is its version: the strong ETag if it has one. */
export type FileVersion = {
  sizeBytes: number;
  mtimeNs: string;
  /** Inode change time in ns since the epoch. It changes with every write, and with a change of mode or name. */
  ctimeNs?: string | null | undefined;
};

/** Attributes that distinguish a file from other files and from later versions of itself. */
export type FileIdentity = FileVersion & {
  /** Device and inode, valid only on this machine. Absent in a queue's store and if the source is not a file. */
  dev?: string;
  ino?: string;
  /** Strong ETag (RFC 9110 §8.8.1): equal ETags guarantee equal bytes. Absent if the server sends none. */
  validator?: string;
};

/** Attributes of a file, as far as they are known. */
export type KnownIdentity = { [Name in keyof FileIdentity]?: FileIdentity[Name] | undefined };

export const identityOf = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): FileIdentity => ({
  dev: String(dev),
  ino: String(ino),
  sizeBytes: Number(size),
  mtimeNs: String(mtimeNs),
  ctimeNs: String(ctimeNs),
});

/** Returns the strong ETag of a file if it has one, else its modification time. */
export const versionOf = ({ validator, mtimeNs }: FileIdentity) => validator ?? mtimeNs;

/** Returns the version and the change time of a file, for its receipt. */
export const fileTimesOf = (identity: FileIdentity) => ({
  mtimeNs: versionOf(identity),
  ctimeNs: identity.ctimeNs ?? null,
});

/** Describes a difference that suggests changed content. Ignores device numbers, which a reboot can change. */
export function describeChange(before: KnownIdentity, now: KnownIdentity): string | undefined {
  if (before.sizeBytes !== now.sizeBytes) return `its size changed from ${before.sizeBytes} to ${now.sizeBytes} bytes`;
  if (differ(before.validator, now.validator)) return 'the server has a different version of it';
  // An equal ETag guarantees equal bytes, whatever Last-Modified the server sends.
  if (isKnown(before.validator) && isKnown(now.validator)) return undefined;
  if (differ(before.ino, now.ino)) return 'another file replaced it';
  if (before.mtimeNs !== now.mtimeNs) return 'it was modified';
  return differ(before.ctimeNs, now.ctimeNs) ? 'its mode, owner, name or content changed' : undefined;
}

const isKnown = (value: string | null | undefined) => value !== undefined && value !== null;

const differ = (one: string | null | undefined, other: string | null | undefined) =>
  isKnown(one) && isKnown(other) && one !== other;

/** Returns true if no attribute of a file has changed. It may have been written to where times are not kept. */
export const isSameVersion = (before: KnownIdentity, now: KnownIdentity) => describeChange(before, now) === undefined;

/**
 * Returns true if content, mode, owner and name are unchanged. A change time that differs shows that the file was written,
 * although its modification time was set back (`cp -p`). A modification time of 0, which some file systems give every file,
 * shows nothing.
 */
export const isUnchanged = (before: FileIdentity, now: FileIdentity) =>
  isSameVersion(before, now) && versionOf(now) !== '0';

/** Returns true if a file is unchanged since its receipt was written. */
export const matchesReceipt = (receipt: FileVersion, now: FileIdentity) =>
  isUnchanged(receipt, { sizeBytes: now.sizeBytes, ...fileTimesOf(now) });

/** Returns true if the file of a receipt is at a path. @param look `tryLstat` if a link to it does not count */
export async function isStillAt(path: string, receipt: FileVersion, look = tryStat): Promise<boolean> {
  const found = await look(path);
  return found?.isFile() === true && matchesReceipt(receipt, identityOf(found));
}

/** Returns true if a file has the size and the time of another, as it has under a new name. */
export const hasSameSizeAndTime = (one: KnownIdentity, other: KnownIdentity) =>
  one.sizeBytes === other.sizeBytes && one.mtimeNs === other.mtimeNs;

/** Returns true if a file was created after a time in ns; undefined where that is not known: only Linux protects it. */
export const wasCreatedAfter = ({ birthtimeNs }: BigIntStats, timeNs: string | null): boolean | undefined =>
  isLinux && birthtimeNs > 0n && timeNs !== null ? birthtimeNs > BigInt(timeNs) : undefined;
