/**
 * What people type who come from other tools, and what they mean. Keys are what was not understood: a
 * word after the commands before it, or an option.
 */
const words: Record<string, string> = {
  list: 'ls',
  find: 'search WORDS',
  filter: 'ls --status ready --type video',
  count: 'ls --count',
  all: 'ls --all',
  show: 'get ID',
  view: 'get ID, or open ID',
  info: 'get ID',
  inspect: 'get ID',
  cat: 'get ID',
  describe: 'get ID',
  delete: 'rm ID',
  del: 'rm ID',
  remove: 'rm ID',
  trash: 'rm ID',
  restore: 'help scripting (the API cannot restore what is in the trash)',
  add: 'upload PATH',
  put: 'upload PATH',
  push: 'upload PATH',
  send: 'upload PATH',
  cp: 'upload PATH, or download ID',
  copy: 'upload PATH, or download ID',
  import: 'upload PATH, or uploads import FILE',
  sync: 'upload --sync DIR --folder FOLDER',
  pull: 'download ID',
  fetch: 'download ID',
  save: 'download ID',
  export: 'download - -d DIR, after ls -q',
  update: 'assets update ID --name NAME',
  edit: 'assets update ID --name NAME',
  set: 'assets update ID --set KEY=VALUE, or config set KEY VALUE',
  rename: 'assets update ID --name NAME, or folders rename FOLDER NAME',
  tag: 'assets update ID --add-tag TAG',
  tags: 'ls --tag TAG, or assets update ID --add-tag TAG',
  untag: 'assets update ID --remove-tag TAG',
  mv: 'folders mv FOLDER PARENT, or assets update ID --set parent=FOLDER_UID where the service takes it',
  move: 'folders mv FOLDER PARENT, or assets update ID --set parent=FOLDER_UID where the service takes it',
  mkdir: 'folders create PATH',
  rmdir: 'folders rm FOLDER',
  tree: 'folders tree',
  watch: 'open ID, or sandbox watch ID --open',
  stream: 'play ID --url',
  player: 'assets player ID',
  thumb: 'assets thumb ID',
  thumbnail: 'assets thumb ID',
  gallery: 'browse',
  ui: 'browse',
  web: 'browse, or play ID --web',
  dashboard: 'browse',
  gui: 'browse',
  wait: 'assets wait ID',
  resume: 'uploads resume',
  retry: 'uploads resume --all, or uploads retry --all of a queue',
  pending: 'uploads ls',
  queue: 'upload PATH --queue, or uploads ls --queue',
  enqueue: 'upload PATH --queue',
  jobs: 'uploads ls --queue',
  job: 'uploads ls --queue',
  workers: 'worker',
  work: 'worker',
  gc: 'uploads gc',
  init: 'login, or sandbox start',
  setup: 'login, or sandbox start',
  configure: 'login, or config ls',
  signin: 'login',
  signout: 'logout',
  me: 'whoami',
  user: 'whoami',
  account: 'whoami',
  accounts: 'auth ls',
  profile: 'auth ls',
  profiles: 'auth ls',
  key: 'auth token --reveal',
  keys: 'auth token --reveal',
  token: 'auth token --reveal',
  use: 'auth switch NAME, or workspaces use NAME',
  switch: 'auth switch NAME, or workspaces use NAME',
  domains: 'embed domains ls',
  start: 'sandbox start',
  stop: 'sandbox stop',
  serve: 'sandbox start',
  server: 'sandbox start',
  logs: 'sandbox logs',
  settings: 'config ls',
  version: '--version',
  man: 'help',
  docs: 'help',
  request: 'api PATH',
  curl: 'api PATH',
  'assets upload': 'upload PATH',
  'assets add': 'upload PATH',
  'assets create': 'upload PATH',
  'assets new': 'upload PATH',
  'assets search': 'search WORDS',
  'assets mv': 'assets update ID --set parent=FOLDER_UID, where the service takes it',
  'assets move': 'assets update ID --set parent=FOLDER_UID, where the service takes it',
  'assets tag': 'assets update ID --add-tag TAG',
  'assets play': 'play ID',
  'assets open': 'open ID',
  'videos upload': 'upload PATH',
  'videos add': 'upload PATH',
  'videos create': 'upload PATH',
  'videos play': 'play ID',
  'folders new': 'folders create PATH',
  'folders mkdir': 'folders create PATH',
  'folders add': 'folders create PATH',
  'folders show': 'folders ls FOLDER',
  'auth use': 'auth switch NAME',
  'auth whoami': 'whoami',
  'auth signin': 'login',
  'auth list-profiles': 'auth ls',
  'workspaces current': 'config get workspace',
  'workspaces switch': 'workspaces use NAME',
  'workspaces create': 'workspaces ls (the API makes none)',
  'sandbox open': 'sandbox watch ID --open',
  'sandbox run': 'sandbox start --foreground',
  'sandbox restart': 'sandbox stop; then start it again',
  'uploads status': 'uploads ls',
  'uploads list': 'uploads ls',
  'config list': 'config ls',
  'uploads continue': 'uploads resume',
  'uploads queue': 'uploads ls --queue',
  'uploads jobs': 'uploads ls --queue',
  'sandbox rm': 'sandbox reset',
  'sandbox delete': 'sandbox reset',
  'sandbox list': 'auth ls',
  'sandbox ls': 'auth ls',
  'embed on': 'embed enable',
  'embed off': 'embed disable',
  'embed add': 'embed domains add DOMAIN',
};

