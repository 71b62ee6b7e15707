import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Api } from '../../client/api/api.ts';
import { CodedError, usageError } from '../../client/errors.ts';
import type { WorkspaceChoice } from '../../client/library/workspace-in-use.ts';
import { isPrimary, listWorkspaces } from '../../client/library/workspaces.ts';
import { readTextFileOrEmpty } from '../../client/read-file.ts';
import { closestSpellings } from '../../client/spelling.ts';
import { writeStateFile } from '../../client/state-files.ts';
import type { WorkspaceRecord } from '../../contract/types.ts';
import { isSameUid, isUid } from '../../contract/uid.ts';
import { asNumber, asObject, asText, parseJsonOrUndefined } from '../../shared/json-values.ts';
import { displayText, escapeControls, quoteForShell } from '../../shared/sanitize.ts';
import type { Account } from '../account/account.ts';
import type { Context } from '../context.ts';
import { choose } from '../terminal/prompt.ts';
import { expandUidPrefix, selectOne } from './ambiguity.ts';

/** Resolves a workspace by uid, uid prefix or exact name. Fetches all, since there is no endpoint for one (§4). */
export async function resolveWorkspace(context: Context, api: Api, uidOrName: string): Promise<WorkspaceRecord> {
  return selectWorkspace(context, api, await listWorkspaces(api), uidOrName);
}

async function selectWorkspace(context: Context, api: Api, all: readonly WorkspaceRecord[], uidOrName: string) {
  const exact = all.find(({ uid }) => isUid(uidOrName) && isSameUid(uid, uidOrName));
  if (exact) return exact;
  const named = all.filter(({ name }) => asText(name) === uidOrName);
  const expandedUid = expandUidPrefix(context, api.transport.baseUrl, 'workspace', uidOrName);
  const matches = named.length === 0 ? all.filter(({ uid }) => uid === expandedUid) : named;
  if (matches.length === 0)
    throw new CodedError(`no workspace is named ${uidOrName}`, {
      code: 'not_found',
      hint: hintForName(all, uidOrName),
    });
  const rows = async (some: readonly WorkspaceRecord[]) => workspaceRows(some);
  return selectOne(context, { noun: 'workspace', description: `are named ${uidOrName}`, matches, rows });
}

/** Returns the next step for a name that no workspace has. */
function hintForName(all: readonly WorkspaceRecord[], name: string): string {
  const names = all.flatMap((workspace) => asText(workspace.name) ?? []);
  if (names.length === 0) return 'mediactl workspaces ls, and use a uid: the service shows no names';
  const [similar] = [
    ...names.filter((each) => each.toLowerCase() === name.toLowerCase()),
    ...closestSpellings(name, names),
  ];
  return similar === undefined
    ? 'mediactl workspaces ls'
    : `did you mean ${escapeControls(similar)}? mediactl workspaces ls`;
}

const workspaceRows = (workspaces: readonly WorkspaceRecord[]) =>
  workspaces.map((each) => [displayText(each.name), escapeControls(each.uid), isPrimary(each) ? 'primary' : '']);

/** Prompts for a workspace. @throws `why` if it cannot prompt or there are no workspaces */
export async function promptForWorkspace(context: Context, why: CodedError): Promise<WorkspaceRecord> {
  if (!context.terminal.isInteractive) throw why;
  return chooseWorkspace(context, await listWorkspaces(await context.api()), why);
}

async function chooseWorkspace({ terminal }: Context, all: readonly WorkspaceRecord[], why: CodedError) {
  if (!terminal.isInteractive || all.length === 0) throw why;
  return choose(terminal, 'Which workspace?', all, workspaceRows(all));
}

export const toProfileFields = (workspace: WorkspaceRecord) => ({
  workspace: workspace.uid,
  workspaceName: asText(workspace.name) ?? workspace.uid,
  workspaceIsPrimary: isPrimary(workspace),
});

