import { existsSync } from 'node:fs';
import { Command, CommanderError } from '@commander-js/extra-typings';
import { asCodedError, type CodedError, usageError } from '../client/errors.ts';
import { capitalize } from '../shared/figures.ts';
import { escapeControls } from '../shared/sanitize.ts';
import { type ActionWrapper, addExamples, type CommandOutcome, globalOptions, isGlobalOption } from './command.ts';
import type { Context as CommandContext, Host } from './context.ts';
import { type ExitCode, exitCodeOf, exitCodes } from './error-hints.ts';
import { formatHelpPage } from './help-page.ts';
import { libraryPorts } from './library-ports.ts';
import { isHidden, type Noun, nouns } from './nouns.ts';
import type { Result } from './output/result.ts';
import type { Settings } from './settings/settings.ts';
import { expandShortcut, shortcuts, type TypedLine, typedLine } from './shortcuts.ts';
import { OutputClosed, type Terminal } from './terminal/terminal.ts';
import { wrapText } from './terminal/wrap.ts';

/**
 * Parses argv, runs the command and prints its result or its error. Never throws.
 *
 * @param argv arguments, without the paths of node and the script
 * @returns the exit code
 */
export async function runProgram(argv: readonly string[], host: Host): Promise<ExitCode> {
  const invocation: Invocation = { argv };
  try {
    const program = buildProgram(host, invocation);
    assertNoRewrittenPath(argv, host);
    const words = await expandHelp(argv.map(expandDebug), host);
    invocation.argv = words;
    await program.parseAsync(expandShortcut(words, takesValue), { from: 'user' });
    return exitCodes.ok;
  } catch (thrown) {
    const fromCommander = thrown instanceof CommanderError ? thrown : undefined;
    if (thrown instanceof OutputClosed || fromCommander?.exitCode === 0) return exitCodes.ok;
    // The user entered a noun without a verb, and Commander has printed its help to stderr.
    if (fromCommander?.code === 'commander.help') return exitCodes.usage;
    const called = invocation.called as Command;
    const line = lineOf(called, invocation);
    const error = fromCommander
      ? await toUsageError(fromCommander, called, line)
      : await answerLine(asCodedError(thrown), line);
    // If the settings could not be resolved, the output format is read from argv.
    const format = invocation.settings?.outputOptions.format ?? requestedFormat(argv, host);
    printError(host.terminal, error, format.startsWith('json'));
    if (invocation.settings?.debug)
      host.terminal.emit(String((error.cause as Error | undefined)?.stack ?? error.stack));
    return exitCodeOf(error);
  }
}

function requestedFormat(argv: readonly string[], { environment }: Host): string {
  const short = argv.find((word) => /^--jsonl?$/.test(word))?.slice(2);
  const joined = argv.find((word) => word.startsWith('--format='))?.slice('--format='.length);
  const at = argv.indexOf('--format');
  return short ?? joined ?? (at >= 0 ? argv[at + 1] : environment.MEDIACTL_FORMAT) ?? 'table';
}

/** The command that runs, and its settings, set once they are resolved. They determine how errors are printed. */
type Invocation = { settings?: Settings; argv: readonly string[]; called?: Command };

function buildProgram(host: Host, invocation: Invocation): Command {
  const { terminal, version } = host;
  const program = new Command('mediactl').exitOverride().configureOutput({
    writeOut: (text) => void terminal.stdout.write(text),
    writeErr: (text) => void terminal.stderr.write(terminal.redactor.redact(text)),
    outputError: () => {}, // printError prints the error instead
    getOutHelpWidth: () => Math.min(terminal.columns, 100),
    getErrHelpWidth: () => Math.min(terminal.columns, 100),
    getOutHasColors: () => terminal.colors(terminal.stdout).level > 0,
    getErrHasColors: () => terminal.colors(terminal.stderr).level > 0,
  });
  program.configureHelp({
    minWidthToWrap: 20,
    formatHelp: (command, help) => {
      const { names } = lineOf(command as Command, invocation);
      return formatHelpPage(command as Command, help, { typed: names[0], colors: terminal.colors(terminal.stdout) });
    },
  });
  addNouns(program, version);
  const run = runner(host, invocation);
  const follow = (command: Command): Command => {
    invocation.called = command;
    return command.hook('preSubcommand', async (_parent, child) => {
      await loadCommand(follow(untyped(child)), run);
    });
  };
  return follow(program);
}

