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

const setting = async (key: string, environment = {}, cwd = cli.home, flags: string[] = []) => {
  const all = await cli.json(['config', 'ls', ...flags], { environment, cwd });
  const { value, origin } = all.find((each: { key: string }) => each.key === key);
  return [value, origin];
};

describe('where a setting comes from', () => {
  it('flag > variable > .mediactl.json > profile > default', async () => {
    const project = join(cli.home, 'project/deep');
    mkdirSync(project, { recursive: true });
    const file = join(cli.home, 'project/.mediactl.json');
    expect(await setting('max_wait')).toEqual(['1h', 'default']);
    expect(await setting('workspace')).toEqual(['00000000-0000-4000-8000-000000000001', 'profile main']);
    writeFileSync(file, '{"workspace": "from the file", "folder": "/inbox"}');
    expect(await setting('workspace', {}, project)).toEqual(['from the file', file]);
    expect(await setting('folder', {}, project)).toEqual(['/inbox', file]);
    const environment = { MEDIACTL_WORKSPACE: 'from the variable' };
    expect(await setting('workspace', environment, project)).toEqual(['from the variable', 'MEDIACTL_WORKSPACE']);
    expect(await setting('workspace', environment, project, ['-w', 'from the flag'])).toEqual([
      'from the flag',
      '--workspace',
    ]);
  });

  const impostors: [string, (path: string) => void][] = [
    ['a pipe', (path) => execFileSync('mkfifo', [path])],
    ['a link to a device without an end', (path) => symlinkSync('/dev/zero', path)],
    ['a directory', (path) => mkdirSync(path)],
  ];

  it.each(impostors)('%s in place of the project file is an error, and nothing hangs', async (_, make) => {
    const path = join(cli.home, '.mediactl.json');
    make(path);
    const { code, stderr } = await cli.run(['config', 'ls']);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`cannot use ${path}`)]);
    expect(stderr).toContain('is not a file');
  });

  it.each(impostors)('%s in place of the config file as well', async (_, make) => {
    rmSync(configPath());
    make(configPath());
    const { stderr } = await cli.run(['config', 'ls', '--json']);
    expect(JSON.parse(stderr).error).toMatchObject({
      code: 'invalid_config',
      cause: expect.stringContaining('is not a file'),
    });
  });

  it('a project file may begin with a byte order mark', async () => {
    writeFileSync(join(cli.home, '.mediactl.json'), '\uFEFF{"folder": "/inbox"}');
    expect((await setting('folder'))[0]).toBe('/inbox');
  });

  it('a request timeout of 0 is refused: every request would fail', async () => {
    const { code, stderr } = await cli.run(['config', 'ls'], {
      environment: { MEDIACTL_REQUEST_TIMEOUT: '0' },
    });
    expect([code, stderr]).toEqual([2, expect.stringContaining("does not accept '0'")]);
  });

  it.each(['base_url', 'api_key', 'key', 'field_names'])(
    'the project file cannot set %s: it must not move a key',
    async (name) => {
      writeFileSync(join(cli.home, '.mediactl.json'), JSON.stringify({ [name]: 'x' }));
      const { code, stderr } = await cli.run(['config', 'ls']);
      expect([code, stderr]).toEqual([2, expect.stringContaining(`it cannot set ${name}`)]);
    },
  );

  it('every variable is listed, and does what its option does', async () => {
    const { stdout } = await cli.run(['help', 'environment']);
    for (const { variable = '' } of Object.values<Setting>(settingTable)) expect(stdout).toContain(variable);
    const printed = async (environment: Record<string, string>) =>
      (await cli.run(['config', 'ls'], { environment })).stdout;
    expect(await printed({ MEDIACTL_FORMAT: 'uid' })).toMatch(/^profile\napi_key\n/);
    expect(await printed({ MEDIACTL_PROFILE: 'other' })).toMatch(/^profile\tother\n/);
    const wrong = await cli.run(['config', 'ls'], { environment: { MEDIACTL_MAX_WAIT: 'soon' } });
    expect(wrong.code).toBe(2);
  });

  it.each(['--request-timeout=', '--debug='])('%s, of an unset variable, says nothing', async (flag) => {
    expect((await cli.run(['config', 'ls', flag])).code).toBe(0);
  });

  it.each(['no', 'off', 'maybe'])('MEDIACTL_NO_INPUT=%s is neither yes nor no: exit 2', async (value) => {
    const { code } = await cli.run(['config', 'ls'], { environment: { MEDIACTL_NO_INPUT: value } });
    expect(code).toBe(2);
  });

  it.each([
    ['false', false],
    ['0', false],
    ['1', true],
    ['http', true],
  ])('MEDIACTL_DEBUG=%s: %s', async (value, isOn) => {
    const { url } = await startRecordingServer(() => ({ body: { items: [], count: 0 } }));
    const environment = {
      MEDIACTL_DEBUG: value,
      MEDIACTL_BASE_URL: url,
      MEDIACTL_API_KEY: 'key-of-test',
    };
    const { stderr } = await cli.run(['assets', 'ls'], { environment });
    expect(stderr.includes('debug: 1 requests')).toBe(isOn);
  });

  it('keys are masked', async () => {
    const key = 'sk_live_0123456789abcdef';
    const [value, origin] = await setting('api_key', { MEDIACTL_API_KEY: key });
    expect([value, origin]).toEqual(['sk_l…cdef', 'MEDIACTL_API_KEY']);
    const { stdout } = await cli.run(['config', 'ls', '--json']);
    expect(stdout).not.toContain('a-key-of-this-test');
  });
});

describe('config set', () => {
  it('keeps a setting in the profile, 0600, and unset takes it out', async () => {
    await cli.run(['config', 'set', 'format', 'json']);
    expect(JSON.parse((await cli.run(['config', 'path'])).stdout)).toBe(configPath());
    expect(await setting('format', {}, cli.home, ['--profile', 'other'])).toEqual([
      'json',
      '--format, --json, --jsonl, --csv, --tsv, --quiet',
    ]);
    expect(statSync(configPath()).mode & 0o777).toBe(0o600);
    await cli.run(['config', 'unset', 'format']);
    expect((await cli.run(['config', 'path'])).stdout).toBe(`${configPath()}\n`);
    await cli.run(['config', 'set', 'field_names.folder_parent', 'parent_id']);
    expect(await setting('field_names.folder_parent')).toEqual(['parent_id', 'profile main']);
    await cli.run(['config', 'unset', 'field_names.folder_parent']);
    expect((await setting('field_names.folder_parent'))[1]).toBe('default');
  });

  it.each([
    [['format', 'xml'], 'one of table, json'],
    [['max_wait', 'soon'], 'a duration such as'],
    [['color', 'pink'], 'one of auto'],
    [['base_url', 'https://evil.example'], 'auth login'],
    [['api_key', 'x'], 'auth login'],
    [['field_names.nonsense', 'x'], 'field_names.folder_parent'],
    [['field_names.folder_parent', '{"$ne": 1}'], 'is not a valid field name'],
    [['nonsense', 'x'], 'field_names.KEY'],
  ])('%j is refused, and the file stays as it is', async (args, words) => {
    const before = readFileSync(configPath(), 'utf8');
    const { code, stderr } = await cli.run(['config', 'set', ...args]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
    expect(readFileSync(configPath(), 'utf8')).toBe(before);
  });

  it('without a profile there is no place to keep it', async () => {
    const { code } = await new Cli().run(['config', 'set', 'format', 'json']);
    expect(code).toBe(2);
  });
});
