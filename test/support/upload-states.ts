import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { OutputRecord } from '../../src/cli/reference/schemas.ts';
import { Cli } from './cli.ts';
import { acceleratedClockInProcess } from './clock.ts';
import type { FakeAsset } from './fake-library.ts';
import { FakeService, respondWithError } from './fake-service.ts';
import { pseudoRandomBytes } from './files.ts';
import { Random } from './random.ts';

/* Generated states of a directory, for tests that compare a preview with a run, and the ways to upload with another. */

/** A record of `upload -n`. */
export type PlannedFile = OutputRecord<'upload-dry-run'>;

const chunkBytes = 1024;

/** When a file is written: another machine uploads it, this one does, or fails to, or it is new. */
type Phase = 'elsewhere' | 'before' | 'interrupted' | 'now';

/** @property directory the uploaded directory */
type Place = { directory: string; random: Random };

/** @property edit what happens to the file between the earlier runs and the one under test */
type KindRow = { phase: Phase; alsoHere?: true; edit?: (path: string, place: Place) => void };

const rewrite = (path: string, sizeBytes: number) =>
  writeFileSync(path, pseudoRandomBytes(sizeBytes, `other ${basename(path)}`));

const moveTo = (path: string, to: string) => {
  mkdirSync(dirname(to), { recursive: true });
  renameSync(path, to);
};

/** What may have happened to a file. */
const kinds = {
  new: { phase: 'now' },
  twin: { phase: 'now', edit: (path) => copyFileSync(path, `${path} twin.bin`) },
  empty: { phase: 'now', edit: (path) => writeFileSync(path, '') },
  excluded: { phase: 'now', edit: (path) => renameSync(path, `${path}.tmp`) },
  uploaded: { phase: 'before' },
  touched: { phase: 'before', edit: (path) => utimesSync(path, 1_000, 1_000) },
  changed: { phase: 'before', edit: (path, { random }) => rewrite(path, random.pick([700, 2_100])) },
  duplicate: { phase: 'before', edit: (path) => copyFileSync(path, `${path} copy.bin`) },
  copied: {
    phase: 'before',
    edit: (path, { directory }) => copyFileSync(path, join(directory, `copy of ${basename(path)}`)),
  },
  renamed: { phase: 'before', edit: (path) => moveTo(path, `${path} renamed.bin`) },
  moved: { phase: 'before', edit: (path, { directory }) => moveTo(path, join(directory, 'moved', basename(path))) },
  half: { phase: 'interrupted' },
  'half touched': { phase: 'interrupted', edit: (path) => utimesSync(path, 1_000, 1_000) },
  'half moved': {
    phase: 'interrupted',
    edit: (path, { directory }) => moveTo(path, join(directory, 'moved', basename(path))),
  },
  grown: { phase: 'interrupted', edit: (path) => appendFileSync(path, 'more') },
  failed: { phase: 'interrupted' },
  refused: { phase: 'interrupted' },
  'other machine': { phase: 'elsewhere' },
  'not compared': { phase: 'elsewhere', alsoHere: true },
  'not compared but changed': { phase: 'elsewhere', alsoHere: true, edit: (path) => rewrite(path, 900) },
} as const satisfies Record<string, KindRow>;

export type Kind = keyof typeof kinds;
export const kindNames = Object.keys(kinds) as Kind[];

type StateOptions = {
  existing: 'content' | 'file' | 'name' | 'anywhere' | 'upload' | undefined;
  isSync: boolean;
  isChecksum: boolean;
};

export type StateRow = StateOptions & { seed: number; kinds: Kind[]; shows: ('size' | 'checksum_blake3' | 'parent')[] };

const existingChoices = [undefined, 'content', 'file', 'name', 'anywhere', 'upload'] as const;

/** Generates a state of about six files of some kinds, from a seed. */
export function generateState(seed: number, from: readonly Kind[] = kindNames): StateRow {
  const random = new Random(seed);
  const isSync = random.chance(0.5);
  return {
    seed,
    kinds: Array.from({ length: 5 + random.below(3) }, () => random.pick(from)),
    isSync,
    existing: random.pick(isSync ? existingChoices.slice(0, -1) : existingChoices),
    isChecksum: random.chance(0.25),
    shows: random.pick([['parent'], ['parent', 'size'], ['parent', 'size'], ['parent', 'size', 'checksum_blake3']]),
  };
}

