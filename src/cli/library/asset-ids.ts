import { join } from 'node:path';
import { usageError } from '../../client/errors.ts';
import { isGlob } from '../../client/glob.ts';
import { findByName } from '../../client/library/find-assets.ts';
import { isLibraryPath } from '../../client/library/library-paths.ts';
import {
  type AssetSelection,
  type OneRequest,
  type SelectedAsset,
  type SelectionPorts,
  type SelectionRequest,
  selectAsset,
  selectAssets,
  selectFound,
} from '../../client/library/select-assets.ts';
import type { WorkspaceDoubt } from '../../client/library/workspace-doubt.ts';
import type { FoundBy } from '../../client/library/workspace-in-use.ts';
import { readTextFileOrEmpty } from '../../client/read-file.ts';
import { parentOf } from '../../contract/asset.ts';
import type { Collection } from '../../contract/paths.ts';
import type { AssetRecord } from '../../contract/types.ts';
import { isUid, isUidPrefix, minTypedDigits } from '../../contract/uid.ts';
import { capitalize, describeLeftOut, formatBytes, pluralize } from '../../shared/figures.ts';
import { asNumber, asObject, parseJsonOrUndefined } from '../../shared/json-values.ts';
import { displayText, escapeControls, quoteForShell, relativeTime } from '../../shared/sanitize.ts';
import { minPrefix } from '../account/short-uid-store.ts';
import type { Context } from '../context.ts';
import { readInputText } from '../terminal/input.ts';
import { choose, confirm } from '../terminal/prompt.ts';
import { expandUidPrefix, selectOne } from './ambiguity.ts';
import { noAssetAt, noticeFolderCount } from './asset-paths.ts';
import { LocationNames } from './name-cache.ts';
import { NoAssetError } from './no-asset-error.ts';

/** File of the state folder that holds the uid that `@last` stands for. */
export const lastUploadFile = 'last-upload';

export const idHelp = 'name, /Folder/name, uid or its first digits, or @last (the last upload)';
export const idsHelp = 'name, /Folder/name, uid, glob such as /Inbox/A00*, or @last; - for stdin';

/** Options of a command that decide which assets its ids select. */
export type IdOptions = {
  /** True to take the newest of several assets with one name. */
  newest?: boolean | undefined;
  /** True if one asset gets a name, so that a glob of several is no choice but a mistake. */
  needsName?: boolean;
  /** True to change assets of which the service does not show the workspace, too. */
  anyWorkspace?: boolean | undefined;
};

/** @throws for several assets that a glob matches, where one name is given */
const severalNames = (glob: string, count: number) =>
  usageError(
    `${count} assets match ${glob}, and a name is for one`,
    `mediactl export ${quoteForShell(glob)} names.csv; edit the column name; mediactl apply names.csv`,
  );

export const newestOption = ['--newest', 'if several assets have this name, use the newest'] as const;
export const anyWorkspaceOption = [
  '--any-workspace',
  'also change assets of which the service does not show the workspace',
] as const;

/**
 * Selects assets by ids or filters. An id is a uid, a prefix of a recently displayed uid, `@last`, an exact name, a path
 * such as `/Folder/name`, or a glob; `-` reads ids or JSON lines with a `uid` from stdin. Prompts if ids are missing or
 * ambiguous.
 *
 * @throws CodedError `usage` (exit 2) if it cannot prompt; `not_found` (exit 3) if no asset matches
 */
export const select = async (
  context: Context,
  request: SelectionRequest,
  options: IdOptions = {},
): Promise<AssetSelection> =>
  selectAssets(await context.library(), request, selectionPorts(context, request.collection, options));

/** Selects one asset. @throws the same errors as `select` */
export const selectOneAsset = async (
  context: Context,
  request: OneRequest,
  options: IdOptions = {},
): Promise<SelectedAsset> =>
  selectAsset(await context.library(), request, selectionPorts(context, request.collection, options));

