import type { Command } from '@commander-js/extra-typings';
import { beforeAll, describe, expect, it } from 'vitest';
import { nextStepFor } from '../../src/cli/profile-in-commands.ts';
import { buildCommandTree } from '../../src/cli/program.ts';
import { type ForeignWord, foreignCommands } from '../../src/cli/reference/foreign-commands.ts';
import { foreignOptions } from '../../src/cli/reference/foreign-options.ts';
import { findAlternative, findSuggestion } from '../../src/cli/reference/suggestions.lazy.ts';
import { shortcuts } from '../../src/cli/shortcuts.ts';
import { Cli } from '../support/cli.ts';

/* Answers to commands and options of other programs, which newcomers type first. */

const foreignWords = [...foreignCommands, ...foreignOptions];

type CommandPlace = { path: string[]; commands: string[]; options: string[] };

/** Every command of the program, with the names that it knows. The first is mediactl itself. */
let places: CommandPlace[];

beforeAll(async () => {
  const visit = (command: Command, path: string[]): CommandPlace[] => {
    const children = command.commands as unknown as Command[];
    return [
      {
        path,
        commands: [
          ...children.flatMap((child) => [child.name(), ...child.aliases()]),
          ...(path.length === 0 ? ['help', ...Object.keys(shortcuts)] : []),
        ],
        options: command.options.flatMap(({ long, short }) => [long, short]).filter((name) => name !== undefined),
      },
      ...children.flatMap((child) => visit(child, [...path, child.name()])),
    ];
  };
  places = visit(await buildCommandTree('0.0.0'), []);
});

const namesAt = ({ commands, options }: CommandPlace, word: string) => (word.startsWith('-') ? options : commands);

const answerAt = (place: CommandPlace, word: string) => findAlternative(place.path, word, namesAt(place, word));

/** Returns the first command after which a word is unknown and its row of the table is the answer. */
const placeOf = (row: ForeignWord, word: string) =>
  places.find((place) => {
    const isOption = word.startsWith('-');
    if (isOption ? place.commands.length > 0 : place.commands.length === 0) return false;
    if ([word, word.replace(/^(-[a-z]).+/i, '$1')].some((known) => namesAt(place, word).includes(known))) return false;
    const answer = answerAt(place, word);
    return answer?.hint === filled(row, place, word) && answer.reason === row.cannot;
  });

const filled = ({ use }: ForeignWord, { path }: CommandPlace, word: string) =>
  use.replaceAll('{verb}', path.at(-1) ?? '').replaceAll('{word}', word);

const errorOf = async (cli: Cli, ...args: string[]) => {
  const { code, stderr } = await cli.run([...args, '--json']);
  return { ...JSON.parse(stderr).error, code };
};

it('each word of the table is answered, where it is typed, with what its row says', async () => {
  const cli = new Cli();
  const wrong: unknown[] = [];
  for (const row of foreignWords)
    for (const word of row.words.split(' ')) {
      const place = placeOf(row, word);
      const typed = [...(place?.path ?? ['nowhere']), word].join(' ');
      const { code, hint, cause } = place ? await errorOf(cli, ...place.path, word) : { code: 2, hint: '', cause: '' };
      if (
        code !== 2 ||
        !place ||
        hint !== nextStepFor(filled(row, place, word), undefined) ||
        cause !== (row.cannot ?? null)
      )
        wrong.push({ typed, expected: row.use, hint, cause });
    }
  expect(wrong).toEqual([]);
  expect(foreignWords.flatMap(({ words }) => words.split(' ')).length).toBeGreaterThan(600);
}, 60_000);

