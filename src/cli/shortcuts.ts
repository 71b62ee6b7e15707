/** Maps shortcuts for frequent commands to the words that they expand to. */
export const shortcuts: Readonly<Record<string, readonly string[]>> = {
  ls: ['assets', 'ls'],
  get: ['assets', 'get'],
  rm: ['assets', 'rm'],
  download: ['assets', 'download'],
  search: ['assets', 'ls'],
  open: ['play', '--web'],
  login: ['auth', 'login'],
  logout: ['auth', 'logout'],
  whoami: ['auth', 'status'],
  status: ['auth', 'status'],
};

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
