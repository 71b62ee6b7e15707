import type { NameOverrides } from '../../contract/assumptions.ts';
import { paths } from '../../contract/paths.ts';
import { isFields } from '../../contract/reading.ts';
import type { ApiRequest } from '../http/messages.ts';
import type { Transport } from '../http/transport.ts';
import { unexpectedAnswer } from '../http/unexpected-answer.ts';
import { EmbedSettings } from './embed-settings.ts';
import { assertTaken, type Fields, otherNameHint, withNameHint } from './writes.ts';

/** What to do with a domain: POST adds it (and is idempotent), DELETE takes it off (§4). */
export type DomainMethod = 'POST' | 'DELETE';

/** §4 Workspaces: embed settings. The record is read first: its names are the names written. */
export class EmbedsApi {
  readonly #transport: Transport;
  readonly #names: NameOverrides;

  constructor(transport: Transport, names: NameOverrides) {
    this.#transport = transport;
    this.#names = names;
  }

  async settings(workspace: string): Promise<EmbedSettings> {
    const record = await this.#transport.json({
      method: 'GET',
      url: paths.embedSettings(workspace),
      purpose: { action: 'read embed settings', scope: 'Read Assets' },
    });
    if (!isFields(record)) throw unexpectedAnswer('the embed settings are not a record');
    return new EmbedSettings(record, this.#names);
  }

  restricting(workspace: string, before: EmbedSettings, enabled: boolean): ApiRequest {
    return {
      method: 'PATCH',
      url: paths.embedSettings(workspace),
      json: before.switching(enabled),
      purpose: { action: 'change embed settings', scope: 'Write Assets' },
    };
  }

  /** @throws MediactlError `write_ignored` where the restriction stayed as it was */
  async restrict(workspace: string, before: EmbedSettings, enabled: boolean) {
    const request = this.restricting(workspace, before, enabled);
    await withNameHint(
      this.#transport.send(request),
      request.json as Fields,
      () => 'embed_enabled',
    );
    const after = await this.settings(workspace);
    assertTaken({ enabled }, { enabled: after.enabled }, settings, otherNameHint('embed_enabled'));
    return after;
  }

  /** Both methods take the domain in the body. */
  changingDomain(
    method: DomainMethod,
    workspace: string,
    before: EmbedSettings,
    domain: string,
  ): ApiRequest {
    return {
      method,
      url: paths.embedDomains(workspace),
      // What is on the list is named as the service spells it.
      json: { [before.domainField]: method === 'DELETE' ? before.spellingOf(domain) : domain },
      purpose: { action: 'change the embed allow-list', scope: 'Write Assets' },
    };
  }

  async changeDomain(
    method: DomainMethod,
    workspace: string,
    before: EmbedSettings,
    domain: string,
  ): Promise<void> {
    const request = this.changingDomain(method, workspace, before, domain);
    await withNameHint(this.#transport.send(request), request.json as Fields, () => 'embed_domain');
  }

  /**
   * Reads again after writes.
   *
   * @returns domains that the service spells otherwise
   * @throws MediactlError `write_ignored` where a domain is not there that should be, or still is
   */
  async check(
    workspace: string,
    before: EmbedSettings,
    added: readonly string[],
    removed: readonly string[],
  ) {
    const { domains: shown } = await this.settings(workspace);
    const known = new Set(before.domains);
    const appeared = shown.filter((domain) => !known.has(domain));
    const spelling = (domain: string) =>
      shown.includes(domain) ? domain : appeared.find((each) => bare(each) === bare(domain));
    const spelled = added.map((domain) => ({ domain, spelling: spelling(domain) ?? domain }));
    const kept = shown.filter((domain) => !removed.includes(domain));
    const domains = [...new Set([...kept, ...spelled.map((each) => each.spelling)])];
    const hint = otherNameHint('embed_domain');
    assertTaken({ domains }, { domains: shown }, settings, hint, ['domains']);
    return spelled.filter((each) => each.spelling !== each.domain);
  }
}

/** A domain without `*.` and `www.`, which some services add or take off. */
const bare = (domain: string) => domain.replace(/^(?:\*\.|www\.)+/, '');

const settings = 'the embed settings';