/** Builds the complete command tree, with every command loaded, for documentation. Its commands cannot be run. */
export async function buildCommandTree(version: string): Promise<Command> {
  const program = addNouns(new Command('mediactl'), version);
  const run: ActionWrapper = () => async () => {
    throw new Error('this tree is for reading');
  };
  for (const noun of program.commands.map(untyped)) {
    await loadCommand(noun, run);
    for (const verb of noun.commands.map(untyped)) await loadCommand(verb, run);
  }
  return program;
}

function addNouns(program: Command, version: string): Command {
  program
    .description('The command line for a hosted media library.')
    .version(version, '-V, --version', 'print the version')
    .helpCommand(false)
    .enablePositionalOptions()
    .showSuggestionAfterError(false); // commanderUsage adds suggestions
  addExamples(program, 'mediactl sandbox start', 'mediactl upload ./clip.mp4 --wait');
  for (const option of globalOptions()) program.addOption(option);
  for (const { name, summary, load } of nouns)
    loaders.set(
      program
        .command(name, { hidden: isHidden(name) })
        .summary(summary)
        .description(`${capitalize(summary)}.`)
        .helpCommand(false),
      load,
    );
  return program;
}

const untyped = (command: unknown) => command as Command;

const parentOf = (command: Command) => untyped(command.parent) as Command | null;

const loaders = new WeakMap<Command, Noun['load']>();

/** Loads the definition of a noun or a verb. Of a noun with a list of verbs, only the list is loaded. */
async function loadCommand(command: Command, run: ActionWrapper): Promise<void> {
  const definition = await loaders.get(command)?.();
  loaders.delete(command);
  if (typeof definition === 'function') {
    definition(command, run);
    for (const leaf of leavesOf(command)) {
      const own = leaf.options.map(({ long }) => long);
      for (const option of globalOptions()) if (!own.includes(option.long)) leaf.addOption(option);
    }
  } else
    for (const { name, summary, load, alias } of definition ?? []) {
      const verb = untyped(command.command(name).summary(summary));
      if (alias) verb.alias(alias);
      loaders.set(verb, load);
    }
}

function leavesOf(command: Command): Command[] {
  const children = command.commands.map(untyped);
  return children.length === 0 ? [command] : children.flatMap(leavesOf);
}

const runner =
  (host: Host, invocation: Invocation): ActionWrapper =>
  (perform) =>
  async (...input) => {
    const command = input.at(-1) as Command;
    await rejectForeignWords(command, lineOf(command, invocation));
    const typed = typedOptions(command);
    if (typed.dryRun) await rejectDryRun(lineOf(command, invocation), command);
    // Imported lazily, so that --version and --help start faster.
    const [{ Context, openProfileFile }, { collectFlags, resolveSettings }, { present }, { unknownVariables }] =
      await Promise.all([
        import('./context.ts'),
        import('./settings/settings.ts'),
        import('./output/output.ts'),
        import('./settings/variables.ts'),
      ]);
    const profiles = openProfileFile(host);
    const { environment, cwd, version } = host;
    const config = await profiles.read();
    const warn = (message: string) => host.terminal.warn(message);
    const project = { cwd, uid: host.processes.uid, warn };
    const settings = resolveSettings(collectFlags(typed), environment, project, config);
    invocation.settings = settings;
    host.terminal.configure(settings);
    for (const { name, similar } of unknownVariables(environment))
      if (similar.length > 0) warn(`${name} is not known; did you mean ${similar.join(' or ')}?`);
    const commandTree = () => buildCommandTree(version);
    const context = new Context({ host, settings, profiles, config, commandTree, ports: libraryPorts });
    try {
      const outcome = await perform(context, ...input);
      const { result, failure }: Exclude<CommandOutcome, Result> = 'result' in outcome ? outcome : { result: outcome };
      let outputClosed: unknown;
      try {
        await present(context, result);
      } catch (error) {
        if (!(error instanceof OutputClosed)) throw error;
        outputClosed = error;
      }
      // If stdout was closed early, stderr and the exit code still report the failure.
      const thrown = (typeof failure === 'function' ? failure() : failure) ?? outputClosed ?? (await findGap(context));
      if (thrown) throw thrown;
    } catch (error) {
      throw context.changesMade.explain(error);
    } finally {
      // Also after an error: it may be the end of a run that the notes tell how to continue.
      for (const note of context.closingNotes) host.terminal.info(note);
      await context.close();
    }
  };

