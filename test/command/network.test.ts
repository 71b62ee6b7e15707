import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Cli } from '../support/cli.ts';
import { acceleratedClock } from '../support/clock.ts';
import { inherited } from '../support/environment.ts';
import { assetUid, createLibrary, testKey, workspaceUid } from '../support/fake-library.ts';
import { respond, startServer } from '../support/http-server.ts';
import { startRecordingServer } from '../support/recording-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const emptyPage = { items: [], count: 0 };

let cli: Cli;
beforeEach(() => {
  cli = new Cli({ MEDIACTL_API_KEY: 'a-key-of-this-test' });
});

const listAssets = (url: string, environment = {}) =>
  cli.run(['assets', 'ls', '--json'], {
    clock: acceleratedClock(),
    environment: { MEDIACTL_BASE_URL: url, ...environment },
  });

/** Parses the error record, which is the last line of stderr. */
const parseError = (stderr: string) => JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error;

describe('redirects', () => {
  it('a read follows a redirect within the origin and sends the API key', async () => {
    const authorizationHeaders: (string | undefined)[] = [];
    const service = await startServer((request, response) => {
      authorizationHeaders.push(request.headers.authorization);
      if (request.url?.includes('moved')) return respond(response, 200, emptyPage);
      respond(response, 301, undefined, { location: '/moved/' });
    });
    expect((await listAssets(service)).code).toBe(0);
    expect(authorizationHeaders).toEqual(['Bearer a-key-of-this-test', 'Bearer a-key-of-this-test']);
  });

  it('a write exits with 10 and does not follow a redirect', async () => {
    const requests: string[] = [];
    const service = await startServer((request, response) => {
      requests.push(`${request.method} ${request.url}`);
      respond(response, 307, undefined, { location: '/elsewhere/' });
    });
    const ran = await cli.run(['api', '/things/', '-f', 'a=b'], { environment: { MEDIACTL_BASE_URL: service } });
    expect(ran.code).toBe(10);
    expect(ran.stderr).toContain('a redirect, which is not followed');
    expect(ran.stderr).toContain('it leads to /elsewhere/');
    expect(requests).toEqual(['POST /api/external/v1/things/']);
  });

  it('a read exits with 10 after four requests in a redirect loop', async () => {
    let requestCount = 0;
    const service = await startServer((request, response) => {
      requestCount++;
      respond(response, 302, undefined, { location: request.url ?? '' });
    });
    expect((await listAssets(service)).code).toBe(10);
    expect(requestCount).toBe(4);
  });
});

describe('retries of reads', () => {
  it.each([500, 502, 503, 504])(
    'a read that gets status %i three times succeeds at the fourth attempt',
    async (status) => {
      let requestCount = 0;
      const service = await startServer((_request, response) => {
        requestCount++;
        respond(response, requestCount < 4 ? status : 200, emptyPage);
      });
      expect((await listAssets(service)).code).toBe(0);
      expect(requestCount).toBe(4);
    },
  );

  it('a read retries a dropped connection and exits with 10 after four attempts', async () => {
    let requestCount = 0;
    const service = await startServer((request) => {
      requestCount++;
      request.socket.destroy();
    });
    const { code, stderr } = await listAssets(service);
    expect(code).toBe(10);
    expect(JSON.parse(stderr).error).toMatchObject({ code: 'unreachable', retryable: true });
    expect(requestCount).toBe(4);
  });

  it('a read exits with 6 on status 422 and does not retry', async () => {
    let requestCount = 0;
    const service = await startServer((_request, response) => {
      requestCount++;
      respond(response, 422, { error: { message: 'no' } });
    });
    expect((await listAssets(service)).code).toBe(6);
    expect(requestCount).toBe(1);
  });

  it('a read waits out a 429 with a warning, but exits with 9 if the wait exceeds --max-wait', async () => {
    let requestCount = 0;
    const service = await startServer((_request, response) => {
      requestCount++;
      if (requestCount % 2 === 1) return respond(response, 429, { error: {} }, { 'retry-after': '30' });
      respond(response, 200, emptyPage);
    });
    const withDefaultMaxWait = await listAssets(service);
    expect(withDefaultMaxWait.code).toBe(0);
    expect(withDefaultMaxWait.stderr).toMatch(/^warning: rate limit reached; waiting 30s, until \d\d:\d\d\n$/);
    const withShortMaxWait = await listAssets(service, { MEDIACTL_MAX_WAIT: '10s' });
    expect(withShortMaxWait.code).toBe(9);
    expect(JSON.parse(withShortMaxWait.stderr).error).toMatchObject({ retry_after_seconds: 30, exit_code: 9 });
  });
});

