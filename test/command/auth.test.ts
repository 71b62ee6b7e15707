import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { respond, startServer } from '../support/http-server.ts';
import { forSandboxMode, startSandbox, type TestSandbox } from '../support/sandbox.ts';

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
  cli.run(['auth', 'login', '--base-url', sandbox.url, '--with-key', ...args], { stdin: `${sandbox.key}\n` });

/** Answers the two questions of a login at a terminal. */
function typeLogin(baseUrl: string, key: string) {
  const stdin = new PassThrough();
  const answers: [question: string, answer: string][] = [
    ['Base URL of the service', baseUrl],
    ['API key:', key],
  ];
  const onStderr = (text: string) => {
    const [next] = answers;
    if (next && text.includes(next[0])) setTimeout(() => stdin.write(`${answers.shift() && next[1]}\r`), 50);
  };
  return cli.run(['login'], { tty: true, stdin, onStderr });
}

describe('auth login', () => {
  it('auth login saves the key from stdin in a file of mode 0600 and prints the profile', async () => {
    const workspace = forSandboxMode({ normal: 'Main', strict: sandbox.workspace });
    const { code, stdout, stderr } = await login('--profile', 'main', '--workspace', workspace);
    expect(code).toBe(0);
    expect(stdout).toBe(`profile\tmain\nbase_url\t${sandbox.url}\nworkspace\t${sandbox.workspace}\nkey_in\tfile\n`);
    expect(stderr).toBe(`API key saved in ${config} (mode 0600)\nlogged in to ${sandbox.url} as profile main\n`);
    expect(statSync(config).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(config, 'utf8')).profiles.main.key).toBe(sandbox.key);
  });

  it('auth login selects the primary workspace by default', async () => {
    const { stdout } = await login();
    expect(stdout.includes(`workspace\t${sandbox.workspace}\n`)).toBe(forSandboxMode({ normal: true, strict: false }));
  });

  it('auth login exits with 4 and saves nothing if the key is rejected, unless --skip-verify is given', async () => {
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
  ])('auth login exits with 2 if stdin contains %s instead of an API key', async (_what, stdin, problem) => {
    const { code, stderr } = await cli.run(['auth', 'login', '--base-url', sandbox.url, '--with-key'], { stdin });
    expect([code, stderr.split('\n')[0]]).toEqual([2, `error: ${problem}`]);
  });

  it('auth login without a terminal exits with 2, does not prompt, and suggests the same base URL', async () => {
    const { code, stderr } = await cli.run(['auth', 'login', '--base-url', sandbox.url]);
    expect(code).toBe(2);
    expect(stderr).toContain(`mediactl auth login --base-url ${sandbox.url} --with-key < key.txt`);
  });

  it.each([
    ['ftp://x', 'only http and https are supported'],
    ['https://host/some/path', 'it contains a path: /some/path'],
    ['https://user:pw@host', 'a base URL cannot contain a user name or password'],
  ])('auth login refuses the base URL %s', async (url, cause) => {
    const { code, stderr } = await cli.run(['auth', 'login', '--base-url', url, '--with-key'], { stdin: 'k' });
    expect(code).toBe(2);
    expect(stderr).toContain(cause);
  });

  it('login NAME saves the key in the profile of that name, as login --profile NAME does', async () => {
    expect((await login('acme')).stderr).toContain('as profile acme');
    expect((await login('acme', '--profile', 'acme')).stderr).toContain('profile acme already exists');
    expect((await login('acme', '--profile', 'other')).code).toBe(2);
    expect((await cli.json(['auth', 'ls'])).map(({ name }: { name: string }) => name)).toEqual(['acme']);
  });

  it('login refuses a word that may be a key, and does not repeat it', async () => {
    const { code, stderr } = await login('sandbox_9n8b8s4a9n8b8s4a9n8b8s4a');
    expect([code, stderr]).toEqual([2, expect.not.stringContaining('9n8b')]);
    expect(stderr).toContain('would be in the history of your shell');
  });

  it('auth login removes the API prefix from the base URL', async () => {
    const urlWithPrefix = `${sandbox.url}/api/external/v1/`;
    await cli.run(['auth', 'login', '--base-url', urlWithPrefix, '--with-key'], { stdin: sandbox.key });
    expect(JSON.parse(readFileSync(config, 'utf8')).profiles.default.baseUrl).toBe(sandbox.url);
  });
});

