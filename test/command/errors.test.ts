import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Cli, type CliOptions } from '../support/cli.ts';
import { respond, startServer } from '../support/http-server.ts';
import { isStrict, startSandbox, type TestSandbox } from '../support/sandbox.ts';

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.end());

let cli: Cli;
beforeEach(() => {
  cli = new Cli({
    MEDIACTL_API_KEY: sandbox.key,
    MEDIACTL_BASE_URL: sandbox.url,
    MEDIACTL_WORKSPACE: sandbox.workspace,
  });
});

/** Expects the exit code and the exact text that users see: problem, cause and next step. */
async function expectError(args: string[], exit: number, lines: string[], options?: CliOptions) {
  const { code, stdout, stderr } = await cli.run(args, options);
  expect(stderr.trimEnd().split('\n')).toEqual(lines);
  expect(code).toBe(exit);
  expect(stdout).toBe('');
}

const writeFile = (name: string, text = 'text') => {
  const path = join(cli.home, name);
  writeFileSync(path, text);
  return path;
};

describe('invalid input', () => {
  it('upload exits with 2 and names the path if the file does not exist', () =>
    expectError(['upload', '/no/such.mp4'], 2, ['error: no such file: /no/such.mp4', '  try:   check the path']));

  it.each([
    ['a path below the folder of Git', 'C:/Program Files/Git/Campaigns'],
    ['the folder of Git itself, which stands for /', 'C:/Program Files/Git/'],
    ['a path below the folder of a user’s Git', 'C:/Users/ada/AppData/Local/Programs/Git/Campaigns'],
    ['a path below the folder of MSYS2', 'C:/msys64/Campaigns'],
    ['the value of an option', '--folder=C:/Program Files/Git/Campaigns'],
  ])('every command exits with 2 if Git Bash has changed a folder to %s', (_what, changed) =>
    expectError(
      ['upload', writeFile('a.md'), changed],
      2,
      [`error: Git Bash has changed a path to ${changed}`, '  try:   write //Folder, or set MSYS_NO_PATHCONV=1'],
      { environment: { MSYSTEM: 'MINGW64' } },
    ),
  );

  it('a folder whose name begins with two slashes, as Git Bash needs, is the same folder', async () => {
    const create = ['folders', 'create', '-p', '//Doubled/Slashes'];
    const environment = { MEDIACTL_PRIMARY_WORKSPACE: sandbox.workspace };
    expect((await cli.run(create, { environment: { MSYSTEM: 'MINGW64' } })).code).toBe(0);
    expect((await cli.run(['ls', '/Doubled/Slashes'], { environment })).code).toBe(0);
  });

  it('upload exits with 2 if the directory is empty', () => {
    mkdirSync(join(cli.home, 'empty'));
    return expectError(['upload', '--flatten', join(cli.home, 'empty')], 2, [
      'error: no files found',
      '  try:   check the paths',
    ]);
  });

  it.each(['s3://bucket/clips', 'r2:clips/a.mp4'])(
    'upload exits with 2 and suggests the rclone: syntax for the remote path %s',
    async (path) => {
      const { code, stderr } = await cli.run(['upload', path, '--json']);
      expect([code, JSON.parse(stderr).error.hint]).toEqual([2, expect.stringContaining('rclone:REMOTE:PATH')]);
    },
  );

  it('upload exits with 2 and suggests chmod if it has no permission to read the file', async () => {
    const path = writeFile('secret.mp4');
    chmodSync(path, 0o000);
    for (const folder of [cli.home, dirname(cli.home)]) chmodSync(folder, 0o755);
    // Root can read every file: temporarily switches to an unprivileged uid.
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid?.(65534);
    try {
      await expectError(['upload', path], 2, [
        `error: cannot read ${path}`,
        '  cause: permission denied',
        `  try:   chmod u+r ${path}, or run as its owner`,
      ]);
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
  });

  it('upload exits with 2 and suggests stdin if the path is a named pipe', () => {
    const path = join(cli.home, 'fifo');
    execFileSync('mkfifo', [path]);
    return expectError(['upload', path], 2, [
      `error: ${path} is not a regular file`,
      '  cause: the size must be known before the upload starts',
      '  try:   mediactl upload - --name NAME < FILE, to spool it to disk first',
    ]);
  });

  it('assets get exits with 3 and explains abbreviated uids for digits that match no asset', () =>
    expectError(['assets', 'get', '1234'], 3, [
      "error: the service's search finds no asset named 1234",
      '  cause: to abbreviate a uid, type at least 6 digits',
      "  try:   mediactl ls 1234, or mediactl ls '/**/1234' to look into each folder",
    ]));

  it('upload exits with 2 and suggests the most similar option for an unknown one', () =>
    expectError(['upload', '--wiat', 'x'], 2, ["error: unknown option '--wiat'", '  try:   did you mean --wait?']));

  it('the CLI exits with 2 and suggests the most similar command for an unknown one', async () => {
    const lines = ["error: unknown command 'asets'", '  try:   did you mean assets?'];
    await expectError(['asets', 'ls'], 2, lines);
    await expectError(['asets', 'ls', '--status', 'ready'], 2, lines); // the unknown command is reported, not the option '--status'
    await expectError(['help', 'asets'], 2, lines);
  });

  it('the CLI exits with 2 and suggests the most similar subcommand for an unknown one', () =>
    expectError(['assets', 'lst'], 2, ["error: unknown command 'lst'", '  try:   did you mean ls?']));

  it('assets get exits with 2 and lists the accepted forms if the asset is missing', () =>
    expectError(['assets', 'get'], 2, [
      'error: no asset given',
      '  cause: cannot prompt: this is not an interactive terminal',
      '  try:   use one of: name, /Folder/name, uid or its first digits, or @last (the last upload)',
    ]));

  it('upload exits with 2 and shows its syntax if no path is given', () =>
    expectError(['upload'], 2, ['error: nothing to upload', '  try:   mediactl upload PATH']));

  it('assets ls exits with 2 for --workspace, because the API cannot filter by workspace', () =>
    expectError(['assets', 'ls', '-w', 'Main'], 2, [
      'error: assets ls does not accept --workspace',
      '  cause: the API lists everything that the key can see, and cannot filter by workspace',
      '  try:   leave out --workspace; mediactl folders tree, to list the folders of any workspace',
    ]));

  it('upload - exits with 2 if stdin is empty', () =>
    expectError(['upload', '-'], 2, ['error: stdin is empty', '  try:   check the command before the pipe'], {
      stdin: '',
    }));

  it('api exits with 3 and names the path if the endpoint does not exist', () =>
    expectError(['api', '/webhooks/'], 3, [
      'error: not found (404)',
      '  cause: no endpoint at GET /api/external/v1/webhooks/',
    ]));

  it('api exits with 3 and suggests a final slash if the path lacks it', () =>
    expectError(['api', '/assets'], 3, [
      'error: not found (404)',
      '  cause: no endpoint at GET /api/external/v1/assets',
      '  try:   mediactl api /assets/ (API paths end with a slash)',
    ]));

  it('upload exits with 2 if no workspace is set and none is primary', async () => {
    const service = await startServer((_request, response) =>
      respond(response, 200, { items: [{ uid: 'one' }, { uid: 'two' }] }),
    );
    await expectError(
      ['upload', writeFile('a.txt')],
      2,
      [
        'error: no workspace',
        '  cause: no flag, variable or profile sets one, and the service shows none to be primary',
        '  try:   export MEDIACTL_WORKSPACE=NAME, or --workspace NAME',
      ],
      { environment: { MEDIACTL_WORKSPACE: undefined, MEDIACTL_BASE_URL: service } },
    );
  });

  it('assets ls exits with 4 and suggests auth login if no profile and no key is set', () =>
    expectError(
      ['assets', 'ls'],
      4,
      [
        'error: no profile and no API key',
        '  cause: no service is configured',
        '  try:   mediactl auth login, or mediactl sandbox start, to try a local service, or set MEDIACTL_API_KEY and MEDIACTL_BASE_URL',
      ],
      { environment: { MEDIACTL_API_KEY: undefined, MEDIACTL_BASE_URL: undefined } },
    ));

  it('assets ls exits with 4 and suggests auth login if the service rejects the key (401)', () =>
    expectError(
      ['assets', 'ls'],
      4,
      [
        'error: the service rejected this API key (401)',
        '  cause: invalid API key',
        '  try:   mediactl auth login, or another MEDIACTL_API_KEY if that is set',
      ],
      { environment: { MEDIACTL_API_KEY: 'no-such-key' } },
    ));

  it.skipIf(isStrict)('upload exits with 5 and names the missing scope if the key lacks it (403)', () =>
    expectError(
      ['upload', writeFile('a.txt'), '--progress', 'none'],
      5,
      [
        'error: this API key cannot upload (403)',
        '  cause: this key lacks the scope "Write Assets"',
        '  try:   mediactl auth switch, or create an API key with that scope',
      ],
      { environment: { MEDIACTL_API_KEY: sandbox.createKey('read', ['Read Assets']) } },
    ),
  );

  it.each([
    [{ error: { message: 'this key lacks read_assets' } }, 'this key lacks read_assets'],
    [{ error: { message: 'insufficient scope' } }, 'it lacks the "Read Assets" scope'],
    [{ error: { message: 'not in this office' } }, 'it lacks the "Read Assets" scope; not in this office'],
  ])('the error of a 403 names the missing scope only once (%j)', async (body, cause) => {
    const service = await startServer((_request, response) => respond(response, 403, body));
    const result = await cli.run(['assets', 'ls', '--json'], { environment: { MEDIACTL_BASE_URL: service } });
    expect(JSON.parse(result.stderr).error).toMatchObject({ code: 'forbidden', cause });
  });

  it.each([
    [
      'text/html',
      '<html><title>Blocked by Corp Firewall</title></html>',
      /^it sent a web page .*Blocked by Corp Firewall/,
    ],
    ['text/plain', 'RBAC: access denied', /^RBAC: access denied$/],
  ])('a 403 or 401 of a gateway (%s) is not blamed on the API key', async (type, page, cause) => {
    let status = 403;
    const service = await startServer((_request, response) =>
      respond(response, status, page, { 'content-type': type }),
    );
    const run = (...args: string[]) => cli.run([...args, '--json'], { environment: { MEDIACTL_BASE_URL: service } });
    const error = { cause: expect.stringMatching(cause), hint: expect.stringContaining('check any proxy') };
    const message = 'the service, or a gateway in front of it, denied the request';
    expect(JSON.parse((await run('assets', 'ls')).stderr).error).toMatchObject({
      message: `${message} (403)`,
      ...error,
    });
    expect(JSON.parse((await run('auth', 'status')).stdout)).toMatchObject({ authenticated: null });
    status = 401;
    expect(JSON.parse((await run('assets', 'ls')).stderr).error).toMatchObject({
      message: `${message} (401)`,
      ...error,
    });
  });

  it.each([
    [['--chunk-size', '51MiB'], "--chunk-size does not accept '51MiB'"],
    [['--chunk-size', 'big'], "--chunk-size does not accept 'big'"],
    [['--timeout', 'soon', '--wait'], "--timeout does not accept 'soon'"],
    [['--max-wait', '-1'], "--max-wait does not accept '-1'"],
    [['--format', 'pink'], "--format does not accept 'pink'"],
    [
      ['--progress', 'loud'],
      "option '--progress <mode>' argument 'loud' is invalid. Allowed choices are auto, bar, plain, json, none.",
    ],
  ])('upload exits with 2 and names the invalid value of the option: %j', async (args, problem) => {
    const { code, stderr } = await cli.run(['upload', writeFile('a.txt'), ...args]);
    expect([code, stderr.split('\n')[0]]).toEqual([2, `error: ${problem}`]);
  });
});

describe('unusable services', () => {
  const withBaseUrl = (url: string) => ({ environment: { MEDIACTL_BASE_URL: url } });

  it('assets ls exits with 10 and names the base URL if the connection is refused', async () => {
    const port = await new Promise<number>((resolve) => {
      const server = createServer().listen(0, '127.0.0.1', () => {
        const { port: freePort } = server.address() as { port: number };
        server.close(() => resolve(freePort));
      });
    });
    await expectError(
      ['assets', 'ls'],
      10,
      [
        `error: cannot reach http://127.0.0.1:${port}`,
        '  cause: connection refused',
        '  try:   mediactl sandbox start, if it is a sandbox; or correct MEDIACTL_BASE_URL',
      ],
      withBaseUrl(`http://127.0.0.1:${port}`),
    );
  });

  it('assets ls exits with 10 and names the base URL if the host does not exist', async () => {
    const { code, stderr } = await cli.run(['assets', 'ls'], withBaseUrl('https://no-such-host.invalid'));
    expect(code).toBe(10);
    expect(stderr).toContain('error: cannot reach https://no-such-host.invalid');
  });

  it.each([
    ['null', 'null', 'sent null, which is no object and no array'],
    ['nothing', '', 'sent an empty body'],
  ])('the error says what came if the service sends %s in place of records', async (_, body, words) => {
    const service = await startServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    });
    const { code, stderr } = await cli.run(['folders', 'ls'], withBaseUrl(service));
    expect([code, stderr]).toEqual([10, expect.stringContaining(words)]);
  });

  it('a workspace whose name differs in case is proposed, and a uid if the service shows no names', async () => {
    let workspaces: object[] = [
      { uid: '7b1f4d0e-58a4-4c8e-9a0b-5d9c1f2e3a4b', name: 'Archive' },
      { uid: '7b1f4d0e-58a4-4c8e-9a0b-5d9c1f2e3a4c', name: 'Main' },
    ];
    const service = await startServer((_request, response) => respond(response, 200, { items: workspaces }));
    const hint = async () => (await cli.run(['folders', 'ls', '-w', 'archive'], withBaseUrl(service))).stderr;
    expect(await hint()).toContain('try:   did you mean Archive?');
    workspaces = workspaces.map((workspace) => ({ ...workspace, name: undefined }));
    expect(await hint()).toContain('use a uid: the service shows no names');
  });

  it('the CLI exits with 10 and reports a web page instead of JSON, for status 200 and 502', async () => {
    const page = `<!DOCTYPE html><html><head><title>Bad Gateway at Corp Proxy</title></head>${'x'.repeat(5000)}`;
    const proxy = await startServer((request, response) => {
      response.writeHead(request.url?.includes('workspaces') ? 502 : 200, { 'content-type': 'text/html' });
      response.end(page);
    });
    const webPage = await cli.run(['assets', 'ls'], withBaseUrl(proxy));
    expect(webPage.code).toBe(10);
    expect(webPage.stderr).toContain('error: the response is not JSON from the API');
    expect(webPage.stderr.length).toBeLessThan(500);
    const { acceleratedClock } = await import('../support/clock.ts');
    const badGateway = await cli.run(['workspaces', 'ls'], { ...withBaseUrl(proxy), clock: acceleratedClock() });
    expect(badGateway.code).toBe(10);
    expect(badGateway.stderr).toContain('cause: it sent a web page instead of JSON: "Bad Gateway at Corp Proxy"');
  });

  it.each([
    [404, 'invalid_response', 'the service, or a gateway in front of it, does not know this address (404)'],
    [500, 'server_error', 'the service, or a gateway in front of it, had an internal error (500)'],
    [502, 'server_error', 'the service, or a gateway in front of it, is unavailable (502)'],
    [504, 'server_error', 'the service, or a gateway in front of it, is unavailable (504)'],
  ])('a web page with status %i is not called an answer of the service', async (status, errorCode, message) => {
    const page = '<html><title>Corp Gateway</title></html>';
    const gateway = await startServer((_request, response) =>
      respond(response, status, page, { 'content-type': 'text/html' }),
    );
    const options = { ...withBaseUrl(gateway), clock: (await import('../support/clock.ts')).acceleratedClock() };
    const { code, stderr } = await cli.run(['get', '0c6f2a52-3c35-4f3e-9a51-2f2ed6b0a7c1', '--json'], options);
    expect(code).toBe(10);
    expect(JSON.parse(stderr.trim().split('\n').at(-1) as string).error).toMatchObject({
      code: errorCode,
      message: expect.stringContaining(message),
      cause: 'it sent a web page instead of JSON: "Corp Gateway"',
      hint: expect.stringContaining('check any proxy too'),
    });
  });

  it.each([
    [407, 'the proxy asks for a user name and a password', 'put NAME:PASSWORD@ before the host'],
    [511, 'the network asks you to sign in', 'sign in with a browser'],
  ])('status %i, which no service sends, names the proxy or the network', async (status, message, hint) => {
    const network = await startServer((_request, response) =>
      respond(response, status, '<html><title>Sign in</title></html>', { 'content-type': 'text/html' }),
    );
    const { code, stderr } = await cli.run(['assets', 'ls', '--json'], withBaseUrl(network));
    expect(code).toBe(10);
    expect(JSON.parse(stderr).error).toMatchObject({
      code: 'unreachable',
      message: `${message} (${status})`,
      hint: expect.stringContaining(hint),
    });
  });

  it('the redirect of a sign-in page to another origin is not said to be that of the service', async () => {
    const portal = await startServer((_request, response) =>
      respond(response, 302, '', { location: 'http://portal.invalid/login' }),
    );
    const { code, stderr } = await cli.run(['assets', 'ls'], withBaseUrl(portal));
    expect(code).toBe(13);
    expect(stderr).toContain('error: a redirect points to another origin: http://portal.invalid');
    expect(stderr).toContain('the service, or a proxy or sign-in page in front of it, sent it');
  });

  it.each([
    ['gzip', (body: Buffer) => gzipSync(body)],
    ['deflate', (body: Buffer) => deflateSync(body)],
    ['br', (body: Buffer) => brotliCompressSync(body)],
    ['gzip, br', (body: Buffer) => brotliCompressSync(gzipSync(body))],
  ])('an answer and an error that a proxy has compressed unasked (%s) are read', async (encoding, compress) => {
    let status = 200;
    let body: object = { items: [{ uid: '0c6f2a52-3c35-4f3e-9a51-2f2ed6b0a7c1', name: 'Quay' }] };
    const proxy = await startServer((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json', 'content-encoding': encoding });
      response.end(compress(Buffer.from(JSON.stringify(body))));
    });
    expect(await cli.json(['assets', 'ls'], withBaseUrl(proxy))).toMatchObject([{ name: 'Quay' }]);
    [status, body] = [422, { error: { message: 'no such order' } }];
    expect((await cli.run(['assets', 'ls'], withBaseUrl(proxy))).stderr).toContain('cause: no such order');
  });

  it.each([
    ['zstd', 'an unknown coding'],
    ['gzip', 'a body that is cut'],
  ])('an answer that cannot be decoded (%s, %s) names its encoding', async (encoding) => {
    let status = 200;
    const proxy = await startServer((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json', 'content-encoding': encoding });
      response.end(gzipSync('{"items":[]}').subarray(0, 20));
    });
    const { code, stderr } = await cli.run(['assets', 'ls'], withBaseUrl(proxy));
    expect(code).toBe(10);
    expect(stderr).toContain(`cause: it is encoded as ${encoding}, which was not asked for; a proxy may do that`);
    status = 403;
    const refused = await cli.run(['assets', 'ls'], withBaseUrl(proxy));
    expect([refused.code, refused.stderr]).toEqual([
      5,
      expect.stringContaining(`its answer is encoded as ${encoding}`),
    ]);
  });

  it.each([['an object without items', { results: [] }]])(
    'assets ls exits with 10 if the service responds with 200 and %s',
    async (_what, body) => {
      const service = await startServer((_request, response) => respond(response, 200, JSON.stringify(body)));
      const { code, stderr } = await cli.run(['assets', 'ls'], withBaseUrl(service));
      expect([code, stderr.includes('it has no `items` array')]).toEqual([10, true]);
    },
  );
});

