// Bundles the sources to CommonJS: one file for the tool, one for the sandbox, one for its media
// worker, one for what is generated; and one script for the browser, which stands in every watch
// page. Dynamic imports become lazy requires; those of packages, and of `*.lazy.ts`, are files of their
// own, so that a command does not even parse what it does not use. A lazy file may import none of our
// classes, since it carries copies of what it imports (test/architecture holds that).
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, relative } from 'node:path';
import { build, context } from 'esbuild';

/** Packages with native parts; they stay what npm installed. */
const external = ['libsql', '@napi-rs/blake-hash', '@napi-rs/keyring'];

const sources = readdirSync('src', { recursive: true }).filter((path) => path.endsWith('.ts'));

/** A part that is a file of its own already keeps what it imports: the sandbox, a lazy file. */
const isPart = (path) => /^(sandbox|web)\b|\.(lazy|d)\.ts$/.test(path);

/** Packages that the tool imports when it needs them. */
const lazyPackages = new Set(
  sources
    .filter((path) => !isPart(path))
    .flatMap((path) => [
      ...readFileSync(`src/${path}`, 'utf8').matchAll(/\bimport\('([^.'][^']*)'\)/g),
    ])
    .map(([, name]) => name)
    .filter((name) => !name.startsWith('node:') && !external.includes(name)),
);

const fileOf = (name) => name.replace(/^@/, '').replaceAll('/', '-');

const lazyEntries = [
  ...sources
    .filter((path) => path.endsWith('.lazy.ts'))
    .map((path) => [basename(path, '.ts'), `src/${path}`]),
  ...[...lazyPackages].map((name) => [fileOf(name), `package:${name}`]),
];
const lazyFiles = Object.fromEntries(lazyEntries);
for (const [name, path] of lazyEntries)
  if (lazyFiles[name] !== path)
    throw new Error(`two lazy files named ${name}: ${path} and ${lazyFiles[name]}`);

const lazyParts = {
  name: 'lazy-parts',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /./ }, ({ kind, path, importer }) => {
      if (kind !== 'dynamic-import') return undefined;
      if (path.endsWith('.lazy.ts'))
        return { path: `./${basename(path, '.ts')}.cjs`, external: true };
      const isLazy = lazyPackages.has(path) && !isPart(relative('src', importer));
      return isLazy ? { path: `./${fileOf(path)}.cjs`, external: true } : undefined;
    });
    onResolve({ filter: /^package:/ }, ({ path }) => ({ path, namespace: 'package' }));
    // A require() of it must give what `import()` gives: a default export as `default`.
    onLoad({ filter: /./, namespace: 'package' }, ({ path }) => ({
      contents: `import * as all from '${path.slice('package:'.length)}'; export = Object(all).default ?? all;`,
      loader: 'ts',
      resolveDir: '.',
    }));
  },
};

/**
 * undici asks for node:http2 to speak HTTP/2, which is off, and does without where it is missing: 3 ms
 * of every listing. Nothing else that a dependency loads in vain is worth as much as one.
 */
const withoutHttp2 = {
  name: 'without-http2',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^node:http2$/ }, ({ path, importer }) =>
      importer.includes('/undici/') ? { path, namespace: 'none' } : undefined,
    );
    onLoad({ filter: /./, namespace: 'none' }, () => ({ contents: 'export const constants = {}' }));
  },
};

/** A part of `sixel` assigns to a name that it does not declare; in a bundle, which is strict, that is an error. */
const withUpng = {
  name: 'with-upng',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]sixel[\\/]upng\.js$/ }, ({ path }) => ({
      contents: `var UPNG;${readFileSync(path, 'utf8')}`,
    }));
  },
};

const isWatching = process.argv.includes('--watch');
/** A build takes its place when it is whole: what runs meanwhile finds its files. */
const outdir = isWatching ? 'dist' : 'dist.new';

const common = {
  outdir,
  bundle: true,
  minify: true,
  legalComments: 'none', // their licences are in THIRD-PARTY-LICENSES.txt, whole
  metafile: true,
  logLevel: 'warning',
};

const node = {
  ...common,
  entryPoints: {
    ...lazyFiles,
    mediactl: 'src/main.ts',
    sandbox: 'src/sandbox/main.ts',
    'media-worker': 'src/sandbox/media/recognize/worker.ts',
    generated: 'src/cli/generated.ts',
  },
  outExtension: { '.js': '.cjs' },
  platform: 'node',
  target: 'node20.19',
  format: 'cjs',
  // Packages that ask where they are get the bundle's own place.
  define: { 'import.meta.url': 'bundleUrl' },
  inject: ['scripts/bundle-url.mjs'],
  supported: { 'dynamic-import': false }, // lazy requires: import() would lex the file first
  external,
  plugins: [lazyParts, withoutHttp2, withUpng],
};

const browser = {
  ...common,
  entryPoints: {
    player: 'src/web/watch/browser/main.ts',
    browse: 'src/web/browse/browser/main.tsx',
  },
  jsx: 'automatic',
  jsxImportSource: 'preact',
  platform: 'browser',
  target: ['chrome123', 'firefox120', 'safari17.5'], // those that know light-dark()
  format: 'iife',
};

/** The licence of every package that has a file in the bundles: they ask to go with their code. */
function licences(inputs) {
  const folders = new Set(
    inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []),
  );
  return [...folders]
    .sort()
    .map((folder) => `${licence(folder)}${foreignNotices(folder, inputs)}`)
    .join(`\n${'-'.repeat(78)}\n\n`);
}

/** Its file; where a package has none, what it says of itself. Where its source is to be had stands with it (MPL). */
function licence(folder) {
  const packageJson = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  const { name, version, license, author } = packageJson;
  const find = (pattern) => {
    const file = readdirSync(folder).find((each) => pattern.test(each));
    return file && readFileSync(`${folder}/${file}`, 'utf8');
  };
  const said = license ?? /^## Licen[cs]e\s+(\S.*)/im.exec(find(/^readme/i) ?? '')?.[1];
  const text = find(/^licen[cs]e/i) ?? (said && `${said}\n${author?.name ?? author ?? ''}`);
  if (!text) throw new Error(`${name} does not say under which licence it is`);
  const source = `https://www.npmjs.com/package/${name}/v/${version}`;
  return `${name} ${version}\nSource: ${source}\n\n${text.trim()}\n`;
}

/** What a package took from others stands with their notice, at the top of the file that has it. */
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

const bundles = [node, browser];
if (isWatching) for (const options of bundles) await (await context(options)).watch();
else {
  rmSync(outdir, { recursive: true, force: true });
  const built = await Promise.all(bundles.map((options) => build(options)));
  copyFileSync('node_modules/jq-web/jq.wasm', `${outdir}/jq.wasm`); // where jq.lazy.cjs looks for it
  const inputs = built.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  writeFileSync(`${outdir}/THIRD-PARTY-LICENSES.txt`, licences(inputs));
  rmSync('dist.old', { recursive: true, force: true });
  if (existsSync('dist')) renameSync('dist', 'dist.old');
  renameSync(outdir, 'dist');
  rmSync('dist.old', { recursive: true, force: true });
}
