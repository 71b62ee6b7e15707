import { setMaxListeners } from 'node:events';
import packageJson from '../../package.json' with { type: 'json' };
import type { ChangeNotice } from '../client/changes/carry-out.ts';
import { CodedError, usageError } from '../client/errors.ts';
import type { WorkspaceChoice } from '../client/library/workspace-in-use.ts';
import { LocalState } from '../client/open/local-state.ts';
import { openLibrary } from '../client/open/open-library.ts';
import { systemClock } from '../contract/clock.ts';
import { asText } from '../contract/json-values.ts';
import { directoryOptions, uploadOptions } from './arguments.ts';
import { createAssets } from './assets.ts';
import { assertOptions, type ClientParts, createRunner, ErrorConverter, toNotice } from './client-parts.ts';
import { createEmbed, createFolders, createWorkspaces } from './folders.ts';
import type * as Public from './public-types.ts';
import { MediactlError } from './public-types.ts';
import { createRequest } from './request.ts';
import { createUploader } from './uploads.ts';

export type * from './public-types.ts';
export { MediactlError };

export const createClient: typeof Public.createClient = (options) => {
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
  const warn = (message: string) => onNotice({ kind: 'warning', message });
  const state = new LocalState({
    ...{ directory: options.stateDir, clock: systemClock, signal: closing.signal, warn },
    ...{ use: 'write', reopens: true },
  });
  const opened = open(options, state, signalOf(), onNotice);
  const openFor = (call?: Public.CallOptions) =>
    opened.forCall({
      signal: signalOf(call),
      onNotice: (notice) => notify(call)(toNotice(notice)),
      onChangeNotice: (notice) => notify(call)({ kind: 'warning', message: describeNotice(notice) }),
    });
  const { ended, ...runner } = createRunner(errors, signalOf, openFor);
  const parts: ClientParts = { options, state, errors, signalOf, notify, openFor, ...runner };
  const uploader = createUploader(parts);
  let closed: Promise<void> | undefined;
  return {
    assets: createAssets(parts),
    folders: createFolders(parts),
    workspaces: createWorkspaces(parts),
    embed: createEmbed(parts),
    request: createRequest(parts),
    upload: (path, call) => parts.run(call, () => uploader.upload(path, call), uploadOptions),
    uploadDirectory: (path, call) => parts.iterate(call, () => uploader.uploadDirectory(path, call), directoryOptions),
    get rateLimit() {
      const budget = opened.api.transport.connection.rateLimiter.budget;
      return budget && { limit: budget.limit, remaining: budget.left, resetsAt: new Date(budget.resetAt) };
    },
    close: () => {
      closed ??= (async () => {
        closing.abort(errors.toPublic(new CodedError('the client was closed', { code: 'interrupted' })));
        await Promise.all([ended(), uploader.ended()]);
        await state.close();
        await opened.api.transport.close();
      })();
      return closed;
    },
  };
};

/** Opens the library of a client. It sends no request yet. */
const open = (
  options: Public.ClientOptions,
  state: LocalState,
  signal: AbortSignal,
  onNotice: (notice: Public.Notice) => void,
) =>
  openLibrary(
    { baseUrl: new URL(options.baseUrl), apiKey: options.apiKey, names: options.fieldNames },
    {
      clock: systemClock,
      userAgent: userAgentOf(options),
      requestTimeoutMs: options.requestTimeoutMs ?? 30_000,
      maxWaitMs: options.maxWaitMs ?? 60_000,
      proxy: options.proxy,
      signal,
      onNotice: (notice) => onNotice(toNotice(notice)),
      state,
      keepsHistory: options.history ?? false,
      profile: 'library',
      ports: {
        workspaceChoice: async () => workspaceChoice(options),
        onChangeNotice: (notice) => onNotice({ kind: 'warning', message: describeNotice(notice) }),
      },
    },
  );

const userAgentOf = ({ userAgent }: Public.ClientOptions) =>
  `mediactl/${packageJson.version} (library)${userAgent ? ` ${userAgent}` : ''}`;

/** Returns the workspace that the options choose. */
const workspaceChoice = ({ workspace, primaryWorkspace }: Public.ClientOptions): WorkspaceChoice => ({
  configured: workspace,
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

function describeNotice(notice: ChangeNotice): string {
  if (notice.kind === 'unverifiable') return `the service does not show whether it changed ${notice.fields.join(', ')}`;
  const { message, explanation } = notice.error;
  const missing = notice.kind === 'receipts_not_updated' ? 'the receipts do' : 'the history does';
  return `${message}${explanation.reason ? ` (${explanation.reason})` : ''}: ${missing} not have this change`;
}
