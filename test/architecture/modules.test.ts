import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const src = fileURLToPath(new URL('../../src', import.meta.url));

/** The modules of src, and the modules that each may import. */
const directions: Record<string, readonly string[]> = {
  contract: [],
  client: ['contract'],
  web: ['contract'],
  cli: ['contract', 'client', 'web'],
  sandbox: ['contract', 'web'],
  main: ['contract', 'client', 'cli'],
};

const files = readdirSync(src, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
  .map(({ parentPath, name }) => join(parentPath, name));

const source = (file: string) => readFileSync(file, 'utf8');
const place = (file: string) => relative(src, file).replace(/(\.d)?\.tsx?$/, '');
const moduleOf = (where: string) => where.split('/')[0] as string;

const importsIn = (file: string, code: string) =>
  [...code.matchAll(/\b(?:from|import\(|import)\s*'(\.[^']+)'/g)]
    .map(([, target]) => place(resolve(dirname(file), target as string)))
    .filter((target) => !target.startsWith('..'));
const importsOf = (file: string) => importsIn(file, source(file));

it('imports run one way', () => {
  const wrong = files.flatMap((file) => {
    const here = moduleOf(place(file));
    const allowed = [here, ...(directions[here] ?? [])];
    return importsOf(file)
      .filter((target) => !allowed.includes(moduleOf(target)))
      .map((target) => `${place(file)} -> ${target}`);
  });
  expect(wrong).toEqual([]);
  const modules = readdirSync(src).map((entry) => entry.replace('.ts', ''));
  expect(modules.sort()).toEqual(Object.keys(directions).sort());
});

/**
 * The folders of two modules, from the lowest to the highest: each imports only itself and those before it. The files
 * beside them are the lowest layer of client; those of cli bring its folders together.
 */
const layers: Record<string, readonly string[]> = {
  client: ['.', 'http', 'api', 'library', 'upload/sources', 'upload/store', 'upload/session', 'upload/batch', 'queue'],
  cli: ['settings', 'terminal', 'output', 'account', 'progress', 'library', 'reference', 'uploading', 'commands'],
};

it.each(Object.entries(layers))('the folders of %s import only those below them', (module, order) => {
  const layerOf = (where: string) => {
    const folder = relative(module, dirname(where)) || '.';
    return order.findIndex((layer) => folder === layer || folder.startsWith(`${layer}/`));
  };
  const ours = files.map(place).filter((where) => moduleOf(where) === module);
  const outside = ours.filter((where) => layerOf(where) < 0).map((where) => dirname(where));
  expect([...new Set(outside)]).toEqual(order.includes('.') ? [] : [module]);
  const wrong = files.flatMap((file) =>
    layerOf(place(file)) < 0
      ? []
      : importsOf(file)
          .filter((target) => moduleOf(target) === module && layerOf(target) > layerOf(place(file)))
          .map((target) => `${place(file)} -> ${target}`),
  );
  expect(wrong).toEqual([]);
});

const nounsFile = join(src, 'cli/nouns.ts');
const folderOf = (where: string) => /^cli\/commands\/([^/]+)\//.exec(where)?.[1];

it('no command imports the insides of another', () => {
  const nouns = new Set(importsOf(nounsFile).map(folderOf));
  expect(nouns.size).toBeGreaterThan(10);
  const sideways = files.flatMap((file) =>
    file === nounsFile
      ? []
      : importsOf(file)
          .filter((target) => folderOf(target) !== folderOf(place(file)))
          .filter((target) => folderOf(target) && nouns.has(folderOf(target)))
          .map((target) => `${place(file)} -> ${target}`),
  );
  expect(sideways).toEqual([]);
});

it('this test sees imports: of names, of a type, lazy, and of a file without names', () => {
  expect(importsOf(nounsFile)).toContain('cli/commands/assets/assets');
  expect(
    importsIn(join(src, 'cli/a.ts'), "import './b.ts';\nimport type { C } from '../c.ts';\nimport('./d.ts')"),
  ).toEqual(['cli/b', 'c', 'cli/d']);
  expect(files.length).toBeGreaterThan(80);
});

it('nobody imports in a circle', () => {
  const graph = new Map(files.map((file) => [place(file), importsOf(file)]));
  const done = new Set<string>();
  const visit = (node: string, path: readonly string[]) => {
    if (path.includes(node)) throw new Error([...path.slice(path.indexOf(node)), node].join(' -> '));
    if (done.has(node)) return;
    for (const next of graph.get(node) ?? []) visit(next, [...path, node]);
    done.add(node);
  };
  for (const node of graph.keys()) visit(node, []);
});

it('`process` appears in the mains alone: of the tool, the service and its media worker', () => {
  const guilty = files.filter((file) =>
    /(?<![\w-])process\.|['"](?:node:)?process['"]/.test(source(file).replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, '')),
  );
  expect(guilty.map(place).sort()).toEqual(['main', 'sandbox/main', 'sandbox/media/recognize/worker']);
});

it('only the transport talks to the network, on the client’s side', () => {
  const guilty = files.filter(
    (file) =>
      moduleOf(place(file)) !== 'sandbox' &&
      !/^web\/(watch|browse)\/browser\//.test(place(file)) && // runs in a browser
      /(?<!#)\bfetch\(|from '(?:node:https?|undici[^']*)'|import\(\s*'undici/.test(source(file)),
  );
  expect(guilty.map(place).sort()).toEqual([
    'cli/commands/loopback-server', // types of a listener
    'client/http/dispatcher.lazy',
    'client/http/send-request',
    'client/http/undici-core',
    'contract/bounded-server', // listens
  ]);
});

it('files are kebab-case and a page or so long', () => {
  for (const file of files) {
    expect(place(file)).toMatch(/^[a-z0-9-]+(\/[a-z0-9-]+)*(\.lazy)?$/);
  }
  const long = files
    .map((file) => [place(file), source(file).split('\n').length] as const)
    .filter(([, lines]) => lines > 400);
  expect(long, 'split the file by the nouns that it owns').toEqual([]);
});

it('no runtime dependency runs an install script', () => {
  const root = join(src, '..');
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; hasInstallScript?: boolean }>;
  };
  const guilty = Object.entries(lock.packages).filter(([, { dev, hasInstallScript }]) => hasInstallScript && !dev);
  expect(guilty.map(([name]) => name)).toEqual([]);
});

it('a lazy file, which carries copies of what it imports, imports none of our classes', () => {
  const reached = (file: string, seen = new Set<string>()): Set<string> => {
    const code = source(file).replace(/import type [^;]+;/g, '');
    for (const [, target] of code.matchAll(/from '(\.[^']+)'/g)) {
      const path = resolve(dirname(file), target as string);
      if (!seen.has(path)) reached(path, seen.add(path));
    }
    return seen;
  };
  const lazy = files.filter((file) => file.endsWith('.lazy.ts'));
  expect(lazy.length).toBeGreaterThan(3);
  const guilty = lazy.flatMap((file) =>
    [...reached(file)]
      .filter((path) => /^(export )?(abstract )?class /m.test(source(path)))
      .map((path) => `${place(file)} -> ${place(path)}`),
  );
  expect(guilty).toEqual([]);
});

it('undici is pinned to the version whose inner files are imported, and they are there', () => {
  const root = join(src, '..');
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const installed = JSON.parse(readFileSync(join(root, 'node_modules/undici/package.json'), 'utf8'));
  expect(devDependencies.undici).toBe(installed.version);
  const inner = files.flatMap((file) =>
    [...source(file).matchAll(/'(undici\/lib\/[^']+)'/g)].map(([, path]) => path as string),
  );
  expect(inner.length).toBeGreaterThan(3);
  for (const path of inner) expect(existsSync(join(root, 'node_modules', path)), path).toBe(true);
});
