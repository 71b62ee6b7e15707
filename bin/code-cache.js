const fs = require('node:fs');
const { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } = fs;
const { basename, join } = require('node:path');
const { Script } = require('node:vm');
const { version } = require('../package.json');

/**
 * Runs a bundle and what it lazily requires from its folder, each with V8's code cache. A cache that
 * V8 refuses (another version, other flags), that is missing or that cannot be written costs its
 * speed, nothing else.
 */
module.exports = function run(folder, entry) {
  const cacheFolder = join(
    process.env.XDG_CACHE_HOME || join(process.env.HOME || require('node:os').homedir(), '.cache'),
    'mediactl',
  );
  const fresh = [];

  function load(name) {
    const file = join(folder, name);
    const { mtimeMs, size } = statSync(file);
    // V8 itself compares little more than the length, so the name tells what was compiled.
    const build = `${version}-${size}-${Math.trunc(mtimeMs)}-${process.version}`;
    const cache = join(cacheFolder, `${name}-${build}.v8`);
    const cachedData = read(cache);
    const head = '(function (exports, require, module, __filename, __dirname) { ';
    const source = `${head}${readFileSync(file, 'utf8')}\n})`;
    const script = new Script(source, { filename: file, columnOffset: -head.length, cachedData });
    if (!cachedData || script.cachedDataRejected) fresh.push([script, cache]);
    const loaded = { exports: {} };
    modules.set(name, loaded);
    const requirePart = (id) =>
      id.startsWith('./') ? (modules.get(id.slice(2)) ?? load(id.slice(2))).exports : require(id);
    script.runInThisContext()(loaded.exports, requirePart, loaded, file, folder);
    return loaded;
  }

  const modules = new Map();
  load(entry);
  // At the end, so that the cache holds the functions that this run came to need.
  process.once('exit', () => {
    for (const [script, cache] of fresh) write(cacheFolder, cache, script.createCachedData());
  });
};

function read(path) {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

function write(folder, path, data) {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const temporary = `${path}.${process.pid}`;
    writeFileSync(temporary, data, { mode: 0o600 });
    renameSync(temporary, path);
    const bundle = basename(path).replace(/\.cjs-.*/, '.cjs-');
    for (const name of readdirSync(folder)) // what older builds left
      if (name.startsWith(bundle) && name !== basename(path)) rmSync(join(folder, name));
  } catch {
    // A read-only home: every run compiles.
  }
}
