import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Cli, type CliOptions } from '../support/cli.ts';
import { respond, startServer } from '../support/http-server.ts';
import { startSandbox, type TestSandbox } from '../support/sandbox.ts';

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
async function reads(args: string[], exit: number, lines: string[], options?: CliOptions) {
  const { code, stdout, stderr } = await cli.run(args, options);
  expect(stderr.trimEnd().split('\n')).toEqual(lines);
  expect(code).toBe(exit);
  expect(stdout).toBe('');
}

const file = (name: string, text = 'text') => {
  const path = join(cli.home, name);
  writeFileSync(path, text);
  return path;
};

describe('bad input', () => {
  it('no such file', () =>
    reads(['upload', '/no/such.mp4'], 2, ['error: no such file: /no/such.mp4', '  try:   check the path']));

  it('a directory without -r', () =>
    reads(['upload', cli.home], 2, [
      `error: ${cli.home} is a directory`,
      '  cause: only files are uploaded',
      `  try:   mediactl upload -r ${cli.home}, for the files in it`,
    ]));

  it('an empty directory with -r', () => {
    mkdirSync(join(cli.home, 'empty'));
    return reads(['upload', '-r', join(cli.home, 'empty')], 2, ['error: no files found', '  try:   check the paths']);
  });

  it('an unreadable file', async () => {
    const path = file('secret.mp4');
    chmodSync(path, 0o000);
    for (const folder of [cli.home, dirname(cli.home)]) chmodSync(folder, 0o755);
    // Root can read every file: temporarily switches to an unprivileged uid.
    const root = process.geteuid?.() === 0;
    if (root) process.seteuid?.(65534);
    try {
      await reads(['upload', path], 2, [
        `error: cannot read ${path}`,
        '  cause: you may not read it',
        `  try:   chmod u+r ${path}, or run as its owner`,
      ]);
    } finally {
      if (root) process.seteuid?.(0);
    }
  });

  it('a FIFO', () => {
    const path = join(cli.home, 'fifo');
    execFileSync('mkfifo', [path]);
    return reads(['upload', path], 2, [
      `error: ${path} is not a regular file`,
      '  cause: the length must be known before an upload starts',
      `  try:   mediactl upload - --name NAME < ${path}, which spools it first`,
    ]);
  });

  it('a bad uid', () =>
    reads(['assets', 'get', '1234'], 3, [
      'error: no asset is called 1234',
      '  cause: for the beginning of a uid, type six digits or more',
      '  try:   mediactl assets ls 1234',
    ]));

  it('an unknown option, with the nearest one', () =>
    reads(['upload', '--wiat', 'x'], 2, ["error: unknown option '--wiat'", '  try:   did you mean --wait?']));

  it('an unknown command', async () => {
    const lines = ["error: unknown command 'asets'", '  try:   did you mean assets?'];
    await reads(['asets', 'ls'], 2, lines);
    await reads(['asets', 'ls', '--status', 'ready'], 2, lines); // the unknown command is reported, not the option '--status'
    await reads(['help', 'asets'], 2, lines);
  });

  it('an unknown verb', () =>
    reads(['assets', 'lst'], 2, ["error: unknown command 'lst'", '  try:   did you mean ls?']));

  it('a missing argument', () =>
    reads(['assets', 'get'], 2, [
      'error: which asset?',
      '  cause: cannot ask: this is not an interactive terminal',
      '  try:   give an id: uid or its first 6 digits, name, or @last (the last upload)',
    ]));

  it('nothing to upload', () => reads(['upload'], 2, ['error: nothing to upload', '  try:   mediactl upload PATH']));

  it('--workspace where the API cannot tell workspaces apart', () =>
    reads(['assets', 'ls', '-w', 'Main'], 2, [
      'error: assets ls does not accept --workspace',
      '  cause: the API lists what the key can see, and cannot filter by workspace',
      '  try:   leave it out, or name a folder: mediactl assets ls --folder /PATH',
    ]));

  it('nothing on stdin', () =>
    reads(['upload', '-'], 2, ['error: nothing came on stdin', '  try:   check the command before the pipe'], {
      stdin: '',
    }));

  it('an endpoint that the service does not offer', () =>
    reads(['api', '/webhooks/'], 3, ['error: not found (404)', '  cause: nothing at /api/external/v1/webhooks/']));

  it('a path of the API without its slash', () =>
    reads(['api', '/assets'], 3, [
      'error: not found (404)',
      '  cause: nothing at /api/external/v1/assets',
      '  try:   paths of the API end with a slash: mediactl api /assets/',
    ]));

  it('no workspace, where the service calls none primary', async () => {
    const service = await startServer((_request, response) =>
      respond(response, 200, { items: [{ uid: 'one' }, { uid: 'two' }] }),
    );
    await reads(
      ['upload', file('a.txt')],
      2,
      [
        'error: no workspace',
        '  cause: no flag, variable or profile names one, and the service calls none primary',
        '  try:   mediactl workspaces use NAME, or give --workspace',
      ],
      { environment: { MEDIACTL_WORKSPACE: undefined, MEDIACTL_BASE_URL: service } },
    );
  });

  it('no profile', () =>
    reads(
      ['assets', 'ls'],
      4,
      [
        'error: no profile and no API key',
        '  cause: there is no service to call and no key to call it with',
        '  try:   mediactl sandbox start for a service on this machine, mediactl auth login for yours, or set MEDIACTL_API_KEY and MEDIACTL_BASE_URL',
      ],
      { environment: { MEDIACTL_API_KEY: undefined, MEDIACTL_BASE_URL: undefined } },
    ));

  it('a bad key', () =>
    reads(
      ['assets', 'ls'],
      4,
      [
        'error: the service does not accept this API key (401)',
        '  cause: this API key is not known',
        '  try:   mediactl auth login, or set MEDIACTL_API_KEY',
      ],
      { environment: { MEDIACTL_API_KEY: 'no-such-key' } },
    ));

  it('a key that lacks the scope', () =>
    reads(
      ['upload', file('a.txt'), '--progress', 'none'],
      5,
      [
        'error: this key may not upload (403)',
        '  cause: this key lacks the scope "Write Assets"',
        '  try:   mediactl auth switch, or make a key with that scope under API keys',
      ],
      { environment: { MEDIACTL_API_KEY: sandbox.createKey('read', ['Read Assets']) } },
    ));

  it.each([
    [['--chunk-size', '51MiB'], "--chunk-size does not accept '51MiB'"],
    [['--chunk-size', 'big'], "--chunk-size does not accept 'big'"],
    [['--timeout', 'soon', '--wait'], "--timeout does not accept 'soon'"],
    [['--max-wait', '-1'], "--max-wait does not accept '-1'"],
    [['--color', 'pink'], "--color does not accept 'pink'"],
    [
      ['--progress', 'loud'],
      "option '--progress <form>' argument 'loud' is invalid. Allowed choices are auto, bar, plain, json, none.",
    ],
  ])('%j', async (args, problem) => {
    const { code, stderr } = await cli.run(['upload', file('a.txt'), ...args]);
    expect([code, stderr.split('\n')[0]]).toEqual([2, `error: ${problem}`]);
  });
});

