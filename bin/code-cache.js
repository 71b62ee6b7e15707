const fs = require('node:fs');
const { readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } = fs;
const { basename, join } = require('node:path');
const { Script } = require('node:vm');
const { version } = require('../package.json');
const { isOursAlone } = require('./cache-folder.js');

/** Retention of cache files of other installs; an install still in use recreates them. */
const keptMs = 30 * 24 * 60 * 60 * 1000;

/**
 * Runs a bundle and the files that it lazily requires, each with V8's code cache. A cache that is
 * missing, rejected by V8 (another version, other flags) or not writable only makes the start slower.
 */
module.exports = function run(folder, entry, cacheFolder) {
  const fresh = [];
  const { dev, ino } = statSync(folder); // installs of one version share the cache folder
  const place = `${dev.toString(36)}.${ino.toString(36)}`;

  function load(name) {
    const file = join(folder, name);
    const { mtimeMs, size } = statSync(file);
    // V8 checks little more than the length, so the file name identifies the compiled source.
    const build = `${version}-${size}-${Math.trunc(mtimeMs)}-${process.version}`;
    const cache = join(cacheFolder, `${name}-${place}-${build}.v8`);
    const cachedData = read(cache);
    const head = '(function (exports, require, module, __filename, __dirname) { ';
    const source = `${head}${readFileSync(file, 'utf8')}\n})`;
    const script = new Script(source, { filename: file, columnOffset: -head.length, cachedData });
    if (!cachedData || script.cachedDataRejected) fresh.push({ script, cache, older: `${name}-${place}-` });
    const loaded = { exports: {} };
    modules.set(name, loaded);
    const requirePart = (id) =>
      id.startsWith('./') ? (modules.get(id.slice(2)) ?? load(id.slice(2))).exports : require(id);
    script.runInThisContext()(loaded.exports, requirePart, loaded, file, folder);
    return loaded;
  }

  const modules = new Map();
  load(entry);
  // Written on exit, so that the cache contains the functions that this run has compiled.
  process.once('exit', () => {
    if (fresh.length > 0) keep(fresh, cacheFolder);
  });
};

function read(path) {
  try {
    return isOursAlone(statSync(path)) ? readFileSync(path) : undefined;
  } catch {
    return undefined;
  }
}

function keep(fresh, folder) {
  try {
    for (const { script, cache } of fresh) {
      const temporary = `${cache}.${process.pid}`;
      writeFileSync(temporary, script.createCachedData(), { mode: 0o600 });
      renameSync(temporary, cache);
    }
    const isNew = (name) => fresh.some(({ cache }) => basename(cache) === name);
    const isOlder = (name) => fresh.some(({ older }) => name.startsWith(older));
    const since = Date.now() - keptMs;
    const ours = readdirSync(folder).filter((name) => /\.v8(\.\d+)?$/.test(name));
    for (const name of ours.filter((each) => !isNew(each)))
      if (isOlder(name) || statSync(join(folder, name)).mtimeMs < since) rmSync(join(folder, name), { force: true });
  } catch {
    // A full disk, or a race with another run that cleans up: the next run compiles.
  }
}
