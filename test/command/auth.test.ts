import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { respond, startServer } from '../support/http-server.ts';
import { startSandbox, type TestSandbox, unlessStrict } from '../support/sandbox.ts';

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.end());

let cli: Cli;
let config: string;
beforeEach(() => {
  cli = new Cli();
  config = join(cli.home, 'config/config.json');
});

const login = (...args: string[]) =>
  cli.run(['auth', 'login', '--base-url', sandbox.url, '--with-key', ...args], {
    stdin: `${sandbox.key}\n`,
  });

describe('auth login', () => {
  it('keeps the key from stdin in a file of mode 0600, says so, and prints the profile', async () => {
    const workspace = unlessStrict('Main', sandbox.workspace);
    const { code, stdout, stderr } = await login('--profile', 'main', '--workspace', workspace);
    expect(code).toBe(0);
    expect(stdout).toBe(`profile\tmain\nbase_url\t${sandbox.url}\nworkspace\t${sandbox.workspace}\nkey_in\tfile\n`);
    expect(stderr).toBe(`API key saved in ${config} (mode 0600)\nlogged in to ${sandbox.url} as profile main\n`);
    expect(statSync(config).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(config, 'utf8')).profiles.main.key).toBe(sandbox.key);
  });

  it('works in the primary workspace unless told otherwise', async () => {
    const { stdout } = await login();
    expect(stdout.includes(`workspace\t${sandbox.workspace}\n`)).toBe(unlessStrict(true, false));
  });

  it('checks the key with one read, and keeps nothing of a bad one', async () => {
    const args = ['auth', 'login', '--base-url', sandbox.url, '--with-key'];
    const { code, stderr } = await cli.run(args, { stdin: 'wrong-key-0123456789' });
    expect(code).toBe(4);
    expect(stderr).toContain('the service rejected this API key (401)');
    expect(existsSync(config)).toBe(false);
    expect((await cli.run([...args, '--skip-verify'], { stdin: 'wrong-key-0123456789' })).code).toBe(0);
  });

  it.each([
    ['nothing', '', 'no API key given'],
    ['two words', 'two words', 'invalid API key'],
  ])('%s on stdin is refused', async (_what, stdin, problem) => {
    const { code, stderr } = await cli.run(['auth', 'login', '--base-url', sandbox.url, '--with-key'], { stdin });
    expect([code, stderr.split('\n')[0]]).toEqual([2, `error: ${problem}`]);
  });

  it('does not ask where nobody can answer', async () => {
    const { code, stderr } = await cli.run(['auth', 'login', '--base-url', sandbox.url]);
    expect(code).toBe(2);
    expect(stderr).toContain('mediactl auth login --with-key < key.txt');
  });

  it.each([
    ['ftp://x', 'only http and https are supported'],
    ['https://host/some/path', 'it contains a path: /some/path'],
    ['https://user:pw@host', 'a base URL cannot contain a user name or password'],
  ])('the base URL %s is refused', async (url, words) => {
    const { code, stderr } = await cli.run(['auth', 'login', '--base-url', url, '--with-key'], {
      stdin: 'k',
    });
    expect(code).toBe(2);
    expect(stderr).toContain(words);
  });

  it('takes the API’s own prefix along with the host', async () => {
    const pasted = `${sandbox.url}/api/external/v1/`;
    await cli.run(['auth', 'login', '--base-url', pasted, '--with-key'], { stdin: sandbox.key });
    expect(JSON.parse(readFileSync(config, 'utf8')).profiles.default.baseUrl).toBe(sandbox.url);
  });
});

