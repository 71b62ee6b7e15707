import { paths } from '../../contract/paths.ts';
import { isJsonObject } from '../../shared/json-values.ts';
import type { ApiRequest } from '../http/api-request.ts';
import { unexpectedResponse } from '../http/error-response.ts';
import { WorkspaceEmbedSettings } from './embed-settings.ts';
import { Resource, readPurpose, writeRequest } from './resource.ts';
import { assertApplied, verifyWrite } from './write-check.ts';

/** HTTP method that changes the allow-list. POST adds a domain (idempotent), and DELETE removes it (§4). */
export type DomainMethod = 'POST' | 'DELETE';

/** Client of the embed settings endpoints (§4 Workspaces). Requests use the field names found in the record. */
export class EmbedsApi extends Resource {
  async settings(workspace: string): Promise<WorkspaceEmbedSettings> {
    const record = await this.read(paths.embedSettings(workspace), readPurpose('embed settings'));
    if (!isJsonObject(record)) throw unexpectedResponse('the embed settings have an unexpected format');
    return new WorkspaceEmbedSettings(record, this.names);
  }

  restrictRequest(workspace: string, before: WorkspaceEmbedSettings, enabled: boolean): ApiRequest {
    const url = paths.embedSettings(workspace);
    return writeRequest('PATCH', url, before.restrictionFields(enabled), 'change embed settings');
  }

  /** Builds the request that adds or removes a domain. Both methods send the domain in the body. */
  domainRequest(method: DomainMethod, workspace: string, before: WorkspaceEmbedSettings, domain: string): ApiRequest {
    // To remove a domain, send it exactly as the service writes it.
    const json = { [before.domainField]: method === 'DELETE' ? before.spellingOf(domain) : domain };
    return writeRequest(method, paths.embedDomains(workspace), json, 'change the embed allow-list');
  }

  /**
   * Reads the settings again and verifies that domains were added or removed.
   *
   * @returns the added domains that the service writes differently, each with the service's `spelling`
   * @throws CodedError `write_ignored` (exit 6) if an added domain is missing or a removed one is still listed
   */
  verifyDomains(workspace: string, before: WorkspaceEmbedSettings, added: string[], removed: string[]) {
    const known = before.domains;
    return verifyWrite(this.transport, async () => {
      const { domains: current } = await this.settings(workspace);
      const appeared = current.filter((domain) => !known.includes(domain));
      const spelled = added.map((domain) => {
        const similar = appeared.find((each) => stripDomainPrefix(each) === stripDomainPrefix(domain));
        return { domain, spelling: current.includes(domain) ? domain : (similar ?? domain) };
      });
      const remaining = current.filter((domain) => !removed.includes(domain));
      const domains = [...new Set([...remaining, ...spelled.map(({ spelling }) => spelling)])];
      assertApplied({
        noun: embedNoun,
        requested: { domains },
        actual: { domains: current },
        remedy: ['set_field_names', 'embed_domain'],
        unorderedFields: ['domains'],
      });
      return spelled.filter((each) => each.spelling !== each.domain);
    });
  }
}

/** Strips `*.` and `www.` from a domain, because some services add or remove these prefixes. */
const stripDomainPrefix = (domain: string) => domain.replace(/^(?:\*\.|www\.)+/, '');

/** Name of the settings in error messages. */
export const embedNoun = 'the embed settings';
