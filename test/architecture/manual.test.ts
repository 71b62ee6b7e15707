import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';
import { exitCodes } from '../../src/cli/error-hints.ts';
import { environmentRows, topics } from '../../src/cli/reference/topics.ts';
import { leftovers } from '../../src/shared/leftovers.ts';
import { anchorsIn, commandsIn, docsPages, linksIn, readPage, repository, userPages } from '../support/manual.ts';

const allPages = [
  ...readdirSync(repository).filter((name) => name.endsWith('.md')),
  'llms.txt',
  ...readdirSync(`${repository}docs`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

it.for(allPages)('each link of %s leads to an existing file and heading', (page) => {
  const broken = linksIn(readPage(page)).filter((link) => {
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : normalize(join(dirname(page), path));
    if (!existsSync(`${repository}${target}`)) return true;
    return anchor !== undefined && !anchorsIn(readPage(target)).includes(anchor);
  });
  expect(broken).toEqual([]);
});

it('docs/README.md links to every page of the manual', () => {
  const links = linksIn(readPage('docs/README.md'));
  expect(docsPages.filter((name) => name !== 'README.md' && !links.includes(name))).toEqual([]);
});

it('README.md has at most 120 lines, and names the number of assumptions', () => {
  const readme = readPage('README.md');
  expect(readme.split('\n').length - 1).toBeLessThanOrEqual(120);
  expect(readme).toContain(`[${readPage('docs/assumptions.md').match(/^\| A\d\d /gm)?.length} assumptions]`);
});

it('docs/scripting.md lists every exit code', () => {
  const documentedCodes = [...readPage('docs/scripting.md').matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
  expect(documentedCodes).toEqual(Object.values(exitCodes));
});

it('docs/configuration.md lists every environment variable', () => {
  const page = readPage('docs/configuration.md');
  const variables = environmentRows().flatMap(([names]) => names.split(', '));
  expect(variables.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

it('docs/uploading.md lists each file that other programs leave, and who leaves it', () => {
  const [, section = ''] = readPage('docs/uploading.md').split('### What other programs leave');
  const rows = [...(section.split('\n## ')[0] ?? '').matchAll(/^\| ([^|]+) \| (`.*`) \|$/gm)];
  const documented = rows.flatMap(([, from, names = '']) =>
    names.split(', ').map((name) => ({ pattern: name.slice(1, -1), from })),
  );
  expect(documented).toEqual(leftovers);
});

it('the messages in docs/troubleshooting.md occur in the source code', () => {
  const [, table = ''] = readPage('docs/troubleshooting.md').split('| you see |');
  const sources = readdirSync(`${repository}src`, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => readFileSync(`${repository}src/${name}`, 'utf8'))
    .concat(readFileSync(`${repository}bin/mediactl.js`, 'utf8'));
  const messages = [...table.matchAll(/^\| ((?:`[^`]+`[, ]*)+)/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, message = '']) => message),
  );
  // A value that differs each time is "…".
  const isQuoted = (message: string) =>
    sources.some((text) => message.split('…').every((part) => text.includes(part.trim())));
  expect(messages.filter((message) => !isQuoted(message))).toEqual([]);
});

it('the skill, llms.txt and help agents have the same twelve examples, which the test of the manual runs', () => {
  const examples = commandsIn(readPage('skills/mediactl/SKILL.md'))
    .filter(({ from, text }) => from === 'block' && !text.startsWith('mediactl commands '))
    .map(({ text }) => text);
  expect(examples).toHaveLength(12);
  for (const page of [readPage('llms.txt'), topics.agents?.text()])
    expect(examples.filter((text) => !page?.includes(text))).toEqual([]);
  expect(userPages).toContain('skills/mediactl/SKILL.md');
});

it('the skill has the name of its directory, and a description of at most 1,024 characters', () => {
  const [, name, description = ''] =
    /^---\nname: (.+)\ndescription: (.+)\n---\n/.exec(readPage('skills/mediactl/SKILL.md')) ?? [];
  expect(name).toBe('mediactl');
  expect(description.length).toBeLessThanOrEqual(1024);
  expect(description).not.toMatch(/: |[<>]/); // a plain YAML scalar
});
