import { Command, CommanderError } from '@commander-js/extra-typings';
import {
  asMediactlError,
  type ExitCode,
  exitCodes,
  type MediactlError,
  usageError,
} from '../client/errors.ts';
import { example, globalOptions, isGlobal, type Run } from './commands/command.ts';
import type { Host } from './context.ts';
import { helpPage } from './help-page.ts';
import { type Noun, nouns } from './nouns.ts';
import { showError } from './output/error-view.ts';
import type { Settings } from './settings/settings.ts';
import { shortWords, spelledOut } from './short-words.ts';
import { OutputClosed } from './terminal/terminal.ts';

/**
 * Parses argv (without node and script), runs the command, shows its result or its error.
 *
 * @returns the exit code; nothing is thrown
 */
export async function runProgram(argv: readonly string[], host: Host): Promise<ExitCode> {
  let called: Command | undefined;
  const invocation: Invocation = {};
  try {
    const program = buildProgram(host, invocation, (command) => {
      called = command;
    });
    called = program;
    const words = await expandHelp(argv.map(expandDebug), host);
    await program.parseAsync(spelledOut(words, takesValue), { from: 'user' });
    return exitCodes.ok;
  } catch (thrown) {
    if (thrown instanceof OutputClosed) return exitCodes.ok;
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return exitCodes.ok;
    // A noun without a verb: its help is on stderr, and says it all.
    if (thrown instanceof CommanderError && thrown.code === 'commander.help')
      return exitCodes.usage;
    const error =
      thrown instanceof CommanderError
        ? await commanderUsage(thrown, called as Command)
        : asMediactlError(thrown);
    // Where the settings themselves are wrong, argv tells what form was wanted.
    const format = invocation.settings?.shape.format ?? formatTyped(argv, host);
    showError(host.terminal, error, format.startsWith('json'));
    if (invocation.settings?.debug)
      host.terminal.tell(String((error.cause as Error | undefined)?.stack ?? error.stack));
    return error.exitCode;
  }
}

function formatTyped(argv: readonly string[], { environment }: Host): string {
  const short = argv.find((word) => /^--jsonl?$/.test(word))?.slice(2);
  const at = argv.findIndex((word) => /^(?:-o|--output)$/.test(word));
  const joined = argv.find((word) => /^--output=/.test(word))?.slice('--output='.length);
  return short ?? joined ?? (at >= 0 ? argv[at + 1] : environment.MEDIACTL_OUTPUT) ?? 'human';
}

/** What the command that runs was told, once it is known: errors are shown by it. */
type Invocation = { settings?: Settings };

function buildProgram(
  host: Host,
  invocation: Invocation,
  onCall: (command: Command) => void,
): Command {
  const { terminal, version } = host;
  const program = new Command('mediactl').exitOverride().configureOutput({
    writeOut: (text) => void terminal.stdout.write(text),
    writeErr: (text) => void terminal.stderr.write(terminal.redactor.redact(text)),
    outputError: () => {}, // said once, by showError
    getOutHelpWidth: () => Math.min(terminal.columns, 100),
    getErrHelpWidth: () => Math.min(terminal.columns, 100),
    getOutHasColors: () => terminal.colors(terminal.stdout).level > 0,
    getErrHasColors: () => terminal.colors(terminal.stderr).level > 0,
  });
  program.configureHelp({
    minWidthToWrap: 20,
    formatHelp: (command, help) =>
      helpPage(command as Command, help, terminal.colors(terminal.stdout)),
  });
  addNouns(program, version);
  for (const noun of program.commands.map(plain))
    noun.hook('preSubcommand', (_noun, verb) => onCall(plain(verb)));
  const run = runner(host, invocation);
  program.hook('preSubcommand', async (_program, noun) => {
    const command = plain(noun);
    onCall(command);
    await loadNoun(command, run);
  });
  return program;
}

/** The whole tree with every noun loaded, for what is generated from it; nothing in it runs. */
export async function wholeTree(version: string): Promise<Command> {
  const program = addNouns(new Command('mediactl'), version);
  const run: Run = () => async () => {
    throw new Error('this tree is for reading');
  };
  for (const noun of program.commands.map(plain)) await loadNoun(noun, run);
  return program;
}

function addNouns(program: Command, version: string): Command {
  program
    .description('The command line for a hosted media library.')
    .version(version, '-V, --version', 'print the version')
    .helpCommand(false)
    .enablePositionalOptions()
    .showSuggestionAfterError(false); // said by commanderUsage
  example(program, 'mediactl sandbox start', 'mediactl upload ./clip.mp4 --wait');
  for (const option of globalOptions()) program.addOption(option);
  for (const { name, summary, group, load } of nouns)
    lazily.set(
      program
        .command(name, { hidden: group === undefined })
        .helpGroup(group ?? '')
        .summary(summary)
        .description(capitalized(summary))
        .helpCommand(false),
      load,
    );
  return program;
}

/** A command without the types of its own arguments and options. */
const plain = (command: unknown) => command as Command;

const parentOf = (command: Command) => plain(command.parent) as Command | null;

const lazily = new WeakMap<Command, Noun['load']>();

async function loadNoun(command: Command, run: Run): Promise<void> {
  (await lazily.get(command)?.())?.(command, run);
  lazily.delete(command);
  for (const leaf of leavesOf(command)) addGlobals(leaf);
}