/** Returns the error of a command that has done its work with an incomplete list. */
async function findGap({ listGaps }: CommandContext): Promise<CodedError | undefined> {
  if (listGaps.length === 0) return undefined;
  const { incompleteLists } = await import('../client/api/pagination.ts');
  return incompleteLists(listGaps);
}

/** Returns the global options that the user entered, even before the noun as in `mediactl --json assets ls`. */
function typedOptions(command: Command): Record<string, unknown> {
  const typed: Record<string, unknown> = {};
  for (let at: Command | null = command; at; at = parentOf(at))
    for (const option of at.options.filter(isGlobalOption)) {
      const name = option.attributeName();
      const value = at.opts()[name as never] as unknown;
      if (at.getOptionValueSource(name as never) === 'cli' && typed[name] !== false)
        typed[name] = value === false ? value : (typed[name] ?? value); // --no-input applies at any level
    }
  return typed;
}

/** Expands a bare `--debug` to `--debug=on`, so that it does not consume the next argument. Ignored after `--`. */
const expandDebug = (word: string, at: number, words: readonly string[]) =>
  word === '--debug' && !words.slice(0, at).includes('--') ? '--debug=on' : word;

/** @throws CodedError `usage` (exit 2) if Git Bash has turned a folder of the library into a path of Windows */
function assertNoRewrittenPath(argv: readonly string[], { environment }: Host): void {
  if (!environment.MSYSTEM) return;
  const pattern = /^(?:-[^=]*=)?([a-z]:\/(?:msys64|(?:.*\/)?(?:Program Files|Programs)\/Git)\/(.*))$/i;
  const changed = argv.find((word) => {
    const [, path = '', below] = pattern.exec(word) ?? [];
    return path !== '' && (below === '' || !existsSync(path));
  });
  if (changed)
    throw usageError(`Git Bash has changed a path to ${changed}`, 'write //Folder, or set MSYS_NO_PATHCONV=1');
}

const takesValue = (option: string) =>
  globalOptions().some(({ short, long, required }) => required && [short, long].includes(option));

/**
 * Rewrites an empty argv and `help [NOUN VERB]` to options, since Commander's own `help` command does not
 * load nouns. For `help TOPIC`, and for a topic alone, prints the topic and throws a `CommanderError` with exit code 0.
 */
async function expandHelp(argv: readonly string[], { terminal }: Host): Promise<string[]> {
  const [first] = argv;
  if (first === undefined) return ['--help'];
  // `upload help`. Other commands take names and words, which can be "help".
  if (argv.length === 2 && argv[1] === 'help' && hasOwnHelpWord(first)) return [first, '--help'];
  if (argv.length === 1 && !first.startsWith('-') && !isCommand(first)) await printTopic(first, terminal);
  if (first !== 'help') return [...argv];
  const [noun, ...verbs] = argv.slice(1).filter((word) => !word.startsWith('-'));
  if (argv.includes('--json')) return ['commands', '--json'];
  if (noun === undefined) return ['--help'];
  await printTopic(noun, terminal);
  return isCommand(noun) ? [noun, ...verbs, '--help'] : [noun]; // Commander reports an unknown command
}

/** Prints a help topic, and throws a `CommanderError` with exit code 0. Returns if there is none of that name. */
async function printTopic(name: string, terminal: Terminal): Promise<void> {
  const { topics } = await import('./reference/topics.ts');
  const topic = Object.hasOwn(topics, name) ? topics[name] : undefined;
  if (!topic) return;
  await terminal.write(wrapText(topic.text(), Math.min(terminal.columns, 100)));
  throw new CommanderError(exitCodes.ok, 'commander.helpDisplayed', '');
}

const isCommand = (word: string) => {
  const [expanded] = expandShortcut([word], takesValue);
  return nouns.some(({ name }) => name === expanded);
};

const hasOwnHelpWord = (noun: string) =>
  nouns.some(({ name }) => name === noun) && !['play', 'browse', 'api'].includes(noun);

function lineOf(command: Command, { argv }: Invocation): TypedLine {
  const path: string[] = [];
  for (let at: Command | null = command; at && parentOf(at); at = parentOf(at)) path.unshift(at.name());
  return typedLine(argv, path, takesValue);
}

/**
 * Rejects words that look like an option, such as `-1`, or like a path of this machine where one of the library is
 * meant. After `--`, words are words.
 */
