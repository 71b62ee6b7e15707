import { platform } from 'node:os';
import { sep } from 'node:path';

/** True on Windows, where file modes say nothing, and there are neither process groups nor /bin/sh. */
export const isWindows = sep === '\\';

/** True on Linux, where no program can set the time at which a file was created. */
export const isLinux = platform() === 'linux';
