import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Setting, settingTable } from '../../src/cli/settings/setting-table.ts';
import { Cli } from '../support/cli.ts';
import { startRecordingServer } from '../support/recording-server.ts';

let cli: Cli;
const configPath = () => join(cli.home, 'config/config.json');
beforeEach(() => {
  cli = new Cli();
  mkdirSync(join(cli.home, 'config'));
  const profile = { baseUrl: 'http://127.0.0.1:9', key: 'a-key-of-this-test', keyStore: 'file' };
  const main = { ...profile, workspace: '00000000-0000-4000-8000-000000000001' };
  writeFileSync(configPath(), JSON.stringify({ current: 'main', profiles: { main, other: profile } }));
});

const readSetting = async (key: string, environment = {}, cwd = cli.home, flags: string[] = []) => {
  const all = await cli.json(['config', 'ls', ...flags], { environment, cwd });
  const { value, origin } = all.find((each: { key: string }) => each.key === key);
  return [value, origin];
};

describe('setting precedence', () => {
  it('a setting comes from the flag, then the variable, .mediactl.json, the profile and the default', async () => {
    const project = join(cli.home, 'project/deep');
    mkdirSync(project, { recursive: true });
    const file = join(cli.home, 'project/.mediactl.json');
    expect(await readSetting('max_wait')).toEqual(['1h', 'default']);
    expect(await readSetting('workspace')).toEqual(['00000000-0000-4000-8000-000000000001', 'profile main']);
    writeFileSync(file, '{"workspace": "from the file", "folder": "/inbox"}');
    expect(await readSetting('workspace', {}, project)).toEqual(['from the file', file]);
    expect(await readSetting('folder', {}, project)).toEqual(['/inbox', file]);
    const environment = { MEDIACTL_WORKSPACE: 'from the variable' };
    expect(await readSetting('workspace', environment, project)).toEqual(['from the variable', 'MEDIACTL_WORKSPACE']);
    expect(await readSetting('workspace', environment, project, ['-w', 'from the flag'])).toEqual([
      'from the flag',
      '--workspace',
    ]);
  });

  const nonFiles: [string, (path: string) => void][] = [
    ['a named pipe', (path) => execFileSync('mkfifo', [path])],
    ['a link to an endless device', (path) => symlinkSync('/dev/zero', path)],
    ['a directory', (path) => mkdirSync(path)],
  ];

  it.each(nonFiles)('config ls exits with 2 and does not hang if the project file is %s', async (_, createAt) => {
    const path = join(cli.home, '.mediactl.json');
    createAt(path);
    const { code, stderr } = await cli.run(['config', 'ls']);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`cannot use ${path}`)]);
    expect(stderr).toContain('is not a file');
  });

  it.each(nonFiles)('config ls exits with 2 and code invalid_config if the config file is %s', async (_, createAt) => {
    rmSync(configPath());
    createAt(configPath());
    const { stderr } = await cli.run(['config', 'ls', '--json']);
    expect(JSON.parse(stderr).error).toMatchObject({
      code: 'invalid_config',
      cause: expect.stringContaining('is not a file'),
    });
  });

  it('the project file may begin with a byte order mark', async () => {
    writeFileSync(join(cli.home, '.mediactl.json'), '\uFEFF{"folder": "/inbox"}');
    expect((await readSetting('folder'))[0]).toBe('/inbox');
  });

  it('config ls exits with 2 if MEDIACTL_REQUEST_TIMEOUT is 0', async () => {
    const { code, stderr } = await cli.run(['config', 'ls'], {
      environment: { MEDIACTL_REQUEST_TIMEOUT: '0' },
    });
    expect([code, stderr]).toEqual([2, expect.stringContaining("does not accept '0'")]);
  });

  it.each(['base_url', 'api_key', 'key', 'field_names'])(
    'the project file cannot set %s, so that it cannot redirect an API key',
    async (name) => {
      writeFileSync(join(cli.home, '.mediactl.json'), JSON.stringify({ [name]: 'x' }));
      const { code, stderr } = await cli.run(['config', 'ls']);
      expect([code, stderr]).toEqual([2, expect.stringContaining(`it cannot set ${name}`)]);
    },
  );

  it('help environment lists every variable, and a variable acts like its option', async () => {
    const { stdout } = await cli.run(['help', 'environment']);
    for (const { variable = '' } of Object.values<Setting>(settingTable)) expect(stdout).toContain(variable);
    const listSettings = async (environment: Record<string, string>) =>
      (await cli.run(['config', 'ls'], { environment })).stdout;
    expect(await listSettings({ MEDIACTL_FORMAT: 'uid' })).toMatch(/^profile\napi_key\n/);
    expect(await listSettings({ MEDIACTL_PROFILE: 'other' })).toMatch(/^profile\tother\tMEDIACTL_PROFILE\n/);
    const invalid = await cli.run(['config', 'ls'], { environment: { MEDIACTL_MAX_WAIT: 'soon' } });
    expect(invalid.code).toBe(2);
  });

  it.each(['--request-timeout=', '--debug='])('config ls accepts an option with an empty value: %s', async (flag) => {
    expect((await cli.run(['config', 'ls', flag])).code).toBe(0);
  });

  it.each(['no', 'off', 'maybe'])(
    'config ls exits with 2 because MEDIACTL_NO_INPUT=%s is not a boolean',
    async (value) => {
      const { code } = await cli.run(['config', 'ls'], { environment: { MEDIACTL_NO_INPUT: value } });
      expect(code).toBe(2);
    },
  );

  it.each([
    ['false', false],
    ['0', false],
    ['1', true],
    ['http', true],
  ])('MEDIACTL_DEBUG=%s sets debug output to %s', async (value, isOn) => {
    const { url } = await startRecordingServer(() => ({ body: { items: [], count: 0 } }));
    const environment = {
      MEDIACTL_DEBUG: value,
      MEDIACTL_BASE_URL: url,
      MEDIACTL_API_KEY: 'key-of-test',
    };
    const { stderr } = await cli.run(['assets', 'ls'], { environment });
    expect(stderr.includes('debug: 1 request\n')).toBe(isOn);
  });

  it('a variable that differs by up to two letters from a known one is named, and doctor lists the rest', async () => {
    const environment = { MEDIACTL_PROFIL: 'other', MEDIACTL_WORKSPCAE: 'x', MEDIACTL_MY_OWN: '1' };
    const { code, stderr } = await cli.run(['config', 'ls'], { environment });
    expect([code, stderr]).toEqual([
      0,
      [
        'warning: MEDIACTL_PROFIL is not known; did you mean MEDIACTL_PROFILE?',
        'warning: MEDIACTL_WORKSPCAE is not known; did you mean MEDIACTL_WORKSPACE?\n',
      ].join('\n'),
    ]);
    const { stdout } = await cli.run(['doctor', '--jsonl'], { environment });
    expect(stdout).toContain('not known: MEDIACTL_PROFIL, MEDIACTL_WORKSPCAE, MEDIACTL_MY_OWN');
  });

  it('MEDIACTL_API_KEY_FILE names the file of the key, and is refused beside a key and without a file', async () => {
    const file = join(cli.home, 'key.txt');
    writeFileSync(file, 'a-key-of-a-file-1234567890\n');
    const environment = { MEDIACTL_API_KEY_FILE: file, MEDIACTL_BASE_URL: 'http://127.0.0.1:9' };
    const { stdout } = await cli.run(['auth', 'token', '--show-token'], { environment });
    expect(stdout).toBe('a-key-of-a-file-1234567890\n');
    const errorWith = async (more: Record<string, string>) =>
      (await cli.run(['whoami'], { environment: { ...environment, ...more } })).stderr;
    expect(await errorWith({ MEDIACTL_API_KEY: 'x' })).toContain(
      'MEDIACTL_API_KEY and MEDIACTL_API_KEY_FILE are both set',
    );
    expect(await errorWith({ MEDIACTL_API_KEY_FILE: `${file}.no` })).toContain(
      'cannot read the key in MEDIACTL_API_KEY_FILE',
    );
  });

  it('config ls masks API keys', async () => {
    const key = 'sk_live_0123456789abcdef';
    const [value, origin] = await readSetting('api_key', { MEDIACTL_API_KEY: key });
    expect([value, origin]).toEqual(['sk_l…cdef', 'MEDIACTL_API_KEY']);
    const { stdout } = await cli.run(['config', 'ls', '--json']);
    expect(stdout).not.toContain('a-key-of-this-test');
  });
});