describe('auth login of a profile that is there', () => {
  it('with another service: its workspace and names are that of the old one', async () => {
    const other = await startSandbox();
    try {
      await login('--profile', 'main', '--workspace', sandbox.workspace);
      await cli.run(['config', 'set', 'field_names.page_total', 'n']);
      const args = ['auth', 'login', '--profile', 'main', '--base-url', other.url, '--with-key'];
      for (const more of [[], ['--skip-verify']]) {
        const { code, stderr } = await cli.run([...args, ...more], { stdin: other.key });
        expect([code, stderr]).toEqual([0, expect.any(String)]);
        const { main } = JSON.parse(readFileSync(config, 'utf8')).profiles;
        expect([undefined, other.workspace]).toContain(main.workspace);
        expect(main.names ?? {}).toEqual({});
      }
    } finally {
      await other.end();
    }
  });

  it('with the same one and another key: what was chosen stays', async () => {
    await login('--profile', 'main', '--workspace', sandbox.workspace);
    await cli.run(['config', 'set', 'field_names.page_total', 'n']);
    await login('--profile', 'main');
    expect(JSON.parse(readFileSync(config, 'utf8')).profiles.main).toMatchObject({
      workspace: sandbox.workspace,
      names: { page_total: 'n' },
    });
  });
});

describe('several profiles', () => {
  beforeEach(async () => {
    await login('--profile', 'one');
    await login('--profile', 'two');
  });

  it('a login that changes the current profile says how to change it back', async () => {
    const { stderr } = await login('--profile', 'three');
    expect(stderr).toContain('three is now the current profile; back: mediactl auth switch two');
    expect((await cli.run(['auth', 'switch', 'two'])).code).toBe(0);
    expect((await login('--profile', 'two')).stderr).not.toContain('is now the current');
  });

  it('ls marks the current one; switch and logout change it', async () => {
    expect((await cli.run(['auth', 'ls', '-q'])).stdout).toBe('one\ntwo\n');
    expect((await cli.run(['auth', 'switch', 'one'])).code).toBe(0);
    const listed = await cli.json(['auth', 'ls']);
    expect(listed.map(({ name, current }: never) => [name, current])).toEqual([
      ['one', true],
      ['two', false],
    ]);
    expect((await cli.run(['auth', 'logout'])).stderr).toBe(
      'removed: one; no profile is current now: run mediactl auth switch NAME\n',
    );
    expect((await cli.run(['auth', 'ls', '-q'])).stdout).toBe('two\n');
  });

  it('a profile that is not there: exit 2, naming those that are', async () => {
    for (const args of [
      ['switch', 'x'],
      ['logout', 'x'],
    ]) {
      const { code, stderr } = await cli.run(['auth', ...args]);
      expect(code).toBe(2);
      expect(stderr).toContain('existing profiles: one, two');
    }
    expect((await cli.run(['assets', 'ls', '--profile', 'x'])).code).toBe(2);
  });

  it('logout --all asks, and needs --yes where nobody can answer', async () => {
    const { code, stderr } = await cli.run(['auth', 'logout', '--all']);
    expect([code, stderr.includes('mediactl auth logout --all --yes')]).toEqual([2, true]);
    expect((await cli.run(['auth', 'logout', '--all', '--yes'])).code).toBe(0);
    expect((await cli.run(['auth', 'ls'])).stdout).toBe('');
  });
});

describe('auth status', () => {
  it('tells who, where, whether the key is accepted, and what is left of the window', async () => {
    await login('--profile', 'main');
    const found = await cli.json(['auth', 'status']);
    expect(found).toMatchObject({
      profile: 'main',
      base_url: sandbox.url,
      authenticated: true,
      error: null,
      rate_limit: { limit: 1000, remaining: expect.any(Number) },
    });
    expect(await cli.json(['auth', 'status', '--all'])).toHaveLength(1);
  });

  it('of a key that is not accepted: the record, then exit 4', async () => {
    const { code, stdout, stderr } = await cli.run(['auth', 'status', '--json'], {
      environment: { MEDIACTL_API_KEY: 'revoked-key-123456', MEDIACTL_BASE_URL: sandbox.url },
    });
    expect(code).toBe(4);
    expect(JSON.parse(stdout)).toMatchObject({ authenticated: false, profile: 'environment' });
    expect(JSON.parse(stderr).error.code).toBe('unauthenticated');
  });
});

