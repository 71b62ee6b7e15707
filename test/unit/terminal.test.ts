import { describe, expect, it } from 'vitest';
import { runJq } from '../../src/cli/output/jq.lazy.ts';
import { Redactor } from '../../src/cli/terminal/redactor.ts';
import { formatBytes, formatDuration } from '../../src/shared/figures.ts';
import { displayText, escapeControls, relativeTime } from '../../src/shared/sanitize.ts';
import { hangMs } from '../support/hang.ts';

describe('escapeControls', () => {
  it.each([
    ['plain text – ünïcode 夜 🎬', 'plain text – ünïcode 夜 🎬'],
    ['a\nb\tc\rd', 'a\\nb\\tc\\rd'],
    ['\u001b]0;title\u0007', '\\u001b]0;title\\u0007'],
    ['\u009b31m', '\\u009b31m'],
    ['\u202egnp', '\\u202egnp'],
  ])('escapeControls(%j) returns %j', (text, safe) => expect(escapeControls(text)).toBe(safe));
  it('displayText formats any JSON value for a table cell', () => {
    expect([null, undefined, 5, true, ['a'], { b: '\u001b' }].map(displayText)).toEqual([
      '',
      '',
      '5',
      'true',
      'a',
      '{"b":"\\u001b"}',
    ]);
  });
});

it('byte sizes, durations and ages are formatted in short form', () => {
  expect([0, 1023, 1024, 1.5 * 2 ** 20, 2 ** 40].map(formatBytes)).toEqual([
    '0 B',
    '1023 B',
    '1.0 KiB',
    '1.5 MiB',
    '1.0 TiB',
  ]);
  expect([0, 59.4, 60, 187, 3729].map(formatDuration)).toEqual(['0s', '59s', '1:00', '3:07', '1:02:09']);
  const now = Date.parse('2026-03-01T12:00:00Z');
  const relativeTimeAfter = (seconds: number) => relativeTime(new Date(now + seconds * 1000).toISOString(), now);
  expect([-5, -60, -3600, -86_400 * 3, 4 * 3600, -86_400 * 40].map(relativeTimeAfter)).toEqual([
    'just now',
    '1 minute ago',
    '1 hour ago',
    '3 days ago',
    'in 4 hours',
    '2026-01-20',
  ]);
  expect(relativeTime('no date\u001b', now)).toBe('no date\\u001b');
});

describe('Redactor', () => {
  const redactor = new Redactor();
  redactor.add('s3cret/key+1');
  it.each([
    ['key s3cret/key+1 here', 'key *** here'],
    [`url ?k=${encodeURIComponent('s3cret/key+1')}`, 'url ?k=***'],
    ['authorization: Bearer abcdef', 'authorization: Bearer ***'],
    ['{"playback_token":"ey.abc","x":1}', '{"playback_token":"***","x":1}'],
    ['http://h/p?expires=1&signature=abc&size=2', 'http://h/p?expires=***&signature=***&size=2'],
    ['link: <http://h/p?verify=a&key=b&hmac=c>', 'link: <http://h/p?verify=***&key=***&hmac=***>'],
    ['nothing to hide', 'nothing to hide'],
  ])('Redactor turns %j into %j', (text, safe) => expect(redactor.redact(text)).toBe(safe));
});

it('a jq filter that never finishes is stopped after its time limit', async () => {
  expect(await runJq('null', 'last(repeat(1))', 200)).toEqual({
    problem: 'it did not finish within 0.2 s',
  });
  expect(await runJq('[1,2]', '.[]', hangMs)).toEqual({ text: '1\n2' });
});