describe('config set', () => {
  it('config set saves a setting in the profile with mode 0600, and config unset removes it', async () => {
    await cli.run(['config', 'set', 'format', 'json']);
    expect(JSON.parse((await cli.run(['config', 'path'])).stdout)).toBe(configPath());
    expect(await readSetting('format', {}, cli.home, ['--profile', 'other'])).toEqual([
      'json',
      '--format, --json, --jsonl, --csv, --quiet',
    ]);
    expect(statSync(configPath()).mode & 0o777).toBe(0o600);
    await cli.run(['config', 'unset', 'format']);
    expect((await cli.run(['config', 'path'])).stdout).toBe(`${configPath()}\n`);
    await cli.run(['config', 'set', 'field_names.folder_parent', 'parent_id']);
    expect(await readSetting('field_names.folder_parent')).toEqual(['parent_id', 'profile main']);
    await cli.run(['config', 'unset', 'field_names.folder_parent']);
    expect((await readSetting('field_names.folder_parent'))[1]).toBe('default');
  });

  it.each([
    [['format', 'xml'], 'one of table, json'],
    [['max_wait', 'soon'], 'a duration such as'],
    [['color', 'never'], 'NO_COLOR=1'],
    [['history', '0'], 'changes are always recorded'],
    [['base_url', 'https://evil.example'], 'auth login'],
    [['api_key', 'x'], 'auth login'],
    [['field_names.nonsense', 'x'], 'field_names.folder_parent'],
    [['field_names.folder_parent', '{"$ne": 1}'], 'is not a valid field name'],
    [['nonsense', 'x'], 'field_names.KEY'],
  ])('config set refuses %j and leaves the config file unchanged', async (args, reason) => {
    const before = readFileSync(configPath(), 'utf8');
    const { code, stderr } = await cli.run(['config', 'set', ...args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(reason)]);
    expect(readFileSync(configPath(), 'utf8')).toBe(before);
  });

  it('config set exits with 2 if there is no profile', async () => {
    const { code } = await new Cli().run(['config', 'set', 'format', 'json']);
    expect(code).toBe(2);
  });
});

