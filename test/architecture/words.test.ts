import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

const filesOf = (folder: string, pattern: RegExp) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && pattern.test(entry.name))
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)));

const sources = filesOf('src', /\.tsx?$/).map((path) => ({
  path,
  text: readFileSync(join(root, path), 'utf8'),
}));

const commentsOf = (text: string) =>
  [...text.matchAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*|\s\/\/ .*/gm)].map(([comment]) => comment);

/** Names of declarations, of members and of parameters. */
const declaredIn = (text: string) =>
  [
    ...text.matchAll(/\b(?:const|let|function\*?|class|type|interface|enum) (#?\w+)/g),
    ...text.matchAll(/^\s+(?:(?:readonly|static|async|private) )*(#?\w+)\??[:(<]/gm),
  ].map(([, name]) => name as string);

it('a doc comment starts with a verb or names the thing', () => {
  const wrong = sources.flatMap(({ path, text }) =>
    commentsOf(text)
      .filter((comment) => /^\/\*\*[\s*]*(?:What|Who|Whom|Whose|Of|Where|Whether|As|So|Such)\b/.test(comment))
      .map((comment) => `${path}: ${comment.slice(0, 80)}`),
  );
  expect(wrong).toEqual([]);
});

it('comments and names are in standard terms', () => {
  const dialect = /\b(?:somebody|nobody|whoever|whom|alike|anew|heed\w*|deeds?|told|in hand|of those that)\b/i;
  const wrong = sources.flatMap(({ path, text }) => [
    ...commentsOf(text)
      .filter((comment) => dialect.test(comment))
      .map((comment) => `${path}: ${comment.trim().slice(0, 80)}`),
    ...declaredIn(text)
      .filter((name) => /^(?:is|was|has)?(?:told|said|heed\w*|anew|alike|nobody)$/i.test(name))
      .map((name) => `${path}: ${name}`),
  ]);
  expect(wrong).toEqual([]);
});

it('a type name has one meaning: it is declared once', () => {
  const places = new Map<string, string[]>();
  for (const { path, text } of sources)
    for (const [, name] of text.matchAll(
      /^(?:export )?(?:declare )?(?:abstract )?(?:type|interface|class|enum) (\w+)\s*[<={\w]/gm,
    ))
      places.set(name as string, [...(places.get(name as string) ?? []), path]);
  expect(places.size).toBeGreaterThan(300);
  expect([...places].filter(([, paths]) => paths.length > 1)).toEqual([]);
});

it('a search for a standard term finds its mechanism', () => {
  const terms = {
    retry: 'client/http/transport.ts',
    backoff: 'contract/retry.ts',
    cache: 'web/browse/server/caches.ts',
    poll: 'client/api/wait-for-assets.ts',
    debounce: 'web/browse/browser/paged-list.ts',
    dedupe: 'client/upload/session/receipt-lookup.ts',
    heartbeat: 'client/queue/worker-run.ts',
    'circuit breaker': 'client/http/rate-limiter.ts',
    csrf: 'web/browse/server/session.ts',
    sanitize: 'contract/sanitize.ts',
    mutex: 'client/lock.ts',
    lease: 'client/queue/lease.ts',
  };
  const missing = Object.entries(terms).filter(
    ([term, path]) => !new RegExp(`\\b${term}`, 'i').test(readFileSync(join(root, 'src', path), 'utf8')),
  );
  expect(missing).toEqual([]);
});

it('every identifier that CONTRIBUTING.md mentions exists', () => {
  const text = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8').replaceAll(/```.*?```/gs, '');
  const quoted = [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
  // Only names of code have a capital letter after a small one: `withTimeout`, `Transport.retry`.
  const names = quoted.flatMap((code) => code.match(/(?<![\w-])[A-Za-z]*[a-z][A-Z]\w*/g) ?? []);
  const files = ['src', 'test', 'scripts'].flatMap((folder) => filesOf(folder, /\.(?:tsx?|mjs)$/));
  const words = new Set(files.flatMap((file) => readFileSync(join(root, file), 'utf8').match(/\w+/g) ?? []));
  expect(names.length).toBeGreaterThan(30);
  expect(names.filter((name) => !words.has(name))).toEqual([]);
  // Files are named in full, or by the end of their path.
  const paths = quoted.filter((code) => /^[\w./-]+\.(?:tsx?|md)$/.test(code));
  expect(
    paths.filter((path) => !files.some((file) => `/${file}`.endsWith(`/${path}`)) && !existsSync(join(root, path))),
  ).toEqual([]);
});

it('every path that a document mentions exists', () => {
  const documents = ['README.md', 'CONTRIBUTING.md', ...filesOf('docs', /\.md$/)];
  const missing = documents.flatMap((document) =>
    [
      ...readFileSync(join(root, document), 'utf8').matchAll(
        /(?<![\w/.-])(?:src|test|scripts|bench|bin|docs|completions|man)\/[\w./-]*[\w/-]/g,
      ),
    ]
      .map(([path]) => path)
      .filter((path) => !/NOUN/.test(path) && !existsSync(join(root, path)))
      .map((path) => `${document}: ${path}`),
  );
  expect(missing).toEqual([]);
});
