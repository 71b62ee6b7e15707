import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from '../../context.ts';
import { type ErrorRecord, usageError } from '../../errors.ts';
import { bytes, counted } from '../../terminal/figures.ts';
import { cell, printable } from '../../terminal/printable.ts';
import { openProgress } from '../../terminal/progress.ts';
import type { ProgressMode } from '../../terminal/progress-modes.ts';
import { type Column, listBy, nothing } from '../../terminal/result.ts';
import type { Collection } from '../../wire/paths.ts';
import { numberIn, timeIn } from '../../wire/reading.ts';
import type { Asset } from '../../wire/types.ts';
import { failureOf, writeEach } from './bulk.ts';
import { fileNames } from './file-name.ts';
import { isAsSaved, type Media, save } from './save.ts';
import type { Target } from './targets.ts';

type Many = {
  directory: string;
  /** Files at once. */
  lanes: number;
  mode: ProgressMode;
  mediaOf(context: Context, asset: Asset): Promise<Media>;
};

/** One of many, as it is printed. */
type DownloadRecord = {
  asset_uid: string;
  /** Null where it has none yet. */
  path: string | null;
  size_bytes: number | null;
  outcome: 'downloaded' | 'there' | 'failed';
  error: ErrorRecord | null;
};

/** Downloads each into a directory; what is there already is not fetched again, and nothing else is written over. */
export async function downloadMany(
  context: Context,
  collection: Collection,
  targets: readonly Target[],
  { directory, lanes, mode, mediaOf }: Many,
) {
  const { terminal, clock, settings } = context;
  if (context.isDryRun(`download ${counted(targets.length, 'file')} to ${directory || '.'}`))
    return nothing;
  const { [collection]: assets } = await context.api();
  const known = new Map<string, Asset>();
  const looked = await writeEach(
    context,
    targets,
    async ({ uid, asset }) => {
      const found = asset ?? (await assets.get(uid));
      known.set(uid, found);
      return found;
    },
    lanes,
  );
  const found = looked.flatMap(({ uid }) => known.get(uid) ?? []);
  const names = fileNames(found);
  const pathOf = (uid: string) => join(directory, names.get(uid) as string);
  const progress = await openProgress(mode, terminal, clock, () => undefined);
  const sizes = found.map(({ size }) => numberIn(size));
  const isMeasured = sizes.every((size) => size !== undefined);
  const sum = (numbers: readonly (number | null | undefined)[]) =>
    numbers.reduce((total: number, each) => total + (each ?? 0), 0);
  const total = isMeasured ? sum(sizes) : 0;
  progress.show({ event: 'planned', files: found.length, bytes: total, there: 0 });
  const done = new Map<string, Pick<DownloadRecord, 'outcome' | 'size_bytes'>>();
  const one = async (asset: Asset): Promise<DownloadRecord['outcome']> => {
    const path = pathOf(asset.uid);
    const there = settings.yes ? undefined : await lstat(path).catch(() => undefined);
    const isSame = there && isAsSaved(there, timeIn(asset.created_at));
    if (there && !isSame)
      throw usageError(`${path} is there already, and may be another file`, '--yes replaces it');
    const saved = there
      ? undefined
      : await save(context, await mediaOf(context, asset), path, progress);
    const outcome = saved ? 'downloaded' : 'there';
    done.set(asset.uid, { outcome, size_bytes: saved?.size_bytes ?? there?.size ?? null });
    return outcome;
  };
  const finished = (uid: string, outcome: DownloadRecord['outcome']) =>
    progress.show({ path: pathOf(uid), event: 'finished', asset_uid: uid, outcome });
  const fetched = await writeEach(
    context,
    found.map((asset) => ({ uid: asset.uid, name: null, asset })),
    async ({ asset }) => {
      const outcome = await one(asset as Asset).catch((error) => {
        finished((asset as Asset).uid, 'failed');
        throw error;
      });
      finished((asset as Asset).uid, outcome);
      return asset as Asset;
    },
    lanes,
  ).finally(() => progress.close());
  const errors = new Map([...looked, ...fetched].map(({ uid, error }) => [uid, error]));
  const all = targets.map(({ uid }): DownloadRecord => {
    const { outcome = 'failed', size_bytes = null } = done.get(uid) ?? {};
    const path = known.has(uid) ? pathOf(uid) : null;
    return { asset_uid: uid, path, size_bytes, outcome, error: errors.get(uid)?.toJSON() ?? null };
  });
  const of = (wanted: DownloadRecord['outcome']) =>
    all.filter(({ outcome }) => outcome === wanted).map(({ size_bytes }) => size_bytes);
  const there = of('there').length;
  terminal.say(
    `${counted(of('downloaded').length, 'file')} downloaded, ${bytes(sum(of('downloaded')))}${there > 0 ? `; ${there} already there` : ''}`,
  );
  const outcomes = targets.map(({ uid, name }) => ({ uid, name, error: errors.get(uid) }));
  const result = listBy(({ path }) => path ?? '', all, columns, `no ${collection}`);
  return { result, failure: failureOf(context, outcomes, collection) };
}

const columns: Column<DownloadRecord>[] = [
  { header: 'ASSET', value: ({ asset_uid }) => printable(asset_uid), uid: 'asset' },
  { header: 'PATH', value: ({ path }) => cell(path), least: 18, leads: true },
  {
    header: 'SIZE',
    value: ({ size_bytes: size }, { isTerminal }) =>
      size === null ? '' : isTerminal ? bytes(size) : String(size),
    whole: true,
  },
  {
    header: 'RESULT',
    value: ({ outcome, error }) => (error ? `failed: ${printable(error.message)}` : outcome),
  },
];
