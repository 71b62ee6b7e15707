import { systemClock } from '../shared/clock.ts';
import { Credits } from './credits.ts';
import { Faults } from './faults/faults.ts';
import { Files } from './files.ts';
import { describeTools, listMissingFeatures } from './media/ffmpeg/find-tools.ts';
import { Processor } from './media/processor.ts';
import { defaults, type SandboxOptions } from './options.ts';
import { responseSchemas } from './routes/response-schemas.ts';
import { Signer } from './signing.ts';
import { ApiKeys } from './store/api-keys.ts';
import { Assets } from './store/assets.ts';
import { WorkspaceFolders } from './store/folders.ts';
import type { SandboxStore } from './store/sandbox-store.ts';
import { UploadSessions } from './store/sessions.ts';
import { Workspaces } from './store/workspaces.ts';
import { Receiver } from './uploads/receiver.ts';
import { WindowRateLimiter } from './window-rate-limiter.ts';

export type Service = ReturnType<typeof createService>;

export function createService(options: SandboxOptions, store: SandboxStore) {
  const { dataDir, now = Date.now, log = () => {}, ffmpeg, pdftoppm, killGroup } = options;
  const tools = { ffmpeg, pdftoppm };
  log(describeTools(tools));
  const timestamp = () => new Date(now()).toISOString();
  const files = new Files(dataDir);
  const assets = new Assets(store);
  const sessions = new UploadSessions(store);
  const faults = new Faults(options.faults ?? [], log);
  const tool = (path: string | undefined) => (path === undefined ? undefined : { path, killGroup });
  const credits = new Credits(options.credits ?? Number.POSITIVE_INFINITY);
  const processor = new Processor({
    files,
    assets,
    credits,
    timestamp,
    log,
    clock: options.clock ?? systemClock,
    inspector: { node: { path: options.node, killGroup }, worker: options.mediaWorker },
    tools: { ffmpeg: tool(ffmpeg), pdftoppm: tool(pdftoppm) },
  });
  return {
    store,
    files,
    assets,
    sessions,
    faults,
    processor,
    now,
    log,
    keys: new ApiKeys(store),
    workspaces: new Workspaces(store),
    folders: new WorkspaceFolders(store),
    signer: new Signer(dataDir),
    receiver: new Receiver({ files, sessions, now, onComplete: (assetUid) => processor.enqueue(assetUid) }),
    rateLimiter: new WindowRateLimiter(options.rateLimit ?? defaults.rateLimit),
    credits,
    /** Returns the current time in ISO 8601, as stored in the database. */
    timestamp,
    /** Origin at which clients reach the service; empty until it listens. */
    origin: '',
    /** Maximum upload size in bytes (§8: "Maximum allowed upload size: value not shown."). */
    maxUploadBytes: options.maxUploadBytes ?? Number.POSITIVE_INFINITY,
    storageBytes: options.storageBytes ?? Number.POSITIVE_INFINITY,
    sessionLifetimeMs: (options.sessionSeconds ?? defaults.sessionSeconds) * 1000,
    playbackLifetimeMs: (options.playbackSeconds ?? defaults.playbackSeconds) * 1000,
    player: { autoPlay: options.autoPlay ?? false, theme: options.theme ?? defaults.theme },
    watchScripts: options.watchScripts,
    isStrict: options.strict ?? false,
    responseSchemas: responseSchemas(options.strict ?? false),
    /** Process id, which /health reports so that clients can detect another process on the same port. */
    pid: options.pid,
    /** Paths of optional programs (null if missing), and the features that are unavailable without them. */
    tools: { ffmpeg: ffmpeg ?? null, pdftoppm: pdftoppm ?? null },
    missingFeatures: listMissingFeatures(tools),
  };
}
