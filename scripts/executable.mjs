// Builds one file that needs neither Node.js nor npm: dist-executable/mediactl, for linux-x64 with glibc, by bun's
// compiler. `node scripts/executable.mjs [FILE]`; build dist/ first. The program itself is the same as in dist/.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const stage = resolve('node_modules/.cache/executable');
/** Folder of the executable's own files at run time. */
const root = '/$bunfs/root';
/** The compiler, which is also the runtime of the executable. */
const bun = {
  name: 'bun',
  version: '1.4.5',
  license: 'MIT',
  author: 'Oven',
  sha256: 'f05d28a3862f4b84395c7fa32480b835dd47482e80b7e7a49a115227f0c06083',
};

/** Installs the compiler from npm, beside the project's dependencies: it has 100 MB, and only releases need it. */
function installBun() {
  const folder = resolve('node_modules/.cache/bun', bun.version);
  const path = join(folder, 'node_modules/@oven/bun-linux-x64/bin/bun');
  if (!existsSync(path)) {
    const options = [
      '--prefix',
      folder,
      '--no-save',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
    ];
    mkdirSync(folder, { recursive: true });
    execFileSync('npm', ['install', ...options, `@oven/bun-linux-x64@${bun.version}`], { stdio: 'inherit' });
  }
  const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex');
  if (sha256 !== bun.sha256) throw new Error(`${path} is not the compiler that was tested: sha256 ${sha256}`);
  return path;
}

const write = (name, text) => {
  mkdirSync(dirname(join(stage, name)), { recursive: true });
  writeFileSync(join(stage, name), text);
};
const copy = (from, name) => cpSync(resolve(from), join(stage, name), { recursive: true });

/** Returns code that declares the `__dirname` and `__filename` of the executable's files, not of this machine. */
const declareNames = (name) => `var __dirname='${root}',__filename='${root}/${name}';`;

function copyBundle(name) {
  const text = readFileSync(`dist/${name}`, 'utf8');
  write(name, `${/__(dir|file)name/.test(text) ? declareNames(name) : ''}${text}`);
}

