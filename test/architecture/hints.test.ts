import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, CommanderError } from '@commander-js/extra-typings';
import { beforeAll, expect, it } from 'vitest';
import { errorRows, hintOf } from '../../src/cli/error-hints.ts';
import { nameProfile } from '../../src/cli/profile-in-commands.ts';
import { buildCommandTree } from '../../src/cli/program.ts';
import { foreignCommands } from '../../src/cli/reference/foreign-commands.ts';
import { foreignLines } from '../../src/cli/reference/foreign-lines.ts';
import { foreignOptions } from '../../src/cli/reference/foreign-options.ts';
import { expandShortcut, shortcuts } from '../../src/cli/shortcuts.ts';
import { CodedError, type Remedies, type Remedy } from '../../src/client/errors.ts';
import { repository } from '../support/manual.ts';

/* Parses each suggested command as a user would paste it: up to the punctuation that ends it. Runs none of them. */

let program: Command;
beforeAll(async () => {
  program = await buildCommandTree('0.0.0');
  const silence = (command: Command) => {
    command.exitOverride().configureOutput({ writeErr: () => {}, writeOut: () => {}, outputError: () => {} });
    for (const child of command.commands) silence(child as Command);
  };
  silence(program);
});

/** Placeholders whose value the parser checks. */
const placeholders: Record<string, string> = { NUMBER: '1', VERB: 'rm' };

/** Words that continue a sentence. After a command, there has to be punctuation before them. */
const prose = /^(?:and|compares|if|lists|moves|once|or|renames|shows|starts|then|to|with)$/;

