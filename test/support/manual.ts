import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/* Reads the user documentation and the command lines in it. */

export const repository = fileURLToPath(new URL('../..', import.meta.url));

export const readPage = (page: string) => readFileSync(`${repository}${page}`, 'utf8');

/** Pages for contributors, and pages that are generated. */
const otherPages = ['architecture.md', 'assumptions.md', 'commands.md', 'errors.md', 'releasing.md'];

export const docsPages = readdirSync(`${repository}docs`).filter((name) => name.endsWith('.md'));

/** Pages for users, whose command lines are run. */
export const userPages = [
  'README.md',
  ...docsPages.filter((name) => !otherPages.includes(name)).map((name) => `docs/${name}`),
  'skills/mediactl/SKILL.md',
];

/** A command line, or a whole script. */
export type PageCommand = {
  text: string;
  /** A block of a page, its inline code, or the help of a command. */
  from: 'block' | 'inline' | 'help';
  /** This line and the lines before it in its block. */
  lines: string;
};

const fence = /^ *```(\w*)\n(.*?)^ *```$/gms;

/**
 * Returns the commands of a page in order: lines of `sh` blocks, `bash` blocks as a whole, commands in `crontab`
 * and `yaml` blocks, and inline code with a `mediactl` command that has arguments.
 */
export function commandsIn(markdown: string): PageCommand[] {
  const commands: PageCommand[] = [];
  let end = 0;
  const addLines = (lines: string[], from: PageCommand['from']) =>
    commands.push(...lines.map((text, at) => ({ text, from, lines: lines.slice(0, at + 1).join('\n') })));
  const addInline = (text: string) => {
    for (const [, code = ''] of text.matchAll(/`([^`\n]+)`/g))
      if (/(?:^|\| )mediactl \S/.test(code)) addLines([code.replaceAll('\\|', '|')], 'inline');
  };
  for (const block of markdown.matchAll(fence)) {
    const [whole, language = '', content = ''] = block;
    addInline(markdown.slice(end, block.index));
    end = block.index + whole.length;
    addLines(commandsInBlock(language, content), 'block');
  }
  addInline(markdown.slice(end));
  return commands;
}

function commandsInBlock(language: string, content: string): string[] {
  const lines = content.replace(/\\\n\s*/g, '').split('\n');
  const matches = (pattern: RegExp) => lines.flatMap((line) => pattern.exec(line)?.[1] ?? []);
  if (language === 'bash') return [content];
  if (language === 'sh') return matches(/^\s*([^#\s].*?)(?: {2,}# .*)?$/);
  if (language === 'crontab') return matches(/^(?:\S+ +){4}\S+ +(\S.*)$/);
  return language === 'yaml' ? matches(/^\s*run: (.+)$/) : [];
}

/** Returns the anchor that GitHub gives to a heading. */
const anchorOf = (heading: string) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const withoutBlocks = (markdown: string) => markdown.replace(fence, '');

export const anchorsIn = (markdown: string): string[] =>
  [...withoutBlocks(markdown).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));

/** Returns the targets of links and images, except those on other sites. */
export const linksIn = (markdown: string): string[] =>
  [...withoutBlocks(markdown).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
