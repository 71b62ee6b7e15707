import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const src = fileURLToPath(new URL('../../src', import.meta.url));

/** The modules of src, and the modules that each may import. */
const allowedImports: Record<string, readonly string[]> = {
  shared: [],
  contract: ['shared'],
  client: ['shared', 'contract'],
  web: ['shared', 'contract'],
  queue: ['shared', 'contract', 'client'],
  sdk: ['shared', 'contract', 'client', 'cli'],
  cli: ['shared', 'contract', 'client', 'queue', 'web'],
  sandbox: ['shared', 'contract', 'web'],
  main: ['shared', 'contract', 'client', 'cli'],
};

const files = readdirSync(src, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
  .map(({ parentPath, name }) => join(parentPath, name));

const source = (file: string) => readFileSync(file, 'utf8');
const modulePath = (file: string) => relative(src, file).replace(/(\.d)?\.tsx?$/, '');
const moduleOf = (where: string) => where.split('/')[0] as string;

const importsIn = (file: string, code: string) =>
  [...code.matchAll(/\b(?:from|import\(|import)\s*'(\.[^']+)'/g)]
    .map(([, target]) => modulePath(resolve(dirname(file), target as string)))
    .filter((target) => !target.startsWith('..'));
const importsOf = (file: string) => importsIn(file, source(file));

it('a module of src imports only the modules that allowedImports lists for it', () => {
  const forbiddenImports = files.flatMap((file) => {
    const here = moduleOf(modulePath(file));
    const allowed = [here, ...(allowedImports[here] ?? [])];
    return importsOf(file)
      .filter((target) => !allowed.includes(moduleOf(target)))
      .map((target) => `${modulePath(file)} -> ${target}`);
  });
  expect(forbiddenImports).toEqual([]);
  const modules = readdirSync(src).map((entry) => entry.replace('.ts', ''));
  expect(modules.sort()).toEqual(Object.keys(allowedImports).sort());
});

/**
 * The folders of two modules, from the lowest to the highest: each imports only itself and those before it. The files
 * beside them are the lowest layer of client; those of cli bring its folders together.
 */
const layers: Record<string, readonly string[]> = {
  client: [
    '.',
    'state',
    'table',
    'http',
    'api',
    'upload/sources',
    'upload/store',
    'library',
    'changes',
    'open',
    'upload/decide',
    'upload/session',
    'upload/batch',
    'download',
  ],
  cli: ['settings', 'terminal', 'output', 'account', 'progress', 'library', 'reference', 'uploading', 'commands'],
};

it.each(Object.entries(layers))(
  'a folder of src/%s imports only itself and the folders of lower layers',
  (module, order) => {
    const layerOf = (where: string) => {
      const folder = relative(module, dirname(where)) || '.';
      return order.findIndex((layer) => folder === layer || folder.startsWith(`${layer}/`));
    };
    const modulePaths = files.map(modulePath).filter((where) => moduleOf(where) === module);
    const outside = modulePaths.filter((where) => layerOf(where) < 0).map((where) => dirname(where));
    expect([...new Set(outside)]).toEqual(order.includes('.') ? [] : [module]);
    const forbiddenImports = files.flatMap((file) =>
      layerOf(modulePath(file)) < 0
        ? []
        : importsOf(file)
            .filter((target) => moduleOf(target) === module && layerOf(target) > layerOf(modulePath(file)))
            .map((target) => `${modulePath(file)} -> ${target}`),
    );
    expect(forbiddenImports).toEqual([]);
  },
);

const nounsFile = join(src, 'cli/nouns.ts');
const folderOf = (where: string) => /^cli\/commands\/([^/]+)\//.exec(where)?.[1];

it('a command folder imports no file of another command folder', () => {
  const nouns = new Set(importsOf(nounsFile).map(folderOf));
  expect(nouns.size).toBeGreaterThan(10);
  const forbiddenImports = files.flatMap((file) =>
    file === nounsFile
      ? []
      : importsOf(file)
          .filter((target) => folderOf(target) !== folderOf(modulePath(file)))
          .filter((target) => folderOf(target) && nouns.has(folderOf(target)))
          .map((target) => `${modulePath(file)} -> ${target}`),
  );
  expect(forbiddenImports).toEqual([]);
});

/** The files of cli that open a queue, parse its address, or check roots. */
const queueUsers =
  /^cli\/(?:commands\/queue\/|commands\/queue-access$|commands\/upload\/(?:enqueue|upload-request)$|settings\/setting-kinds$|uploading\/sources$)/;

it('only the commands of queue, upload and the settings import src/queue', () => {
  const users = files.filter((file) => importsOf(file).some((target) => moduleOf(target) === 'queue')).map(modulePath);
  const outside = users.filter((path) => moduleOf(path) !== 'queue');
  expect(outside.length).toBeGreaterThan(5);
  expect(outside.filter((path) => !queueUsers.test(path))).toEqual([]);
});

it('the package imports of the command line only accounts and settings, for the client of a profile', () => {
  const ofCli = files
    .filter((file) => moduleOf(modulePath(file)) === 'sdk')
    .flatMap((file) => importsOf(file).map((target) => [modulePath(file), dirname(target)]))
    .filter(([, folder]) => folder?.startsWith('cli/'));
  expect(new Set(ofCli.map(([file]) => file))).toEqual(new Set(['sdk/profile-account']));
  expect(new Set(ofCli.map(([, folder]) => folder))).toEqual(new Set(['cli/account', 'cli/settings']));
});

it('only src/queue names BullMQ, ioredis or a lease, and the commands of queue set how long a lease is', () => {
  const naming = (word: RegExp) =>
    files.filter((file) => word.test(source(file))).map((file) => dirname(modulePath(file)));
  expect([...new Set(naming(/bullmq|ioredis/i))]).toEqual(['queue']);
  expect([...new Set(naming(/\b[Ll]ease|[a-z]Lease/))].sort()).toEqual(['cli/commands/queue', 'queue']);
});

it('importsIn finds imports of names and types, dynamic imports, and imports without names', () => {
  expect(importsOf(nounsFile)).toContain('cli/commands/assets/assets');
  expect(
    importsIn(join(src, 'cli/a.ts'), "import './b.ts';\nimport type { C } from '../c.ts';\nimport('./d.ts')"),
  ).toEqual(['cli/b', 'c', 'cli/d']);
  expect(files.length).toBeGreaterThan(80);
});

it('the sandbox imports no assumption about the service', () => {
  const ofSandbox = files.filter((file) => moduleOf(modulePath(file)) === 'sandbox').flatMap(importsOf);
  expect(ofSandbox).toContain('contract/asset-filters');
  expect(ofSandbox).not.toContain('contract/assumptions');
});

it('no file imports itself through other files', () => {
  const graph = new Map(files.map((file) => [modulePath(file), importsOf(file)]));
  const visited = new Set<string>();
  const visit = (node: string, path: readonly string[]) => {
    if (path.includes(node)) throw new Error([...path.slice(path.indexOf(node)), node].join(' -> '));
    if (visited.has(node)) return;
    for (const next of graph.get(node) ?? []) visit(next, [...path, node]);
    visited.add(node);
  };
  for (const node of graph.keys()) visit(node, []);
});

it('only the entry points of the program, of the profiles of the package, of the keychain, the sandbox and its media worker use `process`', () => {
  const offenders = files.filter((file) =>
    /(?<![\w-])process\.|['"](?:node:)?process['"]/.test(source(file).replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, '')),
  );
  expect(offenders.map(modulePath).sort()).toEqual([
    ...[
      'cli/account/keychain-process',
      'main',
      'sandbox/main',
      'sandbox/media/recognize/worker',
      'sdk/profile-account',
    ],
  ]);
});

it('outside the sandbox, only the HTTP transport and the loopback servers use network functions', () => {
  const offenders = files.filter(
    (file) =>
      moduleOf(modulePath(file)) !== 'sandbox' &&
      !/^web\/(watch|browse)\/browser\//.test(modulePath(file)) && // runs in a browser
      /(?<!#)\bfetch\(|from '(?:node:https?|undici[^']*)'|import\(\s*'undici/.test(source(file)),
  );
  expect(offenders.map(modulePath).sort()).toEqual([
    'cli/commands/http-server', // types of a listener
    'client/http/dispatcher.lazy',
    'client/http/send-request',
    'client/http/undici-core',
    'shared/bounded-server', // listens
  ]);
});

it('only what pairs files with assets reads receipts by the path or the content of a file', () => {
  const offenders = files.filter((file) =>
    /receipts\??\.(find|findNamesakes|findDownloaded|listByContent)\(/i.test(source(file)),
  );
  expect(offenders.map(modulePath).filter((path) => !path.startsWith('client/upload/decide/'))).toEqual([
    'client/changes/receipt-update', // restores a receipt that it has deleted itself
  ]);
});

it('each file name of src is kebab-case, and no file has more than 400 lines', () => {
  for (const file of files) {
    expect(modulePath(file)).toMatch(/^[a-z0-9-]+(\/[a-z0-9-]+)*(\.lazy)?$/);
  }
  const longFiles = files
    .map((file) => [modulePath(file), source(file).split('\n').length] as const)
    .filter(([, lines]) => lines > 400);
  expect(longFiles, 'split the file by the nouns that it owns').toEqual([]);
});

it('no runtime dependency has an install script', () => {
  const root = join(src, '..');
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; hasInstallScript?: boolean }>;
  };
  const offenders = Object.entries(lock.packages).filter(([, { dev, hasInstallScript }]) => hasInstallScript && !dev);
  expect(offenders.map(([name]) => name)).toEqual([]);
});

it('a .lazy.ts file, whose bundle copies what it imports, imports no class of src', () => {
  const importedFiles = (file: string, seen = new Set<string>()): Set<string> => {
    const code = source(file).replace(/import type [^;]+;/g, '');
    for (const [, target] of code.matchAll(/from '(\.[^']+)'/g)) {
      const path = resolve(dirname(file), target as string);
      if (!seen.has(path)) importedFiles(path, seen.add(path));
    }
    return seen;
  };
  const lazy = files.filter((file) => file.endsWith('.lazy.ts'));
  expect(lazy.length).toBeGreaterThan(3);
  const offenders = lazy.flatMap((file) =>
    [...importedFiles(file)]
      .filter((path) => /^(export )?(abstract )?class /m.test(source(path)))
      .map((path) => `${modulePath(file)} -> ${modulePath(path)}`),
  );
  expect(offenders).toEqual([]);
});

it('package.json pins the installed undici version, and the undici/lib files that src imports exist', () => {
  const root = join(src, '..');
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const installed = JSON.parse(readFileSync(join(root, 'node_modules/undici/package.json'), 'utf8'));
  expect(devDependencies.undici).toBe(installed.version);
  const innerFiles = files.flatMap((file) =>
    [...source(file).matchAll(/'(undici\/lib\/[^']+)'/g)].map(([, path]) => path as string),
  );
  expect(innerFiles.length).toBeGreaterThan(3);
  for (const path of innerFiles) expect(existsSync(join(root, 'node_modules', path)), path).toBe(true);
});

// extra-typings is commander with more types.
it('src uses each package that the owner of mediactl chose', () => {
  const code = files.map(source).join('\n');
  const chosen = [
    '@commander-js/extra-typings',
    'undici',
    'tus-js-client',
    'cli-progress',
    'chalk',
    'conf',
    'cli-table3',
    'ora',
  ];
  expect(chosen.filter((name) => !new RegExp(`\\b(?:from|import\\() ?'${name}[/']`).test(code))).toEqual([]);
});
