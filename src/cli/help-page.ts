import type { Command, Help, Option } from '@commander-js/extra-typings';
import type { ChalkInstance } from 'chalk';
import { argumentTerm, examplesOf, filtersHeading, isGlobalOption } from './command.ts';
import { helpGroups } from './nouns.ts';
import { wrapText } from './terminal/wrap.ts';

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
    if (page.trimEnd().split('\n').length <= screenLines) return page;
    // A page that is long anyway keeps its examples.
    if (examples <= minExamples) return pageWith(command, help, colors, maxExamples);
  }
}

function pageWith(command: Command, help: Help, colors: ChalkInstance, examples: number): string {
  const width = help.helpWidth ?? 80;
  const isTop = command.parent === null;
  const section = (title: string, lines: readonly string[]) =>
    lines.length > 0 ? `${colors.bold(title)}\n${lines.join('\n')}\n` : '';
  const aligned = (rows: readonly HelpRow[]) => alignedRows(rows, width, help, colors);
  const options = help.visibleOptions(command).filter((option) => !isGlobalOption(option));
  const filters = options.filter(({ helpGroupHeading }) => helpGroupHeading === filtersHeading);
  const own = options.filter(
    (option) => !filters.includes(option) && !['--help', '--version'].includes(option.long ?? ''),
  );
  const optionGroups = groupOptions(own);
  const rowOf = (option: Option): HelpRow => [help.optionTerm(option), describeOption(option)];
  const argumentRows = help
    .visibleArguments(command)
    .map((argument): HelpRow => [help.argumentTerm(argument), argument.description]);
  const shownExamples = examplesOf(command).slice(0, examples);
  const isLeaf = command.commands.length === 0;
  const optionsTitle = isTop ? 'Options' : `Options ${colors.dim('(of every command: mediactl help options)')}`;
  const commandGroups = isTop ? helpGroups : [['Commands', subcommandRows(command)] as const];
  const ungrouped = [...argumentRows, ...(optionGroups.get(undefined) ?? []).map(rowOf)];
  const grouped = [...optionGroups].filter(([title]) => title !== undefined);
  const page = [
    `${command.description()}\n`,
    `${colors.bold('Usage:')} ${usageOf(command)}\n`,
    section(
      'Examples',
      shownExamples.map((line) => `  ${line}`),
    ),
    ...commandGroups.map(([title, rows]) => section(title, aligned(rows))),
    section(
      grouped.length > 0 && optionGroups.get(undefined) === undefined ? 'Arguments' : optionsTitle,
      aligned(ungrouped),
    ),
    ...grouped.map(([title = '', each]) => section(title, aligned(each.map(rowOf)))),
    section(filtersHeading, filters.length > 0 ? [`  ${filters.map(({ long }) => long).join(', ')}`] : []),
    isTop ? `${footer}\n` : '',
    isLeaf && (ungrouped.length === 0 || grouped.length > 0) ? 'Options of every command: mediactl help options\n' : '',
  ];
  return wrapText(page.filter((part) => part !== '').join('\n'), width);
}

/** Groups options by their heading, in the order in which they were added; undefined for those without one. */
function groupOptions(options: readonly Option[]): Map<string | undefined, Option[]> {
  const groups = new Map<string | undefined, Option[]>();
  for (const option of options) {
    const title = option.helpGroupHeading;
    groups.set(title, [...(groups.get(title) ?? []), option]);
  }
  return groups;
}

/** Formats an option's description, followed by its allowed values with the default first. */
function describeOption({ description, argChoices = [], defaultValue, negate }: Option): string {
  const hasDefault = typeof defaultValue === 'string' && defaultValue !== '' && !negate;
  const others = argChoices.filter((choice) => choice !== defaultValue);
  const values = [...(hasDefault ? [defaultValue] : []), ...others].join(', ');
  return values === '' ? description : `${description} (${values})`;
}

const footer =
  'mediactl COMMAND --help shows the options of a command. mediactl help TOPIC: options, exit-codes, environment, formatting, scripting, agents, faults, assumptions.';

type HelpRow = readonly [term: string, description: string];

function usageOf(command: Command): string {
  const path: string[] = [];
  for (let at: Command | null = command; at; at = at.parent as Command | null) path.unshift(at.name());
  const isLeaf = command.commands.length === 0;
  const words = command.registeredArguments.map(argumentTerm);
  return [...path, ...(isLeaf ? words : ['COMMAND']), '[options]'].join(' ');
}

const subcommandRows = (command: Command): HelpRow[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .map((child) => [child.name(), child.summary() || child.description()]);

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
