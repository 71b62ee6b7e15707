import { lstat, realpath } from 'node:fs/promises';
import type { Api } from '../../api/api.ts';
import type { Context } from '../../context.ts';
import {
  asMediactlError,
  endsTheRun,
  exitCodes,
  MediactlError,
  someFailed,
  usageError,
} from '../../errors.ts';
import { below, folderAt, isRoot, readTree } from '../../library/folders.ts';
import { counted } from '../../terminal/figures.ts';
import { printable } from '../../terminal/printable.ts';
import type { Receipt, Receipts } from '../../upload/receipts.ts';
import { statusMeans } from '../../wire/assumptions.ts';
import { confirmMany, firstFew, type WriteLimit, writeLimit } from '../confirm-many.ts';

/** @throws MediactlError exit 2 where the options do not go together */
export function assertSync(
  given: readonly string[],
  flags: {
    sync?: boolean | undefined;
    prune?: boolean | undefined;
    folder?: string | undefined;
    maxDelete?: string | undefined;
    again?: boolean | undefined;
    fromList?: string | undefined;
    manifest?: string | undefined;
  },
): void {
  if (flags.prune && !flags.sync) throw usageError('--prune goes with --sync');
  if (flags.prune && flags.folder === undefined)
    throw usageError('--prune wants --folder', 'it trashes what is in that folder, and below');
  if (flags.maxDelete !== undefined && !flags.prune)
    throw usageError('--max-delete goes with --prune');
  if (!flags.sync) return;
  if (given.length !== 1 || flags.fromList !== undefined || flags.manifest !== undefined)
    throw usageError(
      '--sync takes one directory',
      'mediactl upload --sync ./rushes --folder /Rushes',
    );
  if (flags.again) throw usageError('--sync and --again cannot be used together');
}

export const pruneLimit = (typed: string | undefined): WriteLimit =>
  writeLimit('--max-delete', typed);

export type Pruning = { directory: string; top: string; workspace: string; limit: WriteLimit };

export type Gone = { assetUid: string; path: string; folder: string };

/**
 * What this machine sent from a directory to a folder, and whose file is gone, or was sent anew and is
 * ready as it is now. What others put there is never among it.
 */
export async function goneFiles(
  context: Context,
  { directory, top, workspace }: Omit<Pruning, 'limit'>,
  receipts: Receipts,
): Promise<Gone[]> {
  const api = await context.api();
  const service = api.transport.baseUrl.origin;
  const folders = await foldersBelow(context, top);
  const isInside = ({ folder }: { folder: string }) => folders === undefined || folders.has(folder);
  const real = await realpath(directory);
  const gone: Gone[] = [];
  for (const receipt of receipts.below(service, workspace, real))
    if (isInside(receipt) && !(await isThere(receipt.path))) gone.push(receipt);
  for (const replaced of receipts.replacedBelow(service, workspace, real)) {
    if (!isInside(replaced)) continue;
    const now = receipts.find({ ...replaced, service, workspace });
    if (!now || (await isReady(api, receipts, now))) gone.push(replaced);
  }
  return gone;
}

/** The old version goes once the new one plays. */
async function isReady(api: Api, receipts: Receipts, { assetUid, state }: Receipt) {
  if (state !== 'pending') return state === 'ready';
  const { status } = await api.assets.get(assetUid);
  if (statusMeans(status) !== 'ready') return false;
  receipts.settled(assetUid, 'ready');
  return true;
}

/**
 * Moves it to the trash, once somebody has agreed.
 *
 * @throws MediactlError exit 2 or 130 where it is not answered, `some_failed` (11)
 */
export async function pruneGone(
  context: Context,
  pruning: Pruning,
  receipts: Receipts | undefined,
): Promise<void> {
  if (!receipts) return;
  const { terminal } = context;
  const { limit, top } = pruning;
  const gone = await goneFiles(context, pruning, receipts);
  const count = gone.length;
  await confirmMany(context, {
    ...{ count, noun: 'assets', limit },
    what: `move ${counted(count, 'asset')} of ${top} to the trash`,
    lines: async () =>
      firstFew(
        gone.map(({ assetUid, path }) => `  ${assetUid}  ${printable(path)}`),
        count,
      ),
  });
  const { assets } = await context.api();
  const failures: MediactlError[] = [];
  let moved = 0;
  let stop: MediactlError | undefined;
  for (const { assetUid, path } of gone) {
    if (stop) break;
    try {
      await assets.delete(assetUid).catch((error) => {
        if (asMediactlError(error).explanation.status !== 404) throw error; // it is gone already
      });
      receipts.forgetAsset(assetUid);
      moved++;
    } catch (thrown) {
      const error = asMediactlError(thrown);
      failures.push(error.of(path));
      if (endsTheRun(error)) stop = error;
    }
  }
  if (moved > 0) terminal.say(`moved ${counted(moved, 'asset')} to the trash`);
  if (stop) throw stop;
  if (failures.length > 0)
    throw someFailed(`${failures.length} of ${count} assets were not moved`, failures);
}

/**
 * Whether somebody may answer for the trash: asked before the first byte, since a night may pass.
 *
 * @throws MediactlError exit 2
 */
export function assertMayPrune({ settings, terminal }: Context): void {
  if (settings.yes || terminal.isInteractive) return;
  throw usageError(
    '--prune asks before it moves assets to the trash, and there is nobody to ask here',
    'the same command with --yes, and --max-delete NUMBER where there may be many',
  );
}

/** The uids of a folder and all below it; undefined for the top level, where everything is below. */
async function foldersBelow(context: Context, top: string): Promise<Set<string> | undefined> {
  if (isRoot(top)) return undefined;
  const { tree } = await readTree(context);
  const node = await folderAt(context, tree, top).catch((error) => {
    // In a dry run it need not be there yet.
    if (error instanceof MediactlError && error.exitCode === exitCodes.notFound) return undefined;
    throw error;
  });
  return new Set((node ? [node, ...below(node)] : []).map(({ folder }) => folder.uid));
}

const isThere = (path: string) =>
  lstat(path).then(
    () => true,
    ({ code }: NodeJS.ErrnoException) => code !== 'ENOENT' && code !== 'ENOTDIR',
  );
