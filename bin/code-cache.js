const { closeSync, fstatSync, openSync, readFileSync, readSync, writeFileSync } = require('node:fs');
const { readdirSync, renameSync, rmSync, statSync } = require('node:fs');
const { basename, join } = require('node:path');
const { Script } = require('node:vm');
const { isOursAlone, wordOf } = require('./cache-folder.js');

/** Retention of cache files of other installs and of commands that are no longer used; a later run recreates them. */
const keptMs = 30 * 24 * 60 * 60 * 1000;
/** Number of verbs after which a noun's cache stops growing. The second word can be a file or a name instead. */
const maxVerbs = 8;
const usageError = 2;
/** The ends of the function around a bundle. */
const head = '(function (exports, require, module, __filename, __dirname) { ';
const tail = '\n})';
/** Age of a run at which it writes the cache without waiting for its end. */
const writeAfterMs = 1_000;

/**
 * Runs a bundle and the files that it lazily requires, each with V8's code cache. A cache that is
 * missing, rejected by V8 (another version, other flags) or not writable only makes the start slower.
 *
 * V8 caches the functions that a run has compiled, so each noun (`process.argv[2]`) has its own cache, which is
 * written again for each new verb. Its last line lists those verbs.
 */
module.exports = function run(folder, entry, cacheFolder) {
  const used = [];
  const { dev, ino } = statSync(folder); // installs of one version share the cache folder
  const place = `${dev.toString(36)}.${ino.toString(36)}`;
  const [noun, verb] = [process.argv[2], process.argv[3]].map((word) => wordOf(word));

  function load(name) {
    const file = join(folder, name);
    const { ctimeMs, size, source } = readWrapped(file);
    // V8 checks little more than the length, so the file name identifies the compiled source. npm sets one mtimeMs for all.
    const build = `${size}-${Math.trunc(ctimeMs)}-${process.version}`;
    const key = `${name}-${place}-${noun}`;
    const cache = join(cacheFolder, `${key}-${build}.v8`);
    const { cachedData, verbs } = read(cache);
    const script = new Script(source, { filename: file, columnOffset: -head.length, cachedData });
    const isUsable = cachedData && !script.cachedDataRejected;
    used.push({ script, cache, key, verbs: isUsable ? verbs : [] });
    const loaded = { exports: {} };
    modules.set(name, loaded);
    const requirePart = (id) =>
      id.startsWith('./') ? (modules.get(id.slice(2)) ?? load(id.slice(2))).exports : require(id);
    script.runInThisContext()(loaded.exports, requirePart, loaded, file, folder);
    return loaded;
  }

  const modules = new Map();
  load(entry);
  const write = (code) => {
    process.off('exit', write);
    const grown = used.filter(({ verbs }) => !verbs.includes(verb) && verbs.length < maxVerbs);
    if (grown.length > 0 && code !== usageError) keep(grown, verb, cacheFolder);
  };
  // Written on exit, so that the cache contains the functions that this run has compiled. A longer run writes it
  // earlier, since V8 drops the code of functions that have not run for some time, such as that of whole modules.
  process.once('exit', write);
  setTimeout(write, writeAfterMs).unref();
};

/**
 * Reads a bundle as the body of a function. Bundles are ASCII, which the build checks: to read them as UTF-8 would take five
 * times as long. To add the ends to the string would copy it once more.
 */
function readWrapped(file) {
  const descriptor = openSync(file);
  try {
    const { ctimeMs, size } = fstatSync(descriptor);
    const bytes = Buffer.allocUnsafeSlow(head.length + size + tail.length);
    bytes.latin1Write(head);
    const end = head.length + readSync(descriptor, bytes, head.length, size);
    bytes.latin1Write(tail, end);
    return { ctimeMs, size, source: bytes.latin1Slice(0, end + tail.length) };
  } finally {
    closeSync(descriptor);
  }
}

function read(path) {
  try {
    const bytes = isOursAlone(statSync(path)) ? readFileSync(path) : Buffer.alloc(0);
    const end = bytes.lastIndexOf('\n');
    if (end > 0) return { cachedData: bytes.subarray(0, end), verbs: bytes.toString('latin1', end + 1).split(' ') };
  } catch {
    // no cache yet
  }
  return { cachedData: undefined, verbs: [] };
}

function keep(grown, verb, folder) {
  try {
    for (const { script, cache, verbs } of grown) {
      const temporary = `${cache}.${process.pid}`;
      const data = [script.createCachedData(), Buffer.from(`\n${[...verbs, verb].join(' ')}`)];
      writeFileSync(temporary, Buffer.concat(data), { mode: 0o600 });
      renameSync(temporary, cache);
    }
    const isNew = (name) => grown.some(({ cache }) => basename(cache) === name);
    const isOlder = (name) => grown.some(({ key }) => name.startsWith(`${key}-`));
    const since = Date.now() - keptMs;
    const ours = readdirSync(folder).filter((name) => /\.v8(\.\d+)?$/.test(name));
    for (const name of ours.filter((each) => !isNew(each)))
      if (isOlder(name) || statSync(join(folder, name)).mtimeMs < since) rmSync(join(folder, name), { force: true });
  } catch {
    // A full disk, or a race with another run that cleans up: the next run compiles.
  }
}