/** First guesses of people at a terminal, and a part of the answer: of its cause if it begins with "cause: ". */
const firstGuesses: [typed: string, answer: string][] = [
  ['list', 'mediactl ls'],
  ['show ID', 'mediactl get ID'],
  ['view ID', 'mediactl get ID'],
  ['info ID', 'mediactl get ID'],
  ['edit ID --description D', 'mediactl update ID'],
  ['delete ID', 'mediactl rm ID'],
  ['delete -r /Old', 'mediactl rm ID'],
  ['remove ID', 'mediactl rm ID'],
  ['copy a.mp4 /Inbox', 'mediactl upload PATH /FOLDER'],
  ['move ID /Inbox', 'mediactl mv ID /FOLDER'],
  ['mkdir /Autumn', 'mediactl folders create /FOLDER'],
  ['rmdir /Fall', 'mediactl folders rm /FOLDER'],
  ['restore ID', 'cause: the API cannot restore'],
  ['undelete ID', 'cause: the API cannot restore'],
  ['trash ID', 'mediactl rm ID'],
  ['usage', 'mediactl stats'],
  ['version', 'mediactl --version'],
  ['thumb ID', 'mediactl assets thumb ID -o FILE'],
  ['thumbnail ID --time 12', 'mediactl assets thumb ID -o FILE'],
  ['poster ID', 'mediactl assets thumb ID -o FILE'],
  ['link ID', 'mediactl share ID'],
  ['url ID', 'mediactl share ID'],
  ['profile', 'mediactl auth ls'],
  ['about', 'mediactl whoami'],
  ['status', 'mediactl whoami'],
  ['watch ./exports /Exports', 'mediactl sync DIR /FOLDER'],
  ['replace ID a.mp4', 'cause: the API cannot replace the file'],
  ['import edited.csv', 'mediactl apply FILE'],
  ['resume', 'mediactl uploads resume --all'],
  ['set ID name=B', 'mediactl update ID --set KEY=VALUE'],
  ['tags', 'mediactl stats --by tag'],
  ['untag ID press', 'mediactl tag ID --remove TAG'],
  ['duplicates', 'mediactl stats --duplicates'],
  ['webhooks', 'cause: the API has no webhooks'],
  ['cp a.mp4 /Inbox', 'mediactl upload PATH /FOLDER'],
  ['assets move ID /Inbox', 'mediactl mv ID /FOLDER'],
  ['assets add a.mp4', 'mediactl upload PATH'],
  ['videos restore ID', 'cause: the API cannot restore'],
  ['folders mkdir /Autumn', 'mediactl folders create /FOLDER'],
  ['workspaces create New', 'cause: the API cannot create'],
  ['queue rm ID', 'mediactl queue forget ID'],
  ['uploads cancel ID', 'Ctrl-C where it runs'],
  ['upload a.mp4 --title T', '--name NAME'],
  ['upload a.mp4 --tags a,b', '--tag TAG'],
  ['upload a.mp4 --replace ID', 'cause: the API cannot replace the file'],
  ['upload a.mp4 --acl public-read', 'cause: the API has no public'],
  ['upload rushes --skip-existing', 'leave it out'],
  ['upload rushes --recursive', 'leave it out'],
  ['upload rushes --dry', '--dry-run'],
  ['upload rushes --exclude-from skip.txt', '--exclude GLOB'],
  ['sync ./exports /Exports --follow', 'mediactl sync DIR /FOLDER --watch'],
  ['sync ./exports /Exports --delete', '--prune'],
  ['ls --since today', '--created-after DATE'],
  ['ls --min-duration 1m', 'select(.duration and .duration > 1 * 60)'],
  ['ls --untagged', 'select(.tags == [])'],
  ['ls --no-tags', 'select(.tags == [])'],
  ['ls --timeout 10s', '--request-timeout DURATION'],
  ['ls --retries 5', '--max-wait'],
  ['ls --output json', '--format json'],
  ['ls --profile-name staging', '--profile NAME'],
  ['ls -v', '--json'],
  ['login --with-token', '--with-key'],
  ['update ID --file a.mp4', 'cause: the API cannot replace the file'],
  ['update ID --thumbnail p.jpg', 'cause: the API cannot set a thumbnail'],
  ['update ID --public', 'cause: the API has no public'],
  ['share ID --expires 1d', 'cause: the service decides how long'],
  ['share ID --embed', 'cause: the API has no embed code'],
  ['assets thumb ID --time 12', 'cause: the service makes one thumbnail'],
  ['rm --files-from ids.txt', 'mediactl rm - < FILE'],
  ['download ID --to ./out', '--directory DIR'],
  ['rm -rf /Old', 'leave it out'],
  ['embed domains add a.example.com --dry', '--dry-run'],
  ['upload a.mov -c:v libx264', 'cause: the service chooses how it encodes'],
];

it.each(firstGuesses)(
  'the first guess "mediactl %s" is answered with what does it, or why nothing does',
  async (typed, answer) => {
    const { code, hint, cause } = await errorOf(new Cli(), ...typed.split(' '));
    const [, reason] = /^cause: (.*)/.exec(answer) ?? [];
    expect([code, reason ? cause : hint]).toEqual([2, expect.stringContaining(reason ?? answer)]);
  },
);

it('a terminal shows the reason and the next step below the unknown command', async () => {
  const { stderr } = await new Cli().run(['restore', 'ID']);
  expect(stderr).toBe(
    [
      "error: unknown command 'restore'",
      '  cause: the API cannot restore what is in the trash',
      '  try:   mediactl undo, which reverts other changes\n',
    ].join('\n'),
  );
});

it('help for a word of another program names what does the same', async () => {
  expect((await new Cli().run(['help', 'mkdir'])).stderr).toContain('try:   mediactl folders create /FOLDER');
});

