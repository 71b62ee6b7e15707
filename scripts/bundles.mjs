// Builds the program as four files, so that a command does not read the code of all commands: mediactl.cjs has what
// `assets ls` loads and what two other files need, commands.cjs the other quick commands, uploads.cjs what uploads, and
// rest.cjs everything else. Each module is in one file, from which the others take it, so that a class exists once.
import { readFileSync } from 'node:fs';
import { relative, sep } from 'node:path';
import { build } from 'esbuild';

/** The modules, or folders of modules, that each file is made of. It also has what they import statically. */
const roots = {
  mediactl: [
    'main.ts',
    'cli/program.ts',
    'cli/context.ts',
    'cli/output/output.ts',
    'cli/settings/',
    'cli/library/workspaces.ts',
    'cli/commands/assets/assets.ts',
    'cli/commands/assets/list.ts',
  ],
  commands: [
    ...['get', 'move', 'remove', 'rename', 'tag', 'update'].map((verb) => `cli/commands/assets/${verb}.ts`),
    ...['auth', 'config', 'embed', 'folders', 'play', 'workspaces'].map((noun) => `cli/commands/${noun}/`),
    'cli/reference/',
    'cli/terminal/',
    'client/changes/change-history.ts',
    'client/changes/writer.ts',
    'client/state/',
  ],
  uploads: [
    'cli/commands/upload/',
    'cli/commands/uploads/',
    'cli/commands/check/',
    'cli/uploading/',
    'cli/progress/',
    'client/upload/',
  ],
};

/** Returns true for a module that a plugin creates. It is small and has no state, so each file has its own. */
const isCreated = (key) => key.includes(':');

/** Returns the modules that begin with one of `starts`, and all that they import statically. */
function closure(graph, starts) {
  const found = new Set();
  const left = starts.flatMap((start) => {
    const keys = Object.keys(graph).filter((key) => key.startsWith(`src/${start}`));
    if (keys.length === 0) throw new Error(`no module of the program begins with src/${start}`);
    return keys;
  });
  for (let key = left.pop(); key !== undefined; key = left.pop()) {
    if (found.has(key)) continue;
    found.add(key);
    const parts = graph[key].imports.filter(({ kind, external }) => kind !== 'dynamic-import' && !external);
    left.push(...parts.map(({ path }) => path));
  }
  return found;
}

/** Returns a function that returns the file of a module. */
function assign(graph) {
  const needs = Object.entries(roots).map(([file, starts]) => ({ file, modules: closure(graph, starts) }));
  return (key) => {
    const [first, second] = needs.filter(({ modules }) => modules.has(key));
    return second ? 'mediactl' : (first?.file ?? 'rest');
  };
}

/** Returns the names that each module of `src` exports, and checks that their values never change. */
async function namesOf(keys) {
  const entryPoints = keys.filter((key) => key.startsWith('src/'));
  const changing = entryPoints.filter((key) => /^export (?:let|var)\b/m.test(readFileSync(key, 'utf8')));
  if (changing.length > 0) throw new Error(`another file would not see a new value of what this exports: ${changing}`);
  const { metafile } = await build({ entryPoints, format: 'esm', write: false, metafile: true, outdir: 'unused' });
  return new Map(Object.values(metafile.outputs).map(({ entryPoint, exports }) => [entryPoint, exports]));
}

/**
 * Takes each module of another file from that file when a module that imports it runs. It gets a plain object of what the
 * module exports: esbuild's has a getter for each name, and creating these takes longer than loading the file.
 */
const crossing = (own, fileOf, names) => ({
  name: 'crossing',
  setup({ onLoad, onResolve, resolve }) {
    const resolved = {};
    onResolve({ filter: /./ }, async ({ path, pluginData, ...importing }) => {
      if (pluginData === resolved || importing.kind === 'entry-point') return undefined;
      if (path.startsWith('given:'))
        return { path: `${path} to others`, namespace: 'given', pluginData: path.slice('given:'.length) };
      if (path.startsWith('taken:')) return { path: path.slice('taken:'.length), external: true };
      const found = await resolve(path, { ...importing, pluginData: resolved });
      const key = relative('.', found.path).replaceAll(sep, '/');
      const file = fileOf(key);
      if (found.external || found.namespace !== 'file' || file === own) return found;
      return { path: `${key} of ${file}.cjs`, namespace: 'taken', pluginData: { key, file } };
    });
    onLoad({ filter: /./, namespace: 'given' }, ({ pluginData: path }) => {
      const list = names.get(path)?.join(', ');
      const contents = list
        ? `import { ${list} } from './${path}'; module.exports = { ${list} }`
        : `module.exports = require('./${path}')`;
      return { contents, resolveDir: '.' };
    });
    onLoad({ filter: /./, namespace: 'taken' }, ({ pluginData: { key, file } }) => {
      const it = `require('taken:./${file}.cjs').modules['${key}']()`;
      const list = names.get(key)?.join(', ');
      return { contents: list ? `export const { ${list} } = ${it}` : `module.exports = ${it}` };
    });
  },
});

/** Builds the files with the options of esbuild, and returns its results. */
export async function buildProgram(options) {
  const { metafile } = await build({ ...options, entryPoints: ['src/main.ts'], write: false });
  const graph = metafile.inputs;
  const fileOf = assign(graph);
  const crossings = Object.entries(graph).flatMap(([importer, { imports }]) =>
    imports.map(({ path }) => path).filter((path) => path in graph && fileOf(path) !== fileOf(importer)),
  );
  const given = [...new Set(crossings)].filter((key) => !isCreated(key)).sort();
  const names = await namesOf(given);
  const contentsOf = (file) => {
    const rows = given.filter((key) => fileOf(key) === file).map((key) => `'${key}': () => require('given:${key}'),\n`);
    return `${file === 'mediactl' ? "import './src/main.ts';\n" : ''}export const modules = {\n${rows.join('')}};`;
  };
  const buildFile = (file) =>
    build({
      ...options,
      entryPoints: undefined,
      stdin: { contents: contentsOf(file), resolveDir: '.', sourcefile: `${file}.js` },
      outdir: undefined,
      outfile: `${options.outdir}/${file}.cjs`,
      plugins: [crossing(file, fileOf, names), ...options.plugins],
    });
  return Promise.all([...Object.keys(roots), 'rest'].map(buildFile));
}
