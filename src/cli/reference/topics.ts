import { type Assumption, assumptions } from '../../contract/assumptions.ts';
import { exitCodeRows } from '../error-hints.ts';
import {
  defaultMaxWait,
  flagsOf,
  longOf,
  projectSettings,
  type Setting,
  settingFlags,
  settingNames,
  settingTable,
} from '../settings/setting-table.ts';
import { otherVariables } from '../settings/variables.ts';
import { agentsText } from './agents.ts';

const commonVariables: [string, string][] = [
  ['CI', 'set by CI services: no prompts and no live progress display'],
  ['NO_COLOR, FORCE_COLOR', 'turn color off, or turn it on even in a pipe'],
  ['HTTP_PROXY, HTTPS_PROXY, NO_PROXY', 'proxy settings for connections to the service'],
  ['NODE_EXTRA_CA_CERTS', 'file of additional certificate authorities to trust'],
];

export const environmentRows = (): [string, string][] => [
  ...settingNames.flatMap((name): [string, string][] => {
    const { variable, flags = [], what = flags[0]?.help ?? '' }: Setting = settingTable[name];
    const options = flagsOf(name).map(longOf).join(', ');
    return variable ? [[variable, options ? `${what} (${options})` : what]] : [];
  }),
  ...otherVariables,
  ...commonVariables,
];

function alignRows(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, what]) => `  ${name.padEnd(width)}  ${what}\n`).join('');
}

const assumptionText = ({ id, section, topic, assumed, tolerated, names = {} }: Assumption) => {
  const settings = Object.keys(names).map((key) => `field_names.${key}`);
  return [
    `${id}  ${section}: ${topic}\n`,
    `     assumed:   ${assumed}\n`,
    `     accepted:  ${tolerated}\n`,
    settings.length > 0 ? `     setting:   ${settings.join(', ')}\n` : '',
  ].join('');
};

/** Joins paragraphs with blank lines. The program wraps them at the width of the terminal. */
const joinParagraphs = (...paragraphs: readonly string[]) =>
  paragraphs.map((paragraph) => `${paragraph.trimEnd()}\n`).join('\n');

export const topics: Record<string, { text(): string }> = {
  options: {
    text: () => alignRows(settingFlags().map(({ flag }): [string, string] => [flag.flags, flag.help])),
  },
  agents: {
    text: () => agentsText(alignRows),
  },
  'exit-codes': {
    text: () =>
      joinParagraphs(
        exitCodeRows()
          .map(
            ([exit, meaning, codes]) =>
              `${`${exit}`.padStart(3)}  ${meaning}\n${codes.length > 0 ? `     ${codes.join(' ')}\n` : ''}`,
          )
          .join(''),
        'The error codes below each exit code are the values of error.code in JSON. docs/errors.md describes what to do about each one.',
      ),
  },
  faults: {
    text: () =>
      joinParagraphs(
        'To make a sandbox fail on purpose, start it with mediactl sandbox start --fault SPEC. To simulate several faults, repeat the option.',
        alignRows([
          ['status=503', 'respond with an error status'],
          ['latency=200ms', 'delay responses'],
          ['cut-after=20MiB', 'drop the connection after this many bytes of an upload'],
          ['silent-after=1MiB', 'stop responding after this many bytes'],
          ['lost-answer', 'process the request, but drop the response'],
          ['expire-sessions', 'expire upload sessions early'],
          ['bad-checksum', 'return a wrong BLAKE3 checksum after an upload'],
          ['no-checksum', 'return no checksum after an upload'],
        ]),
        'Most faults accept times=NUMBER, path=/PATH and method=METHOD, separated by commas:',
        '  mediactl sandbox start --fault cut-after=20MiB,times=2\n  mediactl sandbox start --fault status=503,path=/upload/,times=1',
        'mediactl sandbox status lists the faults that can still occur.',
      ),
  },
  assumptions: {
    text: () =>
      joinParagraphs(
        'The API specification does not define every name and value. mediactl makes these assumptions, and also accepts the alternatives. If a service uses another name, set it:',
        '  mediactl config set field_names.KEY NAME\n  MEDIACTL_FIELD_NAMES=KEY=NAME,KEY=NAME, without a profile',
        assumptions.map(assumptionText).join('\n'),
      ),
  },
  environment: {
    text: () =>
      joinParagraphs(
        'Order of precedence: flag, environment variable, .mediactl.json, profile, default. To see where each value comes from, run mediactl config ls.',
        alignRows(environmentRows()),
        `mediactl reads .mediactl.json from the current folder or the nearest parent folder that has one. The file can set ${projectSettings.slice(0, -1).join(', ')} and ${projectSettings.at(-1)}, but never a base URL or an API key.`,
      ),
  },
  formatting: {
    text: () =>
      joinParagraphs(
        'On a terminal, a list is a table that fits the width, and a record shows one field per line. In a pipe, a list is tab-separated without a header, and dates are in ISO 8601.',
        alignRows([
          ['--json', 'an array of records, also of one asset (get); an object for what is no list (whoami)'],
          ['--jsonl', 'one object per line, as pages arrive'],
          ['--csv, --format tsv', 'a header, then one line per record; nested values as JSON'],
          ['--fields a,b.c', 'only these fields; b.c is field c of b, or of each item if b is a list'],
          ['--jq FILTER', 'filter the JSON with jq; prints strings without quotes'],
          ['-q', 'only uids, one per line; upload --dry-run, whose files have none yet, prints paths'],
        ]),
        'jq is built in, so you do not need to install it. The filter gets the whole list as one array or, with --jsonl, each record in turn. It cannot access modules, files, arguments or environment variables.',
        [
          "  mediactl ls --status ready --json | jq -r '.[].name'",
          '  mediactl ls --jq \'.[] | "\\(.uid) \\(.name)"\'',
          '  mediactl ls --all --csv --fields uid,name,created_at > assets.csv',
        ].join('\n'),
        'On a terminal, control characters in names are escaped. In JSON they are unchanged. mediactl commands COMMAND --json has the JSON Schema of the records that mediactl itself defines, in output_schema.',
      ),
  },
  scripting: {
    text: () =>
      joinParagraphs(
        'Only results go to stdout; messages and progress go to stderr. An error has a message, a cause and a next step. With --json, it is one line of JSON on stderr. Error codes are stable, so scripts can rely on them. The exit code shows what kind of error it was: see mediactl help exit-codes.',
        'If mediactl cannot prompt (no terminal, CI is set, or --no-input), a command that needs an answer fails with exit code 2 and names the flag to use, usually --yes. -n shows the requests that would change something, without sending them.',
        [
          '  export MEDIACTL_API_KEY=… MEDIACTL_BASE_URL=https://example.com',
          '  mediactl upload ./out/*.mp4 --wait --json > uploaded.json',
          '  mediactl ls --tag draft --created-before 30d --all -q | mediactl rm - --yes',
        ].join('\n'),
        `mediactl retries reads, honors Retry-After, and waits for rate limits and outages no longer than --max-wait in total, which is ${defaultMaxWait}; upload and sync wait for rate limits as long as it takes, unless --max-wait is given. To resume an interrupted upload, run the same command again. If some of several items fail, the command lists them and ends with exit code 11.`,
      ),
  },
};
