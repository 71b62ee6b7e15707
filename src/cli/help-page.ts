import type { Command, Help, Option } from '@commander-js/extra-typings';
import type { ChalkInstance } from 'chalk';
import { argumentTerm, examplesOf, filtersHeading, isGlobalOption } from './commands/command.ts';
import { shortcuts } from './shortcuts.ts';

/** Maximum and minimum number of examples on a help page. docs/commands.md lists all examples. */
const [maxExamples, minExamples] = [3, 1];
/** Height of a standard terminal in lines. Help pages that are longer get fewer examples. */
const screenLines = 24;
const maxTermWidth = 30;
/** Terminal width below which a description is printed under its term instead of beside it. */
const minTwoColumnWidth = 60;

export function formatHelpPage(command: Command, help: Help, colors: ChalkInstance): string {
  for (let examples = maxExamples; ; examples--) {
    const page = pageWith(command, help, colors, examples);
    if (examples <= minExamples || page.split('\n').length <= screenLines) return page;
  }
}

function pageWith(command: Command, help: Help, colors: ChalkInstance, examples: number): string {
  const width = help.helpWidth ?? 80;
  const isTop = command.parent === null;
  const section = (title: string, lines: readonly string[]) =>
    lines.length > 0 ? `${help.boxWrap(colors.bold(title), width)}\n${lines.join('\n')}\n` : '';
  const aligned = (rows: readonly HelpRow[]) => alignedRows(rows, width, help, colors);
  const options = help.visibleOptions(command).filter((option) => !isGlobalOption(option));
  const isOwn = ({ long, helpGroupHeading }: Option) =>
    helpGroupHeading !== filtersHeading && !['--help', '--version'].includes(long ?? '');
  const filters = options.filter(({ helpGroupHeading }) => helpGroupHeading === filtersHeading);
  const wrapped = (words: readonly string[]) => help.boxWrap(words.join(', '), width - 2).split('\n');
  const indented = (words: readonly string[]) => (words.length === 0 ? [] : wrapped(words).map((line) => `  ${line}`));
  const own = [
    ...help.visibleArguments(command).map((argument): HelpRow => [help.argumentTerm(argument), argument.description]),
    ...options.filter(isOwn).map((each): HelpRow => [help.optionTerm(each), describeOption(each)]),
  ];
  const shownExamples = examplesOf(command).slice(0, examples);
  const isLeaf = command.commands.length === 0;
  return [
    `${help.boxWrap(command.description(), width)}\n`,
    `${help.boxWrap(`${colors.bold('Usage:')} ${usageOf(command)}`, width)}\n`,
    section(
      'Examples',
      shownExamples.map((line) => `  ${line}`),
    ),
    ...groupsOf(command).map(([title, rows]) => section(title, aligned(rows))),
    section(isTop ? 'Options' : `Options ${colors.dim('(of every command: mediactl help options)')}`, aligned(own)),
    section(filtersHeading, indented(filters.map(({ long }) => long as string))),
    isTop ? section('Short for the usual', indented(Object.keys(shortcuts))) : '',
    isTop ? help.boxWrap(footer, width) : '',
    isLeaf && own.length === 0 ? help.boxWrap('Options of every command: mediactl help options\n', width) : '',
  ]
    .filter((part) => part !== '')
    .join('\n');
}

/** Formats an option's description, followed by its allowed values with the default first. */
function describeOption({ description, argChoices = [], defaultValue, negate }: Option): string {
  const hasDefault = typeof defaultValue === 'string' && defaultValue !== '' && !negate;
  const others = argChoices.filter((choice) => choice !== defaultValue);
  const values = [...(hasDefault ? [defaultValue] : []), ...others].join(', ');
  return values === '' ? description : `${description} (${values})`;
}

const footer = `mediactl COMMAND --help tells more, and mediactl help TOPIC: options, exit-codes, environment, formatting, scripting, agents, faults, assumptions
`;

type HelpRow = readonly [term: string, description: string];

function usageOf(command: Command): string {
  const path: string[] = [];
  for (let at: Command | null = command; at; at = at.parent as Command | null) path.unshift(at.name());
  const isLeaf = command.commands.length === 0;
  const words = command.registeredArguments.map(argumentTerm);
  return [...path, ...(isLeaf ? words : ['COMMAND']), '[options]'].join(' ');
}

function groupsOf(command: Command): [title: string, rows: HelpRow[]][] {
  const groups = new Map<string, HelpRow[]>();
  for (const child of command.createHelp().visibleCommands(command)) {
    const title = child.helpGroup() || 'Commands';
    groups.set(title, [...(groups.get(title) ?? []), [child.name(), child.summary() || child.description()]]);
  }
  return [...groups];
}

function alignedRows(rows: readonly HelpRow[], width: number, help: Help, colors: ChalkInstance): string[] {
  const column = Math.min(maxTermWidth, Math.max(0, ...rows.map(([term]) => term.length)));
  return rows.flatMap(([term, description]) => {
    const indent = width < minTwoColumnWidth ? 6 : column + 4;
    const wrapped = help.boxWrap(description, width - indent).split('\n');
    const [first = '', ...others] = wrapped.map((line) => ' '.repeat(indent) + line);
    if (description === '') return [`  ${colors.cyan(term)}`];
    if (width < minTwoColumnWidth || term.length > column) return [`  ${colors.cyan(term)}`, first, ...others];
    return [`  ${colors.cyan(term)}${first.slice(term.length + 2)}`, ...others];
  });
}
