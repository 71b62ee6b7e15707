import type { Command, Help, Option } from '@commander-js/extra-typings';
import type { ChalkInstance } from 'chalk';
import { groupBy } from '../shared/groups.ts';
import { argumentTerm, examplesOf, isGlobalOption, isListedHeading } from './command.ts';
import { helpGroups } from './nouns.ts';
import { shortcuts } from './shortcuts.ts';
import { wrapText } from './terminal/wrap.ts';

/** Maximum and minimum number of examples on a help page. docs/commands.md lists all examples. */
const [maxExamples, minExamples] = [3, 1];
/** Height of a standard terminal in lines. Help pages that are longer get fewer examples. */
const screenLines = 24;
const maxTermWidth = 30;
/** Terminal width below which a description is printed under its term instead of beside it. */
const minTwoColumnWidth = 60;

type HelpStyle = {
  /** The command as it was typed, such as `share` for `play --url`. */
  typed: string;
  colors: ChalkInstance;
};

export function formatHelpPage(command: Command, help: Help, style: HelpStyle): string {
  for (let examples = maxExamples; ; examples--) {
    const page = pageWith(command, help, style, examples);
    if (page.trimEnd().split('\n').length <= screenLines) return page;
    // A page that is long anyway keeps its examples.
    if (examples <= minExamples) return pageWith(command, help, style, maxExamples);
  }
}

function pageWith(command: Command, help: Help, { typed, colors }: HelpStyle, examples: number): string {
  const width = help.helpWidth ?? 80;
  const isTop = command.parent === null;
  const section = (title: string, lines: readonly string[]) =>
    lines.length > 0 ? `${colors.bold(title)}\n${lines.join('\n')}\n` : '';
  const aligned = (rows: readonly HelpRow[]) => alignedRows(rows, width, help, colors);
  const options = help.visibleOptions(command).filter((option) => !isGlobalOption(option));
  const optionGroups = groupBy(
    options.filter(({ long }) => !['--help', '--version'].includes(long ?? '')),
    ({ helpGroupHeading }) => helpGroupHeading,
  );
  const rowOf = (option: Option): HelpRow => [help.optionTerm(option), describeOption(option)];
  const argumentRows = help
    .visibleArguments(command)
    .map((argument): HelpRow => [help.argumentTerm(argument), argument.description]);
  const shownExamples = examplesAs(typed, examplesOf(command)).slice(0, examples);
  const isLeaf = command.commands.length === 0;
  const optionsTitle = isTop ? 'Options' : `Options ${colors.dim('(of every command: mediactl help options)')}`;
  const commandGroups = isTop ? helpGroups : [['Commands', subcommandRows(command)] as const];
  const ungrouped = [...argumentRows, ...(optionGroups.get(undefined) ?? []).map(rowOf)];
  const grouped = [...optionGroups].filter(([title]) => title !== undefined);
  const listed = grouped.filter(([title]) => isListedHeading(title));
  const described = grouped.filter(([title]) => !isListedHeading(title));
  const page = [
    `${command.description()}\n`,
    `${colors.bold('Usage:')} ${usageOf(command, typed)}\n`,
    section(
      'Examples',
      shownExamples.map((line) => `  ${line}`),
    ),
    ...commandGroups.map(([title, rows]) => section(title, aligned(rows))),
    section(
      described.length > 0 && optionGroups.get(undefined) === undefined ? 'Arguments' : optionsTitle,
      aligned(ungrouped),
    ),
    ...described.map(([title = '', each]) => section(title, aligned(each.map(rowOf)))),
    ...listed.map(([title = '', each]) => section(title, [`  ${each.map(({ long }) => long).join(', ')}`])),
    isTop ? `${footer}\n` : '',
    isLeaf && (ungrouped.length === 0 || described.length > 0)
      ? 'Options of every command: mediactl help options\n'
      : '',
  ];
  return wrapText(page.filter((part) => part !== '').join('\n'), width);
}

/**
 * Returns examples in the words of the short form that was typed. One that stands for options, such as `share`, has only
 * those with its options.
 */
function examplesAs(typed: string, lines: readonly string[]): readonly string[] {
  const meaning = shortcuts[typed];
  if (!meaning) return lines;
  const options = meaning.filter((word) => word.startsWith('-'));
  const path = meaning.filter((word) => !options.includes(word)).join(' ');
  const names = Object.keys(shortcuts).filter((word) => word !== typed && shortcuts[word]?.join(' ') === path);
  const others = new RegExp(`\\bmediactl (?:${[path, ...names].join('|')})(?= |$)`, 'g');
  return lines.flatMap((line) => {
    const own = line.replace(others, `mediactl ${typed}`);
    if (options.length === 0 || line.startsWith(`mediactl ${typed} `)) return [own];
    return options.every((option) => own.includes(` ${option}`)) ? [own.replace(` ${options.join(' ')}`, '')] : [];
  });
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

function usageOf(command: Command, typed: string): string {
  const isLeaf = command.commands.length === 0;
  const words = command.registeredArguments.map(argumentTerm);
  const meaning = shortcuts[typed] ?? [];
  // Options that the shortcut stands for are told, such as the --url of share.
  const sameAs = meaning.some((word) => word.startsWith('-')) ? [`(is mediactl ${meaning.join(' ')})`] : [];
  const line = ['mediactl', typed, ...(isLeaf ? words : ['COMMAND']), '[options]', ...sameAs];
  return line.filter((word) => word !== '').join(' ');
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
