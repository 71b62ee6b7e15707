/** Maps the mediactl command to suggest to other tools' names for it, comma-separated. */
const commandEquivalents: Record<string, string> = {
  ls: 'list, lsl, dir',
  'search WORDS': 'find, grep, assets search',
  'ls --status ready --type video': 'filter',
  'ls --count': 'count, ncdu, size',
  'ls --all': 'all',
  'get ID': 'show, info, inspect, describe',
  'get ID, or open ID': 'view',
  'download ID -o -, or get ID': 'cat',
  'help rm (assets by id, path or filter)': 'delete, del, remove, deletefile',
  'nothing: the API cannot list or restore what is in the trash': 'trash, restore, undelete, untrash',
  'help folders rm': 'purge, rmdirs, rb, rmdir',
  'upload PATH':
    'ingest, add, put, push, send, assets upload, assets add, assets create, assets new, videos upload, videos add, videos create, uploads create',
  'upload - --name NAME': 'rcat',
  'upload PATH, or download ID -o FILE': 'copyto',
  'sync DIR /FOLDER (one way)': 'bisync, mirror',
  'check DIR /FOLDER': 'hashsum, diff, compare',
  'folders ls': 'lsd',
  'ls -q': 'lsf',
  'ls --json': 'lsjson',
  'folders create PATH': 'mb, mkdir, folders new, folders mkdir, folders add',
  'share ID (for a few hours; the API has no longer-lived links)': 'link, publish, presign, sign',
  'play ID --url': 'url, stream, playback-ids',
  'mv ID /Archive': 'archive',
  'upload PATH --same skip-anywhere': 'dedupe',
  'play ID --player mpv': 'mpv, ffplay, vlc',
  'thumb ID --show, or open ID': 'preview',
  'upload PATH, or download ID': 'cp, copy',
  'upload PATH, or uploads import FILE': 'import',
  'download ID': 'pull, fetch, save',
  "download '/FOLDER/*' -d DIR, or uploads export": 'export',
  'update ID --name NAME': 'edit',
  'update ID --set KEY=VALUE, or config set KEY VALUE': 'set',
  'tag ID --add TAG': 'tags',
  'tag ID --remove TAG': 'untag',
  'mv ID /FOLDER': 'move, moveto, assets move, videos mv, videos move',
  'folders tree': 'tree',
  'open ID, or sandbox watch ID --open': 'watch',
  'assets player ID': 'player',
  'thumb ID': 'thumbnail',
  browse: 'gallery, ui, dashboard, gui',
  'browse, or open ID': 'web',
  'uploads resume': 'resume, uploads continue',
  'uploads resume --all, or uploads retry --all of a queue': 'retry',
  'uploads ls': 'pending, uploads status, uploads list',
  'upload PATH --queue, or uploads ls --queue': 'queue',
  'upload PATH --queue': 'enqueue',
  'uploads ls --queue': 'jobs, job, uploads queue, uploads jobs',
  worker: 'workers, work',
  'uploads gc': 'gc, cleanup',
  'login, or sandbox start': 'init, setup',
  'login, or config ls': 'configure',
  login: 'signin, auth signin',
  logout: 'signout',
  whoami: 'me, user, account, about, auth whoami',
  'auth ls': 'accounts, profile, profiles, auth list-profiles, sandbox list, sandbox ls',
  'auth token --reveal': 'key, keys, token',
  'auth switch NAME, or workspaces use NAME': 'switch, use',
  'assets thumb ID': 'thumb, thumbnail',
  'embed domains ls': 'domains',
  'sandbox start': 'server, start',
  'sandbox stop': 'stop',
  'browse, or sandbox start': 'serve',
  'sandbox logs': 'logs',
  'config ls': 'settings, config list',
  '--version': 'version',
  help: 'man, docs',
  '--help (its last lines name the topics)': 'topics',
  'api PATH': 'request, curl',
  'play ID': 'assets play, videos play',
  'open ID': 'assets open',
  'ls /FOLDER': 'folders show',
  'auth switch NAME': 'auth use',
  'config get workspace': 'workspaces current',
  'workspaces use NAME': 'workspaces switch',
  'workspaces ls (the API cannot create workspaces)': 'workspaces create',
  'sandbox watch ID --open': 'sandbox open',
  'sandbox start --foreground': 'sandbox run',
  'sandbox stop; then start it again': 'sandbox restart',
  'help sandbox reset': 'sandbox rm, sandbox delete',
  'embed enable': 'embed on',
  'embed disable': 'embed off',
  'embed domains add DOMAIN; then mediactl embed enable': 'embed add, embed allow',
};

