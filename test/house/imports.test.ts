import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const src = fileURLToPath(new URL('../../src', import.meta.url));

/** Rooms of the house, and which others each may import. Files in src/ itself are rooms of one. */
const directions: Record<string, readonly string[]> = {
  wire: [],
  errors: [],
  clock: [],
  processes: [],
  'read-file': [],
  folders: ['errors'],
  libsql: ['errors'],
  'state-error': ['errors'],
  lock: ['folders', 'libsql', 'state-error', 'clock', 'errors'],
  'shown-uids': ['folders', 'read-file', 'terminal/result'],
  api: ['wire', 'errors', 'clock'],
  // Waiting is the library's; the uploader, too, waits for what it sent.
  upload: [
    'api',
    'wire',
    'errors',
    'clock',
    'lock',
    'libsql',
    'state-error',
    'folders',
    'processes',
    'terminal/printable',
    'library/waiting',
  ],
  // Uploads on more than one machine: the uploader's work, with a journal that others share.
  fleet: ['upload', 'api', 'wire', 'settings/queue-address', 'errors', 'clock'],
  settings: ['terminal/format', 'errors', 'read-file'],
  account: ['settings', 'wire', 'errors', 'lock', 'folders', 'read-file'],
  // Of the uploader, only the events that a progress display shows.
  terminal: ['wire/reading', 'errors', 'clock', 'processes', 'read-file', 'upload/events'],
  context: [
    ...[
      'api',
      'upload',
      'fleet',
      'account',
      'settings',
      'terminal',
      'wire',
      'errors',
      'clock',
      'processes',
    ],
    ...['lock', 'shown-uids'],
  ],
  // What a person's words mean, for every command and for completion.
  library: [
    ...[
      'context',
      'api',
      'terminal',
      'wire',
      'errors',
      'clock',
      'folders',
      'read-file',
      'shown-uids',
    ],
  ],
  commands: [
    ...[
      'library',
      'context',
      'api',
      'upload',
      'fleet',
      'account',
      'settings',
      'terminal',
      'wire',
      'errors',
    ],
    ...['clock', 'processes', 'lock', 'state-error', 'folders', 'player', 'browse'],
  ],
  reference: [
    'short-words',
    ...['commands', 'library', 'folders', 'context', 'upload', 'settings', 'terminal', 'wire'],
    'errors',
  ],
  nouns: ['commands', 'reference'],
  'short-words': [],
  'help-page': ['commands', 'short-words'],
  program: [
    'nouns',
    'help-page',
    'short-words',
    'commands',
    'reference',
    'context',
    'settings',
    'terminal',
    'errors',
  ],
  generated: ['program', 'reference'],
  main: ['program', 'terminal', 'clock', 'errors'],
  sandbox: ['wire', 'player', 'browse'],
  player: ['wire'],
  browse: ['wire', 'player', 'terminal/figures', 'terminal/printable'],
};

const files = readdirSync(src, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
  .map(({ parentPath, name }) => join(parentPath, name));

const source = (file: string) => readFileSync(file, 'utf8');
const place = (file: string) => relative(src, file).replace(/(\.d)?\.tsx?$/, '');
const room = (where: string) => where.split('/')[0] as string;

const importsOf = (file: string) =>
  [...source(file).matchAll(/(?:from |import\()\s*'(\.[^']+)'/g)]
    .map(([, target]) => place(resolve(dirname(file), target as string)))
    .filter((target) => !target.startsWith('..'));

it('imports run one way', () => {
  const wrong: string[] = [];
  for (const file of files) {
    const here = room(place(file));
    const allowed = directions[here];
    if (!allowed) wrong.push(`${place(file)}: a room that this test does not know`);
    for (const target of importsOf(file)) {
      const inside = room(target) === here;
      if (!inside && !allowed?.includes(room(target)) && !allowed?.includes(target))
        wrong.push(`${place(file)} -> ${target}`);
    }
  }
  expect(wrong).toEqual([]);
});

it('no command imports the insides of another', () => {
  const noun = (where: string) => /^commands\/([^/]+)\//.exec(where)?.[1];
  const sideways = files.flatMap((file) => {
    const here = place(file);
    if (here === 'nouns') return [];
    return importsOf(file)
      .filter((target) => noun(target) !== undefined && noun(target) !== noun(here))
      .map((target) => `${here} -> ${target}`);
  });
  expect(sideways).toEqual([]);
});

it('this test sees imports: every command reaches its context', () => {
  expect(importsOf(join(src, 'nouns.ts'))).toContain('commands/assets/assets');
  expect(files.length).toBeGreaterThan(80);
});

it('nobody imports in a circle', () => {
  const graph = new Map(files.map((file) => [place(file), importsOf(file)]));
  const done = new Set<string>();
  const visit = (node: string, path: readonly string[]) => {
    if (path.includes(node))
      throw new Error([...path.slice(path.indexOf(node)), node].join(' -> '));
    if (done.has(node)) return;
    for (const next of graph.get(node) ?? []) visit(next, [...path, node]);
    done.add(node);
  };
  for (const node of graph.keys()) visit(node, []);
});

it('`process` appears in the mains alone: of the tool, the service and its media worker', () => {
  const guilty = files.filter((file) =>
    /\bprocess\.|['"](?:node:)?process['"]/.test(
      source(file).replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, ''),
    ),
  );
  expect(guilty.map(place).sort()).toEqual(['main', 'sandbox/main', 'sandbox/media/worker']);
});

it('only the transport talks to the network, on the client’s side', () => {
  const guilty = files.filter(
    (file) =>
      room(place(file)) !== 'sandbox' &&
      !/^(player|browse)\/browser\//.test(place(file)) && // a page's own, in a browser
      /\bfetch\(|from '(?:node:https?|undici[^']*)'|import\(\s*'undici/.test(source(file)),
  );
  expect(guilty.map(place).sort()).toEqual([
    'api/dispatcher.lazy',
    'api/transport',
    'api/undici-core',
    'commands/browse/serve', // which listens
  ]);
});

it('files are kebab-case and a page or so long', () => {
  for (const file of files) {
    expect(place(file)).toMatch(/^[a-z0-9-]+(\/[a-z0-9-]+)*(\.lazy)?$/);
  }
  const long = files
    .map((file) => [place(file), source(file).split('\n').length] as const)
    .filter(([, lines]) => lines > 400);
  expect(long).toEqual([]);
});

it('no runtime dependency runs an install script', () => {
  const root = join(src, '..');
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; hasInstallScript?: boolean }>;
  };
  const guilty = Object.entries(lock.packages).filter(
    ([, { dev, hasInstallScript }]) => hasInstallScript && !dev,
  );
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
  const installed = JSON.parse(
    readFileSync(join(root, 'node_modules/undici/package.json'), 'utf8'),
  );
  expect(devDependencies.undici).toBe(installed.version);
  const inner = files.flatMap((file) =>
    [...source(file).matchAll(/'(undici\/lib\/[^']+)'/g)].map(([, path]) => path as string),
  );
  expect(inner.length).toBeGreaterThan(3);
  for (const path of inner) expect(existsSync(join(root, 'node_modules', path)), path).toBe(true);
});
