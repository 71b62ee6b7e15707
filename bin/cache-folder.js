const { lstatSync, mkdirSync, realpathSync, statSync } = require('node:fs');
const { dirname, isAbsolute, join } = require('node:path');

/** Returns true if only this user can write to it. Windows has no file modes: user profiles are private there. */
const isOursAlone = ({ uid, mode }) =>
  process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);

/** Mode bit of a folder such as /tmp, in which nobody can replace what belongs to another user. */
const sticky = 0o1000;

/** Returns true if only this user and root can replace a folder: it and all folders above it are closed to others. */
function isClosedToOthers(path) {
  if (process.getuid === undefined) return true;
  const { uid, mode } = lstatSync(path);
  const isClosed = [0, process.getuid()].includes(uid) && ((mode & 0o022) === 0 || (mode & sticky) !== 0);
  return isClosed && (dirname(path) === path || isClosedToOthers(dirname(path)));
}

/**
 * Returns the real path of the compile cache. Cached code is executed with access to the API key, so nobody else may
 * write to the folder or replace it. A relative XDG_CACHE_HOME is ignored, as its specification says.
 *
 * @returns undefined if no folder is safe: every run compiles
 */
function cacheFolder() {
  try {
    const { XDG_CACHE_HOME: named = '', HOME } = process.env;
    const folder = isAbsolute(named) ? named : join(HOME || require('node:os').homedir(), '.cache');
    for (const each of [folder, join(folder, 'mediactl')])
      if (!statSync(each, { throwIfNoEntry: false })) {
        if (!isClosedToOthers(realpathSync.native(dirname(each)))) return undefined;
        mkdirSync(each, { mode: 0o700 });
      }
    const real = realpathSync.native(join(folder, 'mediactl'));
    return isOursAlone(lstatSync(real)) && isClosedToOthers(real) ? real : undefined;
  } catch {
    return undefined; // a read-only home
  }
}

/** Returns an argument if it can be a command, else `-`: the name of its part of the cache. */
const wordOf = (argument = '') => (/^_*[a-z]{2,12}$/.test(argument) ? argument : '-');

module.exports = { cacheFolder, isOursAlone, wordOf };