/** Returns the workspace that the settings choose, and asks where that is not enough. */
export async function workspaceChoice(context: Context): Promise<WorkspaceChoice> {
  const [{ workspace }, { profile }] = [await context.account(), await context.profileInUse()];
  const { primaryWorkspace } = context.settings;
  return {
    configured: workspace,
    primary: primaryWorkspace,
    wasPrimary: profile?.workspace === workspace && profile?.workspaceIsPrimary === true,
    selectByName: async (all, name) => selectWorkspace(context, await context.api(), all, name),
    selectAny: (all, mayAsk) => {
      const none = usageError(
        'no workspace',
        'mediactl workspaces use NAME, or --workspace NAME',
        'no flag, variable or profile sets one, and the service shows none to be primary',
      );
      if (!mayAsk) throw none;
      return chooseWorkspace(context, all, none);
    },
    notPrimary,
    recall: () => recallWorkspaces(context),
    remember: (all) => rememberWorkspaces(context, all),
  };
}

const maxMemoryMs = 24 * 3_600_000;

const memoryFolder = ({ stateDir }: Context) => join(stateDir, 'workspaces');

const memoryPath = (context: Context, { baseUrl, apiKey }: Pick<Account, 'baseUrl' | 'apiKey'>) => {
  const key = JSON.stringify([baseUrl.href, apiKey]);
  return join(memoryFolder(context), createHash('sha256').update(key).digest('hex').slice(0, 16));
};

/** Returns the workspaces that the API key could see, if a command has listed them within a day. */
async function recallWorkspaces(context: Context): Promise<WorkspaceRecord[] | undefined> {
  if (!existsSync(memoryFolder(context))) return undefined; // to load node:crypto takes longer than the rest of `ls`
  const path = memoryPath(context, await context.account());
  const { at, workspaces } = asObject(parseJsonOrUndefined(readTextFileOrEmpty(path)));
  const age = context.clock.now() - (asNumber(at) ?? Number.NaN);
  const isRecord = (each: unknown): each is WorkspaceRecord => typeof asObject(each).uid === 'string';
  return age >= 0 && age < maxMemoryMs && Array.isArray(workspaces) ? workspaces.filter(isRecord) : undefined;
}

/** Keeps the workspaces that an API key can see, so that reads need no request for them for a day. */
export async function rememberWorkspaces(
  context: Context,
  all: readonly WorkspaceRecord[],
  account?: Pick<Account, 'baseUrl' | 'apiKey'>,
): Promise<void> {
  if (context.settings.dryRun) return;
  const path = memoryPath(context, account ?? (await context.account()));
  const workspaces = all.map((each) => ({ uid: each.uid, name: each.name, is_primary: isPrimary(each) }));
  // If the write fails, the next command lists them again.
  await writeStateFile(path, JSON.stringify({ at: context.clock.now(), workspaces })).catch(() => {});
}

function notPrimary({ uid, name }: { uid: string; name?: unknown }, primary: WorkspaceRecord | undefined): CodedError {
  const shown = displayText(name) || uid;
  if (primary)
    return usageError(
      `workspace ${shown} is not the primary one, so its assets cannot be found by path or folder`,
      `use uids there: mediactl ls WORDS, to see them; for paths: --workspace ${quoteForShell(displayText(primary.name) || primary.uid)}`,
      'the API filters by folder in the primary workspace only',
    );
  return usageError(
    `workspace ${shown} is not known to be the primary one, so its assets cannot be found by path or folder`,
    `if it is: mediactl config set primary_workspace ${quoteForShell(uid)}; otherwise use uids`,
    'the API filters by folder in the primary workspace only, and the service does not show which one that is',
  );
}

/** Returns the uid of the workspace in use. @param mayPrompt false for lookups that are only for display */
export const resolveWorkspaceUid = async (context: Context, mayPrompt = true): Promise<string> =>
  (await context.library()).workspace(mayPrompt);
