// Bundles the sources to CommonJS: the tool (bundles.mjs), its keychain process, the sandbox, its media worker, the generator of
// files, and the scripts for the browser. Dynamic imports become lazy requires; packages and `*.lazy.ts` become
// separate files, so that a command does not parse code that it does not use. A lazy file must not import
// our classes, since its bundle contains copies of its imports (checked by test/architecture).
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, relative } from 'node:path';
import { build } from 'esbuild';
import { buildProgram } from './bundles.mjs';

/** Packages with native code or WebAssembly, which are not bundled but installed beside mediactl. */
const external = ['libsql', '@napi-rs/blake-hash', '@napi-rs/keyring', 'jq-web'];

const sources = readdirSync('src', { recursive: true }).filter((path) => path.endsWith('.ts'));

/** Returns true for sources that are bundled separately with their imports: the sandbox, the pages, lazy files. */
const isPart = (path) => /^(sandbox|web)\b|\.(lazy|d)\.ts$/.test(path);

/** Packages that the tool imports lazily. */
const lazyPackages = new Set(
  sources
    .filter((path) => !isPart(path))
    .flatMap((path) => [...readFileSync(`src/${path}`, 'utf8').matchAll(/\bimport\('([^.'][^']*)'\)/g)])
    .map(([, name]) => name)
    .filter((name) => !name.startsWith('node:') && !external.includes(name)),
);

const fileOf = (name) => name.replace(/^@/, '').replaceAll('/', '-');

const lazyEntries = [
  ...sources.filter((path) => path.endsWith('.lazy.ts')).map((path) => [basename(path, '.ts'), `src/${path}`]),
  ...[...lazyPackages].map((name) => [fileOf(name), `package:${name}`]),
];
const lazyFiles = Object.fromEntries(lazyEntries);
for (const [name, path] of lazyEntries)
  if (lazyFiles[name] !== path) throw new Error(`two lazy files have the name ${name}: ${path} and ${lazyFiles[name]}`);

const lazyParts = {
  name: 'lazy-parts',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /./ }, ({ kind, path, importer }) => {
      if (kind !== 'dynamic-import') return undefined;
      if (path.endsWith('.lazy.ts')) return { path: `./${basename(path, '.ts')}.cjs`, external: true };
      const isLazy = lazyPackages.has(path) && !isPart(relative('src', importer));
      return isLazy ? { path: `./${fileOf(path)}.cjs`, external: true } : undefined;
    });
    onResolve({ filter: /^package:/ }, ({ path }) => ({ path, namespace: 'package' }));
    // require() must return the same as `import()`: the default export as `default`.
    onLoad({ filter: /./, namespace: 'package' }, ({ path }) => ({
      contents: `import * as all from '${path.slice('package:'.length)}'; export = Object(all).default ?? all;`,
      loader: 'ts',
      resolveDir: '.',
    }));
  },
};

/**
 * Replaces what packages load and a start does not need: of undici, node:http2, which is off, node:http, of which it reads a
 * limit and a class, and node:assert before an assertion fails, together 6 ms of every listing; BullMQ's store on PostgreSQL, a
 * quarter of the engine of queues; and conf's validator of schemas, of which we pass none.
 */
const replacements = {
  undici: {
    'node:http2': 'export const constants = {}',
    'node:http': 'export const maxHeaderSize = 16_384',
    'node:assert': "module.exports = (value, message) => value || require('assert')(value, message)",
  },
  bullmq: { './postgres': '' },
  conf: { 'ajv/dist/2020.js': 'export const Ajv2020 = undefined', 'ajv-formats': 'export default undefined' },
};

const withoutOptionalParts = {
  name: 'without-optional-parts',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^(?:node:(?:http2?|assert)|\.\/postgres|ajv.*)$/ }, ({ path, importer }) => {
      const name = Object.keys(replacements).find((each) => importer.includes(`/node_modules/${each}/`));
      const contents = replacements[name]?.[path];
      return contents === undefined ? undefined : { path, namespace: 'replaced', pluginData: contents };
    });
    onLoad({ filter: /./, namespace: 'replaced' }, ({ pluginData }) => ({ contents: pluginData, resolveDir: '.' }));
  },
};

