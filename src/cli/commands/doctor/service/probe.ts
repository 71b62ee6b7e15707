import type { Api } from '../../../../client/api/api.ts';
import { itemsOf, totalOf } from '../../../../client/api/pagination.ts';
import type { ErrorCode } from '../../../../client/error-table.ts';
import { CodedError } from '../../../../client/errors.ts';
import type { ApiRequest, ReceivedResponse } from '../../../../client/http/api-request.ts';
import type { Transport } from '../../../../client/http/transport.ts';
import { WorkspaceFolderTree } from '../../../../client/library/folder-tree.ts';
import { apiPrefix, paths } from '../../../../contract/paths.ts';
import type { AssetRecord, PageEnvelope, PlaybackInfo, WorkspaceRecord } from '../../../../contract/types.ts';
import { groupBy } from '../../../../shared/groups.ts';
import { asArray, asObject, asText, type JsonObject, parseJsonOrUndefined } from '../../../../shared/json-values.ts';

/** Reason why an assumption cannot be judged. */
export class Untried extends Error {}

/** Errors after which no other request would be answered. */
export const runEnding: readonly ErrorCode[] = [
  'unreachable',
  'timeout',
  'unauthenticated',
  'rate_limited',
  'origin_mismatch',
  'interrupted',
  'terminated',
];

export const sendReadTrial = (transport: Transport) =>
  transport.send({
    method: 'GET',
    url: paths.collection('assets'),
    query: { limit: 1 },
    purpose: { action: 'read assets', scope: 'Read Assets' },
  });

export const maxRequests = 120;

/** Most assets that are read, in pages of 100. */
export const maxListed = 1_000;

/** An identifier that no object has. */
export const unknownUid = '00000000-0000-4000-8000-000000000000';

/** A response of any status, and a line about it for the report. */
export type Answer = { status: number; isOk: boolean; body: unknown; response: ReceivedResponse; line: string };

/** Path of a request for a report: without identifiers. */
const describe = ({ method, url, query = {} }: ApiRequest) => {
  const parameters = Object.entries(query).map(([name, value]) => `${name}=${isIdentifier(value) ? '{uid}' : value}`);
  const path = String(url)
    .replace(/^https?:\/\/[^/]+/, '')
    .replace(/\?.*/, '')
    .replace(apiPrefix, '');
  const steps = path.split('/').map((step) => (/^[\w-]{16,}$/.test(step) ? '{uid}' : step));
  return `${method} ${steps.join('/')}${parameters.length > 0 ? `?${parameters.join('&')}` : ''}`;
};
const isIdentifier = (value: unknown) => typeof value === 'string' && /^[\w-]{16,}$/.test(value);

/** Sends the requests of the checks within the budget, and keeps what several checks look at. */
export class ServiceProbe {
  readonly api: Api;
  readonly primaryWorkspace: string | undefined;
  /** Uid of the workspace in use. */
  readonly workspace: string;
  requestCount = 0;
  readonly #kept = new Map<string, Promise<unknown>>();

  constructor(api: Api, { workspace, primaryWorkspace }: Pick<ServiceProbe, 'workspace' | 'primaryWorkspace'>) {
    const onRequest = () => {
      if (this.requestCount >= maxRequests) throw new Untried(`all ${maxRequests} requests were used before it`);
      this.requestCount++;
    };
    this.api = api.withObserver({ onRequest });
    this.workspace = workspace;
    this.primaryWorkspace = primaryWorkspace;
  }

  /** Sends a request and returns the response of any status. Failures of the network are thrown. */
  async send(request: Omit<ApiRequest, 'purpose'>): Promise<Answer> {
    const call = { ...request, purpose: { action: 'check the service' } };
    const response = await this.api.transport.exchange(call);
    const { status, text } = response;
    const line = `${describe(call)}: ${status}`;
    return { status, isOk: status >= 200 && status < 300, body: parseJsonOrUndefined(text), response, line };
  }

  get(url: string, query?: ApiRequest['query']): Promise<Answer> {
    return this.send({ method: 'GET', url, query });
  }

  /** Returns a response with a 2xx status. @throws Untried for any other status */
  async getOk(url: string, query?: ApiRequest['query']): Promise<Answer> {
    const answer = await this.get(url, query);
    if (!answer.isOk) throw new Untried(answer.line);
    return answer;
  }