/** Builds the state with a service, another machine and earlier runs of this one. */
export async function buildState({ seed, kinds: names, existing, isSync, isChecksum, shows }: StateRow) {
  const service = await FakeService.start({ shows });
  const cli = new Cli(service.environment);
  const random = new Random(seed);
  const directory = join(cli.home, 'rushes');
  mkdirSync(join(directory, 'day'), { recursive: true });
  const files = names.map((kind, at) => ({
    kind,
    row: kinds[kind] as KindRow,
    path: join(directory, random.pick(['', 'day']), `${kind} ${at}.bin`),
    bytes: pseudoRandomBytes(
      kind.startsWith('half') || kind === 'grown' ? 3_500 : random.pick([700, 2_500]),
      `${seed} ${at}`,
    ),
  }));
  const write = (phase: Phase) => {
    for (const { row, path, bytes } of files) if (row.phase === phase) writeFileSync(path, bytes);
  };
  const command = [directory, '/Rushes', '--create-folders', '--chunk-size', '1KiB', '--exclude', '*.tmp'];
  /** Runs the command, of the state's options or as before, on a machine with a state folder of its own. */
  const run = (args: readonly string[], machine = 'state', verb = 'upload') =>
    cli.run([verb, ...command, ...args], {
      // A fast clock would end the time limit for the queue server before the server is asked.
      ...(!args.includes('--queue') && { clock: acceleratedClockInProcess() }),
      environment: { MEDIACTL_STATE_DIR: join(cli.home, machine) },
    });
  write('elsewhere');
  await run([], 'elsewhere');
  for (const { row, path } of files) if (row.phase === 'elsewhere' && !row.alsoHere) rmSync(path);
  write('before');
  await run([]);
  write('interrupted');
  service.fault = interrupt(service);
  await run([]);
  service.fault = () => undefined;
  write('now');
  for (const { row, path, bytes } of files) {
    if (row.phase === 'elsewhere' && !row.alsoHere) writeFileSync(path, bytes);
    row.edit?.(path, { directory, random });
  }
  const options = [...(existing === undefined ? [] : ['--existing', existing]), ...(isChecksum ? ['--checksum'] : [])];
  return {
    service,
    cli,
    directory,
    stateDir: join(cli.home, 'state'),
    runWith: (args: readonly string[], machine?: string) =>
      run([...options, ...args], machine, isSync ? 'sync' : 'upload'),
  };
}

/** Returns the paths of the files of a state that are not excluded, sorted. */
export const filesToUpload = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.bin'))
    .map((path) => join(directory, path))
    .sort();

/** Returns faults by which the files of the kinds that fail are refused, or stop at their first or third chunk. */
const interrupt =
  (service: FakeService): FakeService['fault'] =>
  ({ method, asset }) => {
    if (method === 'POST')
      return async ({ act }) => {
        const reply = await act();
        const newest = [...service.assets.values()].at(-1);
        if (!newest?.name.startsWith('refused')) return reply;
        service.assets.delete(newest.uid);
        return respondWithError(422)();
      };
    const stopsAt = /^(?:half|grown)/.test(asset?.name ?? '')
      ? 2 * chunkBytes
      : asset?.name.startsWith('failed')
        ? 0
        : undefined;
    return method === 'PATCH' && asset.bytes.length === stopsAt ? respondWithError(422) : undefined;
  };

/** Returns the complete assets of a service, sorted: their paths, sizes and checksums. */
export const assetsOf = (service: FakeService): string[] => {
  const pathOf = ({ name, folder }: Pick<FakeAsset, 'name' | 'folder'>): string => {
    const found = service.folders.find(({ uid }) => uid === folder);
    return found ? `${pathOf({ name: found.name, folder: found.parent })}/${name}` : name;
  };
  return service.completeAssets.map((asset) => `${pathOf(asset)} ${asset.size} ${asset.blake3}`).sort();
};

/** Remembers what a service has. @returns a function that restores it, any number of times */
export function takeSnapshot(service: FakeService): () => void {
  const { assets, sessions, folders } = service;
  const saved = structuredClone({ assets, sessions, folders });
  return () => {
    const copy = structuredClone(saved); // of one call, so that sessions and assets are the same objects
    assets.clear();
    sessions.clear();
    for (const [uid, asset] of copy.assets) assets.set(uid, asset);
    for (const [uid, asset] of copy.sessions) sessions.set(uid, asset);
    service.folders = copy.folders;
  };
}