it('the error cause contains the message of the service in every known response format (A13)', async () => {
  const bodies: [unknown, string][] = [
    [{ error: { code: 'x', message: 'the words' } }, 'the words'],
    [{ error: 'the words' }, 'the words'],
    [{ detail: 'the words' }, 'the words'],
    [
      { detail: [{ loc: ['query', 'status'], msg: 'bad', ctx: { expected: "'ready'" } }] },
      "status: bad (expected 'ready')",
    ],
    [{ error: { message: 'bad', details: [{ loc: ['limit'], msg: 'too big' }] } }, 'bad; limit: too big'],
    [
      {
        error: {
          message: 'invalid parameters or body',
          details: [{ loc: ['query', 'type'], msg: 'Invalid option: expected one of "a"|"b"|"c"|"d"|"e"|"f"|"g"' }],
        },
      },
      'type: expected one of "a", "b", "c", "d", "e" and 2 more',
    ],
    [{ detail: [{ loc: ['body', 'tags', 0], msg: 'Invalid input: expected string' }] }, 'tags.0: expected string'],
    ['just text', 'just text'],
    [{ error: { title: 'the words' } }, 'the words'],
    [{ error: true, message: 'the words' }, 'the words'],
    [{ errors: ['the words', { message: 'others' }] }, 'the words; others'],
    [{ name: ['the words'] }, 'name: the words'],
    [{ error: { message: { en: 'words' } } }, '{"error":{"message":{"en":"words"}}}'],
    [{ error: 'ValidationError', message: 'the words' }, 'ValidationError; the words'],
    [{ error: { message: 'bad', errors: { name: ['the words'] } } }, 'bad; name: the words'],
    [{ error: { message: 'bad', details: { errors: [{ loc: ['name'], msg: 'the words' }] } } }, 'bad; name: the words'],
    [{ odd: { deep: 1 } }, '{"odd":{"deep":1}}'],
  ];
  for (const [body, cause] of bodies) {
    const service = await startServer((_request, response) => respond(response, 422, body));
    const { code, stderr } = await cli.run(['assets', 'ls', '--json'], { environment: { MEDIACTL_BASE_URL: service } });
    expect(code).toBe(6);
    expect(JSON.parse(stderr).error).toMatchObject({ code: 'rejected', http_status: 422, cause });
  }
});

