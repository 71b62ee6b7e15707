import type { Command } from '@commander-js/extra-typings';
import type { Account } from '../../account/account.ts';
import { parseBaseUrl } from '../../account/base-url.ts';
import { keyOf } from '../../account/key-stores.ts';
import type { Profile } from '../../account/profile-file.ts';
import type { RateLimit } from '../../api/rate-limit.ts';
import type { Context } from '../../context.ts';
import { asMediactlError, exitCodes, type MediactlError } from '../../errors.ts';
import { printable, when } from '../../terminal/printable.ts';
import { type Column, listBy, type Row, record } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';

type Status = {
  profile: string;
  base_url: string;
  workspace: string | null;
  /** Null where nobody could tell: the service did not answer, or answered something else. */
  key_accepted: boolean | null;
  rate_limit: { limit: number; remaining: number; resets_at: string } | null;
  problem: string | null;
};

export function status(command: Command, run: Run): void {
  example(command, 'mediactl auth status', 'mediactl auth status --all --json');
  command
    .summary('check the account in use')
    .description(
      'Tells who mediactl acts as, where, whether the key is accepted, and what is left of its requests in this window.',
    )
    .option('--all', 'check every profile')
    .action(
      run(async (context, { all }) => {
        if (all) {
          const { profiles } = await context.profiles.read();
          const statuses = await Promise.all(
            Object.entries(profiles).map(([name, profile]) => ofProfile(context, name, profile)),
          );
          return listBy(({ profile }) => profile, statuses, columns, 'no profiles yet');
        }
        const account = await context.account();
        const { status: found, failure } = await check(context, account);
        const result = record(found, found.profile, (shown, { now }) => rows(shown, now));
        return { result, failure };
      }),
    );
}

async function ofProfile(context: Context, name: string, profile: Profile): Promise<Status> {
  const baseUrl = parseBaseUrl(profile.baseUrl);
  const { workspace, names = {} } = profile;
  try {
    const apiKey = await keyOf(profile, { configDir: context.profiles.directory, profile: name });
    context.terminal.redactor.add(apiKey);
    return (await check(context, { profile: name, baseUrl, apiKey, workspace, names })).status;
  } catch (error) {
    return toStatus({ profile: name, baseUrl, workspace }, undefined, asMediactlError(error));
  }
}

/** One read tells both: whether the key is accepted, and what is left of the window. */
async function check(context: Context, account: Account) {
  const api = context.apiFor(account);
  const failure = await api.assets.page({}, 1, 0).then(
    () => undefined,
    (error) => asMediactlError(error),
  );
  await api.transport.close();
  return { status: toStatus(account, api.transport.rateLimit, failure), failure };
}

const toStatus = (
  { profile, baseUrl, workspace }: Pick<Account, 'profile' | 'baseUrl' | 'workspace'>,
  rateLimit: RateLimit | undefined,
  failure: MediactlError | undefined,
): Status => ({
  profile,
  base_url: baseUrl.origin,
  workspace: workspace ?? null,
  key_accepted: accepted(failure),
  rate_limit: rateLimit
    ? {
        limit: rateLimit.limit,
        remaining: rateLimit.remaining,
        resets_at: new Date(rateLimit.resetAt).toISOString(),
      }
    : null,
  problem: failure?.message ?? null,
});

/** A key that lacks a scope (403) is accepted all the same. */
function accepted(failure: MediactlError | undefined): boolean | null {
  const { status } = failure?.explanation ?? {};
  if (failure === undefined || status === 403) return true;
  return status === 401 || failure.exitCode === exitCodes.unauthenticated ? false : null;
}

const budget = ({ rate_limit }: Status, now: number) =>
  rate_limit
    ? `${rate_limit.remaining} of ${rate_limit.limit} requests left, resets ${when(rate_limit.resets_at, now)}`
    : '';

const keyText = ({ key_accepted, problem }: Status) => {
  if (key_accepted === null) return `unknown: ${printable(problem ?? '')}`;
  if (!key_accepted) return `not accepted: ${printable(problem ?? '')}`;
  return problem ? `accepted, but ${printable(problem)}` : 'accepted';
};

const rows = (status: Status, now: number): Row[] => [
  ['profile', printable(status.profile)],
  ['base url', status.base_url],
  ['workspace', printable(status.workspace ?? '')],
  ['key', keyText(status)],
  ['window', budget(status, now)],
];

const columns: Column<Status>[] = [
  { header: 'PROFILE', value: ({ profile }) => printable(profile), whole: true },
  { header: 'BASE URL', value: ({ base_url }) => base_url },
  { header: 'KEY', value: keyText },
  { header: 'WINDOW', value: (status, { now }) => budget(status, now) },
];
