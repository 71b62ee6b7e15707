import type { ConnectionLimits } from './bounded-server.ts';

/** Appearance and behavior of players: `player_config` (§2 Player data). */
export type PlayerOptions = { autoPlay: boolean; theme: Theme };

export const themes = ['light', 'dark'] as const;
export type Theme = (typeof themes)[number];

/** Options of a sandbox. All but the data folder have defaults. */
export type SandboxOptions = {
  /** Data folder; created if missing. */
  dataDir: string;
  /** TCP port; 0 picks any free port. */
  port?: number;
  /** Maximum requests per window and key (§8). */
  rateLimit?: { limit: number; windowSeconds: number };
  /** Maximum upload size; larger uploads get 413. By default limited only by the disk. */
  maxUploadBytes?: number;
  /** Storage quota of all assets in bytes, including the trash; beyond it, 507. */
  storageBytes?: number;
  /** Credit balance (§1), unlimited by default; see `credits.ts`. */
  credits?: number;
  /** Lifetime of upload sessions in seconds (§8: 24 hours). */
  sessionSeconds?: number;
  /** Lifetime of playback tokens and signed URLs in seconds (§8: 4 hours). */
  playbackSeconds?: number;
  /** Faults to inject, in the syntax of `faults/parse.ts`: `cut-after=20MiB,times=2`. */
  faults?: readonly string[];
  /** Limits responses to the fields that the specification names. */
  strict?: boolean;
  /** Number of generated sample assets for an empty data folder. */
  seed?: number;
  /** Timeouts and limits of connections; see `bounded-server.ts`. */
  connectionLimits?: Partial<ConnectionLimits>;
  /** Process id, for /health. */
  pid: number;
  /** Path of the media worker's script. */
  mediaWorker: string;
  /** Path of Node.js. */
  node: string;
  /** Path of ffmpeg; undefined disables the features that need it. */
  ffmpeg?: string | undefined;
  /** Path of pdftoppm; undefined if missing. */
  pdftoppm?: string | undefined;
  /** Timeout of each tool run in seconds; by default each kind of run has its own. */
  toolSeconds?: number | undefined;
  /** Kills a process group by its leader's pid; ignores one that has already exited. */
  killGroup(leader: number): void;
  /** Source of the scripts of the watch page and the library page. */
  playerScript: string;
  browseScript: string;
  /** Called when a browser has used a one-time page URL. */
  onPageEntered?: () => void;
  player?: PlayerOptions;
  /** Clock in milliseconds since the epoch; defaults to the system clock. */
  now?: () => number;
  /** Called with one line per event. */
  log?: (line: string) => void;
};

export const defaults = {
  port: 4520,
  rateLimit: { limit: 1000, windowSeconds: 3600 },
  sessionSeconds: 24 * 3600,
  playbackSeconds: 4 * 3600,
  player: { autoPlay: false, theme: 'dark' },
} as const;
