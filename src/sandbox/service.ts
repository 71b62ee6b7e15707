import type { Credits } from './credits.ts';
import type { Faults } from './faults/faults.ts';
import type { Files } from './files.ts';
import type { PlayerOptions } from './options.ts';
import type { ResponseSchemas } from './routes/response-schemas.ts';
import type { Signer } from './signing.ts';
import type { ApiKeys } from './store/api-keys.ts';
import type { Assets } from './store/assets.ts';
import type { EmbedRestrictions } from './store/embed-settings.ts';
import type { WorkspaceFolders } from './store/folders.ts';
import type { UploadSessions } from './store/sessions.ts';
import type { Workspaces } from './store/workspaces.ts';
import type { Receiver } from './uploads/receiver.ts';
import type { SessionSweeper } from './uploads/session-sweeper.ts';
import type { WindowRateLimiter } from './window-rate-limiter.ts';

/** Dependencies of all routes. */
export type Service = {
  assets: Assets;
  keys: ApiKeys;
  sessions: UploadSessions;
  workspaces: Workspaces;
  folders: WorkspaceFolders;
  embeds: EmbedRestrictions;
  files: Files;
  signer: Signer;
  receiver: Receiver;
  sessionSweeper: SessionSweeper;
  rateLimiter: WindowRateLimiter;
  /** Runs `work` in a database transaction. */
  transaction(work: () => void): void;
  /** Maximum upload size in bytes (§8: "Maximum allowed upload size: value not shown."). */
  maxUploadBytes: number;
  /** Storage quota of all assets in bytes. */
  storageBytes: number;
  credits: Credits;
  player: PlayerOptions;
  playerScript: string;
  /** Handles a request for the library page; returns undefined if the path is not part of that page. */
  servePage(request: Request): Promise<Response | undefined>;
  faults: Faults;
  /** True if responses contain only the fields that the specification names. */
  isStrict: boolean;
  /** Schemas that serialize responses, either complete or limited to the specification's fields. */
  responseSchemas: ResponseSchemas;
  now(): number;
  /** Returns the current time in ISO 8601, as stored in the database. */
  timestamp(): string;
  sessionLifetimeMs: number;
  playbackLifetimeMs: number;
  /** Returns the origin at which clients reach the service. */
  publicUrl(): string;
  log(line: string): void;
  /** Process id, which /health reports so that clients can detect another process on the same port. */
  pid: number;
  /** Paths of optional programs (null if missing), and the features that are unavailable without them. */
  tools: { ffmpeg: string | null; pdftoppm: string | null };
  missingFeatures: readonly string[];
};