it('assets ls counts simultaneous rate limit waits of several pages once against --max-wait', async () => {
  const rateLimitedOffsets = new Set<string>();
  const service = await startServer((request, response) => {
    const offset = new URL(request.url ?? '', 'http://service').searchParams.get('offset') ?? '0';
    if (offset !== '0' && !rateLimitedOffsets.has(offset)) {
      rateLimitedOffsets.add(offset);
      return respond(response, 429, { error: {} }, { 'retry-after': '30' });
    }
    const items = Array.from({ length: 100 }, (_, at) => ({ uid: `asset-${offset}-${at}` }));
    respond(response, 200, { items, count: 900 });
  });
  const environment = { MEDIACTL_BASE_URL: service };
  const ran = await cli.run(['assets', 'ls', '--limit', '900', '--quiet', '--max-wait', '2m'], {
    clock: acceleratedClock(),
    environment,
  });
  expect(ran.code).toBe(0);
  expect(ran.stdout.trim().split('\n')).toHaveLength(900);
  expect(rateLimitedOffsets.size).toBe(8);
});

it('a read waits one second before each retry if a 429 response has Retry-After: 0', async () => {
  const clock = acceleratedClock();
  let requestCount = 0;
  const service = await startServer((_request, response) => {
    requestCount++;
    if (requestCount > 3) return respond(response, 200, emptyPage);
    respond(response, 429, { error: {} }, { 'retry-after': '0' });
  });
  const environment = { MEDIACTL_BASE_URL: service };
  expect((await cli.run(['assets', 'ls'], { clock, environment })).code).toBe(0);
  expect(clock.sleptMs).toEqual([1000, 1000, 1000]);
});

it('mediactl api sends no API key to POST /playback/info/', async () => {
  const authorizationHeaders: (string | undefined)[] = [];
  const service = await startServer((request, response) => {
    authorizationHeaders.push(request.headers.authorization);
    respond(response, 200, {});
  });
  const args = ['api', '/playback/info/', '-f', 'asset_id=x', '-f', 'playback_token=y'];
  await cli.run(args, { environment: { MEDIACTL_BASE_URL: service } });
  expect(authorizationHeaders).toEqual([undefined]);
});

describe('.mediactl.json', () => {
  it('rm warns once about the profile, workspace and folder that .mediactl.json sets, but ls does not', async () => {
    const otherCli = new Cli();
    const service = await startRecordingServer(createLibrary());
    const environment = { MEDIACTL_API_KEY: testKey };
    const login = ['auth', 'login', '--base-url', service.url, '--with-key', '--skip-verify'];
    for (const name of ['other', 'mine']) await otherCli.run([...login, '--profile', name], { stdin: testKey });
    const path = join(otherCli.home, '.mediactl.json');
    writeFileSync(path, JSON.stringify({ profile: 'other', workspace: workspaceUid, folder: '/X' }));
    const warning = `warning: ${path} sets profile other, workspace ${workspaceUid}, folder /X\n`;
    const runCommand = (...args: string[]) => otherCli.run(args, { environment });
    expect((await runCommand('ls')).stderr).not.toContain(path);
    expect((await runCommand('rm', assetUid, '-y', '-q')).stderr).not.toContain(path);
    expect((await runCommand('rm', assetUid, '-y')).stderr.split(warning)).toHaveLength(2);
    expect((await runCommand('rm', assetUid, '-y', '--profile', 'mine')).stderr).toContain(
      `warning: ${path} sets workspace ${workspaceUid}, folder /X\n`,
    );
  });

  it('a command ignores an unknown profile in .mediactl.json if the environment sets key and base URL', async () => {
    const service = await startServer((_request, response) => respond(response, 200, emptyPage));
    writeFileSync(join(cli.home, '.mediactl.json'), '{"profile": "production"}');
    expect((await listAssets(service)).code).toBe(0);
  });

  it('the output format set in .mediactl.json also applies to errors', async () => {
    const service = await startServer((_request, response) => respond(response, 404, { error: {} }));
    writeFileSync(join(cli.home, '.mediactl.json'), '{"format": "json"}');
    const { stderr } = await cli.run(['assets', 'ls'], { environment: { MEDIACTL_BASE_URL: service } });
    expect(JSON.parse(stderr).error.http_status).toBe(404);
  });
});