  /** Lists up to 100 assets by a filter. @throws Untried for a status other than 2xx, or if it is no list */
  async listBy(query: ApiRequest['query']): Promise<{ answer: Answer; records: AssetRecord[] }> {
    const answer = await this.getOk(paths.collection('assets'), query);
    return { answer, records: recordsOf(answer) };
  }

  /** Assets of the library, as far as they are read, and the error of the list, such as an offset that is ignored. */
  assets() {
    return this.#once('assets', async () => {
      const first = await this.get(paths.collection('assets'), { limit: 100, offset: 0 });
      const none = { first, total: undefined, records: [], isComplete: false, error: undefined };
      if (!first.isOk) return none;
      let total: number | undefined;
      const records: AssetRecord[] = [];
      try {
        itemsOf(first.body);
        total = totalOf(asObject(first.body) as PageEnvelope<JsonObject>, this.api.names);
        const window = { limit: Math.min(total ?? maxListed, maxListed) + 1 };
        for await (const page of this.api.assets.list({}, window)) records.push(...page);
      } catch (error) {
        if (!(error instanceof CodedError) || runEnding.includes(error.explanation.code)) throw error;
        return { ...none, total, records, error };
      }
      return { first, total, records, isComplete: records.length <= maxListed, error: undefined };
    });
  }

  /** Records of the workspaces. @throws Untried if they cannot be read */
  workspaces(): Promise<{ answer: Answer; records: WorkspaceRecord[] }> {
    return this.#once('workspaces', async () => {
      const answer = await this.getOk(paths.workspaces(), { limit: 100 });
      return { answer, records: recordsOf(answer) as WorkspaceRecord[] };
    });
  }

  /** Folders of the workspace in use. @throws Untried for a status other than 2xx */
  folders(): Promise<{ answer: Answer; list: readonly unknown[] | undefined }> {
    return this.#once('folders', async () => {
      const answer = await this.getOk(paths.folders(this.workspace));
      const items = Array.isArray(answer.body) ? answer.body : asObject(answer.body).items;
      return { answer, list: Array.isArray(items) ? items : undefined };
    });
  }

  /** Folders as the client reads them. @throws Untried if it cannot */
  async tree(): Promise<WorkspaceFolderTree> {
    const { answer, list } = await this.folders();
    if (!list) throw new Untried(`${answer.line}, no list of folders`);
    return new WorkspaceFolderTree(list, this.api.names);
  }

  embedSettings(): Promise<Answer> {
    return this.#once('embed', () => this.getOk(paths.embedSettings(this.workspace)));
  }

  /** Playback info of a ready asset of each type, with the type of the asset's record or of the info. */
  playback(): Promise<{ uid: string; info: PlaybackInfo }[]> {
    return this.#once('playback', async () => {
      const { records } = await this.assets();
      const ready = records.filter(({ status }) => asText(status)?.toLowerCase() === 'ready');
      const byType = groupBy(ready, ({ type }) => type);
      // Without types, several assets are asked for, in the hope that they differ.
      const perType = byType.size > 1 ? 2 : 8;
      const picked = [...byType.values()].flatMap((some) => some.slice(0, perType));
      const found: { uid: string; info: PlaybackInfo }[] = [];
      for (const { uid } of picked.slice(0, 10)) {
        const player = await this.get(paths.player('assets', uid));
        const token = asText(asObject(player.body).playback_token);
        if (!token) continue;
        const info = await this.playbackInfo(uid, token);
        if (info.isOk) found.push({ uid, info: asObject(info.body) });
      }
      return found;
    });
  }

  playbackInfo(uid: string, token: string): Promise<Answer> {
    const json = { asset_id: uid, playback_token: token };
    return this.send({ method: 'POST', url: paths.playbackInfo(), json, authenticate: false, retry: 'reads' });
  }

  #once<T>(name: string, read: () => Promise<T>): Promise<T> {
    const kept = this.#kept.get(name) ?? read();
    this.#kept.set(name, kept);
    return kept as Promise<T>;
  }
}

/** Records of a list. @throws Untried if the body is none */
export function recordsOf({ body, line }: Answer): AssetRecord[] {
  const items = Array.isArray(body) ? body : asObject(body).items;
  if (!Array.isArray(items)) throw new Untried(`${line}, without items`);
  return asArray(items) as AssetRecord[];
}
