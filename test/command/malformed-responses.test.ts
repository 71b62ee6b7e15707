import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { acceleratedClockInProcess } from '../support/clock.ts';
import { FaultProxy, respondWith } from '../support/fault-proxy.ts';
import { writeRandomFile } from '../support/files.ts';
import { respond, startServer } from '../support/http-server.ts';
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
const withBaseUrl = (url: string) => ({ environment: { MEDIACTL_BASE_URL: url }, clock: acceleratedClockInProcess() });

describe('malformed responses', () => {
  it.each([
    ['null', ['assets', 'get', uid], 'null'],
    ['a number', ['play', uid], '5'],
    ['a page of nulls', ['assets', 'ls'], '{"items":[null]}'],
    ['a page of strings', ['workspaces', 'ls'], '{"items":["a"]}'],
  ])('a command exits with 10 and code invalid_response if the service returns %s', async (_what, args, body) => {
    const service = await startServer((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(body);
    });
    const { code, stderr } = await cli.run([...args, '--json'], withBaseUrl(service));
    expect(code).toBe(10);
    expect(JSON.parse(stderr).error.code).toBe('invalid_response');
  });

  it('assets ls exits with 10 and names the connection if the server does not speak HTTP', async () => {
    const server = createServer((socket) => socket.end('220 smtp.example.com ESMTP\r\n'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const { code, stderr } = await cli.run(['assets', 'ls'], withBaseUrl(`http://127.0.0.1:${port}`));
    server.close();
    expect(code).toBe(10);
    expect(stderr).toContain('error: the connection to');
  });

  it('auth status reports no rate limit if its reset time is out of range', async () => {
    const headers = { 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': '1e15' };
    const service = await startServer((_request, response) => respond(response, 200, { items: [], count: 0 }, headers));
    expect(await cli.json(['auth', 'status'], withBaseUrl(service))).toMatchObject({ rate_limit: null });
  });
});

describe('endless responses', () => {
  it.each([
    ['exits with 0 if the service returns a plain array', (items: object[]) => items, 0],
    ['exits with 10 if the service ignores the offset and reports no total', (items: object[]) => ({ items }), 10],
  ])('assets ls --all %s', async (_what, createBody, exit) => {
    const items = Array.from({ length: 100 }, (_, n) => ({ uid: `uid-${n}` }));
    let requestCount = 0;
    const service = await startServer((_request, response) => {
      requestCount++;
      respond(response, 200, createBody(items));
    });
    for (const args of [
      ['assets', 'ls', '--all', '-q'],
      ['api', '/assets/', '--paginate', '-q'],
    ]) {
      requestCount = 0;
      const { code, stdout } = await cli.run(args, withBaseUrl(service));
      expect([code, stdout.trimEnd().split('\n').length]).toEqual([exit, 100]);
      expect(requestCount).toBeLessThanOrEqual(2);
    }
  });

  it('play --probe stops reading after 64 KiB if the media server ignores the Range header', async () => {
    let bytesSent = 0;
    let isClosed = false;
    const service: string = await startServer((request, response) => {
      const path = request.url ?? '';
      if (path.endsWith('/player/')) return respond(response, 200, { uid, playback_token: 'tokens' });
      if (path.endsWith('/info/')) return respond(response, 200, { type: 'audio', source: `${service}/x` });
      const block = Buffer.alloc(64 * 1024);
      const writeBlocks = () => {
        while (!isClosed && bytesSent < 1e9 && response.write(block)) bytesSent += block.length;
      };
      response.on('drain', writeBlocks).on('close', () => {
        isClosed = true;
      });
      writeBlocks();
    });
    expect(await cli.json(['play', uid, '--probe'], withBaseUrl(service))).toMatchObject({
      playable: true,
      steps: [{ size_bytes: 65536 }],
    });
    expect(bytesSent).toBeLessThan(100 * 1024 * 1024);
  });
});

describe('unexpected responses to a chunk', () => {
  it('upload exits with 13 if the service acknowledges bytes that were never sent', async () => {
    const proxy = await FaultProxy.start(sandbox.url, ({ method }) =>
      method === 'PATCH' ? respondWith(204, undefined, { 'upload-offset': '3000' }) : undefined,
    );
    const path = join(cli.home, 'a.bin');
    writeRandomFile(path, { size: 3000 });
    const result = await cli.run(['upload', path, '--chunk-size', '1000', '--json'], withBaseUrl(proxy.url));
    expect(result.code).toBe(13);
    expect(JSON.parse(result.stdout)[0].error.message).toContain('acknowledged 3000 bytes, but only 1000 were sent');
  });

  it('upload retries a chunk after status 408', async () => {
    const proxy = await FaultProxy.start(sandbox.url, ({ method, nth }) =>
      method === 'PATCH' && nth === 1 ? respondWith(408, 'slow') : undefined,
    );
    const path = join(cli.home, 'a.bin');
    writeRandomFile(path, { size: 3000 });
    expect((await cli.json(['upload', path], withBaseUrl(proxy.url)))[0].verified).toBe(true);
  });
});

describe('invalid profile names and API keys', () => {
  it.each(['constructor', '__proto__', 'toString'])(
    'assets ls --profile %s exits with 4 because the profile does not exist',
    async (name) => {
      const { code, stderr } = await cli.run(['assets', 'ls', '--profile', name], withBaseUrl(sandbox.url));
      expect([code, stderr.includes(`profile ${name} does not exist`)]).toEqual([4, true]);
    },
  );

  it.each(['__proto__', '-x', 'two words', ''])('auth login rejects %j as a profile name', async (name) => {
    const login = ['auth', 'login', `--profile=${name}`, '--with-key', '--skip-verify'];
    const { code } = await cli.run([...login, '--base-url', sandbox.url], { stdin: 'a-key' });
    expect(code).toBe(2);
  });

  it('assets ls exits with 2 if the API key contains a line break', async () => {
    const { code, stderr } = await cli.run(['assets', 'ls'], {
      environment: { MEDIACTL_API_KEY: 'secret\nkey', MEDIACTL_BASE_URL: sandbox.url },
    });
    expect([code, stderr.split('\n')[0]]).toEqual([2, 'error: invalid API key']);
  });
});

describe('unusual local files', () => {
  it('upload --dry-run escapes control characters and line breaks in file names', async () => {
    const folder = join(cli.home, 'odd');
    mkdirSync(folder);
    writeFileSync(join(folder, 'a\n\tb\u001b]0;x\u0007.txt'), 'x');
    const { stdout } = await cli.run(['upload', '--flatten', folder, '-n'], withBaseUrl(sandbox.url));
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(stdout).toContain('a\\n\\tb\\u001b]0;x\\u0007.txt');
  });

  it('upload follows symbolic links to files in a directory, but not links to directories', async () => {
    const folder = join(cli.home, 'links');
    mkdirSync(folder);
    writeFileSync(join(cli.home, 'real.txt'), 'x');
    symlinkSync('../real.txt', join(folder, 'link.txt'));
    symlinkSync('..', join(folder, 'round'));
    expect(await cli.json(['upload', '--flatten', folder, '-n'], withBaseUrl(sandbox.url))).toHaveLength(1);
  });

  it('upload of stdin deletes its temporary copy even if the state directory is a symbolic link', async () => {
    const state = join(cli.home, 'real-state');
    mkdirSync(state);
    symlinkSync(state, join(cli.home, 'linked'));
    const { code } = await cli.run(['upload', '-', '--name', 'n.txt'], {
      stdin: 'text',
      environment: { MEDIACTL_BASE_URL: sandbox.url, MEDIACTL_STATE_DIR: join(cli.home, 'linked') },
    });
    expect(code).toBe(0);
    expect(readdirSync(join(state, 'spool'))).toEqual([]);
  });

  it('upload --limit-rate 0 of a file that exists exits with 2 and names the option', async () => {
    const path = join(cli.home, 'clip.txt');
    writeFileSync(path, 'text');
    const { code, stderr } = await cli.run(['upload', path, '--limit-rate', '0'], withBaseUrl(sandbox.url));
    expect([code, stderr]).toEqual([2, expect.stringContaining('--limit-rate')]);
  });
});

describe('damaged sandbox files', () => {
  const dataDir = () => join(cli.home, 'state/sandbox');
  const writeDataFile = (name: string, text: string) => {
    mkdirSync(dataDir(), { recursive: true });
    writeFileSync(join(dataDir(), name), text);
  };

  it('sandbox start ignores a truncated server.json and replaces empty credentials', async () => {
    writeDataFile('server.json', '{"pid":');
    writeDataFile('credentials.json', '');
    expect((await cli.run(['sandbox', 'status'])).code).toBe(0);
    const started = await cli.run(['sandbox', 'start', '--port', '0']);
    expect(started.code).toBe(0);
    expect(JSON.parse(readFileSync(join(dataDir(), 'credentials.json'), 'utf8')).keys.all).toMatch(/^sandbox_/);
    await cli.run(['sandbox', 'stop']);
  });

  it('sandbox start exits with 1 if the file of its signing secret is empty', async () => {
    writeDataFile('secret', '');
    const { code, stderr } = await cli.run(['sandbox', 'start', '--port', '0']);
    expect([code, stderr.includes('is corrupt')]).toEqual([1, true]);
  });
});
