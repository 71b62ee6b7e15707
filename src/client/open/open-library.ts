import type { NameOverrides } from '../../contract/assumptions.ts';
import type { Clock } from '../../shared/clock.ts';
import { orAborted } from '../../shared/retry.ts';
import { Api } from '../api/api.ts';
import type { ListPorts } from '../api/assets.ts';
import type { ChangeNotice } from '../changes/change-item.ts';
import type { ChangeOutcome, LibraryWriter } from '../changes/writer.ts';
import { Transport, type TransportOptions } from '../http/transport.ts';
import type { LookupNotices } from '../library/folder-lookup.ts';
import { Library } from '../library/library.ts';
import { type WorkspaceChoice, WorkspaceInUse } from '../library/workspace-in-use.ts';
import type { LocalState } from './local-state.ts';

/** A service and a key, which is absent for playback tokens and signed URLs. */
export type ServiceKey = { baseUrl: URL; apiKey: string | undefined; names?: NameOverrides | undefined };

/** Questions, messages and caches that an interface adds to a library. */
export type LibraryPorts = {
  workspaceChoice(): Promise<WorkspaceChoice>;
  /** Drops what is cached of the folders outside of this process. @param createdCount number of folders created */
  onFoldersChanged?(createdCount: number): Promise<void>;
  /** Called with the outcome of each change of the library. */
  onChange?(outcome: ChangeOutcome): void;
  /** Returns what tells of the lookup of folders that records do not show. */
  lookupNotices?(): Promise<LookupNotices>;
  onChangeNotice(notice: ChangeNotice): void;
  /** Called with each list of assets that lacks items of its own total. */
  onGap: NonNullable<ListPorts['onGap']>;
};

export type LibraryOptions = Omit<TransportOptions, 'baseUrl' | 'apiKey'> & {
  clock: Clock;
  signal: AbortSignal;
  state: LocalState;
  /** True to record changes, so that they can be undone. */
  keepsHistory: boolean;
  /** Name of the profile, for the history. */
  profile: string | null;
  ports: LibraryPorts;
};

/** Observer of the requests of one call. */
type CallObserver = Parameters<Api['withObserver']>[0] & Partial<Pick<LibraryPorts, 'onChangeNotice'>>;

/** One account of a service, as opened by an entry point. */
export type OpenedLibrary = {
  api: Api;
  library: Library;
  /** Returns the writer, whose code is loaded when it is first asked for. */
  writer(): Promise<LibraryWriter>;
  /** Returns the same library for one call, with a signal and notices of its own, and without its cached folders. */
  forCall(observer: CallObserver): OpenedLibrary;
};

/** Creates an API client without a library. */
export const openApi = (
  { baseUrl, apiKey, names = {} }: ServiceKey,
  options: Omit<TransportOptions, 'baseUrl' | 'apiKey'>,
  ports?: ListPorts,
): Api => new Api(new Transport({ ...options, baseUrl, apiKey }), names, ports);

/** Opens a library. This is the only composition: the command line, the page, the worker and the package call it. */
export function openLibrary(
  key: ServiceKey,
  { state, keepsHistory, profile, ports, ...options }: LibraryOptions,
): OpenedLibrary {
  const { clock } = options;
  const workspaceInUse = new WorkspaceInUse(
    () => root,
    () => ports.workspaceChoice(),
  );
  const root = openApi(key, options, {
    findParentWorkspace: () => workspaceInUse.primary(),
    onGap: (gap) => ports.onGap(gap),
  });
  const compose = (api: Api, signal: AbortSignal, onNotice: LibraryPorts['onChangeNotice']): OpenedLibrary => {
    const library = new Library({
      api,
      signal,
      workspaceInUse,
      takeTurn: (turn) => state.takeTurn(turn, signal),
      onFoldersChanged: async (createdCount) => ports.onFoldersChanged?.(createdCount),
    });
    let writer: Promise<LibraryWriter> | undefined;
    const openWriter = async () => {
      const { LibraryWriter: Writer } = await import('../changes/writer.ts');
      return new Writer({
        ...{ library, clock, profile, keepsHistory, onNotice },
        onChange: (outcome) => ports.onChange?.(outcome),
        lookupNotices: async () => (await ports.lookupNotices?.()) ?? {},
        history: () => orAborted(state.history(), signal),
        receipts: () => orAborted(state.receiptsIfAny(), signal),
      });
    };
    return {
      api,
      library,
      writer: () => {
        writer ??= openWriter();
        return writer;
      },
      forCall: ({ onChangeNotice = onNotice, ...observer }) =>
        compose(root.withObserver(observer), observer.signal ?? signal, onChangeNotice),
    };
  };
  return compose(root, options.signal, (notice) => ports.onChangeNotice(notice));
}