describe('a service that cannot be talked to', () => {
  const at = (url: string) => ({ environment: { MEDIACTL_BASE_URL: url } });

  it('server down', async () => {
    const port = await new Promise<number>((resolve) => {
      const server = createServer().listen(0, '127.0.0.1', () => {
        const { port: free } = server.address() as { port: number };
        server.close(() => resolve(free));
      });
    });
    await reads(
      ['assets', 'ls'],
      10,
      [
        `error: cannot reach http://127.0.0.1:${port}`,
        '  cause: nothing listens there',
        '  try:   mediactl sandbox start, if it is a sandbox; mediactl auth ls lists the profiles',
      ],
      at(`http://127.0.0.1:${port}`),
    );
  });

  it('a host that does not exist', async () => {
    const { code, stderr } = await cli.run(['assets', 'ls'], at('https://no-such-host.invalid'));
    expect(code).toBe(10);
    expect(stderr).toContain('error: cannot reach https://no-such-host.invalid');
  });

  it('HTML from a proxy, as 502 and as 200', async () => {
    const page = `<!DOCTYPE html><html><head><title>Bad Gateway at Corp Proxy</title></head>${'x'.repeat(5000)}`;
    const proxy = await startServer((request, response) => {
      response.writeHead(request.url?.includes('workspaces') ? 502 : 200, {
        'content-type': 'text/html',
      });
      response.end(page);
    });
    const captive = await cli.run(['assets', 'ls'], at(proxy));
    expect(captive.code).toBe(10);
    expect(captive.stderr).toContain('error: the answer is not the JSON of the API');
    expect(captive.stderr.length).toBeLessThan(500);
    const { fastClock } = await import('../support/clock.ts');
    const gateway = await cli.run(['workspaces', 'ls'], { ...at(proxy), clock: fastClock() });
    expect(gateway.code).toBe(10);
    expect(gateway.stderr).toContain('cause: a web page instead of the API: "Bad Gateway at Corp Proxy"');
  });

  it.each([['an object without items', { results: [] }]])('200 with %s', async (_what, body) => {
    const service = await startServer((_request, response) => respond(response, 200, JSON.stringify(body)));
    const { code, stderr } = await cli.run(['assets', 'ls'], at(service));
    expect([code, stderr.includes('it has no `items` array of records')]).toEqual([10, true]);
  });
});

