import { z } from 'zod';
import { playbackHours, requestsPerHour, sandboxDefaults, sessionHours } from '../contract/limits.ts';
import type { ConnectionLimits } from '../shared/bounded-server.ts';
import type { Clock } from '../shared/clock.ts';
import { parseJsonOrUndefined } from '../shared/json-values.ts';
import type { WatchScripts } from '../web/watch/server/page.ts';

const count = z.int().nonnegative();
const seconds = z.number().nonnegative();

/** Options that `mediactl sandbox start` sets: the argument of the sandbox process, as JSON. */
const startOptions = z.strictObject({
  /** Data folder, which is created if it does not exist. */
  dataDir: z.string().min(1),
  /** Log file; without one, the log goes to stdout. */
  logPath: z.string().optional(),
  /** TCP port; 0 picks any free port. */
  port: count.max(65_535).optional(),
  /** Maximum number of requests per window for each API key or playback token (§8). */
  rateLimit: z.strictObject({ limit: count, windowSeconds: z.number().positive() }).optional(),
  /** Maximum upload size; larger uploads are rejected with 413. By default, only the disk limits it. */
  maxUploadBytes: count.optional(),
  /** Storage quota in bytes for all assets, including the trash; uploads beyond it get 507. */
  storageBytes: count.optional(),
  /** Initial credit balance (§1), unlimited by default; see `credits.ts`. */
  credits: count.optional(),
  /** Lifetime of upload sessions in seconds (§8). */
  sessionSeconds: seconds.optional(),
  /** Lifetime of playback tokens and signed URLs in seconds (§8). */
  playbackSeconds: seconds.optional(),
  /** Faults to inject, such as `cut-after=20MiB,times=2`; see `faults/parse.ts` for the syntax. */
  faults: z.array(z.string()).readonly().optional(),
  /** True to limit responses to the fields that the specification names. */
  strict: z.boolean().optional(),
  /** Number of sample assets to generate if the data folder is empty. */
  seed: count.optional(),
  /** Behavior and appearance of players, returned as `player_config` (§2 Player data). */
  autoPlay: z.boolean().optional(),
  theme: z.enum(['light', 'dark']).optional(),
});
export type StartOptions = z.infer<typeof startOptions>;

/** Parses the argument of the sandbox process. @throws ArgumentError with a one-line message */
export function parseStartOptions(json = ''): StartOptions {
  const { success, data, error } = startOptions.safeParse(parseJsonOrUndefined(json));
  if (success) return data;
  const problems = error.issues.map(({ path, message }) => [...path, message].join(': '));
  throw new ArgumentError(`the argument is not the options of a sandbox as JSON: ${problems.join('; ')}`);
}

export type SandboxOptions = Omit<StartOptions, 'logPath'> & {
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
  watchScripts: WatchScripts;
  /** Clock that returns milliseconds since the Unix epoch; defaults to the system clock. */
  now?: () => number;
  log?: (line: string) => void;
};

export const defaults = {
  ...sandboxDefaults,
  rateLimit: { limit: requestsPerHour, windowSeconds: 3600 },
  sessionSeconds: sessionHours * 3600,
  playbackSeconds: playbackHours * 3600,
} as const;

/** Error for an invalid argument or environment variable; the process exits with code 2 before anything is started. */
export class ArgumentError extends Error {}
