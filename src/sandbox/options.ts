import type { ConnectionLimits } from '../contract/bounded-server.ts';
import type { Clock } from '../contract/clock.ts';

/** Appearance and behavior of players, returned as `player_config` (§2 Player data). */
type PlayerOptions = { autoPlay: boolean; theme: Theme };

export const themes = ['light', 'dark'] as const;
export type Theme = (typeof themes)[number];

export type SandboxOptions = {
  /** Data folder, which is created if it does not exist. */
  dataDir: string;
  /** TCP port; 0 picks any free port. */
  port?: number;
  /** Maximum number of requests per window for each API key or playback token (§8). */
  rateLimit?: { limit: number; windowSeconds: number };
  /** Maximum upload size; larger uploads are rejected with 413. By default, only the disk limits it. */
  maxUploadBytes?: number;
  /** Storage quota in bytes for all assets, including the trash; uploads beyond it get 507. */
  storageBytes?: number;
  /** Initial credit balance (§1), unlimited by default; see `credits.ts`. */
  credits?: number;
  /** Lifetime of upload sessions in seconds (§8: 24 hours). */
  sessionSeconds?: number;
  /** Lifetime of playback tokens and signed URLs in seconds (§8: 4 hours). */
  playbackSeconds?: number;
  /** Faults to inject, such as `cut-after=20MiB,times=2`; see `faults/parse.ts` for the syntax. */
  faults?: readonly string[];
  /** True to limit responses to the fields that the specification names. */
  strict?: boolean;
  /** Number of sample assets to generate if the data folder is empty. */
  seed?: number;
  connectionLimits?: Partial<ConnectionLimits>;
  /** Process id, reported by /health. */
  pid: number;
  /** Paths of the media worker's script and of the Node.js executable. */
  mediaWorker: string;
  node: string;
  /** Paths of optional programs; undefined disables the features that need them. */
  ffmpeg?: string | undefined;
  pdftoppm?: string | undefined;
  /** Clock for timeouts and retries of media processing; defaults to the system clock. */
  clock?: Pick<Clock, 'sleep'>;
  /** Kills the process group with this leader pid; does nothing if the group has already exited. */
  killGroup(leader: number): void;
  /** Source code of the script for the watch page. */
  playerScript: string;
  player?: PlayerOptions;
  /** Clock that returns milliseconds since the Unix epoch; defaults to the system clock. */
  now?: () => number;
  log?: (line: string) => void;
};

export const defaults = {
  port: 4520,
  rateLimit: { limit: 1000, windowSeconds: 3600 },
  sessionSeconds: 24 * 3600,
  playbackSeconds: 4 * 3600,
  player: { autoPlay: false, theme: 'dark' },
} as const;

/** Error for an invalid argument or environment variable; the process exits with code 2 before anything is started. */
export class ArgumentError extends Error {}
