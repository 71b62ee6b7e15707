import { Command } from '@commander-js/extra-typings';
import { expect, it } from 'vitest';
import { addServiceOptions, serviceArguments } from '../../src/cli/commands/sandbox/start.ts';
import { parseArguments } from '../../src/sandbox/arguments.ts';

/** Parses options as typed by the user into the options that the service process reads. */
const parseTyped = (...typed: string[]) => {
  const command = addServiceOptions(new Command());
  return parseArguments(['--data-dir', '/d', ...serviceArguments(command.parse(typed, { from: 'user' }).opts())]);
};

it('typed service options are converted to bytes and seconds', () => {
  expect(
    parseTyped(
      ...['--fault', 'cut-after=20MiB,times=2', '--fault', 'lost-answer', '--strict'],
      ...['--seed', '1000', '--rate-limit', '5/10s', '--session-lifetime', '1h30m'],
      ...['--token-lifetime', '500ms', '--credits', '0', '--max-upload-size', '8MiB'],
      ...['--storage', '10GB', '--auto-play', '--theme', 'light'],
    ),
  ).toEqual({
    dataDir: '/d',
    port: 4520,
    faults: ['cut-after=20MiB,times=2', 'lost-answer'],
    strict: true,
    seed: 1000,
    rateLimit: { limit: 5, windowSeconds: 10 },
    sessionSeconds: 5400,
    playbackSeconds: 0.5,
    credits: 0,
    maxUploadBytes: 8 * 1024 * 1024,
    storageBytes: 10_000_000_000,
    player: { autoPlay: true, theme: 'light' },
  });
  const player = { autoPlay: false, theme: 'dark' };
  expect(parseTyped()).toEqual({ dataDir: '/d', port: 4520, player });
});

it.each([
  [['--port', 'x'], "--port must be a number, not 'x'"],
  [['--rate-limit', '5'], "--rate-limit must be LIMIT/SECONDS, not '5'"],
  [['--fault', 'x'], "unknown fault 'x'"],
  [['--nonsense'], 'nonsense'],
])('the sandbox service rejects the arguments %j', (args, reason) => {
  expect(() => parseArguments(['--data-dir', '/d', ...args])).toThrow(reason);
});

it('the sandbox service requires --data-dir', () => {
  expect(() => parseArguments([])).toThrow('--data-dir is required');
});