/** An option alone, or after the command that it was typed to. */
const options: Record<string, string> = {
  'upload --tag': 'mediactl assets update @last --add-tag TAG, or a --manifest with tags',
  'upload --tags': 'mediactl assets update @last --add-tag TAG, or a --manifest with tags',
  'upload --add-tag': 'mediactl assets update @last --add-tag TAG, or a --manifest with tags',
  'sandbox start --name': '--profile NAME, with --data DIR for a second one',
  'assets update --folder': '--set parent=FOLDER_UID, where the service takes it',
  '--format': '--output json',
  '-f': '--output json, or --yes',
  '--pretty': '--json on a terminal is indented and has colours',
  '--raw': '--jq FILTER prints strings bare',
  '--query': '--search WORDS, or --jq FILTER',
  '--filter': '--search WORDS, --status, --type, --tag, or --jq FILTER',
  '--tagged': '--tag TAG',
  '--tags': '--tag TAG, or --set-tags TAGS',
  '--force': '--yes',
  '--assume-yes': '--yes',
  '--verbose': '--debug, or --debug=http for every request',
  '-v': '--debug, or --version',
  '--no-color': '--color never',
  '--silent': '--quiet',
  '--skip-existing': 'nothing: what was sent is not sent again',
  '--ignore-existing': 'nothing: what was sent is not sent again',
  '--overwrite': '--again',
  '--no-clobber': 'nothing: a file that is there is not replaced without --yes',
  '--concurrency': '--parallel NUMBER',
  '--workers': '--parallel NUMBER',
  '--jobs': '--parallel NUMBER',
  '-j': '--parallel NUMBER',
  '--transfers': '--parallel NUMBER',
  '--bwlimit': '--limit-rate SIZE',
  '--rate-limit': '--limit-rate SIZE',
  '--dir': '--directory DIR, or --folder FOLDER',
  '--dest': '--folder FOLDER',
  '--to': '--folder FOLDER',
  '--parent': '--folder FOLDER',
  '--path': '--folder FOLDER',
  '--title': '--name NAME',
  '--since': '--created-after DATE',
  '--after': '--created-after DATE',
  '--until': '--created-before DATE',
  '--before': '--created-before DATE',
  '--url': 'the address itself: mediactl upload https://…',
  '--key': 'no option takes a key: mediactl login, or MEDIACTL_API_KEY',
  '--api-key': 'no option takes a key: mediactl login, or MEDIACTL_API_KEY',
  '--token': 'no option takes a key: mediactl login, or MEDIACTL_API_KEY',
  '--host': '--base-url URL',
  '--endpoint': '--base-url URL',
  '--page': '--limit NUMBER and --offset NUMBER, or --all',
  '--per-page': '--limit NUMBER',
  '--max': '--limit NUMBER',
  '--order': '--sort FIELD',
  '--sort-by': '--sort FIELD',
  '--retry': 'nothing: what may be tried again is tried again, --max-wait long',
  '--dryrun': '--dry-run',
};

