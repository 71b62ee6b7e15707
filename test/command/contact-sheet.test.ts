import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { numberedUid } from '../support/fake-library.ts';
import { FakeService, type MediaResponder, sendBytes } from '../support/fake-service.ts';
import { fixturePath, forSandboxMode, startSandbox } from '../support/sandbox.ts';

const picture = readFileSync(fixturePath('still.jpg'));
const sendPicture = sendBytes(picture, 'image/jpeg');

const createCli = (url: string) => new Cli({ MEDIACTL_API_KEY: 'a-key-of-this-test', MEDIACTL_BASE_URL: url });

const createAssets = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    uid: numberedUid(at),
    name: `asset ${at}`,
    type: 'image',
    thumbnail_url: `HERE/media/${at}`,
  }));
/** Starts a service that lists these assets, whatever the filters. */
const startService = (assets: { uid: string }[], media: MediaResponder) =>
  FakeService.start({ assets, media, ignoresFilters: () => true });

const cardsIn = (page: string) => page.split('<li class="card">').slice(1);
const partFilesIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.part'));

describe('assets ls --html', () => {
  it('assets ls --html writes a page of the listed assets and prints its path as a table, as JSON and with -q', async () => {
    const sandbox = await startSandbox({ seed: 300 });
    const cli = new Cli({ MEDIACTL_API_KEY: sandbox.key, MEDIACTL_BASE_URL: sandbox.url });
    const path = join(cli.home, 'sheet.html');
    const args = ['assets', 'ls', '--all', '--html', path];
    const written = await cli.json(args);
    const page = readFileSync(path, 'utf8');
    const assets = await cli.json(['assets', 'ls', '--all']);
    const missing = assets.filter((asset: { thumbnail_url?: string }) => !asset.thumbnail_url).length;
    expect(written).toEqual({
      path,
      asset_count: 300,
      missing_thumbnail_count: missing,
      size_bytes: statSync(path).size,
    });
    expect([page.split('<img').length - 1, cardsIn(page).length]).toEqual([300 - missing, 300]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const secondRun = await cli.run([...args, '--yes', '-q']);
    expect(secondRun).toEqual({ code: 0, stdout: `${path}\n`, stderr: '' });
    const { stdout, stderr } = await cli.run(['videos', 'ls', '--html', path, '--yes']);
    expect(stdout.split('\n').slice(0, 2)).toEqual([`saved\t${path}`, 'assets\t20']);
    expect(stderr).toContain(forSandboxMode({ normal: '--all for all', strict: '20 of 20' })); // strict mode omits the total
    const videosPage = readFileSync(path, 'utf8');
    expect(videosPage).toContain(
      forSandboxMode({ normal: 'the first 20 assets (more not shown), ', strict: '20 assets, ' }),
    );
    await sandbox.end();
  });

  it('assets ls --html writes the filters into the page title, and the assets in the order of the list', async () => {
    const { url } = await startService(createAssets(320), (response, name) => {
      // The first thumbnails arrive last.
      setTimeout(() => sendPicture(response), 60 - 10 * Number(name));
    });
    const cli = createCli(url);
    const path = join(cli.home, 'sheet.html');
    const filters = ['harbour', '--status', 'ready', '--tag', 'press', '--created-after', '2026-01-01'];
    expect((await cli.run(['assets', 'ls', ...filters, '--limit', '300', '--html', path])).code).toBe(0);
    const page = readFileSync(path, 'utf8');
    expect(page).toContain('<title>harbour, ready, #press, since 2026-01-01</title>');
    expect(page).toContain('300 assets, ');
    expect(cardsIn(page).map((card) => /<bdi>(.*?)<\/bdi>/.exec(card)?.[1])).toEqual(
      Array.from({ length: 300 }, (_, at) => `asset ${at}`),
    );
    const source = `src="data:image/jpeg;base64,${picture.toString('base64')}"`;
    expect(page.split(source)).toHaveLength(301);
  });

  it('assets ls --html requests at most six thumbnails at a time', async () => {
    let [openRequests, maxOpenRequests] = [0, 0];
    const heldResponses: (() => void)[] = [];
    const { url } = await startService(createAssets(20), (response) => {
      maxOpenRequests = Math.max(maxOpenRequests, ++openRequests);
      heldResponses.push(() => {
        openRequests--;
        sendPicture(response);
      });
      // Responds to the first six together, after a delay in which a seventh request would arrive.
      if (maxOpenRequests === 6) setTimeout(() => heldResponses.splice(0).forEach((send) => void send()), 50);
    });
    const cli = createCli(url);
    await cli.run(['assets', 'ls', '--html', join(cli.home, 'sheet.html')]);
    expect(maxOpenRequests).toBe(6);
  });

  it('assets ls --html detects images by their first bytes and omits large, missing and other files', async () => {
    const large = Buffer.concat([picture, Buffer.alloc(2 * 1024 * 1024)]);
    const mediaByAsset: Record<string, (response: ServerResponse) => void> = {
      0: sendBytes(Buffer.from('89504e470d0a1a0a', 'hex'), 'text/html'),
      1: sendBytes(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'), 'image/png'),
      2: sendBytes(Buffer.from('<script>alert(1)</script>'), 'image/jpeg'),
      3: sendBytes(large, 'image/jpeg'),
      4: (response) => response.writeHead(404).end(),
      5: sendBytes(Buffer.from('GIF89a...'), 'x'),
      6: sendBytes(Buffer.from('RIFF\u0001\u0002\u0003\u0004WEBPVP8 ', 'latin1'), 'x'),
      7: sendBytes(Buffer.from('\u0000\u0000\u0000\u001cftypavif', 'latin1'), 'x'),
    };
    const assets = [
      ...createAssets(8),
      ...['javascript:alert(1)', 'file:///etc/passwd', { url: 1 }, null].map((thumbnail_url, at) => ({
        uid: numberedUid(100 + at),
        thumbnail_url,
      })),
    ];
    const { url } = await startService(assets, (response, name) => mediaByAsset[name]?.(response));
    const cli = createCli(url);
    const path = join(cli.home, 'sheet.html');
    const { stdout, stderr } = await cli.run(['assets', 'ls', '--html', path, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ asset_count: 12, missing_thumbnail_count: 8 });
    expect(stderr).toContain('8 of 12 assets without a thumbnail');
    const page = readFileSync(path, 'utf8');
    expect(cardsIn(page).map((card) => /data:([a-z/]+);/.exec(card)?.[1])).toEqual([
      ...['image/png', undefined, undefined, undefined, undefined],
      ...['image/gif', 'image/webp', 'image/avif'],
      ...[undefined, undefined, undefined, undefined],
    ]);
    expect(page).not.toMatch(/svg|alert|passwd/);
  });

  it('assets ls --html stops requesting thumbnails if their host is unreachable', async () => {
    const unreachableUrl = 'http://127.0.0.1:9/t.jpg';
    const assets = createAssets(60).map((asset) => ({ ...asset, thumbnail_url: unreachableUrl }));
    const { url } = await startService(assets, sendPicture);
    const cli = createCli(url);
    const path = join(cli.home, 'sheet.html');
    const { code, stderr } = await cli.run(['assets', 'ls', '--all', '--html', path, '--debug=http']);
    const thumbnailRequests = stderr.match(/^! GET \/t\.jpg/gm)?.length ?? 0;
    expect([code, thumbnailRequests]).toEqual([0, expect.closeTo(15, -1.2)]); // 8 to 22 of 60
  });
});

describe('assets ls --html file', () => {
  it('assets ls --html replaces an existing file only with --yes', async () => {
    const service = await startService(createAssets(3), sendPicture);
    const cli = createCli(service.url);
    const path = join(cli.home, 'sheet.html');
    writeFileSync(path, 'mine');
    const refused = await cli.run(['assets', 'ls', '--html', path]);
    expect([refused.code, readFileSync(path, 'utf8'), service.requestCount]).toEqual([2, 'mine', 0]);
    expect(refused.stderr).toContain('use another path with --html, or --yes');
    expect((await cli.run(['assets', 'ls', '--html', path, '--yes'])).code).toBe(0);
    expect(readFileSync(path, 'utf8')).toContain('asset 2');
  });

  it('assets ls --html leaves no partial file if it is interrupted or the list fails', async () => {
    const interruption = new AbortController();
    const service = await startService(createAssets(20), (response, name) => {
      if (Number(name) < 8) return sendPicture(response);
      interruption.abort(new Error('interrupted')); // and never responds
    });
    const cli = createCli(service.url);
    const path = join(cli.home, 'sheet.html');
    const { code } = await cli.run(['assets', 'ls', '--html', path], {
      signal: interruption.signal,
      inProcess: 'is not aborted by a signal',
    });
    expect([code, existsSync(path), partFilesIn(cli.home)]).toEqual([1, false, []]);
    const offlineCli = createCli('http://127.0.0.1:9');
    const otherPath = join(offlineCli.home, 'sheet.html');
    expect((await offlineCli.run(['assets', 'ls', '--html', otherPath])).code).toBe(10);
    expect([existsSync(otherPath), partFilesIn(offlineCli.home)]).toEqual([false, []]);
  });

  it.each([['-'], [''], ['HOME/folder'], ['HOME/none/sheet.html'], ['HOME/sheet.html', '--count']])(
    "assets ls exits with 2 if --html '%s' is not a valid file path or --count is given",
    async (file, ...more) => {
      const { url } = await startService(createAssets(1), sendPicture);
      const cli = createCli(url);
      mkdirSync(join(cli.home, 'folder'));
      const args = ['assets', 'ls', '--html', file.replace('HOME', cli.home), ...more];
      const { code, stdout } = await cli.run(args);
      expect([code, stdout]).toEqual([2, '']);
    },
  );

  it('assets ls --html --dry-run writes no file and sends no request', async () => {
    const service = await startService(createAssets(1), sendPicture);
    const cli = createCli(service.url);
    const path = join(cli.home, 'sheet.html');
    const { code, stderr } = await cli.run(['assets', 'ls', '--html', path, '--dry-run']);
    expect([code, existsSync(path), service.requestCount]).toEqual([0, false, 0]);
    expect(stderr).toContain(`would write a page of thumbnails to ${path}`);
  });
});
