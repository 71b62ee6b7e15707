import type { Command } from '@commander-js/extra-typings';
import type { RateLimit } from '../../api/rate-limit.ts';
import type { Account, Context } from '../../context.ts';
import { asMediactlError, type MediactlError } from '../../errors.ts';
import { parseBaseUrl } from '../../profiles/base-url.ts';
import { keyOf } from '../../profiles/key-stores.ts';
import type { Profile } from '../../profiles/profile-file.ts';
import { printable, when } from '../../terminal/printable.ts';
import { type Column, listBy, type Row, record } from '../../terminal/result.ts';
import { example, type Run } from '../command.ts';

type Status = {
  profile: string;
  base_url: string;
  workspace: string | null;
  key_accepted: boolean;
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
    const apiKey = await keyOf(profile, { configDir: context.configDir, profile: name });
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
  key_accepted: failure === undefined,
  rate_limit: rateLimit
    ? {
        limit: rateLimit.limit,
        remaining: rateLimit.remaining,
        resets_at: new Date(rateLimit.resetAt).toISOString(),
      }
    : null,
  problem: failure?.message ?? null,
});

const budget = ({ rate_limit }: Status, now: number) =>
  rate_limit
    ? `${rate_limit.remaining} of ${rate_limit.limit} requests left, resets ${when(rate_limit.resets_at, now)}`
    : '';

const rows = (status: Status, now: number): Row[] => [
  ['profile', printable(status.profile)],
  ['base url', status.base_url],
  ['workspace', printable(status.workspace ?? '')],
  ['key', status.key_accepted ? 'accepted' : 'not accepted'],
  ['window', budget(status, now)],
];

const columns: Column<Status>[] = [
  { header: 'PROFILE', value: ({ profile }) => printable(profile), whole: true },
  { header: 'BASE URL', value: ({ base_url }) => base_url },
  { header: 'KEY', value: ({ problem }) => printable(problem ?? 'accepted') },
  { header: 'WINDOW', value: (status, { now }) => budget(status, now) },
];
