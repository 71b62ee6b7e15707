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
export const bun = {
  name: 'bun',
  version: '1.4.5',
  license: 'MIT',
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

/** Copies a bundle. `__dirname` is that of the executable's files, not of this machine. */
function copyBundle(name) {
  const text = readFileSync(`dist/${name}`, 'utf8');
  const names = { __dirname: root, __filename: `${root}/${name}` };
  const used = Object.entries(names).filter(([variable]) => text.includes(variable));
  write(name, `${used.map(([variable, value]) => `var ${variable}=${JSON.stringify(value)};`).join('')}${text}`);
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
  write(`${modules}/jq-web/index.js`, `var __dirname=${JSON.stringify(root)};${jq}`);
  copy(`${modules}/jq-web/jq.wasm`, 'jq.wasm');
}

/**
 * The entry. mediactl starts the sandbox, and the sandbox its media worker, as `process.execPath FILE …`, which is this
 * executable: it runs the file if it is one of its own. `--max-old-space-size` is V8's, which is not here.
 */
const entry = `
const flags = /^--max-old-space-size=/.test(process.argv[2]) ? 1 : 0;
const file = process.argv[2 + flags];
const isOwn = file === '${root}/sandbox.cjs' || file === '${root}/media-worker.cjs';
if (isOwn) process.argv.splice(1, 1 + flags);
if (!isOwn) require('./mediactl.cjs');
else if (file.endsWith('sandbox.cjs')) require('./sandbox.cjs');
else require('./media-worker.cjs');
`;

/** Builds the executable from dist/. @param target path of the file */
export function buildExecutable(target) {
  if (`${process.platform}-${process.arch}` !== 'linux-x64') throw new Error('the executable is built on linux-x64');
  rmSync(stage, { recursive: true, force: true });
  for (const name of readdirSync('dist')) if (name.endsWith('.cjs') && name !== 'generated.cjs') copyBundle(name);
  const scripts = ['player.js', 'browse.js'];
  for (const name of scripts) copy(`dist/${name}`, name);
  stagePackages();
  write('entry.cjs', entry);
  const options = ['--compile', '--bytecode', '--target=bun-linux-x64', '--asset-naming=[name].[ext]'];
  const isolation = ['--no-compile-autoload-dotenv', '--no-compile-autoload-bunfig']; // reads no file of the user's directory
  const embedded = [...scripts, 'jq.wasm'].map((name) => `--asset=./${name}`);
  const all = ['build', ...options, ...isolation, ...embedded, `--outfile=${target}`, './entry.cjs'];
  mkdirSync(dirname(target), { recursive: true });
  execFileSync(installBun(), all, { cwd: stage, stdio: ['ignore', 'ignore', 'inherit'] });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const target = resolve(process.argv[2] ?? 'dist-executable/mediactl');
  buildExecutable(target);
  process.stdout.write(`${target}: ${statSync(target).size} bytes\n`);
}