describe('auth token', () => {
  it('prints the key only with --show-token', async () => {
    await login();
    const hidden = await cli.run(['auth', 'token']);
    expect(hidden.code).toBe(2);
    expect(hidden.stdout + hidden.stderr).not.toContain(sandbox.key);
    expect((await cli.run(['auth', 'token', '--show-token'])).stdout).toBe(`${sandbox.key}\n`);
  });
});

describe('the config file', () => {
  it.each([
    ['no JSON', '{"profiles": {'],
    ['no profiles', '{"profiles": []}'],
    ['another shape', '[1, 2]'],
  ])('that is corrupt (%s) is named, and never overwritten', async (_what, text) => {
    mkdirSync(join(cli.home, 'config'));
    writeFileSync(config, text);
    for (const args of [
      ['assets', 'ls'],
      ['auth', 'ls'],
      ['auth', 'switch', 'x'],
    ]) {
      const { code, stderr } = await cli.run(args);
      expect(code).toBe(2);
      expect(stderr).toContain(`cannot use the config file ${config}`);
    }
    expect((await login()).code).toBe(2);
    expect(readFileSync(config, 'utf8')).toBe(text);
  });

  it('is written again as 0600 even where it was looser', async () => {
    await login();
    chmodSync(config, 0o644);
    await login('--profile', 'other');
    expect(statSync(config).mode & 0o777).toBe(0o600);
  });
});

describe('CI', () => {
  it('MEDIACTL_API_KEY and MEDIACTL_BASE_URL alone are enough, and nothing is written', async () => {
    const { code } = await cli.run(['assets', 'ls'], {
      environment: { MEDIACTL_API_KEY: sandbox.key, MEDIACTL_BASE_URL: sandbox.url, CI: 'true' },
    });
    expect(code).toBe(0);
    expect(existsSync(join(cli.home, 'config'))).toBe(false);
  });

  it('a key without a base URL says what is missing', async () => {
    const { code, stderr } = await cli.run(['assets', 'ls'], {
      environment: { MEDIACTL_API_KEY: sandbox.key },
    });
    expect([code, stderr.split('\n')[0]]).toEqual([4, 'error: no base URL']);
  });
});

describe('where a setting comes from: flag > variable > .mediactl.json > profile', () => {
  it('workspace', async () => {
    const main = unlessStrict('Main', sandbox.workspace);
    await login('--profile', 'main', '--workspace', main);
    const archive = (await cli.json(['workspaces', 'ls']))[1].uid;
    const other = unlessStrict('Archive', archive);
    const workspaceOf = async (args: string[], environment = {}, cwd = cli.home) => {
      const file = join(cli.home, 'a.txt');
      writeFileSync(file, 'text');
      const ran = await cli.run(['upload', file, '--dry-run', '--json', ...args], {
        environment,
        cwd,
      });
      return ran.code === 0 ? JSON.parse(ran.stdout)[0].workspace_uid : ran.stderr;
    };
    const project = join(cli.home, 'project/deep');
    mkdirSync(project, { recursive: true });
    const settings = JSON.stringify({ workspace: other });
    writeFileSync(join(cli.home, 'project/.mediactl.json'), settings);
    expect(await workspaceOf([])).toBe(sandbox.workspace);
    expect(await workspaceOf([], {}, project)).toBe(archive);
    expect(await workspaceOf([], { MEDIACTL_WORKSPACE: main }, project)).toBe(sandbox.workspace);
    expect(await workspaceOf(['-w', other], { MEDIACTL_WORKSPACE: main }, project)).toBe(archive);
  });

  it('.mediactl.json of another user is ignored with a warning; MEDIACTL_PROJECT_FILE=none ignores any', {
    tags: 'root-mount',
  }, async () => {
    const project = join(cli.home, '.mediactl.json');
    writeFileSync(project, '{"format": "json"}');
    const run = (environment = {}) => cli.run(['config', 'ls'], { cwd: cli.home, environment });
    const [own, none] = [await run(), await run({ MEDIACTL_PROJECT_FILE: 'none' })];
    chownSync(project, 65_534, 65_534);
    const foreign = await run();
    expect([own.stdout, none.stdout, foreign.stdout].map((text) => text.startsWith('['))).toEqual([true, false, false]);
    expect([own.stderr, none.stderr]).toEqual(['', '']);
    expect(foreign.stderr).toContain(`ignored ${project}: it belongs to another user`);
  });

  it.each(['base_url', 'baseUrl', 'key', 'apiKey'])(
    '.mediactl.json may not set %s: a cloned repository must not steal keys',
    async (name) => {
      writeFileSync(join(cli.home, '.mediactl.json'), JSON.stringify({ [name]: 'x' }));
      const { code, stderr } = await cli.run(['auth', 'ls']);
      expect([code, stderr.includes(`it cannot set ${name}`)]).toEqual([2, true]);
    },
  );
});

