import type { Credits } from './credits.ts';
import type { Faults } from './faults/faults.ts';
import type { Files } from './files.ts';
import type { PlayerOptions } from './options.ts';
import type { RateLimiter } from './rate-limiter.ts';
import type { Answers } from './routes/answers.ts';
import type { Signer } from './signing.ts';
import type { Assets } from './store/assets.ts';
import type { Embeds } from './store/embed-settings.ts';
import type { Folders } from './store/folders.ts';
import type { Keys } from './store/keys.ts';
import type { Sessions } from './store/sessions.ts';
import type { Workspaces } from './store/workspaces.ts';
import type { Receiver } from './uploads/receiver.ts';
import type { SessionClock } from './uploads/session-clock.ts';

/** What the routes are handed. */
export type Service = {
  assets: Assets;
  keys: Keys;
  sessions: Sessions;
  workspaces: Workspaces;
  folders: Folders;
  embeds: Embeds;
  files: Files;
  signer: Signer;
  receiver: Receiver;
  sessionClock: SessionClock;
  rateLimiter: RateLimiter;
  /** All or nothing in the store. */
  transaction(work: () => void): void;
  /** §8: "Maximum allowed upload size: value not shown." */
  maxUploadBytes: number;
  /** Bytes that all assets may take together. */
  storageBytes: number;
  credits: Credits;
  player: PlayerOptions;
  playerScript: string;
  /** What the page of the library answers; undefined for what is nothing of it. */
  page(request: Request): Promise<Response | undefined>;
  /** What is asked to go wrong. */
  faults: Faults;
  /** Whether answers keep to what the specification shows. */
  isStrict: boolean;
  /** How an answer is said: in full, or as the specification names it. */
  answers: Answers;
  now(): number;
  /** The time of now() in ISO 8601, as records have it. */
  timestamp(): string;
  /** Milliseconds. */
  sessionLifetimeMs: number;
  playbackLifetimeMs: number;
  /** Origin under which clients reach it. */
  publicUrl(): string;
  log(line: string): void;
  /** Told by /health, so that nobody takes another process for this one. */
  pid: number;
  /** What processing is helped by, and what assets go without. */
  tools: { ffmpeg: string | null; pdftoppm: string | null };
  leftOut: readonly string[];
};
