/** What this program was told cannot be: its process ends with 2, and nothing was started. */
export class ArgumentError extends Error {}