/** A command's own option of the same name comes first. */
function addGlobals(leaf: Command): void {
  const own = leaf.options.map(({ long }) => long);
  for (const option of globalOptions()) if (!own.includes(option.long)) leaf.addOption(option);
}

function leavesOf(command: Command): Command[] {
  const children = command.commands.map(plain);
  return children.length === 0 ? [command] : children.flatMap(leavesOf);
}

const runner =
  (host: Host, invocation: Invocation): Run =>
  (perform) =>
  async (...input) => {
    const command = input.at(-1) as Command;
    const typed = typedOptions(command);
    // Loaded by the command that runs: --version and --help pay for none of it.
    const [{ Context, profilesOf }, { givenFlags, resolveSettings }, { present }] =
      await Promise.all([
        import('./context.ts'),
        import('./settings/settings.ts'),
        import('./output/output.ts'),
      ]);
    const profiles = profilesOf(host);
    const { environment, cwd, version } = host;
    const config = await profiles.read();
    const settings = resolveSettings(givenFlags(typed), environment, cwd, config);
    invocation.settings = settings;
    host.terminal.configure(settings);
    const context = new Context(host, settings, profiles, config, () => wholeTree(version));
    try {
      const outcome = await perform(context, ...input);
      const {
        result,
        failure: ending,
        picture = undefined,
      } = 'result' in outcome ? outcome : { result: outcome };
      let left: unknown;
      try {
        if (picture) await host.terminal.write(picture); // no pager hands it on
        await present(host.terminal, settings.shape, result, host.clock.now(), () =>
          context.shownUids(),
        );
      } catch (error) {
        if (!(error instanceof OutputClosed)) throw error;
        left = error;
      }
      // A reader that left has not seen it: stderr and the exit code still tell.
      const failure = typeof ending === 'function' ? ending() : ending;
      if (failure ?? left) throw failure ?? left;
    } finally {
      await context.close();
    }
  };

/** The options that were typed, those before the noun too: `mediactl --json assets ls`. */
function typedOptions(command: Command): Record<string, unknown> {
  const typed: Record<string, unknown> = {};
  for (let at: Command | null = command; at; at = parentOf(at))
    for (const option of at.options.filter(isGlobal)) {
      const name = option.attributeName();
      const value = at.opts()[name as never] as unknown;
      if (at.getOptionValueSource(name as never) === 'cli' && typed[name] !== false)
        typed[name] = value === false ? value : (typed[name] ?? value); // --no-input holds anywhere
    }
  return typed;
}

/** A bare `--debug` must not take the next word as its value; after `--` nothing is an option. */
const expandDebug = (word: string, at: number, words: readonly string[]) =>
  word === '--debug' && !words.slice(0, at).includes('--') ? '--debug=on' : word;

/** An option of every command that is followed by its value. */
const takesValue = (option: string) =>
  globalOptions().some(({ short, long, required }) => required && [short, long].includes(option));

/** Nothing at all, `help`, `help NOUN VERB` and `help TOPIC`, as Commander's own help does not load our nouns. */
async function expandHelp(argv: readonly string[], { terminal }: Host): Promise<string[]> {
  if (argv.length === 0) return ['--help'];
  if (argv.length === 1 && argv[0] === '-v') return ['--version'];
  if (argv[0] !== 'help') return [...argv];
  const [noun, ...verbs] = argv.slice(1).filter((word) => !word.startsWith('-'));
  if (argv.includes('--json')) return ['commands', '--json'];
  const { topics } = await import('./reference/topics.ts');
  const topic = Object.hasOwn(topics, noun ?? '') ? topics[noun as string] : undefined;
  if (topic) {
    await terminal.write(topic.text());
    throw new CommanderError(exitCodes.ok, 'commander.helpDisplayed', '');
  }
  if (noun === undefined) return ['--help'];
  const [meant = noun] = spelledOut([noun], takesValue);
  return nouns.some(({ name }) => name === meant)
    ? [...spelledOut([noun, ...verbs], takesValue), '--help']
    : [noun]; // Commander says that it is unknown
}

/** What is wrong with argv, and what was meant: by what other tools call it, or by its letters. */
async function commanderUsage(error: CommanderError, command: Command): Promise<MediactlError> {
  const [problem = ''] = error.message
    .replace(/^error: /, '')
    .replace(
      /^command-argument value (.*) is invalid for argument '(.*?)'/,
      '<$2> does not accept $1',
    )
    .replace(/^too many arguments for '(.*)'\. Expected (.*) but got (.*)\./, '$1 takes $2, not $3')
    .split('\n');
  const path: string[] = [];
  for (let at: Command | null = command; at?.name(); at = parentOf(at)) path.unshift(at.name());
  const [, unknown] = /unknown (?:command|option) '([^']+)'/.exec(problem) ?? [];
  const help = `${path.join(' ')} --help`;
  if (unknown === undefined)
    return usageError(problem || 'the command line was not understood', help);
  const { suggestion } = await import('./reference/guesses.lazy.ts');
  const known = unknown.startsWith('-')
    ? command.options.filter(({ hidden }) => !hidden).flatMap(({ long, short }) => [long, short])
    : [
        ...command.commands.map((each) => each.name()),
        ...(path.length === 1 ? Object.keys(shortWords) : []),
      ];
  const [flag = unknown] = unknown.split('=');
  const words = known.filter((each) => each !== undefined);
  return usageError(problem, suggestion(path.slice(1).join(' '), flag, words) ?? help);
}

const capitalized = (text: string) => `${text[0]?.toUpperCase()}${text.slice(1)}.`;