/** Selects assets of a list to change. @throws CodedError `usage` (exit 2) if their workspace is not known */
export const selectListed = async (
  context: Context,
  assets: readonly AssetRecord[],
  options: IdOptions,
  foundBy: FoundBy = 'list',
): Promise<SelectedAsset[]> =>
  selectFound(await context.library(), assets, { foundBy, ports: selectionPorts(context, 'assets', options) });

/** Returns the uid of an asset of which a URL is handed out. @throws the same errors as `select` */
export const resolveSharedUid = async (
  context: Context,
  collection: Collection,
  id: string | undefined,
  options: IdOptions,
): Promise<string> => (await selectOneAsset(context, { collection, id, purpose: 'share' }, options)).uid;

export function selectionPorts(context: Context, collection: Collection, options: IdOptions): SelectionPorts {
  const { terminal } = context;
  let isAccepted = options.anyWorkspace === true;
  return {
    expand: (id) => expandId(context, collection, id),
    choose: (id, matches) => {
      if (isGlob(id) && options.needsName) throw severalNames(id, matches.length);
      return selectOne(context, {
        noun: 'asset',
        description: isGlob(id) ? `match ${id}` : isLibraryPath(id) ? `are at ${id}` : `are named ${id}`,
        matches,
        newest: options.newest,
        rows: (some, isTerminal) => candidateRows(context, some, isTerminal),
        hint: 'use the uid of one of them, or --newest',
      });
    },
    chooseAny: () => promptForAsset(context, collection),
    readIds: async () => parseIds(await readInputText(terminal, '-')),
    missing: ({ id, tree, isElsewhere }) =>
      isLibraryPath(id) && !isElsewhere ? noAssetAt(id, tree) : noAssetNamed(id, collection, isElsewhere === true),
    onUnknown: async (doubt) => {
      if (!isAccepted) await acceptDoubt(context, doubt);
      isAccepted = true;
    },
    onGlob: () => {
      if (options.newest)
        throw usageError('--newest cannot be used with a glob', 'give the name or the uid of one asset');
    },
    onFolderCount: (count) => noticeFolderCount(context, count),
    onFetch: (count) => {
      if (count > 1) terminal.info(`reading ${count} assets to see their workspace, at one request each`);
    },
    onLeftOut: (count) => terminal.info(describeLeftOut(count)),
  };
}

export const namesOfWorkspaces = ({ workspaces }: WorkspaceDoubt): string =>
  workspaces?.map(({ name, uid }) => displayText(name) || escapeControls(uid)).join(', ') ??
  'any that this API key can see: it may not list them';

/** Asks about assets that may be in any workspace; says so for a read. --yes does not answer this. */
async function acceptDoubt(context: Context, doubt: WorkspaceDoubt): Promise<void> {
  const { terminal, settings } = context;
  const { purpose, isByFilters, count, endsByChoice } = doubt;
  const problem = endsByChoice
    ? `no workspace is chosen, and ${pluralize(count, 'asset')} may be in any`
    : `the service does not show the workspace of ${pluralize(count, 'asset')}`;
  const reason = `it may be ${namesOfWorkspaces(doubt)}`;
  if (purpose === 'read' && isByFilters) return terminal.info('all workspaces');
  if (purpose === 'read' || (terminal.isInteractive && settings.dryRun && !settings.yes))
    return terminal.info(`${problem}: ${reason}`);
  const byUid =
    purpose === 'share' ? 'use a uid' : '--any-workspace to change what matches in any of them; or use uids';
  if (!terminal.isInteractive || settings.yes)
    throw usageError(problem, endsByChoice ? 'mediactl workspaces use NAME, or --workspace NAME' : byUid, reason);
  await confirm(context, `${capitalize(problem)}: ${reason}. Continue?`);
}

/** Returns the uid that `@last` or the first digits of a uid stand for; undefined for other ids. */
async function expandId(context: Context, collection: Collection, id: string): Promise<string | undefined> {
  if (id === '@last') return readLastUpload(context);
  if (!isUidPrefix(id)) return undefined;
  const api = await context.api();
  const expanded = expandUidPrefix(context, api.transport.baseUrl, 'asset', id);
  // Prefixes this short are never displayed, so the user might mean a name.
  if (expanded && id.length < minPrefix && (await findByName(api[collection], id)).length > 0)
    throw usageError(`${id} is the name of an asset and the start of uid ${expanded}`, 'use the full uid');
  return expanded;
}

