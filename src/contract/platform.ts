import { sep } from 'node:path';

/** True on Windows, where file modes say nothing, and there are neither process groups nor /bin/sh. */
export const isWindows = sep === '\\';
