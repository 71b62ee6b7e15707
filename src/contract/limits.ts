/* Limits of the service (§8), by which the client plans, and defaults of the sandbox. The help names both. */

/** "1000 requests per hour per key by default" (§8). */
export const requestsPerHour = 1000;

/** Maximum size of an upload chunk ("Body: raw bytes, at most 50 MiB per request.", §4). */
export const maxChunkMiB = 50;

/** Time-to-live of an upload session ("sessions expire after 24 hours", §2 and §8). */
export const sessionHours = 24;

/** Lifetime of a playback token ("signed, valid 4 hours, safe to expose to a browser", §2). */
export const playbackHours = 4;

/** Defaults of the sandbox: its port, and the theme of its players. */
export const sandboxDefaults = { port: 4520, theme: 'dark' } as const;
