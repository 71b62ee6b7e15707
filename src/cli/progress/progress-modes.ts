/** Values of --progress. `auto` shows a bar on a terminal and plain lines elsewhere. */
export const progressModes = ['auto', 'bar', 'plain', 'json', 'none'] as const;
export type ProgressMode = (typeof progressModes)[number];