it('errors come in many forms, and are all read (A13)', async () => {
  const bodies: [unknown, string][] = [
    [{ error: { code: 'x', message: 'the words' } }, 'the words'],
    [{ error: 'the words' }, 'the words'],
    [{ detail: 'the words' }, 'the words'],
    [
      { detail: [{ loc: ['query', 'status'], msg: 'bad', ctx: { expected: "'ready'" } }] },
      "query.status: bad (expected 'ready')",
    ],
    [{ error: { message: 'bad', details: [{ loc: ['limit'], msg: 'too big' }] } }, 'bad; limit: too big'],
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
    const { code, stderr } = await cli.run(['assets', 'ls', '--json'], {
      environment: { MEDIACTL_BASE_URL: service },
    });
    expect(code).toBe(6);
    expect(JSON.parse(stderr).error).toMatchObject({ code: 'invalid', status: 422, cause });
  }
});

describe('the key appears in no output', () => {
  it('of --debug=http, of errors that echo it, in any format', async () => {
    const key = 'a-very-secret-key-0123456789';
    const echo = await startServer((request, response) =>
      respond(
        response,
        400,
        { error: { message: `bad key ${request.headers.authorization}`, details: { key } } },
        { 'x-echo': String(request.headers.authorization) },
      ),
    );
    const environment = { MEDIACTL_API_KEY: key, MEDIACTL_BASE_URL: echo };
    const commands = [
      ['assets', 'ls'],
      ['assets', 'ls', '--json'],
      ['workspaces', 'ls'],
      ['auth', 'status'],
      ['upload', file('a.txt')],
      ['upload', file('a.txt'), '--json'],
      ['upload', file('a.txt'), '--jsonl'],
      ['auth', 'status', '--json'],
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
    expect(stderr).toContain(`> GET ${echo}/api/external/v1/assets/?limit=20&offset=0`);
    expect(stderr).toContain('authorization: Bearer ***');
  });

  it('nor do playback tokens and signatures of URLs', async () => {
    const { fixturePath } = await import('../support/sandbox.ts');
    await cli.run(['upload', fixturePath('still.jpg'), '--wait']);
    const { stderr } = await cli.run(['play', '@last', '--check', '--debug=http']);
    expect(stderr).toContain('signature=***');
    expect(stderr).not.toMatch(/signature=[^*]/);
  });
});

it('a noun without a verb shows its help on stderr, and ends 2', async () => {
  const { code, stdout, stderr } = await cli.run(['assets']);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^List, [a-z].*\n\nUsage: mediactl assets COMMAND/);
  expect(stderr).not.toContain('error:');
});

it('help, version and exit codes go to stdout and end 0', async () => {
  for (const args of [['--help'], ['help'], ['assets', '--help'], ['help', 'assets', 'ls'], ['assets', 'ls', '-h']]) {
    const { code, stdout, stderr } = await cli.run(args);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Usage: mediactl/m);
  }
  expect((await cli.run(['--version'])).stdout).toBe('0.0.0-test\n');
  expect((await cli.run(['help', 'exit-codes'])).stdout).toContain('  9  rate limit (429)');
});
