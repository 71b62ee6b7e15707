import type { Api } from '../api/api.ts';
import type { WorkspaceEmbedSettings } from '../api/embed-settings.ts';
import type { DomainMethod } from '../api/embeds.ts';
import { writesOf } from '../api/writes.ts';
import { asCodedError, CodedError } from '../errors.ts';

/** Turns the embed restriction of a workspace on or off. @returns the settings afterwards */
export const restrictEmbedding = (
  api: Api,
  workspace: string,
  before: WorkspaceEmbedSettings,
  enabled: boolean,
): Promise<WorkspaceEmbedSettings> => writesOf(api).embeds.restrict(workspace, before, enabled);

export type DomainChanges = { added: readonly string[]; removed: readonly string[] };

export type DomainOutcome = { domain: string; change: keyof DomainChanges; error: CodedError | undefined };

export const domainMethods: Record<keyof DomainChanges, DomainMethod> = { added: 'POST', removed: 'DELETE' };

/**
 * Adds domains before it removes any, so that no domain that stays is ever missing, and verifies the changes.
 *
 * @returns an outcome per domain; the added domains that the service writes differently; and the error of the
 *   verification, if it failed
 */
export async function changeDomains(
  api: Api,
  { workspace, settings }: { workspace: string; settings: WorkspaceEmbedSettings },
  changes: DomainChanges,
): Promise<{
  outcomes: DomainOutcome[];
  respelled: { domain: string; spelling: string }[];
  unverified: CodedError | undefined;
}> {
  const { embeds } = writesOf(api);
  const outcomes: DomainOutcome[] = [];
  for (const change of ['added', 'removed'] as const)
    for (const domain of changes[change])
      try {
        // After a failed addition nothing is removed, because a site could lose its access.
        if (change === 'removed' && outcomes.some(({ error }) => error)) throw notRemoved();
        await embeds.changeDomain(domainMethods[change], workspace, settings, domain);
        outcomes.push({ domain, change, error: undefined });
      } catch (thrown) {
        outcomes.push({ domain, change, error: asCodedError(thrown) });
      }
  const done = (which: keyof DomainChanges) =>
    outcomes.flatMap(({ domain, change, error }) => (change === which && !error ? [domain] : []));
  const verified = await embeds.verifyDomains(workspace, settings, done('added'), done('removed')).then(
    (respelled) => ({ respelled, unverified: undefined }),
    (thrown) => ({ respelled: [], unverified: asCodedError(thrown) }),
  );
  return { outcomes, ...verified };
}

const notRemoved = () =>
  new CodedError('not removed', { code: 'skipped', reason: 'a domain could not be added, so none are removed' });
