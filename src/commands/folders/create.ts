import type { Command } from '@commander-js/extra-typings';
import type { FolderTree, Placed } from '../../api/folder-tree.ts';
import type { Context } from '../../context.ts';
import { exitCodes, MediactlError, usageError } from '../../errors.ts';
import { record } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';
import { planned } from '../planned.ts';
import { folderRecord, folderRows } from './columns.ts';
import { readTree } from './resolve.ts';

export function create(command: Command, run: Run): void {
  example(
    command,
    'mediactl folders create /Campaigns',
    'mediactl folders create -p /Campaigns/2026/Spring',
  );
  command
    .summary('create a folder')
    .description(
      'Creates a folder by its path. With -p those above it too, and one that is there already is fine.',
    )
    .argument('<path>', 'path such as /Campaigns/2026')
    .option('-p, --parents', 'create what is missing above it; no error where it exists')
    .action(
      run(async (context, path, { parents }) => {
        const parts = partsOf(path);
        if (context.settings.dryRun) return pretended(context, parts, parents ?? false);
        const made = await createPath(context, parts, parents ?? false);
        return record(folderRecord(made), made.folder.uid, folderRows);
      }),
    );
}

function partsOf(path: string): string[] {
  const parts = path.split('/').filter(Boolean);
  if (parts.length === 0) throw usageError(`no folder to create in '${path}'`, '/Campaigns/2026');
  return parts;
}

/**
 * Creates what is missing of a path, from the top. The service lets two folders have one name, so
 * commands of this machine take turns: the second one finds what the first one made.
 */
export const createPath = (context: Context, parts: readonly string[], withParents: boolean) =>
  context.exclusively('folders', () => createMissing(context, parts, withParents));

async function createMissing(
  context: Context,
  parts: readonly string[],
  withParents: boolean,
): Promise<Placed> {
  const { folders } = await context.api();
  let { tree, workspace } = await readTree(context);
  const { missing, above } = missingOf(tree, parts);
  if (!withParents) assertOneMissing(parts, missing, above);
  let at = above;
  for (const name of missing) {
    const parent = at?.folder.uid ?? null;
    // The tree after a write shows the names to write next.
    ({ placed: at, tree } = await folders.create(workspace, tree, { name, parent }));
  }
  return at as Placed;
}

/** How far a path leads, and what is missing of it. */
function missingOf(tree: FolderTree, parts: readonly string[]) {
  let above: Placed | undefined;
  for (const [n, name] of parts.entries()) {
    const level = above ? above.children : tree.roots;
    const named = level.filter((placed) => placed.name === name);
    if (named.length > 1)
      throw usageError(
        `${named.length} folders are at /${parts.slice(0, n + 1).join('/')}`,
        'rename or remove one of them: mediactl folders rename UID NAME',
        named.map(({ folder }) => folder.uid).join(', '),
      );
    if (named.length === 0) return { missing: parts.slice(n), above };
    [above] = named;
  }
  return { missing: [], above };
}

/** Without -p, what is above must be there, and the folder itself must not. */
function assertOneMissing(
  parts: readonly string[],
  missing: readonly string[],
  above: Placed | undefined,
): void {
  if (missing.length === 0) throw thereAlready(parts, above as Placed);
  if (missing.length > 1)
    throw new MediactlError(`no folder /${parts.slice(0, -1).join('/')}`, {
      code: 'not_found',
      exitCode: exitCodes.notFound,
      hint: `mediactl folders create -p /${parts.join('/')}`,
    });
}

async function pretended(context: Context, parts: readonly string[], withParents: boolean) {
  const { folders } = await context.api();
  const { tree, workspace } = await readTree(context);
  const { missing, above } = missingOf(tree, parts);
  if (!withParents) assertOneMissing(parts, missing, above);
  return planned(
    context,
    missing.map((name, n) =>
      folders.creating(workspace, tree, {
        name,
        parent: n === 0 ? (above?.folder.uid ?? null) : `(uid of ${missing[n - 1]})`,
      }),
    ),
  );
}

const thereAlready = (parts: readonly string[], { folder }: Placed) =>
  new MediactlError(`/${parts.join('/')} is there already`, {
    code: 'exists',
    exitCode: exitCodes.rejected,
    reason: `its uid is ${folder.uid}`,
    hint: 'with -p that is no error',
  });
