import { Command } from '@commander-js/extra-typings';
import { expect, it } from 'vitest';
import { addServiceOptions, toServiceOptions } from '../../src/cli/commands/sandbox/start.ts';
import { parseStartOptions } from '../../src/sandbox/options.ts';

/** Parses options as typed by the user into the options that the sandbox process reads. */
const parseTyped = (...typed: string[]) => {
  const flags = addServiceOptions(new Command()).parse(typed, { from: 'user' }).opts();
  return parseStartOptions(JSON.stringify({ dataDir: '/d', ...toServiceOptions(flags) }));
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
    faults: ['cut-after=20MiB,times=2', 'lost-answer'],
    strict: true,
    seed: 1000,
    rateLimit: { limit: 5, windowSeconds: 10 },
    sessionSeconds: 5400,
    playbackSeconds: 0.5,
    credits: 0,
    maxUploadBytes: 8 * 1024 * 1024,
    storageBytes: 10_000_000_000,
    autoPlay: true,
    theme: 'light',
  });
  expect(parseTyped()).toEqual({ dataDir: '/d' });
});

it.each([
  [{ dataDir: '/d', port: 'x' }, /: port: /],
  [{ dataDir: '/d', port: 65_536 }, /: port: /],
  [{ dataDir: '/d', rateLimit: { limit: 5 } }, /: rateLimit: windowSeconds: /],
  [{ dataDir: '/d', theme: 'blue' }, /: theme: /],
  [{ dataDir: '/d', nonsense: 1 }, /nonsense/],
  [{}, /: dataDir: /],
])('the sandbox process rejects the options %j', (options, reason) => {
  expect(() => parseStartOptions(JSON.stringify(options))).toThrow(reason);
});

it.each([undefined, '--data-dir', '[]'])('the sandbox process rejects the argument %j', (argument) => {
  expect(() => parseStartOptions(argument)).toThrow('is not the options of a sandbox');
});
