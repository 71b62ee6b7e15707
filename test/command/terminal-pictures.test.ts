import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PNG } from 'pngjs';
import { beforeEach, describe, expect, it } from 'vitest';
import { renderThumbnail } from '../../src/cli/commands/assets/picture.ts';
import type { Context } from '../../src/cli/context.ts';
import { Cli, type CliOptions } from '../support/cli.ts';
import { setUpCli } from '../support/cli-setup.ts';
import { errorInTable, errorOf, seenError } from '../support/errors.ts';
import { startServer } from '../support/http-server.ts';
import { escapeSequences, makeJpeg } from '../support/pictures.ts';
import { fixturePath } from '../support/sandbox.ts';
import { numberedUid, sendBytes, startThumbnailService } from '../support/thumbnail-service.ts';

const uid = numberedUid(1);
const picture = makeJpeg(320, 180);
const shown = sendBytes(picture, 'image/jpeg');
const kitty = { TERM: 'xterm-kitty' };

/** Spells out escape codes. */
const spelled = (text: string) => text.replaceAll('\u001b', 'ESC').replaceAll('\u0007', 'BEL');

const cliOf = (url: string, environment: CliOptions['environment'] = {}) =>
  new Cli({ MEDIACTL_API_KEY: 'a-key-of-this-test', MEDIACTL_BASE_URL: url, ...environment });

describe('assets thumb --show', () => {
  const { world } = setUpCli();
  let stored: string;
  beforeEach(async () => {
    stored ??= (await world.cli.json(['upload', fixturePath('still.jpg'), '--wait']))[0].asset_uid;
  });

  it('shows what the service keeps, and saves nothing', async () => {
    const { code, stdout } = await world.cli.run(['assets', 'thumb', stored, '--show'], {
      tty: true,
      environment: { TERM_PROGRAM: 'iTerm.app' },
    });
    const data = /:([A-Za-z0-9+/=]+)BEL\n$/.exec(spelled(stdout))?.[1] ?? '';
    expect([code, PNG.sync.read(Buffer.from(data, 'base64')).width]).toEqual([...[0, expect.any(Number)]]);
    expect(existsSync('still.jpg')).toBe(false);
  });

  it('with -o it is saved too, as it came', async () => {
    const { url } = await startThumbnailService([{ uid }], shown);
    const cli = cliOf(url, kitty);
    const path = join(cli.home, 'poster.jpg');
    const { stdout } = await cli.run(['assets', 'thumb', uid, '--show', '-o', path], { tty: true });
    expect(spelled(stdout)).toMatch(/^ESC_Ga=T,[\s\S]*ESC\\\n.*saved/);
    expect(readFileSync(path).equals(picture)).toBe(true);
  });

  it('where the terminal is not known to show any, by half blocks; no wider than it is', async () => {
    const { url } = await startThumbnailService([{ uid }], shown);
    const options = {
      tty: true,
      columns: 30,
      environment: { NO_COLOR: '1', COLORTERM: 'truecolor' },
    };
    const { stdout } = await cliOf(url).run(['assets', 'thumb', uid, '--show'], options);
    expect(stdout.split('\n').map((line) => (line.match(/▀/g) ?? []).length)).toEqual([
      ...Array.from({ length: 8 }, () => 30),
      0,
    ]);
    expect(stdout).toContain('\u001b[38;2;');
  });

  it.each([
    ['in a pipe', [], {}],
    ['as JSON', ['--json'], { tty: true }],
    ['with --quiet', ['-q'], { tty: true }],
    ['with --fields', ['--fields', 'uid'], { tty: true }],
    ['on a dumb terminal', [], { tty: true, environment: { TERM: 'dumb' } }],
    ['where none are wanted', [], { tty: true, environment: { MEDIACTL_PICTURES: 'never' } }],
  ] as const)('%s: exit 2, before anything is asked', async (_, more, options) => {
    const { url, requestedPaths } = await startThumbnailService([{ uid }], shown);
    const { code, stdout, stderr } = await cliOf(url, kitty).run(['assets', 'thumb', uid, '--show', ...more], options);
    expect([code, stdout, requestedPaths]).toEqual([2, '', []]);
    expect(stderr).toContain('-o FILE');
  });

  it('of what is no picture, nothing reaches the terminal', async () => {
    const { url } = await startThumbnailService([{ uid }], sendBytes(escapeSequences, 'image/jpeg'));
    const { code, stdout, stderr } = await cliOf(url, kitty).run(['assets', 'thumb', uid, '--show'], {
      tty: true,
      environment: { NO_COLOR: '1' },
    });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('neither a JPEG nor a PNG');
    expect(stderr).not.toContain('\u001b]');
    const shownByItself = (context: Context) => renderThumbnail(context, new URL(`${url}/t.jpg`), 'kitty');
    expect(await cliOf(url, kitty).withContext(shownByItself).catch(seenError)).toEqual(errorInTable('not_shown'));
  });

  it('of more than 5 MiB, too', async () => {
    const large = Buffer.concat([picture, Buffer.alloc(6 * 1024 * 1024)]);
    const { url } = await startThumbnailService([{ uid }], sendBytes(large, 'image/jpeg'));
    const ran = await cliOf(url, kitty).run(['assets', 'thumb', uid, '--show'], { tty: true });
    expect([ran.code, ran.stdout]).toEqual([6, '']);
  });
});

