import { describe, expect, it } from 'vitest';
import { parseBaseUrl } from '../../src/cli/account/account.ts';
import { parseCount, parseDay, parseDuration, parseSize } from '../../src/cli/settings/units.ts';

describe('parseDuration', () => {
  it.each([
    ['90s', 90_000],
    ['30m', 1_800_000],
    ['1h30m', 5_400_000],
    ['500ms', 500],
    ['1.5s', 1500],
    ['2d', 172_800_000],
    ['10', 10_000],
  ])('parseDuration converts %s to %d ms', (text, ms) => expect(parseDuration('--x', text)).toBe(ms));
  it.each(['', 'soon', '5x', '-1s', 's', '1h soon'])('parseDuration rejects %j', (text) =>
    expect(() => parseDuration('--x', text)).toThrow('--x does not accept'),
  );
});

describe('parseSize', () => {
  it.each([
    ['8MiB', 8 * 2 ** 20],
    ['500k', 500 * 1024],
    ['500kB', 500_000],
    ['1.5G', 1.5 * 2 ** 30],
    ['50M', 50 * 2 ** 20],
    ['1048576', 1048576],
    ['12B', 12],
  ])('parseSize converts %s to %d bytes', (text, size) => expect(parseSize('--x', text)).toBe(size));
  it.each(['', 'big', '5X', '-1', '1 000'])('parseSize rejects %j', (text) =>
    expect(() => parseSize('--x', text)).toThrow('--x does not accept'),
  );
});

describe('parseDay', () => {
  const now = Date.parse('2026-03-01T12:00:00Z');
  it.each([
    ['2024-02-29', '2024-02-29'],
    ['today', '2026-03-01'],
    ['yesterday', '2026-02-28'],
    ['1d', '2026-02-28'],
    ['2w', '2026-02-15'],
    ['36h', '2026-02-28'],
    ['3 days ago', '2026-02-26'],
  ])('parseDay converts %s to %s', (text, day) => expect(parseDay('--x', text, now)).toBe(day));
  it('parseDay uses UTC days like the API, regardless of the local time zone', () => {
    const lateInNewYork = Date.parse('2026-03-01T21:00:00-05:00');
    expect(parseDay('--x', 'today', lateInNewYork)).toBe('2026-03-02');
  });
  it.each(['2026-02-29', '2026-11', '7', 'tomorrow', '2026-1-1'])('parseDay rejects %j', (text) =>
    expect(() => parseDay('--x', text, now)).toThrow('--x'),
  );
});

it('parseCount accepts only whole numbers', () => {
  expect(parseCount('--x', '7')).toBe(7);
  for (const text of ['', ' ', '1.5', '-1', '1e99', 'x'])
    expect(() => parseCount('--x', text)).toThrow('--x does not accept');
});

describe('parseBaseUrl', () => {
  it.each([
    ['https://media.example.com', 'https://media.example.com'],
    ['media.example.com', 'https://media.example.com'],
    ['https://media.example.com/api/external/v1/', 'https://media.example.com'],
    ['http://[::1]:4520/', 'http://[::1]:4520'],
    ['localhost:4520', 'https://localhost:4520'],
    ['media:4520', 'https://media:4520'],
    ['http://media', 'http://media'],
  ])('parseBaseUrl reads %s as the origin %s', (text, origin) => expect(parseBaseUrl(text).origin).toBe(origin));

  it.each(['sandbox_9n8b8s4a2', 'a1b2c3d4e5f60718', 'ab.9c8d7e6f', 'two words', ''])(
    'parseBaseUrl rejects %j, which can be no host, without repeating it',
    (text) => expect(() => parseBaseUrl(text)).toThrow(/^this is no base URL$/),
  );

  it.each(['https://media.example.com?.mp4', 'media.example.com#a.mp4'])(
    'parseBaseUrl rejects %s, which has a query or fragment',
    (text) => expect(() => parseBaseUrl(text)).toThrow('invalid base URL'),
  );
});