describe('auth login of an existing profile', () => {
  it('auth login to another service clears the workspace and field names of the profile', async () => {
    const otherSandbox = await startSandbox();
    try {
      await login('--profile', 'main', '--workspace', sandbox.workspace);
      await cli.run(['config', 'set', 'field_names.page_total', 'n']);
      const args = ['auth', 'login', '--profile', 'main', '--base-url', otherSandbox.url, '--with-key'];
      for (const extraArgs of [[], ['--skip-verify']]) {
        const { code, stderr } = await cli.run([...args, ...extraArgs], { stdin: otherSandbox.key });
        expect([code, stderr]).toEqual([0, expect.any(String)]);
        const { main } = JSON.parse(readFileSync(config, 'utf8')).profiles;
        expect([undefined, otherSandbox.workspace]).toContain(main.workspace);
        expect(main.names ?? {}).toEqual({});
      }
    } finally {
      await otherSandbox.end();
    }
  });

  it('auth login to the same service keeps the workspace and field names of the profile', async () => {
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
  const logInAsOneThenTwo = async () => {
    await login('--profile', 'one');
    await login('--profile', 'two');
  };

  it('auth login prints how to switch back if it changes the current profile', async () => {
    await logInAsOneThenTwo();
    const { stderr } = await login('--profile', 'three');
    expect(stderr).toContain('three is now the current profile; back: mediactl auth switch two');
    expect((await cli.run(['auth', 'switch', 'two'])).code).toBe(0);
    expect((await login('--profile', 'two')).stderr).not.toContain('is now the current');
  });

  it('a login that replaces the key of another profile changes no default', async () => {
    await logInAsOneThenTwo();
    expect((await login('--profile', 'one')).stderr).toContain(
      'the current profile is still two; to use this one: mediactl auth switch one',
    );
    expect(JSON.parse(readFileSync(config, 'utf8')).current).toBe('two');
  });

  it('a login without a base URL proposes that of the current profile, whose key Enter replaces', async () => {
    await logInAsOneThenTwo();
    const { code, stderr } = await typeLogin('', sandbox.key);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`Base URL of the service, Enter for ${sandbox.url}: `)]);
    expect(stderr).toContain('profile two already exists: replacing its key');
    expect(Object.keys(JSON.parse(readFileSync(config, 'utf8')).profiles)).toEqual(['one', 'two']);
  });

  it('a key that is typed where the base URL belongs is neither repeated nor looked up', async () => {
    const { code, stderr } = await typeLogin('sandbox_9N8b8s4aQx2', '');
    expect([code, stderr]).toEqual([2, expect.stringContaining('this is no base URL')]);
    expect(stderr.split('error:')[1]).not.toMatch(/9n8b8s4a/i);
  });

  it('auth ls marks the current profile, and auth switch and auth logout change it', async () => {
    await logInAsOneThenTwo();
    expect((await cli.run(['auth', 'ls', '-q'])).stdout).toBe('one\ntwo\n');
    expect((await cli.run(['auth', 'switch', 'one'])).code).toBe(0);
    const profiles = await cli.json(['auth', 'ls']);
    expect(profiles.map(({ name, current }: never) => [name, current])).toEqual([
      ['one', true],
      ['two', false],
    ]);
    expect((await cli.run(['auth', 'logout'])).stderr).toBe(
      'removed: one; no profile is current now: run mediactl auth switch NAME\n',
    );
    expect((await cli.run(['auth', 'ls', '-q'])).stdout).toBe('two\n');
  });

  it('auth switch and auth logout exit with 4 and list the profiles if the profile does not exist', async () => {
    await logInAsOneThenTwo();
    for (const args of [
      ['switch', 'x'],
      ['logout', 'x'],
    ]) {
      const { code, stderr } = await cli.run(['auth', ...args]);
      expect(code).toBe(4);
      expect(stderr).toContain('existing profiles: one, two');
    }
    expect((await cli.run(['assets', 'ls', '--profile', 'x'])).code).toBe(4);
  });

  it('auth logout --all without a terminal exits with 2 unless --yes is given', async () => {
    await logInAsOneThenTwo();
    const { code, stderr } = await cli.run(['auth', 'logout', '--all']);
    expect([code, stderr.includes('mediactl auth logout --all --yes')]).toEqual([2, true]);
    expect((await cli.run(['auth', 'logout', '--all', '--yes'])).code).toBe(0);
    expect((await cli.run(['auth', 'ls'])).stdout).toBe('');
  });
});