/** Returns the arguments of each command in a text: up to the punctuation, pipe or redirection that ends it. */
function commandsIn(text: string): string[][] {
  const matches = text.matchAll(/\bmediactl ((?=[a-z])(?:'[^']*'|"[^"]*"|[^'",;:()|<>\n])*)/g);
  return [...matches].map(([, command = '']) => {
    const words = command.replace(/\. .*|\.$/, '').match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? [];
    return words.filter((word) => word !== '…').map((word) => placeholders[word] ?? word.replace(/['"]/g, ''));
  });
}

/** Returns why the program cannot parse a command, or undefined if it would run it. */
async function parseErrorOf(words: readonly string[]): Promise<string | undefined> {
  const sentence = words.slice(1).find((word) => prose.test(word));
  if (sentence !== undefined) return `the word ${sentence} is pasted with it`;
  if (words[0] === 'help' || words.includes('--help')) return undefined;
  try {
    await program.parseAsync(
      expandShortcut(words, () => true),
      { from: 'user' },
    );
  } catch (error) {
    const wouldRun = !(error instanceof CommanderError) && /this tree is for reading/.test((error as Error).message);
    return wouldRun ? undefined : (error as Error).message;
  }
  return undefined;
}

async function brokenCommandsIn(text: string): Promise<string[]> {
  const broken: string[] = [];
  for (const words of commandsIn(text)) {
    const error = await parseErrorOf(words);
    if (error) broken.push(`mediactl ${words.join(' ')}: ${error}`);
  }
  return broken;
}

it('each command in the hint of an error code can be pasted as it is printed', async () => {
  const texts = errorRows().flatMap(({ hints }) => hints);
  expect((await Promise.all(texts.map(brokenCommandsIn))).flat()).toEqual([]);
  expect(texts.flatMap(commandsIn).length).toBeGreaterThan(30);
});

const lines = foreignLines.map(({ line, use, after }) => {
  return { words: String(line), after, use: use.replaceAll(/\{\d\}/g, '1').replace('{words}', 'DIR /FOLDER --watch') };
});
const foreignWords = [...foreignCommands, ...foreignOptions, ...lines];

it('each command in the answer to a word of another program can be pasted as it is printed', async () => {
  const broken: string[] = [];
  for (const { use, words, after = [''] } of foreignWords)
    for (const end of after) {
      const text = use
        .replaceAll('{verb}', end.replace(/^(?:assets|mediactl) /, ''))
        .replaceAll('{word} …', `${words.split(' ')[0]} a`);
      for (const error of await brokenCommandsIn(text)) broken.push(`${words}: ${error}`);
    }
  expect(broken).toEqual([]);
  expect(foreignWords.flatMap(({ use }) => commandsIn(use)).length).toBeGreaterThan(150);
});

it('each option in the answer to a word of another program is an option of mediactl', () => {
  const options = new Set<string>();
  const visit = (command: Command) => {
    for (const { long, short } of command.options) for (const name of [long, short]) if (name) options.add(name);
    for (const child of command.commands) visit(child as Command);
  };
  visit(program);
  const texts = foreignWords.map(({ use }) => use).filter((use) => /^(?:-|leave it out|mediactl )/.test(use));
  const named = texts.flatMap((use) => use.replace(/'[^']*'/g, '').match(/(?<![\w-])--?[a-z][a-z-]*/gi) ?? []);
  expect(named.filter((name) => !options.has(name) && !/^-FIELD$/.test(name))).toEqual([]);
  expect(named.length).toBeGreaterThan(80);
});

/** Arguments of each remedy, with values that a shell would split or expand. */
const remedyArguments: { [Name in keyof Remedies]: Remedies[Name][] } = {
  accept_rendition: [[]],
  check_base_url: [[]],
  compare_download: [[], ['./two words', '/F']],
  confirm_new_asset: [['a-uid']],
  upload_moved: [
    ["done/Ada's clip.mov", ''],
    ['done/a.mov', 'a-uid'],
  ],
  create_parents: [["/No such/Ada's folder"]],
  get_playback_token: [[]],
  pipe_download: [[]],
  pipe_remote: [['remote:two words.mov']],
  rename_folder: [['/two words']],
  list_orphans: [[]],
  list_pending_uploads: [[]],
  name_encoding: [[], ['windows-1250']],
  resume_upload: (['by_id', 'by_command', 'as_new_asset', 'from_start', 'replaced'] as const).map((how) => ['id', how]),
  retry_all: [[]],
  set_field_name: [
    ['embed_enabled', 'NAME', ', with one of a, b'],
    ['asset_tags', 'two words'],
  ],
  set_field_names: [['asset_tags', 'folder_children']],
  show_asset: [['a-uid', 'to see if it still exists']],
  show_embed_restriction: [[]],
  show_playback: [['a-uid']],
  show_urls: [['a-uid']],
  start_local_service: [[]],
  upload_directory: [['./two words']],
  upload_spooled: [["/state/spool/Ada's"]],
  use_smaller_chunks: [[]],
  wait_then_repeat: [['a-uid']],
  use_uids: [[], ['rm']],
};

it('each command of a remedy can be pasted as it is printed, also with spaces and quotes in its arguments', async () => {
  const remedies = Object.entries(remedyArguments).flatMap(([name, all]) =>
    all.map((given) => [name, ...given] as unknown as Remedy),
  );
  const texts = remedies.map((remedy) => hintOf(new CodedError('', { code: 'usage', remedy })) ?? '');
  expect((await Promise.all(texts.map((text) => brokenCommandsIn(text.replaceAll("'\\''", ' '))))).flat()).toEqual([]);
  const unquoted = texts.map((text) => text.replaceAll("'\\''", '').replace(/'[^']*'/g, ''));
  expect(unquoted.filter((text) => /two words|Ada/.test(text))).toEqual([]);
});

/** Returns the strings of a line of code, with a word in place of each expression and nothing for an optional one. */
function stringsIn(line: string): string[] {
  let text = line.replaceAll(/\$\{collection\}/g, 'assets').replaceAll(/\$\{verb\}/g, 'rm');
  for (let before = ''; before !== text; ) {
    before = text;
    text = text.replace(/\$\{([^{}]*)\}/g, (_, expression: string) => (expression.includes('?') ? '' : 'a-word'));
  }
  const strings = text.matchAll(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`/g);
  return [...strings].map(([quoted]) => quoted.slice(1, -1).replaceAll('\\', ''));
}

/** Sentences about the program, and commands whose first word is not in the string. */
const isNotCommand = /another mediactl process|mediactl has stopped|mediactl (?:[a-z]+ )?(?:a-word|$)/;

function* programStrings(): Generator<[file: string, text: string]> {
  for (const folder of ['src/cli', 'src/client', 'src/queue', 'src/web/browse/browser'])
    for (const name of readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' }))
      if (/\.tsx?$/.test(name) && !name.startsWith('reference'))
        for (const line of readFileSync(join(repository, folder, name), 'utf8').split('\n'))
          if (!/^\s*(?:\/?\*|\/\/)/.test(line)) for (const text of stringsIn(line)) yield [`${folder}/${name}`, text];
}

it('each command in the other strings of the program can be pasted as it is printed', async () => {
  const broken: string[] = [];
  for (const [file, text] of programStrings())
    if (!isNotCommand.test(text)) for (const error of await brokenCommandsIn(text)) broken.push(`${file}: ${error}`);
  expect(broken).toEqual([]);
});

it('a sentence about mediactl gets no --profile as if it were a command', () => {
  const commands = new Set([...program.commands.map((command) => command.name()), ...Object.keys(shortcuts)]);
  const words = [...programStrings()].flatMap(([, text]) =>
    [...text.matchAll(/\bmediactl ([a-z]+)/g)].map(([, word]) => word),
  );
  const sentences = [...new Set(words)].filter((word = '') => !commands.has(word) && !/^(?:a|help)$/.test(word));
  expect(sentences).toContain('process');
  const named = sentences.map((word) => nameProfile(`mediactl ${word}`, { profile: 'p', isCurrent: false }));
  expect(named).toEqual(sentences.map((word) => `mediactl ${word}`));
});
