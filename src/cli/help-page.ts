import type { Command, Help, Option } from '@commander-js/extra-typings';
import type { ChalkInstance } from 'chalk';
import { examplesOf, filtersHeading, isGlobalOption } from './commands/command.ts';
import { shortWords } from './short-words.ts';

/** Maximum and minimum number of examples per page: fewer if the page is long. docs/commands.md has all of them. */
const [mostExamples, fewestExamples] = [3, 1];
/** Height of a usual terminal; longer pages get fewer examples. */
const screenLines = 24;
const widestTerm = 30;
/** Terminal width below which a description is printed under its term instead of beside it. */
const narrow = 60;

/** Formats the help of a command: description, usage, examples, its own options. */
export function helpPage(command: Command, help: Help, colors: ChalkInstance): string {
  for (let examples = mostExamples; ; examples--) {
    const page = pageWith(command, help, colors, examples);
    if (examples <= fewestExamples || page.split('\n').length <= screenLines) return page;
  }
}

function pageWith(command: Command, help: Help, colors: ChalkInstance, examples: number): string {
  const width = help.helpWidth ?? 80;
  const isTop = command.parent === null;
  const section = (title: string, lines: readonly string[]) =>
    lines.length > 0 ? `${help.boxWrap(colors.bold(title), width)}\n${lines.join('\n')}\n` : '';
  const aligned = (rows: readonly Row[]) => alignedRows(rows, width, help, colors);
  const options = help.visibleOptions(command).filter((option) => !isGlobalOption(option));
  const isOwn = ({ long, helpGroupHeading }: Option) =>
    helpGroupHeading !== filtersHeading && !['--help', '--version'].includes(long ?? '');
  const filters = options.filter(({ helpGroupHeading }) => helpGroupHeading === filtersHeading);
  const indented = (text: string) =>
    text === ''
      ? []
      : help
          .boxWrap(text, width - 2)
          .split('\n')
          .map((line) => `  ${line}`);
  const own = [
    ...help
      .visibleArguments(command)
      .map((argument): Row => [help.argumentTerm(argument), argument.description]),
    ...options.filter(isOwn).map((each): Row => [help.optionTerm(each), said(each)]),
  ];
  const isLeaf = command.commands.length === 0;
  return [
    `${help.boxWrap(command.description(), width)}\n`,
    `${help.boxWrap(`${colors.bold('Usage:')} ${usageOf(command)}`, width)}\n`,
    section(
      'Examples',
      examplesOf(command)
        .slice(0, examples)
        .map((line) => `  ${line}`),
    ),
    ...groupsOf(command).map(([title, rows]) => section(title, aligned(rows))),
    section(
      isTop ? 'Options' : `Options ${colors.dim('(of every command: mediactl help options)')}`,
      aligned(own),
    ),
    section(filtersHeading, indented(filters.map(({ long }) => long).join(', '))),
    isTop ? section('Short for the usual', indented(Object.keys(shortWords).join(', '))) : '',
    isTop ? help.boxWrap(more, width) : '',
    isLeaf && own.length === 0
      ? help.boxWrap('Options of every command: mediactl help options\n', width)
      : '',
  ]
    .filter((part) => part !== '')
    .join('\n');
}

/** Formats an option's description and allowed values, the default first. */
function said({ description, argChoices = [], defaultValue, negate }: Option): string {
  const isUsual = typeof defaultValue === 'string' && defaultValue !== '' && !negate;
  const others = argChoices.filter((choice) => choice !== defaultValue);
  const values = [...(isUsual ? [defaultValue] : []), ...others].join(', ');
  return values === '' ? description : `${description} (${values})`;
}

const more = `mediactl COMMAND --help tells more, and mediactl help TOPIC: options, exit-codes, environment, formatting, scripting, agents, faults, assumptions
`;

type Row = readonly [term: string, description: string];

function usageOf(command: Command): string {
  const path: string[] = [];
  for (let at: Command | null = command; at; at = at.parent as Command | null)
    path.unshift(at.name());
  const isLeaf = command.commands.length === 0;
  const words = command.registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  return [...path, ...(isLeaf ? words : ['COMMAND']), '[options]'].join(' ');
}

/** Groups the subcommands by heading; those without one are listed under "Commands". */
function groupsOf(command: Command): [title: string, rows: Row[]][] {
  const groups = new Map<string, Row[]>();
  for (const child of command.createHelp().visibleCommands(command)) {
    const title = child.helpGroup() || 'Commands';
    const row: Row = [child.name(), child.summary() || child.description()];
    groups.set(title, [...(groups.get(title) ?? []), row]);
  }
  return [...groups];
}

function alignedRows(
  rows: readonly Row[],
  width: number,
  help: Help,
  colors: ChalkInstance,
): string[] {
  const column = Math.min(widestTerm, Math.max(0, ...rows.map(([term]) => term.length)));
  return rows.flatMap(([term, description]) => {
    const indent = width < narrow ? 6 : column + 4;
    const said = help.boxWrap(description, width - indent).split('\n');
    const below = said.map((line) => `${' '.repeat(indent)}${line}`);
    if (description === '') return [`  ${colors.cyan(term)}`];
    if (width < narrow || term.length > column) return [`  ${colors.cyan(term)}`, ...below];
    const [first = '', ...others] = said;
    const gap = ' '.repeat(column - term.length + 2);
    return [
      `  ${colors.cyan(term)}${gap}${first}`,
      ...others.map((line) => ' '.repeat(indent) + line),
    ];
  });
}
