/** Top-level words that stand for a longer command. */
const table: Readonly<Record<string, { summary: string; expands: readonly string[] }>> = {
  wait: { summary: 'wait until uploads are processed', expands: ['assets', 'wait'] },
  ls: { summary: 'list assets', expands: ['assets', 'ls'] },
  get: { summary: 'show one or more assets', expands: ['assets', 'get'] },
  download: { summary: 'download files', expands: ['assets', 'download'] },
  share: { summary: 'print playback URLs and when they expire', expands: ['play', '--url'] },
  mv: { summary: 'move assets or a folder', expands: ['assets', 'mv'] },
  rename: { summary: 'rename an asset or a folder', expands: ['assets', 'rename'] },
  update: { summary: 'change the name, description or tags', expands: ['assets', 'update'] },
  tag: { summary: 'add, remove, rename or replace tags', expands: ['assets', 'tag'] },
  export: { summary: 'write a table to edit in a spreadsheet', expands: ['assets', 'export'] },
  apply: { summary: 'apply an edited table to the library', expands: ['assets', 'apply'] },
  stats: { summary: 'count assets, hours and bytes by folder; find duplicates', expands: ['assets', 'stats'] },
  rm: { summary: 'move assets to the trash or delete folders', expands: ['assets', 'rm'] },
  login: { summary: 'log in with an API key, or replace it', expands: ['auth', 'login'] },
  logout: { summary: 'delete the API key from this machine', expands: ['auth', 'logout'] },
  whoami: { summary: 'show the account and how many requests remain', expands: ['auth', 'status'] },
  search: { summary: 'list assets', expands: ['assets', 'ls'] },
  open: { summary: 'play an asset in the browser', expands: ['play', '--web'] },
};

/** Maps each shortcut to the words that it expands to. */
export const shortcuts: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(table).map(([word, { expands }]) => [word, expands]),
);

export const shortcutSummary = (word: string) => table[word]?.summary ?? '';

/**
 * Expands a shortcut such as `ls` to the command that it stands for.
 *
 * @param takesValue returns true if the given option is followed by its value
 */
export function expandShortcut(argv: readonly string[], takesValue: (option: string) => boolean): string[] {
  const at = findCommandIndex(argv, takesValue);
  const word = argv[at] ?? '';
  const expansion = Object.hasOwn(shortcuts, word) ? (shortcuts[word] as readonly string[]) : [word];
  return at < argv.length ? [...argv.slice(0, at), ...expansion, ...argv.slice(at + 1)] : [...argv];
}

/** Returns the index of the first argument that is neither an option nor the value of an option. */
function findCommandIndex(argv: readonly string[], takesValue: (option: string) => boolean): number {
  let at = 0;
  while (argv[at]?.startsWith('-') && argv[at] !== '--') at += takesValue(argv[at] as string) ? 2 : 1;
  return at;
}

/** A command line: the command as it was typed and as it was expanded, without `mediactl`, and the words after it. */
export type TypedLine = { names: readonly [typed: string, expanded: string]; words: readonly string[] };

/** @param path names of the command that was called, such as `assets`, `ls` */
export function typedLine(
  argv: readonly string[],
  path: readonly string[],
  takesValue: (option: string) => boolean,
): TypedLine {
  const at = findCommandIndex(argv, takesValue);
  const typed = argv[at] ?? '';
  const isShort = Object.hasOwn(shortcuts, typed);
  const names = [isShort ? typed : path.join(' '), path.join(' ')] as const;
  return { names, words: argv.slice(at + (isShort ? 1 : path.length)) };
}
