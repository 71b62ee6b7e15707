import type { DomainMethod } from '../../api/embeds.ts';
import type { Context } from '../../context.ts';
import { asMediactlError, MediactlError, someFailed } from '../../errors.ts';
import { planned } from '../planned.ts';
import { type DomainRecord, domainResult } from './columns.ts';
import { readSettings } from './settings.ts';

/** What is to be added and what removed, given what is there. */
export type Difference = { add: string[]; remove: string[] };

/**
 * Adds, then removes: at no moment is a domain missing that is to stay. Each is said; those that
 * failed are named at the end; what came of it is read again.
 */
export async function changeDomains(
  context: Context,
  differenceOf: (there: string[]) => Difference,
) {
  const { workspace, embeds, settings } = await readSettings(context);
  const { add, remove } = differenceOf(settings.domains);
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
  for (const { method, domain } of steps) {
    const change = method === 'POST' ? 'added' : 'removed';
    try {
      await embeds.changeDomain(method, workspace, settings, domain);
      records.push({ domain, change, error: null });
    } catch (thrown) {
      const error = asMediactlError(thrown);
      failures.push(new MediactlError(`${domain}: ${error.message}`, error.explanation));
      records.push({ domain, change: null, error: error.toJSON() });
      // Nothing is removed where something could not be added: that could shut somebody out.
      if (method === 'POST' && remove.length > 0) break;
    }
  }
  const done = (change: DomainRecord['change']) =>
    records.filter((each) => each.change === change).map(({ domain }) => domain);
  await embeds.check(workspace, done('added'), done('removed'));
  const [only] = failures;
  return {
    result: domainResult(records, 'nothing to change'),
    failure:
      only && steps.length === 1
        ? only
        : only && someFailed(`${failures.length} of ${steps.length} domains failed`, failures),
  };
}
