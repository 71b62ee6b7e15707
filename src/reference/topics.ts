import { exitCodeMeanings } from '../errors.ts';
import { flagsOf, longOf, projectSettings, settingNames, table } from '../settings/table.ts';

/** Variables that are no setting of a command. */
const others: [string, string][] = [
  ['MEDIACTL_CONFIG_DIR', 'folder of the config file'],
  ['MEDIACTL_STATE_DIR', 'folder of uploads under way, and of the sandbox'],
  ['MEDIACTL_KEY_STORE', 'file or keychain: where auth login keeps keys'],
  [
    'MEDIACTL_FFMPEG',
    'the ffmpeg that the sandbox uses; the one on PATH by default; none for none',
  ],
  ['CI', 'set by CI services: nobody is asked, nothing is animated'],
  ['NO_COLOR, FORCE_COLOR', 'no colours, or colours even in a pipe'],
  ['HTTP_PROXY, HTTPS_PROXY, NO_PROXY', 'proxies on the way to the service'],
  ['NODE_EXTRA_CA_CERTS', 'a file of further certificate authorities to trust'],
];

/** Every environment variable, with what it does. */
export const environmentRows = (): [string, string][] => [
  ...settingNames.map((name): [string, string] => {
    const { variable, what } = table[name];
    const options = flagsOf(name).map(longOf).join(', ');
    return [variable, options ? `${what} (${options})` : what];
  }),
  ...others,
];

function aligned(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, what]) => `  ${name.padEnd(width)}  ${what}\n`).join('');
}

/** What `mediactl help TOPIC` prints. */
export const topics: Record<string, { summary: string; text(): string }> = {
  'exit-codes': {
    summary: 'what each exit code means',
    text: () =>
      Object.entries(exitCodeMeanings)
        .map(([code, meaning]) => `${code.padStart(3)}  ${meaning}\n`)
        .join(''),
  },
  environment: {
    summary: 'variables, and what comes before what',
    text: () =>
      `A flag comes before a variable, that before .mediactl.json, then the profile, then the
default. mediactl config ls --show-origin tells which one won.

${aligned(environmentRows())}
.mediactl.json, in the folder or one above it, may name ${projectSettings.slice(0, -1).join(', ')} and
${projectSettings.at(-1)}; never a base URL or a key.
`,
  },
  formatting: {
    summary: 'tables, JSON, CSV, fields and filters',
    text: () => `On a terminal a list is a table fitted to its width, a record its fields. In a pipe a list
is tab-separated lines without a header, and dates are ISO 8601.

${aligned([
  ['--json', 'an array for a list, an object for a record, as the service sent it'],
  ['--jsonl', 'an object a line, written while pages arrive'],
  ['--csv, --tsv', 'a header and a line a record; lists and objects as JSON'],
  ['--fields a,b.c', 'these fields alone; b.c is c inside b, and maps over a list'],
  ['--jq FILTER', 'jq over the JSON; strings come out bare, the rest as JSON, a line each'],
  ['-q', 'uids only, one a line'],
])}
--jq is jq itself, compiled in. It sees one value: the array of a list, or with --jsonl each
record in turn. It has no modules, no files, no arguments and nothing of your environment.

  mediactl assets ls --status ready --json | jq -r '.[].name'
  mediactl assets ls --jq '.[] | "\\(.uid) \\(.name)"'
  mediactl assets ls --all --csv --fields uid,name,created_at > assets.csv

Control characters in names are shown escaped on a terminal, and are left alone in JSON.
mediactl schema NAME prints the JSON Schema of what mediactl makes itself.
`,
  },
  scripting: {
    summary: 'CI, exit codes, retries, dry runs',
    text: () => `stdout carries the result and nothing else; all that is said goes to stderr. An error is
problem, cause and next step; with --json it is one JSON line on stderr, and its code is
part of the interface. The exit code tells what happened: mediactl help exit-codes.

Where nobody can be asked (no terminal, CI set, --no-input), a question ends with exit 2 and
names the flag that answers it: --yes for most. -n prints what would be sent, and sends
nothing that writes.

  export MEDIACTL_API_KEY=… MEDIACTL_BASE_URL=https://media.example.com
  mediactl upload ./out/*.mp4 --wait --json > uploaded.json
  mediactl assets ls --tag draft --created-before 30d --all -q | mediactl assets rm - --yes

Reads are tried again, Retry-After is obeyed, and --max-wait bounds the waiting in all. An
upload that broke goes on where it was when the same command is run again. Many items of
which some failed end with exit 11, and each is named.
`,
  },
};
