import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildCommandTree } from '../../src/cli/program.ts';
import { allNodes, leaves } from '../../src/cli/reference/command-node.ts';
import { describeCommand } from '../../src/cli/reference/command-tree.ts';
import { shortcuts } from '../../src/cli/shortcuts.ts';
import { createFixtures, DocumentationUser, type Fixtures } from './documentation-user.ts';
import { hangMs } from './hang.ts';
import { has } from './has.ts';
import { commandsIn, type PageCommand, readPage, userPages } from './manual.ts';
import type { Requirement } from './requirements.ts';

/* Tests that the command lines of README.md, of the manual and of the help of each command can be run as they are. */

/** Command lines that are not run here, and where they are tested. */
const elsewhere: Record<string, string> = {
  'npm ci && npm run demo': 'test/process/demo.test.ts',
  'npm run demo -- stop': 'test/process/demo.test.ts',
  'npm ci && npm test': 'is what runs this test',
  'npm install --global ./mediactl-0.1.0.tgz': 'changes the machine: scripts/test-install.mjs',
  'npm ci && npm pack --silent && npm install --global ./mediactl-*.tgz': 'the same',
  'mediactl queue forget ID': 'needs a file that failed: test/command/queue.test.ts',
  'mediactl login --base-url https://media.example.com': 'asks for a key: test/process/terminal.test.ts',
  'mediactl login --profile ci --base-url https://media.example.com': 'the same',
  'mediactl login --profile NAME --base-url URL': 'the same',
  'mediactl login --key-store file': 'the same',
  'mediactl auth login --base-url https://media.example.com': 'the same',
  'mediactl config set primary_workspace UID': 'needs the uid of a workspace: test/command/workspace-guard.test.ts',
  'mediactl config set field_names.asset_workspace NAME':
    'hides the workspace from the lines after it: test/unit/workspace-membership.test.ts',
  'mediactl sandbox logs -f': 'runs until it is interrupted: test/command/sandbox.test.ts',
  'mediactl assets ls --follow --jsonl': 'runs until it is interrupted: test/command/follow.test.ts',
  'mediactl ls /Inbox --follow …': 'the same',
  'mediactl upload --queue': 'only names an option: test/process/fleet-redis.test.ts',
  'mediactl doctor --service': 'needs a running service: test/command/doctor-service.test.ts',
  'npm i express bullmq@6 ioredis @bull-board/express': 'asks the network',
  'node -e …': 'needs those packages',
  'mediactl upload rclone:s3:my-bucket/rushes /Moved --create-folders': 'test/process/rclone.test.ts',
  'mediactl upload rclone:archive:2026/ /Inbox': 'test/process/rclone.test.ts',
  'mediactl upload https://example.com/clip.mp4 rclone:archive:2026/clip.mov': 'test/process/rclone.test.ts',
};

/** Command lines that exit with another code than 0 here, and why. */
const codes: Record<string, { code: number; why: string }> = {
  'cat clip.mp4 | mediactl upload - /Inbox --name piped.mp4': {
    code: 11,
    why: 'an earlier line uploads this content, under another name',
  },
  'ffmpeg -i in.mov -f mp4 - | mediactl upload - --name "From a pipe"': { code: 11, why: 'the same' },
  'mediactl check ./clip.mp4': { code: 11, why: 'the asset of its name has other bytes' },
  'mediactl check ./rushes /Campaigns': { code: 11, why: 'the folder has an asset that is not in the directory' },
  'mediactl check ./rushes /Campaigns/2026': { code: 11, why: 'the same' },
  'mediactl check ./rushes /Campaigns/2026 --download': { code: 11, why: 'the same' },
  'mediactl check ./rushes /Campaigns/2026 --matches --csv > proof.csv': { code: 11, why: 'the same' },
  "mediactl ls '/Campaigns/**/*.mov'": { code: 3, why: 'this sandbox has no such video there' },
  'mediactl assets thumb ID -o poster.jpg': { code: 3, why: 'this sandbox has no ffmpeg' },
  'mediactl assets thumb interview.mp4 -o poster.jpg': { code: 3, why: 'the same' },
  'mediactl assets thumb @last -o poster.jpg': { code: 3, why: 'the same' },
  'mediactl uploads resume 3f2a9c1d5e6b7a80 --wait': { code: 3, why: 'no such upload' },
  'mediactl uploads forget 3f2a9c1d5e6b7a80': { code: 3, why: 'the same' },
  'mediactl history CHANGE': { code: 3, why: 'RUN stands for the id of a change' },
  'mediactl history CHANGE --resume': { code: 3, why: 'the same' },
  'mediactl history 3f2a9c1d': { code: 3, why: 'no such change' },
  'mediactl history 3f2a9c1d --resume': { code: 3, why: 'the same' },
  'mediactl undo 3f2a9c1d --yes': { code: 3, why: 'the same' },
  'mediactl queue retry u3f2a9c1d5e6b7a8': { code: 3, why: 'the same' },
  'mediactl queue forget u3f2a9c1d5e6b7a8 --yes': { code: 3, why: 'the same' },
};