describe('secrets in output', () => {
  it('no command prints the API key, even with --debug=http or if the service echoes it in errors', async () => {
    const key = 'a-very-secret-key-0123456789';
    const service = await startServer((request, response) =>
      respond(
        response,
        400,
        { error: { message: `bad key ${request.headers.authorization}`, details: { key } } },
        { 'x-echo': String(request.headers.authorization) },
      ),
    );
    const environment = { MEDIACTL_API_KEY: key, MEDIACTL_BASE_URL: service };
    const [assetUid, otherUid] = ['1', '2'].map((digit) => `00000000-0000-4000-8000-00000000000${digit}`) as [
      string,
      string,
    ];
    const commands = [
      ['assets', 'ls'],
      ['assets', 'ls', '--json'],
      ['workspaces', 'ls'],
      ['auth', 'status'],
      ['upload', writeFile('a.txt')],
      ['upload', writeFile('a.txt'), '--json'],
      ['upload', writeFile('a.txt'), '--jsonl'],
      ['auth', 'status', '--json'],
      ['doctor', '--json'],
      ['rm', assetUid, otherUid, '--yes', '--json'],
      ['update', assetUid, otherUid, '--name', 'x'],
      ['download', assetUid, otherUid, '-d', cli.home, '--json'],
      ['embed', 'domains', 'add', 'a.example.com', 'b.example.com', '--json'],
      ['play', '@last'],
      ['api', '/x/'],
      ['uploads', 'ls'],
    ];
    for (const command of commands)
      for (const debug of [[], ['--debug'], ['--debug=http']]) {
        const { stdout, stderr } = await cli.run([...command, ...debug], { environment });
        expect(stdout + stderr).not.toContain(key);
      }
    const { stderr } = await cli.run(['assets', 'ls', '--debug=http'], { environment });
    expect(stderr).toContain(`> GET ${service}/api/external/v1/assets/?limit=20&offset=0`);
    expect(stderr).toContain('authorization: Bearer ***');
  });

  it('play --debug=http does not print the signatures of URLs', async () => {
    const { fixturePath } = await import('../support/sandbox.ts');
    await cli.run(['upload', fixturePath('still.jpg'), '--wait']);
    const { stderr } = await cli.run(['play', '@last', '--probe', '--debug=http']);
    expect(stderr).toContain('signature=***');
    expect(stderr).not.toMatch(/signature=[^*]/);
  });
});

it('a command group without a subcommand prints its help on stderr and exits with 2', async () => {
  const { code, stdout, stderr } = await cli.run(['assets']);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^All commands for assets.*\n\nUsage: mediactl assets COMMAND/);
  expect(stderr).not.toContain('error:');
});

it('--help, help and --version print on stdout and exit with 0', async () => {
  for (const args of [['--help'], ['help'], ['assets', '--help'], ['help', 'assets', 'ls'], ['assets', 'ls', '-h']]) {
    const { code, stdout, stderr } = await cli.run(args);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Usage: mediactl/m);
  }
  expect((await cli.run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+(-test)?\n$/);
  expect((await cli.run(['help', 'exit-codes'])).stdout).toContain('  9  rate limit (429)');
});
