import { realpath, stat } from 'node:fs/promises';
import type { Context } from '../../context.ts';
import {
  asMediactlError,
  endsTheRun,
  type MediactlError,
  someFailed,
  usageError,
} from '../../errors.ts';
import { below, folderAt, isRoot, readTree } from '../../library/folders.ts';
import { printable } from '../../terminal/printable.ts';
import type { Receipts } from '../../upload/receipts.ts';
import { confirmMany, firstFew, type WriteLimit, writeLimit } from '../confirm-many.ts';

/** @throws MediactlError exit 2 where the options do not go together */
export function assertSync(
  given: readonly string[],
  flags: {
    sync?: boolean | undefined;
    prune?: boolean | undefined;
    maxDelete?: string | undefined;
    again?: boolean | undefined;
    fromList?: string | undefined;
    manifest?: string | undefined;
  },
): void {
  if (flags.prune && !flags.sync) throw usageError('--prune goes with --sync');
  if (flags.maxDelete !== undefined && !flags.prune)
    throw usageError('--max-delete goes with --prune');
  if (!flags.sync) return;
  if (given.length !== 1 || flags.fromList !== undefined || flags.manifest !== undefined)
    throw usageError(
      '--sync takes one directory',
      'mediactl upload --sync ./rushes --folder /Rushes',
    );
  if (flags.again) throw usageError('--sync and --again exclude each other');
}

export const pruneLimit = (typed: string | undefined): WriteLimit =>
  writeLimit('--max-delete', typed);

export type Pruning = { directory: string; top: string; workspace: string; limit: WriteLimit };

/**
 * Moves to the trash what this machine sent from a directory to a folder, and whose file is gone or
 * was sent anew. What others put there is never touched.
 *
 * @throws MediactlError exit 2 or 130 where it is not answered, `some_failed` (11)
 */
export async function pruneGone(
  context: Context,
  { directory, top, workspace, limit }: Pruning,
  receipts: Receipts | undefined,
): Promise<void> {
  if (!receipts) return;
  const { terminal } = context;
  const api = await context.api();
  const service = api.transport.baseUrl.origin;
  const folders = await foldersBelow(context, top);
  const isInside = ({ folder }: { folder: string }) => folders === undefined || folders.has(folder);
  const real = await realpath(directory);
  const gone = [...receipts.replacedBelow(service, workspace, real)].filter(isInside);
  for (const receipt of [...receipts.below(service, workspace, real)].filter(isInside))
    if (!(await isThere(receipt.path))) gone.push(receipt);
  const count = gone.length;
  await confirmMany(context, {
    ...{ count, noun: 'assets', limit },
    what: `move ${count} asset${count === 1 ? '' : 's'} to the trash`,
    lines: async () =>
      firstFew(
        gone.map(({ assetUid, path }) => `  ${assetUid}  ${printable(path)}`),
        count,
      ),
  });
  const failures: MediactlError[] = [];
  for (const { assetUid, path } of gone)
    try {
      await api.assets.delete(assetUid).catch((error) => {
        if (asMediactlError(error).explanation.status !== 404) throw error; // it is gone already
      });
      receipts.forgetAsset(assetUid);
    } catch (thrown) {
      const error = asMediactlError(thrown);
      failures.push(error.of(path));
      if (endsTheRun(error)) break;
    }
  const moved = count - failures.length;
  if (moved > 0) terminal.say(`moved ${moved} asset${moved === 1 ? '' : 's'} to the trash`);
  if (failures.length > 0)
    throw someFailed(`${failures.length} of ${count} assets were not moved`, failures);
}

/** The uids of a folder and all below it; undefined for the top level, where everything is below. */
async function foldersBelow(context: Context, top: string): Promise<Set<string> | undefined> {
  if (isRoot(top)) return undefined;
  const { tree } = await readTree(context);
  const node = folderAt(tree, top);
  return new Set([node, ...below(node)].map(({ folder }) => folder.uid));
}

const isThere = (path: string) =>
  stat(path).then(
    () => true,
    ({ code }: NodeJS.ErrnoException) => code !== 'ENOENT' && code !== 'ENOTDIR',
  );