async function rejectForeignWords({ args }: Command, line: TypedLine): Promise<void> {
  const { words } = line;
  const option = args.find((word) => /^-\d/.test(word));
  const path = args.find((word) => /^\.{1,2}(?:\/|$)/.test(word));
  if (words.includes('--') || !(option ?? path)) return;
  if (option) throw new CommanderError(exitCodes.usage, 'commander.unknownOption', `unknown option '${option}'`);
  const { findLine } = await import('./reference/suggestions.lazy.ts');
  const answer = findLine(line, 'refused');
  if (answer) throw usageError(`${answer.about} is a path of this machine`, answer.hint, answer.reason);
}

/** Rejects `-n` where it cannot be `--dry-run`. The tables say what it may be instead, such as `--limit` in `ls -n 5`. */
async function rejectDryRun({ names }: TypedLine, command: Command): Promise<void> {
  const { isReading } = await import('./reference/reading-commands.ts');
  if (isReading(names[1], command.opts()))
    throw usageError(`${names[0]} changes nothing, so it has no --dry-run`, 'leave -n out');
}

/** Adds to an error what does the same as the typed line, if the table has it. */
async function answerLine(error: CodedError, line: TypedLine): Promise<CodedError> {
  if (error.kind !== 'usage' && error.kind !== 'notFound') return error;
  const { findLine } = await import('./reference/suggestions.lazy.ts');
  const answer = findLine(line);
  if (!answer || (error.kind === 'notFound' && !error.message.includes(answer.about ?? ''))) return error;
  return error.with({ hint: answer.hint, ...(answer.reason !== undefined && { reason: answer.reason }) });
}

/** Converts a Commander error to a usage error. For an unknown command or option, suggests what does the same. */
async function toUsageError(error: CommanderError, command: Command, line: TypedLine): Promise<CodedError> {
  const [problem = ''] = error.message
    .replace(/^error: /, '')
    .replace(/^command-argument value (.*) is invalid for argument '(.*?)'/, '<$2> does not accept $1')
    .replace(/^too many arguments for '.*'\. Expected (.*) but got (.*)\./, `${line.names[0]} accepts $1, not $2`)
    .split('\n');
  const path: string[] = [];
  for (let at: Command | null = command; at?.name(); at = parentOf(at)) path.unshift(at.name());
  const [, unknown] = /unknown (?:command|option) '([^']+)'/.exec(problem) ?? [];
  const help = `${['mediactl', line.names[0]].filter(Boolean).join(' ')} --help`;
  const { findAlternative, findLine, findMisspelled, findSuggestion } = await import('./reference/suggestions.lazy.ts');
  const inLine = findLine(line);
  if (unknown === undefined)
    return usageError(problem || 'the command line is not valid', inLine?.hint ?? help, inLine?.reason);
  const known = unknown.startsWith('-')
    ? command.options.filter(({ hidden }) => !hidden).flatMap(({ long, short }) => [long, short])
    : [...command.commands.map((each) => each.name()), ...(path.length === 1 ? Object.keys(shortcuts) : [])];
  const [word = unknown] = unknown.split('=');
  const names = known.filter((each) => each !== undefined);
  const commands = path.slice(1);
  const suggestion = () => {
    const hint = findSuggestion(word, names);
    return hint === undefined ? undefined : { hint, reason: undefined };
  };
  const answer =
    (inLine?.matched.includes(unknown) ? inLine : undefined) ??
    findAlternative(commands, word, names) ??
    inLine ??
    suggestion() ??
    findMisspelled(commands, word, names);
  return usageError(problem, answer?.hint ?? help, answer?.reason);
}

/** Prints an error to stderr with its cause and hint, or as one JSON line if `machine` is true. */
function printError(terminal: Terminal, error: CodedError, machine: boolean) {
  const { redactor } = terminal;
  if (terminal.log) return terminal.log({ level: 'error', message: error.message, error: redactor.errorRecord(error) });
  if (machine) return terminal.emitJson(JSON.stringify({ error: redactor.errorRecord(error) }));
  // A declined confirmation is not shown as an error.
  if (error.explanation.code === 'declined') return terminal.emit(error.message);
  const { bold, dim, red } = terminal.colors(terminal.stderr);
  const { reason, lines = [] } = error.explanation;
  const hint = redactor.hintOf(error);
  const causes = [...(reason ? [reason] : []), ...lines].map(escapeControls);
  terminal.emitStyled(
    [
      `${red('error:')} ${bold(escapeControls(error.message))}`,
      ...causes.map((cause, at) => `${at === 0 ? dim('  cause:') : '        '} ${cause}`),
      ...(hint ? [`${dim('  try:  ')} ${escapeControls(hint)}`] : []),
    ].join('\n'),
  );
}
