import { describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { fastClock } from '../support/clock.ts';
import { key, workspace } from '../support/library.ts';
import { commandOf, playables, playing, readers } from '../support/readers.ts';
import { type Answers, record } from '../support/recording-server.ts';

/** Rewrites a question, clears the screen, turns the reading direction, rings, and titles the window. */
const hostile =
  'x\rDelete /harmless? [y/N] \u001b[2J\u009b2K\u202e\u2066\u0007\u001b]0;t\u0007\u0000';
/** What a terminal or a reader would act on; line ends are ours. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const acted = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

/** What the bar, the spinner and the line editor write of their own. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const ours = /\u001b(?:\[\?(?:7|25|2026)[hl]|\[\d+G|\[0J|\[[012]K|[78])|\r\n/g;

/** What must be as it is, for a command to come as far as a question. */
const meant = /uid$|url$|^type$|status|_at$|token|^location$|etag|mime/;

const spoiled = (value: unknown, name = ''): unknown => {
  if (typeof value === 'string') return meant.test(name) ? value : `${value}${hostile}`;
  if (Array.isArray(value)) return value.map((each) => spoiled(each, name));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([at, each]) => [at, spoiled(each, at)]));
};

/** The same with every word of the service hostile; those of refusals, where it refuses to write. */
const saying =
  (well: Answers, refuses: boolean): Answers =>
  (request) => {
    const answer = well(request);
    if (refuses && request.method !== 'GET' && !request.path.includes('/playback/'))
      return {
        status: 422,
        body: { error: { code: hostile, message: hostile, details: { name: [hostile] } } },
        headers: { 'x-request-id': 'words' },
      };
    return typeof answer?.body === 'object' ? { ...answer, body: spoiled(answer.body) } : answer;
  };

/** Where uids are typed, names are; the others ask before they write. */
const asking = readers.map((args) => args.filter((each) => each !== '--yes').join(' '));

describe.each([
  ['words of records', false],
  ['words of refusals', true],
])('%s', (_what, refuses) => {
  it.each(asking)('%s: none drives the terminal', async (line) => {
    for (const playable of line.startsWith('play') ? playables : playables.slice(0, 1)) {
      const { url } = await record(saying(playing(playable), refuses));
      const cli = new Cli({
        ...{ MEDIACTL_API_KEY: key, MEDIACTL_BASE_URL: url, NO_COLOR: '1', TERM: 'xterm' },
        MEDIACTL_WORKSPACE: workspace,
      });
      for (const tty of [true, false]) {
        const ran = await cli.run(commandOf(line, cli.home), {
          tty,
          clock: fastClock(),
          stdin: 'n\n',
        });
        expect(ran.stderr.replace(ours, '\n')).not.toMatch(acted);
        // Into a pipe the words go as they are.
        if (tty) expect(ran.stdout).not.toMatch(acted);
      }
    }
  });
});
