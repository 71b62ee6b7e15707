import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { optionalClock } from '../support/clock.ts';
import { writeSome } from '../support/files.ts';
import { respond, startServer } from '../support/http-server.ts';
import { Interposer, respondWith } from '../support/interposer.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';

const uid = '00000000-0000-4000-8000-000000000001';

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.end());

let cli: Cli;
beforeEach(() => {
  cli = new Cli({ MEDIACTL_API_KEY: sandbox.key, MEDIACTL_WORKSPACE: sandbox.workspace });
});
const at = (url: string) => ({ environment: { MEDIACTL_BASE_URL: url }, clock: optionalClock() });

describe('answers of the wrong shape end 10, never with a stack trace', () => {
  it.each([
    ['null', ['assets', 'get', uid], 'null'],
    ['a number', ['play', uid], '5'],
    ['a page of nulls', ['assets', 'ls'], '{"items":[null]}'],
    ['a page of strings', ['workspaces', 'ls'], '{"items":["a"]}'],
  ])('%s', async (_what, args, body) => {
    const service = await startServer((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(body);
    });
    const { code, stderr } = await cli.run([...args, '--json'], at(service));
    expect(code).toBe(10);
    expect(JSON.parse(stderr).error.code).toBe('invalid_response');
  });

  it('what is no HTTP', async () => {
    const server = createServer((socket) => socket.end('220 smtp.example.com ESMTP\r\n'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const { code, stderr } = await cli.run(['assets', 'ls'], at(`http://127.0.0.1:${port}`));
    server.close();
    expect(code).toBe(10);
    expect(stderr).toContain('error: the connection to');
  });

  it('a window that resets past the end of time', async () => {
    const headers = {
      'x-ratelimit-limit': '1',
      'x-ratelimit-remaining': '1',
      'x-ratelimit-reset': '1e15',
    };
    const service = await startServer((_request, response) => respond(response, 200, { items: [], count: 0 }, headers));
    expect(await cli.json(['auth', 'status'], at(service))).toMatchObject({ rate_limit: null });
  });
});

describe('answers without an end', () => {
  it.each([
    ['a plain array is its only page', (items: object[]) => items, 0],
    ['one that does not page, and tells no total, is no whole list', (items: object[]) => ({ items }), 10],
  ])('a list: %s', async (_what, body, exit) => {
    const items = Array.from({ length: 100 }, (_, n) => ({ uid: `uid-${n}` }));
    let asked = 0;
    const service = await startServer((_request, response) => {
      asked++;
      respond(response, 200, body(items));
    });
    for (const args of [
      ['assets', 'ls', '--all', '-q'],
      ['api', '/assets/', '--paginate', '-q'],
    ]) {
      asked = 0;
      const { code, stdout } = await cli.run(args, at(service));
      expect([code, stdout.trimEnd().split('\n').length]).toEqual([exit, 100]);
      expect(asked).toBeLessThanOrEqual(2);
    }
  });

  it('media that ignores Range is left after its first bytes', async () => {
    let sent = 0;
    let gone = false;
    const service: string = await startServer((request, response) => {
      const path = request.url ?? '';
      if (path.endsWith('/player/')) return respond(response, 200, { uid, playback_token: 'tokens' });
      if (path.endsWith('/info/')) return respond(response, 200, { type: 'audio', source: `${service}/x` });
      const block = Buffer.alloc(64 * 1024);
      const more = () => {
        while (!gone && sent < 1e9 && response.write(block)) sent += block.length;
      };
      response.on('drain', more).on('close', () => {
        gone = true;
      });
      more();
    });
    expect(await cli.json(['play', uid, '--probe'], at(service))).toMatchObject({
      playable: true,
      steps: [{ size_bytes: 65536 }],
    });
    expect(sent).toBeLessThan(100 * 1024 * 1024);
  });
});

describe('a service that lies about an upload', () => {
  it('acknowledging bytes that were never sent: exit 13, no success', async () => {
    const line = await Interposer.start(sandbox.url, ({ method }) =>
      method === 'PATCH' ? respondWith(204, undefined, { 'upload-offset': '3000' }) : undefined,
    );
    const path = join(cli.home, 'a.bin');
    writeSome(path, 3000);
    const ran = await cli.run(['upload', path, '--chunk-size', '1000', '--json'], at(line.url));
    expect(ran.code).toBe(13);
    expect(JSON.parse(ran.stdout)[0].error.message).toContain('acknowledged 3000 bytes, but only 1000 were sent');
  });

  it('a 408 on a chunk is tried again', async () => {
    const line = await Interposer.start(sandbox.url, ({ method, nth }) =>
      method === 'PATCH' && nth === 1 ? respondWith(408, 'slow') : undefined,
    );
    const path = join(cli.home, 'a.bin');
    writeSome(path, 3000);
    expect((await cli.json(['upload', path], at(line.url)))[0].verified).toBe(true);
  });
});

describe('names and keys that are none', () => {
  it.each(['constructor', '__proto__', 'toString'])('profile %s is not there', async (name) => {
    const { code, stderr } = await cli.run(['assets', 'ls', '--profile', name], at(sandbox.url));
    expect([code, stderr.includes(`profile ${name} does not exist`)]).toEqual([2, true]);
  });

  it.each(['__proto__', '-x', 'two words', ''])('nor can %j be made', async (name) => {
    const login = ['auth', 'login', `--profile=${name}`, '--with-key', '--skip-verify'];
    const { code } = await cli.run([...login, '--base-url', sandbox.url], { stdin: 'a-key' });
    expect(code).toBe(2);
  });

  it('a key with a line end in it is refused before a request', async () => {
    const { code, stderr } = await cli.run(['assets', 'ls'], {
      environment: { MEDIACTL_API_KEY: 'secret\nkey', MEDIACTL_BASE_URL: sandbox.url },
    });
    expect([code, stderr.split('\n')[0]]).toEqual([2, 'error: invalid API key']);
  });
});

describe('files', () => {
  it('names that would drive the terminal or break a row are escaped', async () => {
    const folder = join(cli.home, 'odd');
    mkdirSync(folder);
    writeFileSync(join(folder, 'a\n\tb\u001b]0;x\u0007.txt'), 'x');
    const { stdout } = await cli.run(['upload', '--flatten', folder, '-n'], at(sandbox.url));
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(stdout).toContain('a\\n\\tb\\u001b]0;x\\u0007.txt');
  });

  it('links to files are taken with -r', async () => {
    const folder = join(cli.home, 'links');
    mkdirSync(folder);
    writeFileSync(join(cli.home, 'real.txt'), 'x');
    symlinkSync('../real.txt', join(folder, 'link.txt'));
    symlinkSync('..', join(folder, 'round'));
    expect(await cli.json(['upload', '--flatten', folder, '-n'], at(sandbox.url))).toHaveLength(1);
  });

  it('a state folder behind a link keeps no copy of stdin', async () => {
    const state = join(cli.home, 'real-state');
    mkdirSync(state);
    symlinkSync(state, join(cli.home, 'linked'));
    const { code } = await cli.run(['upload', '-', '--name', 'n.txt'], {
      stdin: 'text',
      environment: {
        MEDIACTL_BASE_URL: sandbox.url,
        MEDIACTL_STATE_DIR: join(cli.home, 'linked'),
      },
    });
    expect(code).toBe(0);
    expect(readdirSync(join(state, 'spool'))).toEqual([]);
  });

  it('--limit-rate 0 is refused', async () => {
    const { code } = await cli.run(['upload', 'x', '--limit-rate', '0'], at(sandbox.url));
    expect(code).toBe(2);
  });
});

describe('a sandbox with damaged files', () => {
  const dataDir = () => join(cli.home, 'state/sandbox');
  const write = (name: string, text: string) => {
    mkdirSync(dataDir(), { recursive: true });
    writeFileSync(join(dataDir(), name), text);
  };

  it('half a server.json is no server; half the credentials are made anew', async () => {
    write('server.json', '{"pid":');
    write('credentials.json', '');
    expect((await cli.run(['sandbox', 'status'])).code).toBe(0);
    const started = await cli.run(['sandbox', 'start', '--port', '0']);
    expect(started.code).toBe(0);
    expect(JSON.parse(readFileSync(join(dataDir(), 'credentials.json'), 'utf8')).keys.all).toMatch(/^sandbox_/);
    await cli.run(['sandbox', 'stop']);
  });

  it('an empty secret is not signed with', async () => {
    write('secret', '');
    const { code, stderr } = await cli.run(['sandbox', 'start', '--port', '0']);
    expect([code, stderr.includes('is corrupt')]).toEqual([1, true]);
  });
});