/** Modules of Node that few commands need, and that take up to 5 ms each to load. */
const slowBuiltins =
  /^(?:node:)?(?:child_process|crypto|dns|dns\/promises|fs\/promises|https?|net|os|readline|stream|stream\/promises|timers\/promises|tls|tty|v8|worker_threads|zlib)$/;

/** Loads a module of Node when one of its names is used for the first time, not when the file that imports it begins. */
const lazyBuiltins = {
  name: 'lazy-builtins',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: slowBuiltins }, ({ path, kind, importer, namespace }) => {
      if (namespace === 'builtin') return { path, external: true };
      // Other CommonJS packages may call what they require.
      const isSafe = kind === 'import-statement' || importer.includes('/commander/');
      return isSafe ? { path, namespace: 'builtin' } : undefined;
    });
    onLoad({ filter: /./, namespace: 'builtin' }, ({ path }) => {
      const names = Object.keys(createRequire(import.meta.url)(path)).filter((name) => name !== 'default');
      const getters = names.map((name) => `get ${name}() { return load().${name} }`);
      // Each file that imports it would copy what it has of its own.
      const inherited = `Object.create({ ${getters.join(', ')} })`;
      return { contents: `let it; const load = () => (it ??= require('${path}')); module.exports = ${inherited}` };
    });
  },
};

/** Output folder: a temporary one, swapped in when the build is complete, so that running processes find their files. */
const outdir = 'dist.new';

const common = {
  outdir,
  bundle: true,
  minify: true,
  legalComments: 'none', // THIRD-PARTY-LICENSES.txt has the complete licenses
  metafile: true,
  logLevel: 'warning',
};

const node = {
  ...common,
  entryPoints: {
    ...lazyFiles,
    keychain: 'src/cli/account/keychain-process.ts',
    sandbox: 'src/sandbox/main.ts',
    'media-worker': 'src/sandbox/media/recognize/worker.ts',
    generated: 'src/cli/generated-files.ts',
    index: 'src/sdk/index.ts',
  },
  outExtension: { '.js': '.cjs' },
  platform: 'node',
  target: 'node20.19',
  format: 'cjs',
  // Packages that read import.meta.url get the URL of the bundle.
  define: { 'import.meta.url': 'bundle.url' },
  inject: ['scripts/bundle-url.mjs'],
  supported: { 'dynamic-import': false }, // lazy requires: import() would lex the file first
  external,
  plugins: [lazyParts, withoutOptionalParts, lazyBuiltins],
};

const browser = {
  ...common,
  entryPoints: {
    player: 'src/web/watch/browser/main.ts',
    hls: 'src/web/watch/browser/hls.ts',
    browse: 'src/web/browse/browser/main.tsx',
  },
  jsx: 'automatic',
  jsxImportSource: 'preact',
  platform: 'browser',
  target: ['chrome123', 'firefox120', 'safari17.5'], // the first versions with light-dark()
  format: 'iife',
};

/** Returns the folders of the packages that the inputs of a bundle belong to. */
const packageFolders = (inputs) =>
  new Set(inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []));

/** Collects the licenses of all bundled packages, which must be distributed with their code. */
function licences(inputs) {
  return [...packageFolders(inputs)]
    .sort()
    .map((folder) => `${licence(folder)}${foreignNotices(folder, inputs)}`)
    .join(`\n${'-'.repeat(78)}\n\n`);
}

/** Returns a package's license file, or its license field if it has none, with the URL of its source (required by MPL). */
function licence(folder) {
  const packageJson = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  const { name, version, license, author } = packageJson;
  const find = (pattern) => {
    const file = readdirSync(folder).find((each) => pattern.test(each));
    return file && readFileSync(`${folder}/${file}`, 'utf8');
  };
  const said = license ?? /^## Licen[cs]e\s+(\S.*)/im.exec(find(/^readme/i) ?? '')?.[1];
  const text = find(/^licen[cs]e/i) ?? (said && `${said}\n${author?.name ?? author ?? ''}`);
  if (!text) throw new Error(`${name} does not declare a license`);
  const source = `https://www.npmjs.com/package/${name}/v/${version}`;
  return `${name} ${version}\nSource: ${source}\n\n${text.trim()}\n`;
}

