import { asCodedError, type CodedError } from '../../../client/errors.ts';
import type { RateWindow } from '../../../client/http/rate-limit-headers.ts';
import { listWorkspaces } from '../../../client/library/workspaces.ts';
import type { WorkspaceRecord } from '../../../contract/types.ts';
import { isSameUid } from '../../../contract/uid.ts';
import { formatCount } from '../../../shared/figures.ts';
import { asText } from '../../../shared/json-values.ts';
import { escapeControls, relativeTime } from '../../../shared/sanitize.ts';
import { type Account, parseBaseUrl, readApiKey } from '../../account/account.ts';
import { addExamples, type Define } from '../../command.ts';
import type { Context } from '../../context.ts';
import { type Column, type DetailRow, listBy, type RenderContext, record } from '../../output/result.ts';
import type { Profile } from '../../settings/profile-file.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { workspaceText } from './columns.ts';

export const status: Define = (command, run) =>
  addExamples(command, 'mediactl auth status', 'mediactl auth status --all --json')
    .description(
      'Shows the profile, service and workspace in use, whether the service accepts the key, and the remaining rate limit.',
    )
    .option('--all', 'check every profile')
    .action(run(runStatus));

async function runStatus(context: Context, { all }: { all?: true | undefined }) {
  if (!all) {
    const { status: found, failure } = await checkAccount(context, await context.account());
    return { result: record(found, found.profile, rows), failure };
  }
  const { profiles } = await context.profiles.read();
  const checks = Object.entries(profiles).map(([name, profile]) => checkProfile(context, name, profile));
  return { result: listBy(({ profile }) => profile, await Promise.all(checks), columns, 'no profiles yet') };
}

async function checkProfile(context: Context, name: string, profile: Profile): Promise<AuthStatus> {
  const baseUrl = parseBaseUrl(profile.baseUrl);
  const { workspace, names = {} } = profile;
  try {
    const apiKey = await readApiKey(name, profile, context.keychain);
    context.terminal.redactor.add(apiKey);
    return (await checkAccount(context, { profile: name, baseUrl, apiKey, workspace, names })).status;
  } catch (error) {
    context.signal.throwIfAborted();
    const failure = asCodedError(error);
    return toStatus(context.terminal, { profile: name, baseUrl, workspace }, { failure });
  }
}

/** Checks a key with one API request, which also returns the rate limit and the workspace names. */
async function checkAccount(context: Context, account: Account) {
  const api = context.apiFor(account);
  let failure: CodedError | undefined;
  const workspaces = await listWorkspaces(api).catch((error): WorkspaceRecord[] => {
    failure = asCodedError(error);
    return [];
  });
  await api.transport.close();
  const { rateLimit } = api.transport.connection;
  return { status: toStatus(context.terminal, account, { rateLimit, workspaces, failure }), failure };
}

type KeyCheck = {
  rateLimit?: RateWindow | undefined;
  workspaces?: readonly WorkspaceRecord[];
  failure: CodedError | undefined;
};

function toStatus(
  { redactor }: Terminal,
  { profile, baseUrl, workspace }: Pick<Account, 'profile' | 'baseUrl' | 'workspace'>,
  { rateLimit, workspaces = [], failure }: KeyCheck,
) {
  const chosen = workspaces.find(({ uid }) => workspace && isSameUid(uid, workspace));
  const { limit = 0, remaining = 0, resetAt } = rateLimit ?? {};
  return {
    profile,
    base_url: baseUrl.origin,
    workspace_uid: workspace ?? null,
    workspace_name: asText(chosen?.name) ?? null,
    authenticated: isKeyAccepted(failure),
    rate_limit: resetAt === undefined ? null : { limit, remaining, resets_at: new Date(resetAt).toISOString() },
    error: redactor.errorRecord(failure),
  };
}

type AuthStatus = ReturnType<typeof toStatus>;

/** Returns true if the key was accepted, or null if that is unknown. A missing scope (403) counts as accepted. */
function isKeyAccepted(failure: CodedError | undefined): boolean | null {
  const { status, isUnattributed = false } = failure?.explanation ?? {};
  if (isUnattributed) return null;
  if (failure === undefined || status === 403) return true;
  return status === 401 || failure.kind === 'unauthenticated' ? false : null;
}

const rateLimitText = ({ rate_limit }: AuthStatus, now: number) =>
  rate_limit
    ? `${formatCount(rate_limit.remaining)} of ${formatCount(rate_limit.limit)} requests remaining, resets ${relativeTime(rate_limit.resets_at, now)}`
    : '';

const keyText = ({ authenticated, error }: AuthStatus) => {
  if (!authenticated)
    return `${authenticated === null ? 'unknown' : 'not accepted'}: ${escapeControls(error?.message ?? '')}`;
  return error ? `accepted, but ${escapeControls(error.message)}` : 'accepted';
};

const rows = (status: AuthStatus, render: RenderContext): DetailRow[] => [
  ['profile', escapeControls(status.profile)],
  ['base url', status.base_url],
  ['workspace', workspaceText(status, render)],
  ['key', keyText(status)],
  ['rate limit', rateLimitText(status, render.now)],
];

const columns: Column<AuthStatus>[] = [
  { field: 'profile', noTruncate: true },
  { field: 'base_url' },
  { field: 'authenticated', value: keyText },
  { field: 'rate_limit', value: (status, { now }) => rateLimitText(status, now), dropPriority: 1 },
];