describe('a key goes to its own origin only', () => {
  it('--base-url elsewhere gets no request with the profile’s key', async () => {
    let asked = 0;
    const other = await startServer((_request, response) => {
      asked++;
      respond(response, 200, { items: [] });
    });
    await login();
    for (const options of [{ args: ['--base-url', other] }, { args: [], environment: { MEDIACTL_BASE_URL: other } }]) {
      const { code, stderr } = await cli.run(['assets', 'ls', ...options.args], options);
      expect(code).toBe(4);
      expect(stderr).toContain(`cannot be used with ${other}`);
    }
    expect(asked).toBe(0);
  });

  it('a file that is named like --base-url does not redirect the key in MEDIACTL_API_KEY', async () => {
    let asked = 0;
    const count: Parameters<typeof startServer>[0] = (_request, response) => {
      asked++;
      respond(response, 200, { items: [] });
    };
    const [own, other] = [await startServer(count), await startServer(count)];
    const key = { MEDIACTL_API_KEY: 'a-key-of-this-test', MEDIACTL_WORKSPACE: sandbox.workspace };
    const file = join(cli.home, 'clip.mp4');
    writeFileSync(file, 'clip');
    const expectRefused = async (args: string[], environment: Record<string, string>, code: number, reason: string) => {
      const ran = await cli.run(['upload', ...args, file], { environment: { ...key, ...environment } });
      expect([ran.code, ran.stderr]).toEqual([code, expect.stringContaining(reason)]);
    };
    const fromVariable = { MEDIACTL_BASE_URL: own };
    await expectRefused([`--base-url=${other}`], fromVariable, 4, `MEDIACTL_API_KEY cannot be used with ${other}`);
    await expectRefused([`--base-url=${own}?.mp4`], fromVariable, 2, 'it contains a query or a fragment');
    await expectRefused(['--base-url', own, `--base-url=${other}`], {}, 2, '--base-url was given twice');
    await login();
    await expectRefused([`--base-url=${other}`], {}, 4, `it belongs to ${sandbox.url}`);
    expect(asked).toBe(0);
  });

  it.each([301, 302, 307, 308])('a %i to another origin is refused (13) and gets no request', async (status) => {
    let asked = 0;
    const other = await startServer((_request, response) => {
      asked++;
      respond(response, 200, { items: [] });
    });
    const service = await startServer((request, response) =>
      respond(response, status, undefined, { location: other + request.url }),
    );
    const environment = { MEDIACTL_API_KEY: 'a-key-of-this-test', MEDIACTL_BASE_URL: service };
    expect((await cli.run(['assets', 'ls'], { environment })).code).toBe(13);
    expect(asked).toBe(0);
  });
});
