import { exitCodeRows } from '../../client/error-table.ts';
import { type Assumption, assumptions } from '../../contract/assumptions.ts';
import {
  flagsOf,
  longOf,
  projectSettings,
  settingFlags,
  settingNames,
  settingTable,
} from '../settings/setting-table.ts';

const otherVariables: [string, string][] = [
  ['MEDIACTL_CONFIG_DIR', 'folder of the config file'],
  ['MEDIACTL_STATE_DIR', 'folder of uploads under way, and of the sandbox'],
  ['MEDIACTL_KEY_STORE', 'file or keychain: where auth login keeps keys'],
  ['MEDIACTL_FFMPEG', 'the ffmpeg that the sandbox uses; the one on PATH by default; none for none'],
  ['CI', 'set by CI services: no questions, no moving display'],
  ['NO_COLOR, FORCE_COLOR', 'no colours, or colours even in a pipe'],
  ['HTTP_PROXY, HTTPS_PROXY, NO_PROXY', 'proxies on the way to the service'],
  ['NODE_EXTRA_CA_CERTS', 'a file of further certificate authorities to trust'],
];

export const environmentRows = (): [string, string][] => [
  ...settingNames.map((name): [string, string] => {
    const { variable, what } = settingTable[name];
    const options = flagsOf(name).map(longOf).join(', ');
    return [variable, options ? `${what} (${options})` : what];
  }),
  ...otherVariables,
];

function alignRows(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, what]) => `  ${name.padEnd(width)}  ${what}\n`).join('');
}

/** Wraps a label and its text at 80 columns, with a hanging indent below the text. */
function wrapText(label: string, text: string): string {
  const indent = ' '.repeat(label.length);
  let [done, line] = ['', label.slice(0, -1)];
  for (const word of text.split(' '))
    if (line.length + 1 + word.length <= 80) line += ` ${word}`;
    else [done, line] = [`${done}${line}\n`, `${indent}${word}`];
  return `${done}${line}\n`;
}

const assumptionText = ({ id, section, topic, assumed, tolerated, names = {} }: Assumption) => {
  const settings = Object.keys(names).map((key) => `names.${key}`);
  return [
    wrapText(`${id}  `, `${section}: ${topic}`),
    wrapText('     assumed:  ', assumed),
    wrapText('     accepted: ', tolerated),
    settings.length > 0 ? wrapText('     setting:  ', settings.join(', ')) : '',
  ].join('');
};

export const topics: Record<string, { summary: string; text(): string }> = {
  options: {
    summary: 'the options of every command',
    text: () => alignRows(settingFlags().map(({ flag }): [string, string] => [flag.flags, flag.help])),
  },
  agents: {
    summary: 'for programs that drive mediactl',
    text: () => `Ask for JSON, and read nothing else:

  mediactl commands --json            every command: arguments, options, examples
  mediactl schema NAME                the JSON Schema of what mediactl makes itself
  mediactl ls --status ready --json   records as the service sent them
  mediactl upload PATH --wait --json  an array, one object a file

stdout is the result. With --json an error is one line on stderr:
{"error":{"code","message","cause","hint","exit_code","retryable",…}}; hint is what to do next, and
retryable tells whether the same call may succeed later. Exit codes: mediactl help exit-codes.

mediactl does not ask if stdin is not a terminal; --yes answers, -n shows what would be sent. Ids are
uids, exact names or @last; give uids, since a name may fit several assets (exit 2; --newest).
A key has about 1,000 requests an hour: mediactl auth status --json tells what is left.
The key comes from MEDIACTL_API_KEY or a profile, never from an option. To try all of it
without an account: mediactl sandbox start.
`,
  },
  'exit-codes': {
    summary: 'what each exit code means',
    text: () =>
      `${exitCodeRows()
        .map(([exit, meaning, codes]) => `${`${exit}`.padStart(3)}  ${meaning}\n${wrapText('     ', codes.join(' '))}`)
        .join('')}
Below each one: the error codes, \`error.code\` in JSON. docs/errors.md has the next step of each.
`,
  },
  faults: {
    summary: 'what a sandbox can be told to do wrong',
    text: () => `mediactl sandbox start --fault SPEC, as often as you like, makes the service fail on purpose:

${alignRows([
  ['status=503', 'answer with an error status'],
  ['latency=200ms', 'answer late'],
  ['cut-after=20MiB', 'break the connection after so many bytes of an upload'],
  ['silent-after=1MiB', 'say nothing more after so many bytes'],
  ['lost-answer', 'do what was asked, and lose the answer'],
  ['rate-limit=5/10s', 'allow so many requests in so long'],
  ['expire-sessions', 'forget upload sessions'],
  ['bad-checksum', 'name a wrong BLAKE3 after an upload'],
  ['no-checksum', 'name none'],
  ['no-head-length', 'leave the length out of the answer to HEAD'],
])}
Most take times=NUMBER, path=/PATH and method=METHOD behind a comma:

  mediactl sandbox start --fault cut-after=20MiB,times=2 --fault status=503,path=/upload/,times=1

mediactl sandbox status tells which may still happen.
`,
  },
  assumptions: {
    summary: 'what the specification of the API leaves open',
    text: () => `The specification of the API does not show every name and value. mediactl
assumes these, and accepts the alternatives. If a service uses another name:

  mediactl config set names.KEY NAME
  mediactl doctor --learn

${assumptions.map(assumptionText).join('\n')}`,
  },
  environment: {
    summary: 'variables, and what comes before what',
    text: () =>
      `A flag comes before a variable, that before .mediactl.json, then the profile, then the
default. mediactl config ls --show-origin tells which one won.

${alignRows(environmentRows())}
.mediactl.json, in the folder or one above it, may name ${projectSettings.slice(0, -1).join(', ')} and
${projectSettings.at(-1)}; never a base URL or a key.
`,
  },
  formatting: {
    summary: 'tables, JSON, CSV, fields and filters',
    text: () => `On a terminal a list is a table fitted to its width, a record its fields. In a pipe a list
is tab-separated lines without a header, and dates are ISO 8601.

${alignRows([
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

Where mediactl cannot ask (no terminal, CI set, --no-input), a question ends with exit 2 and
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