/** Maps the option to suggest to other tools' names for it, which can be limited to one mediactl command. */
const optionEquivalents: Record<string, string> = {
  'mediactl tag @last --add TAG, or a --manifest with tags': 'upload --tag, upload --tags, upload --add-tag',
  '--profile NAME, with --data DIR for a second one': 'sandbox start --name',
  'mediactl mv ID /FOLDER': 'assets update --folder, assets update --parent',
  '--add TAG and --remove TAG': 'assets tag --add-tag, assets tag --remove-tag, assets tag --set, assets tag --tags',
  'nothing: the service sets how long a link works, usually 4 hours':
    'assets share --expires, assets share --expiration, assets share --expire, play --expires',
  '--output json': '--format',
  '--output json, or --yes': '-f',
  '--json on a terminal is indented and colored': '--pretty',
  '--jq FILTER prints strings without quotes': '--raw',
  '--search WORDS, or --jq FILTER': '--query',
  '--search WORDS, --status, --type, --tag, or --jq FILTER': '--filter',
  '--tag TAG': '--tagged',
  '--tag TAG, or --set-tags TAGS': '--tags',
  '--yes': '--force, --assume-yes',
  '--debug, or --debug=http for every request': '--verbose',
  '--debug, or --version': '-v',
  '--color never': '--no-color',
  '--quiet': '--silent',
  '--ignore-existing': '--skip-existing',
  '--again': '--overwrite',
  'nothing: existing files are replaced only with --yes': '--no-clobber',
  '--parallel NUMBER': '--concurrency, --workers, --jobs, -j, --transfers',
  '--limit-rate SIZE': '--bwlimit, --rate-limit',
  '--directory DIR, or --folder FOLDER': '--dir',
  '--folder FOLDER': '--dest, --to, --parent, --path',
  '--name NAME': '--title',
  '--created-after DATE': '--since, --after',
  '--created-before DATE': '--until, --before',
  '--all --json shows updated_at; the API cannot filter by it': '--updated-after, --updated-before, --changed-after',
  'the URL as an argument: mediactl upload https://…': '--url',
  'no option accepts a key: mediactl login, or MEDIACTL_API_KEY': '--key, --api-key, --token',
  '--base-url URL': '--host, --endpoint',
  '--limit NUMBER and --offset NUMBER, or --all': '--page',
  '--limit NUMBER': '--per-page, --max',
  '--sort FIELD': '--order, --sort-by',
  'nothing: requests are retried, for up to --max-wait': '--retry, --retries',
  '--dry-run': '--dryrun',
};

/** Commands and options that delete or replace data. They are never suggested by similarity alone. */
const destructive = /^(rm|delete|forget|reset|logout|--prune|--trash|--yes|-y|--again)$/;

/**
 * Returns a suggestion for an unknown command or option; undefined if there is none. Suggests the equivalent if
 * another tool uses the name, otherwise the most similar known names.
 *
 * @param path parent commands, without the leading `mediactl`
 */
export function findSuggestion(path: string, unknown: string, known: readonly string[]): string | undefined {
  const guessed = equivalentsAt(path, unknown.startsWith('-') ? known : undefined).get(unknown);
  if (guessed !== undefined) return guessed;
  const similar = closestSpellings(
    unknown,
    known.filter((each) => !destructive.test(each)),
  );
  return similar.length > 0 ? `did you mean ${similar.join(' or ')}?` : undefined;
}

/**
 * Returns a map from other tools' names that apply after `path` to suggestions.
 *
 * @param commandOptions the command's options, if an option is unknown; undefined for an unknown command
 */
function equivalentsAt(path: string, commandOptions: readonly string[] | undefined): Map<string, string> {
  const begin = path === '' ? '' : `${path} `;
  const isThere = (meant: string) => {
    const [flag] = /^--[\w-]+/.exec(meant) ?? [];
    return flag === undefined || commandOptions?.includes(flag);
  };
  return new Map(
    Object.entries(commandOptions ? optionEquivalents : commandEquivalents).flatMap(([meant, listed]) =>
      listed.split(', ').flatMap((word): [string, string][] => {
        if (commandOptions && !word.includes(' ')) return isThere(meant) ? [[word, meant]] : [];
        const own = word.startsWith(begin) ? word.slice(begin.length) : ' ';
        return own.includes(' ')
          ? []
          : [
              [
                own,
                commandOptions || meant.startsWith('nothing')
                  ? meant
                  : `mediactl ${meant.replaceAll(', or ', ', or mediactl ')}`,
              ],
            ];
      }),
    ),
  );
}

const maxDistance = (length: number) => (length <= 5 ? 1 : length <= 9 ? 2 : 3);

function closestSpellings(unknown: string, known: readonly string[]): string[] {
  const word = unknown.replace(/^-+/, '');
  if (word.length === 1) return known.filter((each) => each.toLowerCase() === unknown.toLowerCase());
  const apart = known.map((each) => ({ each, by: editDistance(word, each.replace(/^-+/, '')) }));
  const least = Math.min(...apart.map(({ by }) => by));
  return least <= maxDistance(word.length) ? apart.filter(({ by }) => by === least).map(({ each }) => each) : [];
}

/** Returns the edit distance, counting a swap of adjacent letters as one edit (optimal string alignment). */
function editDistance(one: string, other: string): number {
  const rows = [[...Array(other.length + 1).keys()]];
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const [above, before] = [rows[i - 1] as number[], rows[i - 2]];
      const isSame = one[i - 1] === other[j - 1];
      const edits = [(above[j] as number) + 1, (row[j - 1] as number) + 1, (above[j - 1] as number) + (isSame ? 0 : 1)];
      row[j] = Math.min(...edits);
      if (before && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1])
        row[j] = Math.min(row[j] as number, (before[j - 2] as number) + 1);
    }
    rows.push(row);
  }
  return (rows[one.length] as number[])[other.length] as number;
}