describe('docs/configuration.md', () => {
  const document = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
  const sectionOf = (title: string) => new RegExp(`^## ${title}\\n([^]*?)^## `, 'm').exec(document)?.[1] ?? '';
  /** A value that each documented setting accepts; the service and the profile are those of the test. */
  const values: Partial<Record<string, string>> = {
    profile: 'main',
    workspace: '00000000-0000-4000-8000-000000000001',
    primary_workspace: '00000000-0000-4000-8000-000000000001',
    folder: '/Campaigns',
    format: 'json',
    field_names: 'asset_parent=folder',
    queue: 'redis://127.0.0.1:9',
    no_input: '1',
    max_wait: '90s',
    request_timeout: '90s',
    pager: 'cat',
    debug: '1',
  };
  const runWithLibrary = async (project: object, environment: Record<string, string> = {}) => {
    const { url } = await startRecordingServer(() => ({ body: { items: [], count: 0 } }));
    const { MEDIACTL_BASE_URL = url, MEDIACTL_API_KEY = 'a-key-of-this-test' } = environment;
    writeFileSync(join(cli.home, '.mediactl.json'), JSON.stringify(project));
    return cli.run(['videos', 'ls'], { environment: { ...environment, MEDIACTL_BASE_URL, MEDIACTL_API_KEY } });
  };

  it('every setting of a project that the page names is accepted, and no other is', async () => {
    const [named = ''] = sectionOf('Settings of a project').split(' It can never');
    const names = [...named.matchAll(/`([a-z_]+)`/g)].map(([, name = '']) => name);
    const all = Object.entries<Setting>(settingTable);
    expect(names.toSorted()).toEqual(all.flatMap(([name, { project }]) => (project ? [name] : [])).toSorted());
    const project = Object.fromEntries(names.map((name) => [name, values[name]]));
    expect(await runWithLibrary(project)).toMatchObject({ code: 0, stdout: '[]\n' });
    const example = /```json\n(.*)\n```/.exec(sectionOf('Settings of a project'))?.[1] ?? '';
    expect(await runWithLibrary(JSON.parse(example))).toMatchObject({ code: 0 });
  });

  it('every variable of a setting is on the page, and a command accepts a value of each', async () => {
    const named = new Set(sectionOf('Environment').match(/(?<=`)MEDIACTL_[A-Z_]+(?=`)/g));
    for (const [name, { variable }] of Object.entries<Setting>(settingTable)) {
      if (variable === undefined) continue;
      expect(named).toContain(variable);
      if (name === 'api_key' || name === 'base_url') continue; // set by each run
      const { code, stderr } = await runWithLibrary({}, { [variable]: values[name] ?? 'no value in this test' });
      expect([variable, code, stderr]).toEqual([variable, 0, expect.any(String)]);
    }
  });

  it('every example of `config set` on the page is accepted', async () => {
    const examples = [...document.matchAll(/^mediactl (config set .+)$/gm)].map(([, example = '']) =>
      example.split(' '),
    );
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) expect([example, (await cli.run(example)).code]).toEqual([example, 0]);
  });
});