/**
 * What to type instead: what other tools' words mean here, else those known words that were mistyped.
 *
 * @param path the commands before it, without mediactl
 */
export function suggestion(
  path: string,
  unknown: string,
  known: readonly string[],
): string | undefined {
  const guesses = guessesAt(path, unknown.startsWith('-') ? known : undefined);
  const guessed = guesses.get(unknown);
  if (guessed !== undefined) return guessed;
  const similar = mistyped(unknown, [...known, ...guesses.keys()]);
  const [first] = similar;
  if (first === undefined) return undefined;
  const names = similar.filter((each) => known.includes(each));
  return names.length > 0 ? `did you mean ${names.join(' or ')}?` : guesses.get(first);
}

/** What may be guessed in a place, and how it is typed here. @param has the options of the command, where one was guessed */
function guessesAt(path: string, has: readonly string[] | undefined): Map<string, string> {
  if (has) {
    const isThere = ([typed, meant]: [string, string]) => {
      const [first] = /^--[\w-]+/.exec(meant) ?? [];
      return !typed.includes(' ') && (first === undefined || has.includes(first));
    };
    const begin = `${path} -`;
    return new Map([
      ...Object.entries(options).filter(isThere),
      ...Object.entries(options)
        .filter(([typed]) => typed.startsWith(begin))
        .map(([typed, meant]): [string, string] => [typed.slice(path.length + 1), meant]),
    ]);
  }
  const begin = path === '' ? '' : `${path} `;
  return new Map(
    Object.entries(words)
      .filter(([key]) => key.startsWith(begin) && !key.slice(begin.length).includes(' '))
      .map(([key, meant]) => [key.slice(begin.length), typed(meant)]),
  );
}

/** Each way to go on is a command of its own. */
const typed = (meant: string) =>
  meant
    .split(', or ')
    .map((each) => `mediactl ${each}`)
    .join(', or ');

/** So many letters may be wrong in a word so long. */
const mistakes = (length: number) => (length <= 5 ? 1 : length <= 9 ? 2 : 3);

/** Those of the known words that are the fewest letters away. */
function mistyped(unknown: string, known: readonly string[]): string[] {
  const word = unknown.replace(/^-+/, '');
  if (word.length === 1)
    return known.filter((each) => each.toLowerCase() === unknown.toLowerCase());
  const apart = known.map((each) => ({ each, by: distance(word, each.replace(/^-+/, '')) }));
  const least = Math.min(...apart.map(({ by }) => by));
  return least <= mistakes(word.length)
    ? apart.filter(({ by }) => by === least).map(({ each }) => each)
    : [];
}

/** Letters to add, leave out, change or swap with their neighbour: optimal string alignment. */
function distance(one: string, other: string): number {
  const rows = [[...Array(other.length + 1).keys()]];
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const [above, before] = [rows[i - 1] as number[], rows[i - 2]];
      const isSame = one[i - 1] === other[j - 1];
      row[j] = Math.min(
        (above[j] as number) + 1,
        (row[j - 1] as number) + 1,
        (above[j - 1] as number) + (isSame ? 0 : 1),
      );
      if (before && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1])
        row[j] = Math.min(row[j] as number, (before[j - 2] as number) + 1);
    }
    rows.push(row);
  }
  return (rows[one.length] as number[])[other.length] as number;
}
