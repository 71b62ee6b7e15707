import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { errorInTable, errorOf } from '../support/errors.ts';
import { assetUid } from '../support/fake-library.ts';
import { sendBytes, serveAsset } from '../support/fake-service.ts';
import { startServer } from '../support/http-server.ts';
import { fixturePath } from '../support/sandbox.ts';

const sendJpeg = sendBytes(readFileSync(fixturePath('still.jpg')), 'image/jpeg');

const createCli = (url: string) => new Cli({ MEDIACTL_API_KEY: 'a-key-of-this-test', MEDIACTL_BASE_URL: url });

/** Starts a loopback server that is not part of the service. Records the paths that it is asked for. */
async function startOtherServer() {
  const requestedPaths: unknown[] = [];
  const url = await startServer((request, response) => {
    requestedPaths.push(request.url);
    sendJpeg(response);
  });
  return { requestedPaths, port: new URL(url).port };
}

it.each([
  ['a host name that resolves to it', 'localhost', false],
  ['a redirect to that name', 'localhost', true],
  ['its address in IPv6', '[::ffff:127.0.0.1]', false],
  ['a redirect to its IPv6 address', '[::ffff:7f00:1]', true],
])(
  'assets thumb does not fetch a thumbnail from a private address of another host, given by %s',
  async (_, host, isRedirected) => {
    const other = await startOtherServer();
    const location = `http://${host}:${other.port}/t.jpg`;
    const thumbnail_url = isRedirected ? 'HERE/media/t.jpg' : location;
    const url = await serveAsset({ thumbnail_url }, (response) => response.writeHead(302, { location }).end());
    const cli = createCli(url);
    const thumb = await cli.run(['assets', 'thumb', assetUid, '-o', join(cli.home, 'poster.jpg'), '--json']);
    expect(errorOf(thumb)).toEqual(errorInTable('private_address'));
    const { stdout } = await cli.run(['assets', 'ls', '--html', join(cli.home, 'sheet.html'), '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ asset_count: 1, missing_thumbnail_count: 1 });
    expect(other.requestedPaths).toEqual([]);
  },
);

it('assets thumb fetches a thumbnail from any port of the host that the service is on', async () => {
  const other = await startOtherServer();
  const thumbnail_url = `http://127.0.0.1:${other.port}/t.jpg`;
  const url = await serveAsset({ thumbnail_url }, sendJpeg);
  for (const baseUrl of [url, url.replace('127.0.0.1', 'localhost')]) {
    const cli = createCli(baseUrl);
    const path = join(cli.home, 'poster.jpg');
    expect((await cli.run(['assets', 'thumb', assetUid, '-o', path])).code).toBe(0);
    expect(readFileSync(path).equals(readFileSync(fixturePath('still.jpg')))).toBe(true);
  }
  expect(other.requestedPaths).toHaveLength(2);
});