const maxChoices = 50;

async function promptForAsset(context: Context, collection: Collection): Promise<AssetRecord> {
  if (!context.terminal.isInteractive)
    throw usageError('no asset given', `use one of: ${idHelp}`, 'cannot prompt: this is not an interactive terminal');
  const { items } = await (await context.api())[collection].page({}, maxChoices, 0);
  if (items.length === 0) throw usageError('there are no assets to choose from', 'mediactl upload PATH');
  return choose(context.terminal, 'Which asset?', items, await candidateRows(context, items, true));
}

/** Returns table rows that help to distinguish assets with the same name. */
async function candidateRows(
  context: Context,
  assets: readonly AssetRecord[],
  isTerminal: boolean,
): Promise<string[][]> {
  const locationNames = new LocationNames(context);
  const parents = assets.map(parentOf);
  await locationNames.load('folders', parents);
  const uids = assets.map(({ uid }) => uid);
  const shortUids = isTerminal ? await context.shortUids() : undefined;
  const short = await shortUids?.shorten('asset', uids);
  const isNamed = new Set(assets.map(({ name }) => name)).size > 1; // of a glob
  return assets.map(({ uid, name, created_at, size, status }, at) => {
    const names = isNamed ? [displayText(name)] : [];
    const count = asNumber(size);
    const folder = parents[at] === null ? '/' : locationNames.displayName(parents[at]);
    const bytes = count === undefined ? displayText(size) : formatBytes(count);
    if (!isTerminal) return [...names, displayText(created_at), bytes, folder, displayText(status), uid];
    // Uid and folder come early, since narrow terminals truncate the end of a row.
    return [
      ...names,
      relativeTime(created_at, context.clock.now()),
      short?.(uid) ?? uid,
      folder,
      bytes,
      displayText(status),
    ];
  });
}

const noAssetNamed = (id: string, collection: Collection, isInOtherWorkspace: boolean) =>
  new NoAssetError(id, `the service's search finds no asset named ${id}`, {
    code: 'not_found',
    details: { id },
    reason: isInOtherWorkspace
      ? 'one of that name is in another workspace; its uid works in any'
      : isUidPrefix(id)
        ? 'no recently shown uid begins with it'
        : /^[0-9a-f]{3,5}$/i.test(id)
          ? `to abbreviate a uid, type at least ${minTypedDigits} digits`
          : 'it is not a uid either',
    hint: isGlob(id)
      ? `a glob begins with a folder: ${quoteForShell(`/**/${id}`)} matches in all folders`
      : `mediactl ${collection === 'assets' ? 'ls' : 'videos ls'} ${quoteForShell(id)}, or mediactl ls ${quoteForShell(`/**/${id}`)} to look into each folder`,
  });

function parseIds(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter(Boolean).map((line) => {
    if (!line.startsWith('{')) return line;
    const { uid } = asObject(parseJsonOrUndefined(line));
    if (typeof uid === 'string') return uid;
    throw usageError(`a line on stdin has no uid: ${line.slice(0, 60)}`, 'JSON lines with a uid');
  });
}

async function readLastUpload(context: Context): Promise<string> {
  const { profile, baseUrl } = await context.account();
  const last = asObject(parseJsonOrUndefined(readTextFileOrEmpty(join(context.stateDir, lastUploadFile))));
  if (typeof last.uid !== 'string' || !isUid(last.uid))
    throw usageError('@last: nothing has been uploaded from this machine yet', 'mediactl upload PATH');
  // The same profile can have a new address, for example if a sandbox changes its port.
  const { origin } = baseUrl;
  if (last.base_url !== origin && last.profile !== profile)
    throw usageError(
      `@last is on another service: ${last.base_url}`,
      'use a uid or name: mediactl ls',
      `this account is at ${origin}`,
    );
  return last.uid;
}
