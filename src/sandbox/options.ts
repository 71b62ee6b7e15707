import type { Bounds } from './bounds.ts';

/** How players look and begin: `player_config` (§2 Player data). */
export type PlayerOptions = { autoPlay: boolean; theme: Theme };

export const themes = ['light', 'dark'] as const;
export type Theme = (typeof themes)[number];

/** How a sandbox runs. Everything has a default but the folder. */
export type SandboxOptions = {
  /** Where everything is kept; made if missing. */
  dataDir: string;
  /** 0 takes any free port. */
  port?: number;
  /** §8: requests per window and key. */
  rateLimit?: { limit: number; windowSeconds: number };
  /** Larger uploads are 413; as large as the disk unless told otherwise. */
  maxUploadBytes?: number;
  /** Bytes that all assets may take together, those in the trash included; past it, 507. */
  storageBytes?: number;
  /** §1: the credit balance; unlimited unless told. What draws on it is in `credits.ts`. */
  credits?: number;
  /** Upload sessions live this long (§8: 24 hours). */
  sessionSeconds?: number;
  /** Playback tokens and signed URLs live this long (§8: 4 hours). */
  playbackSeconds?: number;
  /** Faults on demand, as `faults/parse.ts` reads them: `cut-after=20MiB,times=2`. */
  faults?: readonly string[];
  /** Answers carry only what the specification shows. */
  strict?: boolean;
  /** Fills a folder without assets with so many that are made up. */
  seed?: number;
  /** What connections may cost; see `bounds.ts`. */
  bounds?: Partial<Bounds>;
  /** Of this process; told by /health. */
  pid: number;
  /** The built media worker. */
  mediaWorker: string;
  /** Path of Node.js, which runs it. */
  node: string;
  /** Path of ffmpeg; undefined for none, and without what only it can make. */
  ffmpeg?: string | undefined;
  /** Path of pdftoppm; undefined for none. */
  pdftoppm?: string | undefined;
  /** Seconds that a tool may take for any one thing; each has a limit of its own unless told. */
  toolSeconds?: number | undefined;
  /** Ends a process and every one it started, by the id of the first; it may be gone. */
  killGroup(leader: number): void;
  /** The built scripts of the watch page, and of the page of the library: their text. */
  playerScript: string;
  browseScript: string;
  /** Called when somebody used a `pageAddress`. */
  onPageEntered?: () => void;
  player?: PlayerOptions;
  /** The clock, in milliseconds since the epoch; the machine's by default. */
  now?: () => number;
  /** One line an event. */
  log?: (line: string) => void;
};

export const defaults = {
  port: 4520,
  rateLimit: { limit: 1000, windowSeconds: 3600 },
  sessionSeconds: 24 * 3600,
  playbackSeconds: 4 * 3600,
  player: { autoPlay: false, theme: 'dark' },
} as const;