/** Command lines that need another one before, which the help does not show. */
const preparations: Record<string, string> = {
  'mediactl folders create /Campaigns': 'mediactl rm -r /Campaigns',
  'mediactl folders rm /Campaigns/2026 --yes': "mediactl mv '/Campaigns/2026/*' /Archive",
  'mediactl mv --tag done /Archive --create-folders': 'mediactl tag @last --add done',
  'mediactl assets ls -q --all --tag draft | mediactl assets update - --description "" -n':
    'mediactl tag @last --add draft',
  'mediactl apply library.csv --dry-run': 'mediactl export -o library.csv --yes',
  'mediactl undo --dry-run': 'mediactl tag @last --add sea',
  'mediactl download /Renders -d DIRECTORY': 'mediactl folders create /Renders',
  'mediactl embed domains rm old.example.com': 'mediactl embed domains add old.example.com',
  'mediactl sandbox start --seed 1000 --fault cut-after=20MiB,times=2': 'mediactl sandbox stop',
};

/** Pages of scripts, in which nothing answers questions. On the others the user answers yes. */
const unattended = ['docs/scripting.md', 'docs/recipes.md', 'docs/uploading.md', 'skills/mediactl/SKILL.md'];

/** Name of a command in the tables and in the report. */
const nameOf = (text: string) =>
  ['node -e …', 'mediactl ls /Inbox --follow …'].find((name) => text.startsWith(name.slice(0, -1))) ?? text;

const requirements: [RegExp, Requirement][] = [
  [/--queue|mediactl queue|redis:/, 'redis-server'],
  [/(?<!-)\bjq /, 'jq'],
  [/\bcurl /, 'curl'],
];

/** Returns what a command needs that this machine lacks. A line may read what those before it in its block write. */
const missingFor = ({ lines }: PageCommand): Requirement | undefined =>
  requirements.find(([pattern, name]) => pattern.test(lines) && !has(name))?.[1];

const tree = describeCommand(await buildCommandTree('0.0.0'));
const knownCommands = new Set([
  ...allNodes(tree).flatMap(({ path, aliases }) => [path, ...aliases]),
  ...Object.keys(shortcuts).map((name) => `mediactl ${name}`),
]);

/** Command lines that an earlier paragraph, page or help has. The commands of `videos` share the code of `assets`. */
const seen = new Set<string>();
const isDue = ({ text, from }: PageCommand) => {
  const line = text.replaceAll('mediactl videos', 'mediactl assets');
  const isMention = from === 'inline' && knownCommands.has(text);
  if (isMention || (from !== 'block' && seen.has(line))) return false;
  seen.add(line);
  // `--pick` waits for a person in the page: test/process/browse-pick.test.ts.
  return !/--pick\b/.test(text) && !Object.hasOwn(elsewhere, nameOf(text));
};

type Page = { name: string; commands: PageCommand[] };

const dueIn = (pages: Page[]): Page[] =>
  pages
    .map(({ name, commands }) => ({ name, commands: commands.filter(isDue) }))
    .filter(({ commands }) => commands.length > 0);

export const manualPages = dueIn(userPages.map((name) => ({ name, commands: commandsIn(readPage(name)) })));

/** The examples of each command, without those that the manual has. */
export const helpPages = dueIn(
  leaves(tree).map(({ path, examples }) => ({
    name: `${path} --help`,
    commands: examples.map((text) => ({ text, lines: text, from: 'help' })),
  })),
);

/** Runs the lines of a page in their order: one may need what those before it did. */
export function testPages(pages: readonly Page[]): void {
  let fixtures: Fixtures;
  beforeAll(async () => {
    fixtures = await createFixtures();
  }, 3 * hangMs);
  afterAll(() => fixtures.end());

  it('each command in the tables of exceptions occurs in the documentation', () => {
    const all = [...seen].map(nameOf);
    for (const line of [elsewhere, codes, preparations].flatMap(Object.keys)) expect(all).toContain(line);
  });

  for (const { name, commands } of pages)
    describe.concurrent(name, () => {
      let user: DocumentationUser;
      beforeAll(async () => {
        const startsSandbox = commands.some(({ text }) => text.startsWith('mediactl sandbox start'));
        user = await DocumentationUser.start(fixtures, { name, startsSandbox, answersYes: !unattended.includes(name) });
      });
      afterAll(() => user.end());
      for (const command of commands)
        it.sequential(command.text, async ({ skip }) => {
          const missing = missingFor(command);
          skip(missing !== undefined, missing);
          const { text } = command;
          const before = preparations[text];
          const { code, stderr } = await user.run(before ? `${before} && ${text}` : text);
          expect(code, stderr).toBe(codes[text]?.code ?? 0);
        });
    });
}
