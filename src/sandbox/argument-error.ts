/**
 * Error for an invalid argument or environment variable. It makes the process exit with code 2 before anything is
 * started.
 */
export class ArgumentError extends Error {}