/** Replaces what packages do to find their native part, which no bundler can follow, by a require of the file. */
function stagePackages() {
  const modules = 'node_modules';
  copy(`${modules}/libsql`, `${modules}/libsql`);
  const index = readFileSync(`${modules}/libsql/index.js`, 'utf8');
  const found = index.replace(
    /function requireNative\(\) \{[\s\S]*?\n\}\n/,
    () => "const requireNative = () => require('./libsql.node');\n",
  );
  if (found === index) throw new Error('libsql loads its native part in another way');
  write(`${modules}/libsql/index.js`, found.replace(/^const \{.*require\("(@neon-rs\/load|detect-libc)"\);\n/gm, ''));
  copy(`${modules}/@libsql/linux-x64-gnu/index.node`, `${modules}/libsql/libsql.node`);
  for (const name of ['blake-hash', 'keyring']) {
    const from = `${modules}/@napi-rs/${name}-linux-x64-gnu`;
    const file = readdirSync(from).find((each) => each.endsWith('.node'));
    copy(`${from}/${file}`, `${modules}/@napi-rs/${name}/${file}`);
    write(`${modules}/@napi-rs/${name}/index.js`, `module.exports = require('./${file}');`);
  }
  const jq = readFileSync(`${modules}/jq-web/jq.js`, 'utf8');
  // Without both names, the compiler would write the path of this folder in their place.
  write(`${modules}/jq-web/index.js`, `${declareNames('jq.js')}${jq}`);
  copy(`${modules}/jq-web/jq.wasm`, 'jq.wasm');
}

/**
 * The entry. mediactl starts the sandbox and the keychain process, and the sandbox its media worker, as
 * `process.execPath FILE …`, which is this executable: it runs the file if it is one of its own. `--max-old-space-size`
 * is V8's, which is not here.
 */
const entry = `
const flags = /^--max-old-space-size=/.test(process.argv[2]) ? 1 : 0;
const programs = {
  '${root}/sandbox.cjs': () => require('./sandbox.cjs'),
  '${root}/media-worker.cjs': () => require('./media-worker.cjs'),
  '${root}/keychain.cjs': () => require('./keychain.cjs'),
};
const own = Object.hasOwn(programs, process.argv[2 + flags] ?? '') && programs[process.argv[2 + flags]];
if (own) process.argv.splice(1, 1 + flags);
(own || (() => require('./mediactl.cjs')))();
`;

/**
 * Builds the executable from dist/. The same dist/ makes the same bytes in any folder, if the file has the same name.
 * @param target path of the file
 */
export function buildExecutable(target) {
  if (`${process.platform}-${process.arch}` !== 'linux-x64') throw new Error('the executable is built on linux-x64');
  rmSync(stage, { recursive: true, force: true });
  for (const name of readdirSync('dist')) if (name.endsWith('.cjs') && name !== 'generated.cjs') copyBundle(name);
  const scripts = ['player.js', 'hls.js', 'browse.js'];
  for (const name of scripts) copy(`dist/${name}`, name);
  stagePackages();
  write('entry.cjs', entry);
  const options = ['--compile', '--bytecode', '--target=bun-linux-x64', '--asset-naming=[name].[ext]'];
  const isolation = ['--no-compile-autoload-dotenv', '--no-compile-autoload-bunfig']; // reads no file of the user's directory
  const embedded = [...scripts, 'jq.wasm'].map((name) => `--asset=./${name}`);
  const all = ['build', ...options, ...isolation, ...embedded, `--outfile=${target}`, './entry.cjs'];
  mkdirSync(dirname(target), { recursive: true });
  // The environment of the build would change the code: bun reads NODE_ENV, and settings in HOME.
  const env = { PATH: process.env.PATH, HOME: stage };
  execFileSync(installBun(), all, { cwd: stage, env, stdio: ['ignore', 'ignore', 'inherit'] });
  if (readFileSync(target).includes(stage)) throw new Error(`${target} contains the path of the folder of its build`);
}

/** Entries of `process.versions` that are not code in the runtime, but names of interfaces and of what it replaces. */
const notLinked = ['node', 'bun', 'openssl', 'v8', 'uv', 'napi', 'modules', 'unicode', 'typescript'];

/** Returns the runtime for the SBOM, with the libraries that are linked into it. */
export function runtimeComponent() {
  const stdout = execFileSync(installBun(), ['-p', 'JSON.stringify(process.versions)'], { encoding: 'utf8' });
  const linked = Object.entries(JSON.parse(stdout)).filter(([name]) => !notLinked.includes(name));
  return { ...bun, parts: linked.map(([name, version]) => ({ name, version })) };
}

/** Returns the licenses of what the executable contains and the bundles of dist/ do not, in the form of that file. */
export function embeddedLicenses() {
  const modules = 'node_modules';
  const packages = ['@napi-rs/blake-hash', '@napi-rs/keyring', '@napi-rs/keyring-linux-x64-gnu', 'jq-web', 'libsql'];
  const texts = packages.map((name) => {
    const folder = `${modules}/${name}`;
    const { version } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
    const files = readdirSync(folder).filter((each) => /^licen[cs]e/i.test(each));
    if (files.length === 0) throw new Error(`${name} has no license file`);
    const text = files.map((file) => readFileSync(`${folder}/${file}`, 'utf8').trim()).join('\n\n');
    return `${name} ${version}\nSource: https://www.npmjs.com/package/${name}/v/${version}\n\n${text}\n`;
  });
  const runtime = `${bun.name} ${bun.version}
Source: https://github.com/oven-sh/bun/tree/bun-v${bun.version}

Bun is the runtime of the executable. It has the MIT license, and statically links JavaScriptCore and other parts of
WebKit, which have the GNU Library General Public License, version 2, and TinyCC, which has the GNU Lesser General Public
License, version 2.1. The licenses of these and of all other libraries in it, and how to link it again with a changed
WebKit, are in https://github.com/oven-sh/bun/blob/bun-v${bun.version}/LICENSE.md
`;
  return [...texts, runtime].map((text) => `\n${'-'.repeat(78)}\n\n${text}`).join('');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const target = resolve(process.argv[2] ?? 'dist-executable/mediactl');
  buildExecutable(target);
  process.stdout.write(`${target}: ${statSync(target).size} bytes\n`);
}