describe('auth status', () => {
  it('auth status shows the profile, the base URL, whether the key is valid, and the rate limit', async () => {
    await login('--profile', 'main');
    const status = await cli.json(['auth', 'status']);
    expect(status).toMatchObject({
      profile: 'main',
      base_url: sandbox.url,
      authenticated: true,
      error: null,
      rate_limit: { limit: 1000, remaining: expect.any(Number) },
    });
    expect(await cli.json(['auth', 'status', '--all'])).toHaveLength(1);
  });

  it('auth status prints the record and exits with 4 if the service rejects the key', async () => {
    const { code, stdout, stderr } = await cli.run(['auth', 'status', '--json'], {
      environment: { MEDIACTL_API_KEY: 'revoked-key-123456', MEDIACTL_BASE_URL: sandbox.url },
    });
    expect(code).toBe(4);
    expect(JSON.parse(stdout)).toMatchObject({ authenticated: false, profile: 'environment' });
    expect(JSON.parse(stderr).error.code).toBe('unauthenticated');
  });
});

describe('auth token', () => {
  it('auth token prints the key only with --show-token', async () => {
    await login();
    const refused = await cli.run(['auth', 'token']);
    expect(refused.code).toBe(2);
    expect(refused.stdout + refused.stderr).not.toContain(sandbox.key);
    expect((await cli.run(['auth', 'token', '--show-token'])).stdout).toBe(`${sandbox.key}\n`);
  });
});

