import { describe, expect, it } from 'vitest';
import { isSameUid, isUid } from '../../src/contract/uid.ts';
import { asArray, asNumber, asObject, asText, parseTimestamp } from '../../src/shared/json-values.ts';

describe('JSON value parsing', () => {
  it.each([
    ['a text', 'a text'],
    ['', ''],
    [12.5, '12.5'],
    [true, 'true'],
    [null, undefined],
    [['a'], undefined],
    [{ a: 1 }, undefined],
  ])('asText(%j) returns %j', (value, text) => expect(asText(value)).toBe(text));

  it.each([
    [12.5, 12.5],
    ['12.500', 12.5],
    ['-3', -3],
    ['', undefined],
    ['0x10', undefined],
    ['1e3', undefined],
    ['12 s', undefined],
    [Number.POSITIVE_INFINITY, undefined],
    [true, undefined],
    [null, undefined],
  ])('asNumber(%j) returns %j', (value, number) => expect(asNumber(value)).toBe(number));

  it.each([
    ['2026-03-01T11:00:00Z', 1772362800000],
    ['2026-03-01T12:00:00.000+01:00', 1772362800000],
    [1772362800, 1772362800000],
    [-1, -1000],
    ['some day', undefined],
    [9e15, undefined],
    [{}, undefined],
  ])('parseTimestamp(%j) returns %j', (value, time) => expect(parseTimestamp(value)).toBe(time));

  it('asArray and asObject return an empty value for input of another type', () => {
    for (const value of [null, 'text', 1, true, undefined]) {
      expect(asArray(value)).toEqual([]);
      expect(asObject(value)).toEqual({});
    }
    expect(asObject([1])).toEqual({});
  });
});

it('a uid is recognized in upper or lower case, with or without dashes', () => {
  const uid = '0c6f2a52-3c35-4f3e-9a51-2f2ed6b0a7c1';
  for (const spelling of [uid.toUpperCase(), uid.replaceAll('-', '')]) {
    expect(isUid(spelling)).toBe(true);
    expect(isSameUid(uid, spelling)).toBe(true);
  }
  for (const text of ['', uid.slice(1), uid.replace('-', ''), `${uid}0`, 'Quay']) expect(isUid(text)).toBe(false);
});