/** Returns the copyright notices of third-party code inside a package, from the top of its files. */
function foreignNotices(folder, inputs) {
  const own = licence(folder);
  const notices = inputs
    .filter((path) => path.startsWith(`${folder}/`) && existsSync(path))
    .flatMap((path) => /^(?:\s*\/\*[\s\S]*?\*\/)+/.exec(readFileSync(path, 'utf8')) ?? [])
    .map((comments) => comments.trim())
    .filter((comments) => {
      const holders = [...comments.matchAll(/copyright \(?c?\)?[\s\d,-]*([\p{L} .]{4,30})/giu)];
      return holders.some(([, holder]) => !own.toLowerCase().includes(holder.trim().toLowerCase()));
    });
  return [...new Set(notices)].map((notice) => `\n${notice}\n`).join('');
}

rmSync(outdir, { recursive: true, force: true });
const [program, ...others] = await Promise.all([buildProgram(node), build(node), build(browser)]);
const built = [...program, ...others];
// zod is for the sandbox and the generator; it would slow down every start of the tool.
for (const { metafile } of program)
  if (Object.keys(metafile.inputs).some((path) => path.startsWith('node_modules/zod/')))
    throw new Error(`zod is in ${Object.keys(metafile.outputs)}: import only types from reference/schemas.ts`);
// bin/code-cache.js reads the bundles as Latin-1, which takes a fifth of the time.
const notAscii = readdirSync(outdir).filter(
  (name) => name.endsWith('.cjs') && /[^\0-\x7f]/.test(readFileSync(`${outdir}/${name}`, 'utf8')),
);
if (notAscii.length > 0) throw new Error(`not ASCII: ${notAscii}; write \\u in regular expressions and String.raw`);
const inputs = built.flatMap(({ metafile }) => Object.keys(metafile.inputs).filter((path) => existsSync(path)));
writeFileSync(`${outdir}/THIRD-PARTY-LICENSES.txt`, licences(inputs));
// scripts/release.mjs lists the bundled packages in the SBOM.
mkdirSync('node_modules/.cache', { recursive: true });
writeFileSync('node_modules/.cache/bundled.json', JSON.stringify([...packageFolders(inputs)].sort()));
// The package's entry: one CommonJS bundle, so that there is one class MediactlError, and its names for `import`.
writeFileSync(`${outdir}/index.mjs`, "export { createClient, fromProfile, MediactlError } from './index.cjs';\n");
const declarations = `${outdir}/types`;
execFileSync(process.execPath, [
  ...['node_modules/typescript/bin/tsc', 'src/sdk/public-types.ts', '--ignoreConfig', '--outDir', declarations],
  ...['--declaration', '--emitDeclarationOnly', '--stripInternal', '--strict', '--target', 'es2023', '--types', 'node'],
  ...['--module', 'preserve', '--allowImportingTsExtensions'],
]);
// One file: the parts of the public types without the lines that join them.
const joint = /^(?:import|export) (?:type )?(?:\{[^}]*\}|\*) from '[^']*';\n/gm;
const types = ['records', 'transfers', 'types']
  .map((part) => readFileSync(`${declarations}/public-${part}.d.ts`, 'utf8').replace(joint, ''))
  .join('');
for (const name of ['index.d.cts', 'index.d.mts']) writeFileSync(`${outdir}/${name}`, types);
rmSync(declarations, { recursive: true });
rmSync('dist.old', { recursive: true, force: true });
if (existsSync('dist')) renameSync('dist', 'dist.old');
renameSync(outdir, 'dist');
rmSync('dist.old', { recursive: true, force: true });
// The server for agents is a package of its own, whose dependencies npm installs.
await build({
  entryPoints: ['packages/mcp/src/main.ts'],
  outfile: 'packages/mcp/dist/mediactl-mcp.mjs',
  bundle: true,
  packages: 'external',
  tsconfigRaw: {}, // without `paths`: `mediactl` is the installed package
  platform: 'node',
  target: 'node20.19',
  format: 'esm',
  banner: { js: '#!/usr/bin/env node' },
  logLevel: 'warning',
});
const { manual } = createRequire(import.meta.url)('../dist/generated.cjs');
mkdirSync('man', { recursive: true });
writeFileSync('man/mediactl.1', await manual());
