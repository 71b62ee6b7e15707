/**
 * Error for an invalid command-line argument: the process exits with code 2 before it starts
 * anything.
 */
export class ArgumentError extends Error {}