it('auth status distinguishes a rejected API key from a failing service', async () => {
  const status = async (code: number) => {
    const service = await startServer((_request, response) => respond(response, code, { error: {} }));
    const ran = await cli.run(['auth', 'status', '--json'], {
      clock: acceleratedClock(),
      environment: { MEDIACTL_BASE_URL: service },
    });
    return [ran.code, JSON.parse(ran.stdout).authenticated];
  };
  expect(await status(401)).toEqual([4, false]);
  expect(await status(403)).toEqual([5, true]);
  expect(await status(500)).toEqual([10, null]);
});

it('assets ls exits with 10 and suggests http if the base URL uses https on a plain http port', async () => {
  let requestCount = 0;
  const httpUrl = await listenOnFreePort(createServer(() => requestCount++));
  const httpsUrl = httpUrl.replace('http:', 'https:');
  const { code, stderr } = await listAssets(httpsUrl);
  expect([code, requestCount, parseError(stderr)]).toEqual([
    10,
    0,
    expect.objectContaining({
      message: `cannot connect securely to ${httpsUrl}`,
      cause: 'it does not use https on that port',
      hint: `if it uses plain http, set the base URL to ${httpUrl}`,
    }),
  ]);
});

async function listenOnFreePort(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('proxies', () => {
  /** Starts a proxy that connects every CONNECT tunnel to one server, whatever host is requested. */
  async function startProxyTo(target: string) {
    const proxiedHosts: string[] = [];
    const proxy = createServer();
    proxy.on('connect', (request, client) => {
      proxiedHosts.push(request.url ?? '');
      const onward = connect(Number(new URL(target).port), '127.0.0.1', () => {
        client.write('HTTP/1.1 200 OK\r\n\r\n');
        onward.pipe(client).pipe(onward);
      });
      for (const end of [onward, client]) end.on('error', () => onward.destroy());
    });
    return { url: await listenOnFreePort(proxy), proxiedHosts };
  }

  it.each(['HTTP_PROXY', 'http_proxy'])(
    'a request uses the proxy in %s unless NO_PROXY lists the host',
    async (variable) => {
      const service = await startServer((_request, response) => respond(response, 200, emptyPage));
      const { url: proxyUrl, proxiedHosts } = await startProxyTo(service);
      const mediaUrl = 'http://media.example.test';
      expect((await listAssets(mediaUrl, { [variable]: proxyUrl })).code).toBe(0);
      expect(proxiedHosts).toEqual(['media.example.test:80']);
      const direct = await listAssets(mediaUrl, { [variable]: proxyUrl, NO_PROXY: '.example.test' });
      expect(direct.code).toBe(10);
      expect(proxiedHosts).toHaveLength(1);
    },
  );

  it('a proxy URL without a scheme uses http, as in curl', async () => {
    const service = await startServer((_request, response) => respond(response, 200, emptyPage));
    const { url, proxiedHosts } = await startProxyTo(service);
    const urlWithoutScheme = url.replace('http://', '');
    expect((await listAssets('http://media.example.test', { HTTP_PROXY: urlWithoutScheme })).code).toBe(0);
    expect(proxiedHosts).toHaveLength(1);
  });

  it.each(['socks5://user:secret@127.0.0.1:9', 'http://user:secret@[', 'secret:port'])(
    'a command exits with 2 and does not print the password if the proxy URL is invalid: %s',
    async (proxy) => {
      const { code, stderr } = await listAssets('https://media.example.test', { HTTPS_PROXY: proxy });
      expect([code, parseError(stderr)]).toEqual([
        2,
        expect.objectContaining({
          message: 'HTTPS_PROXY is not a valid http or https proxy URL',
          hint: 'HTTPS_PROXY=http://HOST:PORT',
        }),
      ]);
      expect(stderr).not.toContain('secret');
    },
  );

  it.each([
    ['403 Forbidden', 'it returned 403', 'check HTTPS_PROXY and NO_PROXY'],
    [
      '407 Proxy Authentication Required',
      'it asks for a user name and a password (407)',
      'put NAME:PASSWORD@ before the host in HTTPS_PROXY or HTTP_PROXY',
    ],
  ])('a command exits with 10 without a retry if the proxy refuses the connection: %s', async (status, cause, hint) => {
    let requestCount = 0;
    const proxy = createServer();
    proxy.on('connect', (_request, client) => {
      requestCount++;
      client.end(`HTTP/1.1 ${status}\r\n\r\n`);
    });
    const url = await listenOnFreePort(proxy);
    const { code, stderr } = await listAssets('http://media.example.test', { HTTP_PROXY: url });
    expect([code, requestCount, parseError(stderr)]).toEqual([
      10,
      1,
      expect.objectContaining({
        message: 'the proxy refused the connection to http://media.example.test',
        cause,
        hint,
      }),
    ]);
  });

  it.each([
    ['does not listen', 'http://127.0.0.1:9', 'connection refused'],
    // ENOTFOUND, or EAI_AGAIN where no resolver answers.
    ['has an unknown name', 'http://no-such-proxy.invalid:3128', expect.stringContaining('no-such-proxy.invalid')],
  ])('a command exits with 10 without a retry, and names the proxy, if it %s', async (_what, proxy, reason) => {
    const { code, stderr } = await listAssets('https://media.example.test', { HTTPS_PROXY: proxy });
    const { cause, ...error } = parseError(stderr);
    expect([code, error]).toEqual([
      10,
      expect.objectContaining({
        code: 'unreachable',
        message: `cannot reach the proxy ${new URL(proxy).host}`,
        hint: 'check HTTPS_PROXY and NO_PROXY',
      }),
    ]);
    expect(cause.split('; ')).toEqual([reason, 'requests to https://media.example.test go through it']);
  });

  it('a refused connection to a host that needs no proxy is not blamed on the proxy', async () => {
    const { stderr } = await listAssets('http://localhost:9', { HTTP_PROXY: 'http://127.0.0.1:10' });
    expect(parseError(stderr)).toMatchObject({
      code: 'unreachable',
      message: 'cannot reach http://localhost:9',
    });
  });

  it('a request to a loopback address bypasses the proxy', async () => {
    const service = await startServer((_request, response) => respond(response, 200, emptyPage));
    expect((await listAssets(service, { HTTP_PROXY: 'http://127.0.0.1:9' })).code).toBe(0);
  });
});

it('a command warns that the API key can be intercepted if the base URL is plain http on another host', async () => {
  const { stderr } = await listAssets('http://no-such-host.invalid');
  expect(stderr).toContain('does not use HTTPS: your API key can be intercepted');
});

it('assets ls sends no more requests and no retries after its output pipe is closed', async () => {
  let requestCount = 0;
  const service = await startServer(async ({ url = '' }, response) => {
    requestCount++;
    const offset = Number(new URL(url, 'http://localhost').searchParams.get('offset'));
    await new Promise((resolve) => setTimeout(resolve, offset === 0 ? 0 : 300));
    const items = Array.from({ length: 100 }, (_, n) => ({ uid: String(offset + n) }));
    respond(response, 200, { items, count: 5_000 });
  });
  const program = fileURLToPath(new URL('../../bin/mediactl.js', import.meta.url));
  const listFirstAsset = `node '${program}' assets ls --all --jsonl | head -1`;
  const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', listFirstAsset], {
    env: { ...inherited, HOME: temporaryFolder(), MEDIACTL_API_KEY: 'a-key-of-this-test', MEDIACTL_BASE_URL: service },
  });
  expect(JSON.parse(stdout)).toEqual({ uid: '0' });
  // the first page and the requests that were in flight then; no retries
  expect(requestCount).toBeLessThanOrEqual(17);
});