describe('a picture at a private address of another host', () => {
  /** Starts a loopback server that is not part of the service; records its requests. */
  async function neighbor() {
    const asked: unknown[] = [];
    const url = await startServer((request, response) => {
      asked.push(request.url);
      sendBytes(picture, 'image/jpeg')('', response);
    });
    const { port } = new URL(url);
    return { asked, port };
  }

  it.each([
    ['by a name that leads there', 'localhost', false],
    ['by a redirect', 'localhost', true],
    ['by its address in IPv6', '[::ffff:127.0.0.1]', false],
    ['by a redirect to such an address', '[::ffff:7f00:1]', true],
  ])('is not fetched: %s', async (_, host, isRedirected) => {
    const { asked, port } = await neighbor();
    const location = `http://${host}:${port}/t.jpg`;
    const asset = isRedirected ? { uid } : { uid, thumbnail_url: location };
    const { url } = await startThumbnailService([asset], (_name, response) =>
      response.writeHead(302, { location }).end(),
    );
    const cli = cliOf(url, kitty);
    for (const [more, tty] of [
      [['--show'], true],
      [['-o', join(cli.home, 'poster.jpg'), '--json'], false],
    ] as const) {
      const { code, stderr } = await cli.run(['assets', 'thumb', uid, ...more], { tty });
      expect([code, stderr]).toEqual([6, expect.stringContaining('is a private address')]);
    }
    const asJson = ['assets', 'thumb', uid, '-o', join(cli.home, 'poster.jpg'), '--json'];
    expect(errorOf(await cli.run(asJson))).toEqual(errorInTable('private_address'));
    const sheet = join(cli.home, 'sheet.html');
    const { stdout } = await cli.run(['assets', 'ls', '--html', sheet, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ assets: 1, missing_thumbnails: 1 });
    expect(asked).toEqual([]);
  });

  it('is fetched from the host that the service itself is on, at whichever port', async () => {
    const { asked, port } = await neighbor();
    const thumbnail_url = `http://127.0.0.1:${port}/t.jpg`;
    const { url } = await startThumbnailService([{ uid, thumbnail_url }], shown);
    for (const base of [url, url.replace('127.0.0.1', 'localhost')]) {
      const cli = cliOf(base);
      const path = join(cli.home, 'poster.jpg');
      expect((await cli.run(['assets', 'thumb', uid, '-o', path])).code).toBe(0);
    }
    expect(asked).toHaveLength(2);
  });
});

describe('assets get', () => {
  it('shows the picture above the fields where the terminal can', async () => {
    const { url } = await startThumbnailService([{ uid }], shown);
    const cli = cliOf(url, kitty);
    const { stdout } = await cli.run(['assets', 'get', uid], { tty: true });
    expect(spelled(stdout)).toMatch(/^ESC_Ga=T,f=100,q=2,c=40,r=11,[\s\S]*ESC\\\n.*uid/);
    const blocks = { ...kitty, MEDIACTL_PICTURES: 'blocks' };
    expect((await cli.run(['videos', 'get', uid], { tty: true, environment: blocks })).stdout).toContain('▀');
  });

  it.each([
    ['it is in a pipe', { MEDIACTL_PICTURES: 'kitty' }, {}],
    ['none are wanted', { MEDIACTL_PICTURES: 'never' }, { tty: true }],
    ['the terminal is not known', { MEDIACTL_PICTURES: 'auto', TERM: 'xterm' }, { tty: true }],
    ['tmux is between', { MEDIACTL_PICTURES: 'auto', TMUX: '/tmp/t,1,0' }, { tty: true }],
  ])('shows and asks for nothing more where %s', async (_, environment, options) => {
    const { url, requestedPaths } = await startThumbnailService([{ uid }], shown);
    const cli = cliOf(url, { ...kitty, NO_COLOR: '1', ...environment });
    const { code, stdout } = await cli.run(['assets', 'get', uid], options);
    expect([code, stdout.includes('\u001b')]).toEqual([0, false]);
    expect(requestedPaths.filter((path) => path.startsWith('/media'))).toEqual([]);
  });

  it('a picture that cannot be had or shown is left out, without a word', async () => {
    const gone = await startThumbnailService([{ uid }], (_, response) => response.writeHead(404).end());
    const words = await startThumbnailService([{ uid }], sendBytes(escapeSequences, 'image/jpeg'));
    const nowhere = await startThumbnailService([{ uid, thumbnail_url: 'http://127.0.0.1:9/t.jpg' }], shown);
    for (const { url } of [gone, words, nowhere]) {
      const cli = cliOf(url, { ...kitty, NO_COLOR: '1', MEDIACTL_PICTURES: 'kitty' });
      const { code, stdout, stderr } = await cli.run(['assets', 'get', uid], { tty: true });
      expect([code, stdout.includes('\u001b')]).toEqual([0, false]);
      expect(stderr).not.toContain('thumbnail');
    }
  });

  it('Ctrl-C while it waits for the picture ends it', async () => {
    const stop = new AbortController();
    const media = await startServer(() => stop.abort(new Error('interrupted')));
    const { url } = await startThumbnailService([{ uid, thumbnail_url: `${media}/t.jpg` }], shown);
    const cli = cliOf(url, { ...kitty, MEDIACTL_PICTURES: 'kitty' });
    const { code } = await cli.run(['assets', 'get', uid], { tty: true, signal: stop.signal });
    expect(code).toBe(1);
  });
});