describe('config file', () => {
  it.each([
    ['invalid JSON', '{"profiles": {'],
    ['a list of profiles', '{"profiles": []}'],
    ['a list', '[1, 2]'],
  ])('every command names an invalid config file (%s), and none overwrites it', async (_what, text) => {
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

  it('auth login restores mode 0600 of the config file', async () => {
    await login();
    chmodSync(config, 0o644);
    await login('--profile', 'other');
    expect(statSync(config).mode & 0o777).toBe(0o600);
  });
});

describe('CI environment', () => {
  it('MEDIACTL_API_KEY and MEDIACTL_BASE_URL are enough to run a command, which writes no config file', async () => {
    const { code } = await cli.run(['assets', 'ls'], {
      environment: { MEDIACTL_API_KEY: sandbox.key, MEDIACTL_BASE_URL: sandbox.url, CI: 'true' },
    });
    expect(code).toBe(0);
    expect(existsSync(join(cli.home, 'config'))).toBe(false);
  });

  it('assets ls exits with 4 and reports a missing base URL if only the API key is set', async () => {
    const { code, stderr } = await cli.run(['assets', 'ls'], { environment: { MEDIACTL_API_KEY: sandbox.key } });
    expect([code, stderr.split('\n')[0]]).toEqual([4, 'error: no base URL']);
  });
});

describe('setting precedence', () => {
  it('the workspace comes from the flag, then the variable, then .mediactl.json, then the profile', async () => {
    const main = forSandboxMode({ normal: 'Main', strict: sandbox.workspace });
    await login('--profile', 'main', '--workspace', main);
    const archiveUid = (await cli.json(['workspaces', 'ls']))[1].uid;
    const archive = forSandboxMode({ normal: 'Archive', strict: archiveUid });
    const workspaceOf = async (args: string[], environment = {}, cwd = cli.home) => {
      const file = join(cli.home, 'a.txt');
      writeFileSync(file, 'text');
      const upload = await cli.run(['upload', file, '--dry-run', '--json', ...args], { environment, cwd });
      return upload.code === 0 ? JSON.parse(upload.stdout)[0].workspace_uid : upload.stderr;
    };
    const subfolder = join(cli.home, 'project/deep');
    mkdirSync(subfolder, { recursive: true });
    const settings = JSON.stringify({ workspace: archive });
    writeFileSync(join(cli.home, 'project/.mediactl.json'), settings);
    expect(await workspaceOf([])).toBe(sandbox.workspace);
    expect(await workspaceOf([], {}, subfolder)).toBe(archiveUid);
    expect(await workspaceOf([], { MEDIACTL_WORKSPACE: main }, subfolder)).toBe(sandbox.workspace);
    expect(await workspaceOf(['-w', archive], { MEDIACTL_WORKSPACE: main }, subfolder)).toBe(archiveUid);
  });

  it('the CLI warns about and ignores a .mediactl.json of another user; MEDIACTL_PROJECT_FILE=none ignores any', {
    tags: 'root-mount',
  }, async () => {
    const projectFile = join(cli.home, '.mediactl.json');
    writeFileSync(projectFile, '{"format": "json"}');
    const listSettings = (environment = {}) => cli.run(['config', 'ls'], { cwd: cli.home, environment });
    const [own, none] = [await listSettings(), await listSettings({ MEDIACTL_PROJECT_FILE: 'none' })];
    chownSync(projectFile, 65_534, 65_534);
    const foreign = await listSettings();
    // The user's own file sets the JSON format; without it, the output is a table.
    expect([own.stdout, none.stdout, foreign.stdout].map((text) => text.startsWith('['))).toEqual([true, false, false]);
    expect([own.stderr, none.stderr]).toEqual(['', '']);
    expect(foreign.stderr).toContain(`ignored ${projectFile}: it belongs to another user`);
  });

  it.each(['base_url', 'baseUrl', 'key', 'apiKey'])(
    '.mediactl.json cannot set %s, so that a cloned repository cannot steal keys',
    async (name) => {
      writeFileSync(join(cli.home, '.mediactl.json'), JSON.stringify({ [name]: 'x' }));
      const { code, stderr } = await cli.run(['auth', 'ls']);
      expect([code, stderr.includes(`it cannot set ${name}`)]).toEqual([2, true]);
    },
  );
});

describe('key origin', () => {
  it('assets ls exits with 4 and never sends the key of a profile to another base URL', async () => {
    let requestCount = 0;
    const otherUrl = await startServer((_request, response) => {
      requestCount++;
      respond(response, 200, { items: [] });
    });
    await login();
    for (const options of [
      { args: ['--base-url', otherUrl] },
      { args: [], environment: { MEDIACTL_BASE_URL: otherUrl } },
    ]) {
      const { code, stderr } = await cli.run(['assets', 'ls', ...options.args], options);
      expect(code).toBe(4);
      expect(stderr).toContain(`cannot be used with ${otherUrl}`);
    }
    expect(requestCount).toBe(0);
  });

  it('a file that is named like --base-url does not redirect the key in MEDIACTL_API_KEY', async () => {
    let requestCount = 0;
    const countRequest: Parameters<typeof startServer>[0] = (_request, response) => {
      requestCount++;
      respond(response, 200, { items: [] });
    };
    const [ownUrl, otherUrl] = [await startServer(countRequest), await startServer(countRequest)];
    const keyOnly = { MEDIACTL_API_KEY: 'a-key-of-this-test', MEDIACTL_WORKSPACE: sandbox.workspace };
    const file = join(cli.home, 'clip.mp4');
    writeFileSync(file, 'clip');
    const expectRefused = async (args: string[], environment: Record<string, string>, code: number, reason: string) => {
      const upload = await cli.run(['upload', ...args, file], { environment: { ...keyOnly, ...environment } });
      expect([upload.code, upload.stderr]).toEqual([code, expect.stringContaining(reason)]);
    };
    const fromVariable = { MEDIACTL_BASE_URL: ownUrl };
    const otherOrigin = `MEDIACTL_API_KEY cannot be used with ${otherUrl}`;
    await expectRefused([`--base-url=${otherUrl}`], fromVariable, 4, otherOrigin);
    await expectRefused([`--base-url=${ownUrl}?.mp4`], fromVariable, 2, 'it contains a query or a fragment');
    await expectRefused(['--base-url', ownUrl, `--base-url=${otherUrl}`], {}, 2, '--base-url was given twice');
    await login();
    await expectRefused([`--base-url=${otherUrl}`], {}, 4, `it belongs to ${sandbox.url}`);
    expect(requestCount).toBe(0);
  });

  it.each([301, 302, 307, 308])(
    'assets ls exits with 13 and does not follow a redirect with status %i to another origin',
    async (status) => {
      let requestCount = 0;
      const otherUrl = await startServer((_request, response) => {
        requestCount++;
        respond(response, 200, { items: [] });
      });
      const service = await startServer((request, response) =>
        respond(response, status, undefined, { location: otherUrl + request.url }),
      );
      const environment = { MEDIACTL_API_KEY: 'a-key-of-this-test', MEDIACTL_BASE_URL: service };
      expect((await cli.run(['assets', 'ls'], { environment })).code).toBe(13);
      expect(requestCount).toBe(0);
    },
  );
});
