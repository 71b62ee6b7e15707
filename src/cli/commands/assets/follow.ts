import { usageError } from '../../../client/errors.ts';
import { isGlob } from '../../../client/glob.ts';
import { type FollowEvent, followAssets } from '../../../client/library/follow-assets.ts';
import { ListScope } from '../../../client/library/workspace-in-use.ts';
import type { Collection } from '../../../contract/paths.ts';
import { describeScope } from '../../../shared/figures.ts';
import type { Context } from '../../context.ts';
import type { Result } from '../../output/result.ts';
import { parseFilters, splitPath } from '../filters.ts';

type FollowRequest = { collection: Collection; words: readonly string[]; since: string | undefined };

/** Options that ask for what a follower does not see, or for a list that ends. */
const others = ['status', 'createdAfter', 'createdBefore', 'sort', 'limit', 'all', 'offset', 'count', 'html'] as const;

/** Prints what becomes new, ready or failed, until it is interrupted. */
export async function runFollow(
  context: Context,
  { collection, words: typed, since }: FollowRequest,
  options: { [Name in (typeof others)[number] | 'recursive' | 'type' | 'tag']?: string | true | undefined },
): Promise<Result> {
  const other = [...others, 'recursive' as const].find((name) => options[name] !== undefined);
  if (other !== undefined)
    throw usageError(
      `--follow cannot be combined with --${other.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
      'follow without it, and filter the lines with --jq',
    );
  if (context.settings.outputOptions.format !== 'jsonl')
    throw usageError('--follow prints one JSON object per line', 'add --jsonl');
  const { path, words } = splitPath(typed);
  if (path !== undefined && isGlob(path))
    throw usageError(`--follow does not accept a glob: ${path}`, 'name its folder');
  const filters = await parseFilters(context, {
    ...{ type: options.type as string | undefined, tag: options.tag as string | undefined, folder: path },
    ...(words.length > 0 && { search: words.join(' ') }),
  });
  const { clock, terminal, signal } = context;
  const library = await context.library();
  const scope = new ListScope(library.workspaceInUse, path === undefined ? 'list' : 'folder');
  const pages = followAssets(library, collection, filters, {
    ...{ clock, signal, since, scope },
    onOutage: (error) => terminal.warn(`${error instanceof Error ? error.message : error}; still following`),
  });
  const id = ({ asset }: FollowEvent) => asset.uid;
  return { kind: 'list', pages: withScope(pages, scope, terminal), columns: [], id, empty: '', isLive: true };
}

/** Says which workspaces the events are from: all as soon as it is seen, or at the end what was left out. */
async function* withScope<Page>(pages: AsyncIterable<Page>, scope: ListScope, terminal: Context['terminal']) {
  let isTold = false;
  const tell = () => {
    const text = describeScope(scope);
    if (text && !isTold) terminal.info(text);
    isTold = text !== undefined;
  };
  try {
    for await (const page of pages) {
      if (scope.isAll) tell();
      yield page;
    }
  } finally {
    tell();
  }
}