describe('no answer does the opposite of its word', () => {
  const removal =
    /^-*(?:delete|del|remove|rm|rmdirs?|rd|rb|unlink|erase|destroy|trash|purge|untag|unlabel|signout|sign|logoff)/;
  const removing = /\bmediactl (?:[a-z]+ )*(?:rm|forget|reset|logout)\b|--prune|--trash|--remove/;
  const addition =
    /^-*(?:import|create|new|add|put|push|send|ingest|mput|post|insert|rcat|copyurl|touch|mkdir|md|mb|make|init)(?:-|$)/;
  const adding = /\b(?:upload|apply|create|add)\b/;
  const fetching = /\bmediactl (?:export|download)\b/;
  const retrieval = /^-*(?:export|pull|save|mget|wget|dl|backup|dump|spreadsheet|excel|xlsx?|csv)$/;

  const all = foreignWords.flatMap((row) => row.words.split(' ').map((word) => ({ ...row, word })));
  const matching = (words: RegExp, answers: RegExp) =>
    all.filter(({ word, use }) => words.test(word) && answers.test(use)).map(({ word, use }) => `${word}: ${use}`);

  it('a command that deletes is the answer only to a word, or an option of a command, that means deletion', () => {
    const others = all.filter(
      ({ word, after = [], use }) =>
        removing.test(use) && !removal.test(word) && !after.every((end) => /\b(?:rm|forget)$/.test(end)),
    );
    expect(others.map(({ word, use }) => `${word}: ${use}`)).toEqual([]);
    expect(all.filter(({ use }) => removing.test(use)).length).toBeGreaterThan(10);
  });

  it('a word for adding gets no answer that deletes, exports or downloads', () => {
    expect([...matching(addition, removing), ...matching(addition, fetching)]).toEqual([]);
    expect(matching(addition, adding).length).toBeGreaterThan(10);
  });

  it('a word for fetching gets no answer that adds or deletes', () => {
    expect([...matching(retrieval, adding), ...matching(retrieval, removing)]).toEqual([]);
  });

  it('a word for deleting gets no answer that adds, exports or downloads', () => {
    expect([
      ...matching(removal, adding).filter((each) => !/^sign/.test(each)),
      ...matching(removal, fetching),
    ]).toEqual([]);
  });

  it.each([
    ['import', 'export'],
    ['unmount', 'mount'],
    ['signout', 'login'],
    ['signin', 'logout'],
    ['start', 'stop'],
    ['stop', 'start'],
    ['publish', 'restrict'],
  ])('the answer to %s does not contain %s', (word, opposite) => {
    const hint = answerAt(places[0] as CommandPlace, word)?.hint;
    expect(hint).toEqual(expect.not.stringMatching(new RegExp(`\\b${opposite}\\b`)));
  });
});

/** Spellings with one error: a letter missing, typed twice, swapped with the next one, wrong, or too many. */
const misspellings = (word: string) =>
  [...word].flatMap((letter, at) => [
    word.slice(0, at) + word.slice(at + 1),
    word.slice(0, at) + letter + word.slice(at),
    word.slice(0, at) + (word[at + 1] ?? '') + letter + word.slice(at + 2),
    `${word.slice(0, at)}j${word.slice(at + 1)}`,
    `${word.slice(0, at)}j${word.slice(at)}`,
  ]);

const deletes = /^(?:rm|delete|forget|reset|logout)$/;

it('a spelling error in any command that deletes nothing leads to that command', () => {
  const wrong: string[] = [];
  let checked = 0;
  for (const place of places)
    for (const name of place.commands.filter((each) => !deletes.test(each) && !/^(?:__|help$)/.test(each)))
      for (const typed of misspellings(name)) {
        if (typed.length < 2 || place.commands.includes(typed) || answerAt(place, typed)) continue;
        checked++;
        const suggestion = findSuggestion(typed, place.commands) ?? '';
        if (!suggestion.split(/[ ?]/).includes(name)) wrong.push(`${[...place.path, typed].join(' ')}: ${suggestion}`);
      }
  expect(wrong).toEqual([]);
  expect(checked).toBeGreaterThan(1_000);
});

it('a spelling error never leads to a command that deletes, nor past it to another one', () => {
  const names = ['rm', 'mv', 'reset', 'forget', 'logout', 'login'];
  expect(['rmm', 'rse', 'rest', 'forgt', 'logut'].map((typed) => findSuggestion(typed, names))).toEqual(
    Array(5).fill(undefined),
  );
});

it('a word of the table wins over a command with a similar spelling, and two errors in six letters are another word', async () => {
  const cli = new Cli();
  for (const [typed, similar] of [
    ['status', 'stats?'],
    ['set', 'get?'],
    ['ps', 'ls?'],
    ['tar', 'tag?'],
    ['tags', 'tag?'],
    ['state', 'stats?'],
    ['imprt', 'export?'],
    ['resme', 'rename?'],
  ] as const) {
    const { hint } = await errorOf(cli, typed);
    expect([typed, hint]).toEqual([typed, expect.not.stringContaining(similar)]);
  }
});
