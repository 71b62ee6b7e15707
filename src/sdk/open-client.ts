import { setMaxListeners } from 'node:events';
import { version } from '../../package.json';
import { incompleteLists, type ListGap } from '../client/api/pagination.ts';
import { describeNotice } from '../client/changes/change-item.ts';
import { CodedError, usageError } from '../client/errors.ts';
import type { WorkspaceChoice } from '../client/library/workspace-in-use.ts';
import { LocalState } from '../client/open/local-state.ts';
import { type OpenedLibrary, openLibrary } from '../client/open/open-library.ts';
import { OwnFiles } from '../client/own-files.ts';
import { type Clock, systemClock } from '../shared/clock.ts';
import { asText } from '../shared/json-values.ts';
import { directoryOptions, uploadOptions } from './arguments.ts';
import { createAssets } from './assets.ts';
import { createCheck } from './check.ts';
import { assertOptions, type ClientParts, createRunner, ErrorConverter, toNotice } from './client-parts.ts';
import { createFolderDownload } from './downloads.ts';
import { createEmbed, createFolders, createWorkspaces } from './folders.ts';
import type * as Public from './public-types.ts';
import { createRequest } from './request.ts';
import { createUploader } from './uploads.ts';

/** Profile of the client, which its options do not contain. */
type ClientIdentity = { profile: string; wasPrimary?: boolean };

/** @throws MediactlError `usage` if an option is wrong */
export function openClient(
  options: Public.ClientOptions,
  identity: ClientIdentity,
  clock: Clock = systemClock,
): Public.Client {
  const errors = new ErrorConverter(options?.apiKey);
  try {
    assertOptions(options);
  } catch (error) {
    throw errors.toPublic(error);
  }
  const closing = new AbortController();
  const signalOf = (call: Public.CallOptions = {}) => {
    const signals = [closing.signal, options.signal, call.signal].filter((signal) => signal !== undefined);
    const signal = AbortSignal.any(signals);
    setMaxListeners(0, signal); // each concurrent request listens
    return signal;
  };
  const onNotice = errors.guard(options.onNotice);
  const notify = (call: Public.CallOptions = {}) => (call.onNotice ? errors.guard(call.onNotice) : onNotice);
  const warn: ClientParts['warn'] = (call, message) => notify(call)({ kind: 'warning', message });
  const state = new LocalState({
    ...{ directory: options.stateDir, clock, signal: closing.signal, use: 'write' },
    warn: (message) => warn(undefined, message),
  });
  const opened = open(options, identity, { clock, state, signal: signalOf(), onNotice });
  const openFor = openForWith(opened, { signalOf, notify });
  const { ended, ...runner } = createRunner(errors, signalOf, openFor);
  const command = options.userAgent ? `library (${options.userAgent})` : 'library';
  const labelOf = (summary: string) => ({ command, summary });
  const ownFiles = new OwnFiles({ state: state.directory });
  const parts: ClientParts = { options, state, errors, ownFiles, signalOf, notify, warn, openFor, labelOf, ...runner };
  const uploader = createUploader(parts);
  let closed: Promise<void> | undefined;
  return {
    assets: createAssets(parts),
    folders: createFolders(parts),
    workspaces: createWorkspaces(parts),
    embed: createEmbed(parts),
    check: createCheck(parts),
    request: createRequest(parts),
    downloadFolder: createFolderDownload(parts),
    upload: (path, call) => parts.run(call, () => uploader.upload(path, call), uploadOptions),
    uploadDirectory: (path, call) => parts.iterate(call, () => uploader.uploadDirectory(path, call), directoryOptions),
    get rateLimit() {
      const budget = opened.api.transport.connection.rateLimiter.budget;
      return budget && { limit: budget.limit, remaining: budget.left, resetsAt: new Date(budget.resetAt) };
    },
    close: () => {
      closed ??= (async () => {
        closing.abort(errors.toPublic(new CodedError('the client was closed', { code: 'interrupted' })));
        await ended();
        await state.close();
        await opened.api.transport.close();
      })();
      return closed;
    },
  };
}

const openForWith =
  (opened: OpenedLibrary, { signalOf, notify }: Pick<ClientParts, 'signalOf' | 'notify'>): ClientParts['openFor'] =>
  (call, onGap) =>
    opened.forCall({
      signal: signalOf(call),
      onNotice: (notice) => notify(call)(toNotice(notice)),
      onGap: (gap) => {
        notify(call)(describeGap(gap));
        onGap?.(gap);
      },
      onChangeNotice: (notice) => notify(call)({ kind: 'warning', message: describeNotice(notice) }),
    });

type OpenDeps = { clock: Clock; state: LocalState; signal: AbortSignal; onNotice: (notice: Public.Notice) => void };

/** Opens the library of a client. It sends no request yet. */
const open = (
  options: Public.ClientOptions,
  { profile, wasPrimary }: ClientIdentity,
  { clock, state, signal, onNotice }: OpenDeps,
) =>
  openLibrary(
    { baseUrl: new URL(options.baseUrl), apiKey: options.apiKey, names: options.fieldNames },
    {
      clock,
      userAgent: userAgentOf(options),
      requestTimeoutMs: options.requestTimeoutMs ?? 30_000,
      maxWaitMs: options.maxWaitMs ?? 60_000,
      proxy: options.proxy,
      signal,
      onNotice: (notice) => onNotice(toNotice(notice)),
      state,
      keepsHistory: options.history ?? false,
      profile,
      ports: {
        workspaceChoice: async () => workspaceChoice(options, wasPrimary),
        onGap: (gap) => onNotice(describeGap(gap)),
        onChangeNotice: (notice) => onNotice({ kind: 'warning', message: describeNotice(notice) }),
      },
    },
  );

const userAgentOf = ({ userAgent }: Public.ClientOptions) =>
  `mediactl/${version} (library)${userAgent ? ` ${userAgent}` : ''}`;

const workspaceChoice = (
  { workspace, primaryWorkspace }: Public.ClientOptions,
  wasPrimary = false,
): WorkspaceChoice => ({
  configured: workspace,
  wasPrimary,
  primary: primaryWorkspace,
  selectByName: async (all, name) => {
    const [found, another] = all.filter((each) => asText(each.name) === name);
    if (found && !another) return found;
    throw usageError(`${another ? 'several workspaces are' : 'no workspace is'} named ${name}`);
  },
  selectAny: () => {
    throw usageError('no workspace is primary', undefined, 'pass the uid of a workspace to createClient');
  },
  notPrimary: ({ uid }, primary) =>
    usageError(
      `workspace ${uid} is not ${primary ? '' : 'known to be '}the primary one, so its assets cannot be listed by folder`,
      undefined,
      primary ? undefined : 'if it is, pass its uid as primaryWorkspace to createClient',
    ),
});

const describeGap = (gap: ListGap): Public.Notice => ({
  kind: 'warning',
  message: incompleteLists([gap])?.message ?? '',
});
