const { mkdirSync, statSync } = require('node:fs');
const { dirname, join } = require('node:path');

/** Made by this user, and nobody else may write there. Windows has no such modes: a profile is its user's own. */
const isOursAlone = ({ uid, mode }) =>
  process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);

/**
 * Where compiled code is kept between runs: what is found there is run, with the key at hand, so it is
 * a folder of this user alone. A cache folder or a home that many share would let others in.
 *
 * @returns undefined where there is none to be trusted: every run compiles
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

module.exports = { cacheFolder, isOursAlone };
