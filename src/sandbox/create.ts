import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { type Scope, scopes } from '../contract/scopes.ts';
import type { BrowseApp } from '../web/browse/server/app.ts';
import { createApp } from './app.ts';
import { createBoundedServer } from './bounded-server.ts';
import { Credits } from './credits.ts';
import { Faults } from './faults/faults.ts';
import { Files } from './files.ts';
import { describeTools, listMissingFeatures } from './media/ffmpeg/tool-paths.ts';
import { Processor } from './media/processor.ts';
import { defaults, type SandboxOptions } from './options.ts';
import { createSandboxPage } from './page/sandbox-page.ts';
import { responseSchemas } from './routes/response-schemas.ts';
import type { Service } from './service.ts';
import { Signer } from './signing.ts';
import { ApiKeys } from './store/api-keys.ts';
import { Assets } from './store/assets.ts';
import { assertUsableDataFolder } from './store/data-folder.ts';
import { EmbedRestrictions } from './store/embed-settings.ts';
import { lockFolder } from './store/folder-lock.ts';
import { WorkspaceFolders } from './store/folders.ts';
import { SandboxStore } from './store/sandbox-store.ts';
import { seed } from './store/seed.ts';
import { UploadSessions } from './store/sessions.ts';
import { Workspaces } from './store/workspaces.ts';
import { Receiver } from './uploads/receiver.ts';
import { SessionSweeper } from './uploads/session-sweeper.ts';
import { WindowRateLimiter } from './window-rate-limiter.ts';

export type Sandbox = {
  /** Origin of the service, such as `http://127.0.0.1:4520`. */
  url: string;
  workspace: string;
  workspaceName: string;
  /** Warnings about the data folder, to be shown to the user. */
  notes: readonly string[];
  /** Creates an API key. The key is returned only once; only its hash is stored. */
  createKey(name: string, scopes?: readonly Scope[]): string;
  hasKey(key: string): boolean;
  /** Returns true if any key has been created. */
  hasKeys(): boolean;
  /** Returns a one-time URL of the library page. Only the first browser that opens it gets access. */
  createPageUrl(): string;
  /** Shuts down the service: closes connections and aborts processing. All data stays on disk. */
  close(): Promise<void>;
};

/** Starts the service, which accepts connections once the promise resolves. */
export async function createSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { dataDir, mediaWorker, pid, now = Date.now, log = () => {} } = options;
  const timestamp = () => new Date(now()).toISOString();
  const faults = new Faults(options.faults ?? [], log);
  assertUsableDataFolder(dataDir);
  const files = new Files(dataDir);
  const unlock = lockFolder(dataDir);
  const store = openStore(dataDir, unlock);
  const keys = new ApiKeys(store);
  const assets = new Assets(store);
  const workspaces = new Workspaces(store);
  const tools = { ffmpeg: options.ffmpeg, pdftoppm: options.pdftoppm };
  const missingFeatures = listMissingFeatures(tools);
  log(describeTools(tools));
  const tool = (path: string | undefined) => (path === undefined ? undefined : { path, killGroup: options.killGroup });
  const processor = new Processor({
    ...{ files, assets, now, log, limitSeconds: options.toolSeconds },
    inspector: { node: options.node, worker: mediaWorker },
    tools: { ffmpeg: tool(tools.ffmpeg), pdftoppm: tool(tools.pdftoppm) },
  });
  const sessions = new UploadSessions(store);
  const receiver: Receiver = new Receiver({
    files,
    sessions,
    onPending: () => sessionSweeper.schedule(),
    onComplete: (session) => {
      store.transaction(() => {
        sessions.complete(session.uid, timestamp());
        assets.setStatus(session.asset_uid, 'queued', timestamp());
      });
      processor.enqueue(session.asset_uid);
    },
    onExpired: (session) => {
      store.transaction(() => {
        sessions.delete(session.uid);
        assets.expire(session.asset_uid, timestamp());
      });
    },
  });
  const sessionSweeper = new SessionSweeper({ sessions, receiver, now, log });
  let origin = '';
  const service: Service = {
    assets,
    keys,
    sessions,
    workspaces,
    folders: new WorkspaceFolders(store),
    embeds: new EmbedRestrictions(store),
    files,
    signer: new Signer(dataDir),
    receiver,
    sessionSweeper,
    rateLimiter: new WindowRateLimiter(faults.find('rate-limit') ?? options.rateLimit ?? defaults.rateLimit),
    now,
    timestamp,
    sessionLifetimeMs: (options.sessionSeconds ?? defaults.sessionSeconds) * 1000,
    playbackLifetimeMs: (options.playbackSeconds ?? defaults.playbackSeconds) * 1000,
    publicUrl: () => origin,
    log,
    pid,
    tools: { ffmpeg: tools.ffmpeg ?? null, pdftoppm: tools.pdftoppm ?? null },
    missingFeatures,
    maxUploadBytes: options.maxUploadBytes ?? Number.POSITIVE_INFINITY,
    storageBytes: options.storageBytes ?? Number.POSITIVE_INFINITY,
    credits: new Credits(options.credits ?? Number.POSITIVE_INFINITY),
    player: options.player ?? defaults.player,
    playerScript: options.playerScript,
    faults,
    isStrict: options.strict ?? false,
    responseSchemas: responseSchemas(options.strict ?? false),
    transaction: (work) => store.transaction(work),
    servePage: async (request) => page?.handle(request),
  };
  let page: BrowseApp | undefined; // created after listening, when the origin is known
  const server = createBoundedServer(getRequestListener(createApp(service).fetch), options.connectionLimits);
  const end = async () => {
    await sessionSweeper.close();
    await processor.close();
    store.close();
    unlock();
  };
  let notes: string[];
  try {
    workspaces.seed(timestamp());
    notes = createNotes(assets.findUnknown(files.assetUids()));
    if (options.seed !== undefined) seed(store, workspaces.primary().uid, options.seed, now());
    await receiver.clearExpired(now());
    processor.resume();
    await receiver.recoverCompleted();
    sessionSweeper.schedule();
    origin = await listen(server, options.port ?? defaults.port);
    page = await createSandboxPage(service, { browse: options.browseScript, player: options.playerScript }, () =>
      options.onPageEntered?.(),
    );
  } catch (error) {
    await end();
    throw error;
  }
  return {
    url: origin,
    workspace: workspaces.primary().uid,
    workspaceName: workspaces.primary().name,
    notes,
    createKey: (name, granted = scopes) => keys.create(name, granted),
    hasKey: (key) => keys.find(key) !== undefined,
    hasKeys: () => keys.count() > 0,
    createPageUrl: () => page?.createEntryUrl() ?? origin,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await end();
    },
  };
}

function openStore(dataDir: string, unlock: () => void): SandboxStore {
  try {
    return new SandboxStore(dataDir);
  } catch (error) {
    unlock();
    throw error;
  }
}

/**
 * Returns a warning if there are asset folders that the database does not know. Deleted assets keep their row, so
 * the database must have been replaced or have lost data.
 */
const createNotes = (unknownUids: readonly string[]) =>
  unknownUids.length === 0
    ? []
    : [`sandbox.db does not know ${unknownUids.length} of the assets in media/: it was replaced, or lost what it held`];

/** Listens on the loopback interface only; returns the origin, including the port. */
function listen(server: Server, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    });
  });
}
