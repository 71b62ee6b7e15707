const { mkdirSync, statSync } = require('node:fs');
const { dirname, join } = require('node:path');

/** Returns true if only this user can write to it. Windows has no file modes: user profiles are private there. */
const isOursAlone = ({ uid, mode }) =>
  process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);

/**
 * Returns the folder of the compile cache. Cached code is executed with access to the API key, so the
 * folder must be writable by this user only; others could inject code into a shared one.
 *
 * @returns undefined if no folder is safe: every run compiles
 */
function cacheFolder() {
  try {
    const home = process.env.HOME || require('node:os').homedir();
    const folder = join(process.env.XDG_CACHE_HOME || join(home, '.cache'), 'mediactl');
    const found = statSync(folder, { throwIfNoEntry: false }) ?? made(folder);
    return isOursAlone(found) ? folder : undefined;
  } catch {
    return undefined; // a read-only home
  }
}

function made(folder) {
  for (const each of [dirname(folder), folder])
    if (!statSync(each, { throwIfNoEntry: false })) mkdirSync(each, { mode: 0o700 });
  return statSync(folder);
}

/** Returns an argument if it can be a command, else `-`: the name of its part of the cache. */
const wordOf = (argument = '') => (/^_*[a-z]{2,12}$/.test(argument) ? argument : '-');

module.exports = { cacheFolder, isOursAlone, wordOf };
