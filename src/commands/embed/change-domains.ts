import type { DomainMethod } from '../../api/embeds.ts';
import type { Context } from '../../context.ts';
import { asMediactlError, exitCodes, MediactlError, someFailed } from '../../errors.ts';
import { planned } from '../planned.ts';
import { type DomainRecord, domainResult } from './columns.ts';
import type { readSettings } from './settings.ts';

/** What is to be added and what removed, given what is there. */
export type Difference = { add: string[]; remove: string[] };

/**
 * Adds, then removes: at no moment is a domain missing that is to stay. Each is said; those that
 * failed are named at the end; what came of it is read again.
 */
export async function changeDomains(
  context: Context,
  { workspace, embeds, settings }: Awaited<ReturnType<typeof readSettings>>,
  { add, remove }: Difference,
) {
  const steps: { method: DomainMethod; domain: string }[] = [
    ...add.map((domain) => ({ method: 'POST' as const, domain })),
    ...remove.map((domain) => ({ method: 'DELETE' as const, domain })),
  ];
  if (context.settings.dryRun)
    return planned(
      context,
      steps.map(({ method, domain }) => embeds.changingDomain(method, workspace, settings, domain)),
    );
  const records: DomainRecord[] = [];
  const failures: MediactlError[] = [];
  const failed = (domain: string, error: MediactlError) => {
    failures.push(error.of(domain));
    records.push({ domain, change: null, error: error.toJSON() });
  };
  for (const { method, domain } of steps) {
    // Nothing is removed where something could not be added: that could shut somebody out.
    if (method === 'DELETE' && add.length > 0 && failures.length > 0) {
      failed(domain, notTried());
      continue;
    }
    await embeds.changeDomain(method, workspace, settings, domain).then(
      () => records.push({ domain, change: method === 'POST' ? 'added' : 'removed', error: null }),
      (thrown) => failed(domain, asMediactlError(thrown)),
    );
  }
  const done = (change: DomainRecord['change']) =>
    records.filter((each) => each.change === change).map(({ domain }) => domain);
  const unseen = await embeds
    .check(workspace, done('added'), done('removed'))
    .then(() => undefined, asMediactlError);
  const result = domainResult(records, 'nothing to change');
  if (steps.length <= 1) return { result, failure: failures[0] ?? unseen };
  const all = unseen ? [...failures, unseen] : failures;
  const problem =
    failures.length > 0
      ? `${failures.length} of ${steps.length} changes failed`
      : 'the changes could not be confirmed';
  return { result, failure: all.length > 0 ? someFailed(problem, all) : undefined };
}

const notTried = () =>
  new MediactlError('not removed', {
    code: 'not_tried',
    exitCode: exitCodes.partial,
    reason: 'what was to be added before it could not be',
  });
