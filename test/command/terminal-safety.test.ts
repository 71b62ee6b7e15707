import { describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { acceleratedClock } from '../support/clock.ts';
import { createLibrary, testKey, workspaceUid } from '../support/fake-library.ts';
import { playbackInfos, prepareCommand, readCommands } from '../support/read-commands.ts';
import { type Responder, startRecordingServer } from '../support/recording-server.ts';

/** Text that overwrites a prompt, clears the screen, changes the text direction, rings the bell and sets the window title. */
const hostileText = 'x\rDelete /harmless? [y/N] \u001b[2J\u009b2K\u202e\u2066\u0007\u001b]0;t\u0007\u0000';
/** Control and bidirectional characters that would act on a terminal or reader, except line ends. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const controlCharacters = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

/** Escape sequences that the progress bar, the spinner and the line editor write. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const ourSequences = /\u001b(?:\[\?(?:7|25|2026)[hl]|\[\d+G|\[0J|\[[012]K|[78])|\r\n/g;

/** Fields that must stay valid for a command to get as far as its prompt. */
const fieldsKeptValid = /uid$|url$|^type$|status|_at$|token|^location$|etag|mime/;

const appendHostileText = (value: unknown, name = ''): unknown => {
  if (typeof value === 'string') return fieldsKeptValid.test(name) ? value : `${value}${hostileText}`;
  if (Array.isArray(value)) return value.map((each) => appendHostileText(each, name));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([at, each]) => [at, appendHostileText(each, at)]));
};

/** Makes every text of the service's responses hostile; if `refuses`, writes fail with a hostile error. */
const respondWithHostileText =
  (respondWell: Responder, refuses: boolean): Responder =>
  (request) => {
    const response = respondWell(request);
    if (refuses && request.method !== 'GET' && !request.path.includes('/playback/'))
      return {
        status: 422,
        body: { error: { code: hostileText, message: hostileText, details: { name: [hostileText] } } },
        headers: { 'x-request-id': 'words' },
      };
    return typeof response?.body === 'object' ? { ...response, body: appendHostileText(response.body) } : response;
  };

/** Commands without --yes, so that those that write ask first. */
const commandsWithoutYes = readCommands.map((args) => args.filter((each) => each !== '--yes').join(' '));

describe.each([
  ['hostile strings in records', false],
  ['hostile strings in errors', true],
])('%s', (_what, refuses) => {
  it.each(commandsWithoutYes)(
    '%s prints no control characters from strings of the service on a terminal',
    async (line) => {
      for (const playbackInfo of line.startsWith('play') ? playbackInfos : playbackInfos.slice(0, 1)) {
        const { url } = await startRecordingServer(
          respondWithHostileText(createLibrary({ playback: playbackInfo }), refuses),
        );
        const cli = new Cli({
          MEDIACTL_API_KEY: testKey,
          MEDIACTL_BASE_URL: url,
          NO_COLOR: '1',
          TERM: 'xterm',
          MEDIACTL_WORKSPACE: workspaceUid,
        });
        for (const tty of [true, false]) {
          const ran = await cli.run(prepareCommand(line, cli.home), { tty, clock: acceleratedClock(), stdin: 'n\n' });
          expect(ran.stderr.replace(ourSequences, '\n')).not.toMatch(controlCharacters);
          // A pipe gets the raw text.
          if (tty) expect(ran.stdout).not.toMatch(controlCharacters);
        }
      }
    },
  );
});
