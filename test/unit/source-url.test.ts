import { describe, expect, it } from 'vitest';
import { fileNameOf, parseDispositionName, parseSourceUrl } from '../../src/client/upload/sources/source-url.ts';

const identityOfUrl = (query: string) => parseSourceUrl(`https://media.example/a/b.mp4${query}`).realPath;

describe('source URLs', () => {
  it('a source URL is requested without its password and displayed without its query', () => {
    const text = 'https://ann:p%40ss@media.example/a/b%20c.mp4?token=secret#part';
    const { url, headers, path, realPath } = parseSourceUrl(text);
    expect(url.href).toBe('https://media.example/a/b%20c.mp4?token=secret');
    expect(headers).toEqual({ authorization: `Basic ${btoa('ann:p@ss')}` });
    expect([path, realPath]).toEqual(Array(2).fill('https://media.example/a/b%20c.mp4'));
    expect(parseSourceUrl('http://media.example/').headers).toEqual({});
  });

  it.each([
    ['Amazon', '?X-Amz-Algorithm=A&X-Amz-Credential=c&X-Amz-Signature=f00&X-Amz-Security-Token=t'],
    ['Google', '?X-Goog-Signature=f00&X-Goog-Expires=3600'],
    ['CloudFront', '?Expires=1&Policy=p&Signature=s&Key-Pair-Id=k'],
    ['Azure', '?sv=2024-11-04&se=2026-01-01&sr=b&sp=r&skoid=o&sig=f00'],
    ['a token', '?token=abc'],
  ])('a URL that differs only in its signature (%s) identifies the same source', (_whose, query) => {
    expect(identityOfUrl(query)).toBe(identityOfUrl(''));
    expect(identityOfUrl(`${query}&versionId=7`)).toBe(identityOfUrl('?versionId=7'));
  });

  it('a URL with a different query identifies a different source', () => {
    const urlWithHash = /^https:\/\/media\.example\/a\/b\.mp4#[0-9a-f]{16}$/;
    const identities = ['?id=1', '?id=2', '?se=2&sp=1', '?se=3&sp=1'].map(identityOfUrl);
    for (const identity of identities) expect(identity).toMatch(urlWithHash);
    expect(new Set(identities).size).toBe(4);
  });

  it.each(['ftp://media.example/a', 'media.example/a', 'file:///etc/passwd'])('rejects %s as a source URL', (text) => {
    expect(() => parseSourceUrl(text)).toThrow('not an http or https URL');
  });
});

it.each([
  ['/a/b.mp4', 'b.mp4'],
  ['/a/day%201.mp4', 'day 1.mp4'],
  ['/a/%C3%BC.mov/', 'ü.mov'],
  ['/a/%2e%2e%2fetc%2Fpasswd', 'passwd'],
  ['/a/%2E%2E%5C', 'media.example'],
  ['/a/%ff.mp4', '%ff.mp4'],
  ['/a/x%0a.mp4', 'media.example'],
  ['/', 'media.example'],
])('the file name of a URL with the path %s is %s', (path, name) => {
  expect(fileNameOf(new URL(`https://media.example:8443${path}`))).toBe(name);
});

it.each([
  [undefined, undefined],
  ['inline', undefined],
  ['attachment; filename="a b.mp4"', 'a b.mp4'],
  ['attachment; filename=a.mp4; size=3', 'a.mp4'],
  ['attachment; filename="a \\"b\\".mp4"', 'a "b".mp4'],
  [`attachment; filename="x.mp4"; filename*=UTF-8''%C3%BC%20y.mp4`, 'ü y.mp4'],
  [`attachment; filename="x.mp4"; filename*=UTF-8''%ff`, 'x.mp4'],
  ['attachment; filename="../../etc/passwd"', 'passwd'],
  ['attachment; filename="C:\\\\temp\\\\a.mp4"', 'a.mp4'],
  ['attachment; filename=".."', undefined],
  ['attachment; filename="open', undefined],
  ['attachment; filename=a b.mp4', undefined],
  [`attachment; filename="${'\\'.repeat(5000)}`, undefined],
])('the Content-Disposition header %s gives the file name %s', (header, name) => {
  expect(parseDispositionName(header)).toBe(name);
});
