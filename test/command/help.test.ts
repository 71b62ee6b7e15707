import { existsSync, readFileSync } from 'node:fs';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { buildCommandTree } from '../../src/cli/program.ts';
import { allNodes } from '../../src/cli/reference/command-node.ts';
import { describeCommand as describeTree } from '../../src/cli/reference/command-tree.ts';
import { topics } from '../../src/cli/reference/topics.ts';
import { shortcuts } from '../../src/cli/shortcuts.ts';
import { assumptions, nameKeys } from '../../src/contract/assumptions.ts';
import { faultNames } from '../../src/sandbox/faults/parse.ts';
import { Cli } from '../support/cli.ts';

const tree = describeTree(await buildCommandTree('0.0.0'));
const paths = allNodes(tree).map(({ path }) => path.split(' ').slice(1));
const cli = new Cli();
const helpPage = async (path: readonly string[], { columns }: { columns: number }) =>
  (await cli.run([...path, '--help'], { tty: true, columns, environment: { NO_COLOR: '1' } })).stdout;

/** Commands whose help may be longer than a screen, and how many screens it may have. */
const screensOf: Readonly<Record<string, number>> = { '': 3, upload: 4, sync: 2, 'assets ls': 3, 'videos ls': 3 };

describe.each(paths.map((path) => [path.join(' '), path] as const))('help of %s', (name, path) => {
  it('the help page fits the height and the width of the terminal', async () => {
    const lines = (await helpPage(path, { columns: 80 })).trimEnd().split('\n');
    const advice = 'shorten the descriptions of options, or move an explanation to a page of docs/';
    expect(lines.length, advice).toBeLessThanOrEqual(24 * (screensOf[name] ?? 1));
    for (const columns of [40, 80, 120])
      for (const line of (await helpPage(path, { columns })).split('\n'))
        expect(stringWidth(line)).toBeLessThanOrEqual(columns);
  });

  it('the help page shows an example before the options, and omits the global options', async () => {
    const helpText = await helpPage(path, { columns: 80 });
    const command = allNodes(tree).find((each) => each.path === `mediactl ${name}`.trim());
    if (command?.examples[0]) expect(helpText.replace(/\n */g, ' ')).toContain(`Examples ${command.examples[0]}`);
    expect(helpText).not.toMatch(/--request-timeout|--no-input/);
  });
});

it.each(Object.keys(shortcuts))('the help of the short form %s has examples in its own words', async (word) => {
  const page = await helpPage([word], { columns: 120 });
  const [, examples = ''] = /Examples\n(.*?)\n\n/s.exec(page) ?? [];
  expect(page).toContain(`Usage: mediactl ${word} `);
  expect(examples).toContain(`mediactl ${word} `.trimEnd());
  const [expanded = [], path] = [shortcuts[word], shortcuts[word]?.filter((each) => !each.startsWith('-')).join(' ')];
  expect(examples).not.toContain(`mediactl ${path} `);
  for (const option of expanded.filter((each) => each.startsWith('-'))) expect(examples).not.toContain(option);
});

it('--help prints bold headings only on a color terminal', async () => {
  const colored = await cli.run(['ls', '--help'], { tty: true });
  expect(colored.stdout).toContain('\u001b[1mExamples\u001b[22m');
  expect((await cli.run(['ls', '--help'])).stdout).not.toContain('\u001b');
});

it('mediactl --help groups the commands, lists each alias once and names the help topics', async () => {
  const helpText = await helpPage([], { columns: 80 });
  const headings = helpText.split('\n').filter((line) => /^[A-Z][a-z ]+$/.test(line));
  expect(headings).toEqual([...['Examples', 'Everyday commands', 'More commands', 'Account', 'Try it', 'Scripting']]);
  expect(helpText.match(/whoami/g)).toHaveLength(1);
  for (const topic of Object.keys(topics)) expect(helpText).toContain(topic);
});

it('help options lists every global option', async () => {
  const { stdout } = await cli.run(['help', 'options']);
  for (const { flags } of tree.options.filter(({ long: name }) => name !== '--version'))
    expect(stdout).toContain(flags);
});

it('help faults lists every fault that the sandbox supports', async () => {
  const { stdout } = await cli.run(['help', 'faults']);
  for (const fault of faultNames) expect(stdout).toContain(fault);
});

it('commands --json prints less than 64 KB', async () => {
  const advice = 'agents read all of it: shorten descriptions and examples, or remove an unused option';
  expect((await cli.run(['commands', '--json'])).stdout.length, advice).toBeLessThan(64_000);
});

it('commands --json shows the options that assets ls has and videos ls lacks', async () => {
  const optionsOf = async (path: string): Promise<string[]> => {
    const described = await cli.json(['commands', ...path.split(' ').slice(1)]);
    expect(described.path).toBe(path);
    return described.options.map(({ flags }: { flags: string }) => flags);
  };
  const [assetOptions, videoOptions] = [await optionsOf('mediactl assets ls'), await optionsOf('mediactl videos ls')];
  expect(assetOptions).toEqual(expect.arrayContaining(videoOptions));
  const assetOnlyOptions = assetOptions.filter((flags) => !videoOptions.includes(flags));
  expect(assetOnlyOptions).toEqual(expect.arrayContaining(['--type <type>', '-r, --recursive']));
});

it('help assumptions lists every assumption and every field name setting in at most 80 columns', async () => {
  const { stdout } = await cli.run(['help', 'assumptions'], { columns: 80 });
  expect(stdout.match(/^A\d\d {2}/gm)).toHaveLength(assumptions.length);
  for (const name of nameKeys) expect(stdout).toContain(`field_names.${name}`);
  expect(Math.max(...stdout.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80);
});

it('package.json names the man page in a list, the only form that npm 11 installs', () => {
  const root = new URL('../../', import.meta.url);
  const { man } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
  expect(man).toEqual(['man/mediactl.1']);
  expect(existsSync(new URL(man[0], root))).toBe(true);
});
