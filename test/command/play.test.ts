import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { inherited } from '../support/environment.ts';
import { type StubResponse, startRecordingServer } from '../support/recording-server.ts';
import { mediactlCommand } from '../support/spawn.ts';

const uid = '00000000-0000-4000-8000-000000000001';
const key = 'a-key-of-this-test';
const token = 'a.playback.token';

let cli: Cli;
beforeEach(() => {
  cli = new Cli({ NO_COLOR: '1' });
});

/** Starts a service whose asset has the playback info `info`; `media` responds to the URLs below /media/. */
async function startService(info: object, media: (path: string) => StubResponse = () => ({ body: 'bytes' })) {
  const { url, requests } = await startRecordingServer(({ path, headers }) => {
    const here = `http://${headers.host}`;
    const withOrigin = (value: object) => JSON.parse(JSON.stringify(value).replaceAll('HERE', here));
    if (path.endsWith('/player/'))
      return { body: { uid, playback_token: token, player_config: { theme: 'light' }, items: [] } };
    if (path.endsWith('/playback/info/')) return { body: withOrigin(info) };
    if (path.startsWith('/media/')) return media(path);
    return { body: { uid, name: 'A </script> name', description: 'Of </p> words', tags: [{ slug: 'sea' }] } };
  });
  const environment = { MEDIACTL_API_KEY: key, MEDIACTL_BASE_URL: url };
  const run = (...args: string[]) => cli.run(['play', uid, ...args], { environment });
  const plain = async (...args: string[]) => {
    const { code, stdout } = await run(...args);
    return { code, stdout: stdout.replaceAll(url, 'HERE') };
  };
  return { url, requests, run, plain };
}

const variants = [
  { url: { url: 'HERE/media/s.jpg' }, width: 320, height: 180 },
  { url: 'HERE/media/l.jpg', size: '1920x1080' },
  { url: { url: 'HERE/media/m.jpg', expires_at: '2026-03-01T16:00:00Z' }, width: 640, height: 360 },
];

describe('play of each asset type', () => {
  it.each<[string, object, string[]]>([
    [
      'video',
      {
        type: 'video',
        hls_url: { url: 'HERE/media/m.m3u8' },
        source_url: { url: 'HERE/media/f' },
        preview_sprites_url: { url: 'HERE/media/s.vtt' },
        chapters: [
          { title: 'One\u001b[2J', start_time: 0 },
          { title: 'Two', start_time: 61 },
        ],
        resume_position_seconds: 75,
      },
      [
        ...['type\tvideo', 'hls\tHERE/media/m.m3u8', 'file\tHERE/media/f'],
        ...['sprites\tHERE/media/s.vtt', 'chapters\t0s One\\u001b[2J', 'chapters\t1:01 Two', 'resume_at\t1:15'],
      ],
    ],
    [
      'audio',
      {
        type: 'audio',
        source: 'HERE/media/a.mp3',
        waveform_url: { url: 'HERE/media/w.json' },
        subtitle_tracks: [{ url: 'HERE/media/en.vtt', language: 'en', label: 'English' }, 'HERE/x'],
      },
      [
        ...['type\taudio', 'file\tHERE/media/a.mp3', 'waveform\tHERE/media/w.json'],
        ...['subtitles\tEnglish en HERE/media/en.vtt', 'subtitles\tHERE/x'],
      ],
    ],
    [
      'image',
      { type: 'image', variants },
      [
        'type\timage',
        'image_1920x1080\tHERE/media/l.jpg',
        'image_640x360\tHERE/media/m.jpg\t2026-03-01T16:00:00Z',
        'image_320x180\tHERE/media/s.jpg',
      ],
    ],
    [
      'document',
      { type: 'document', url: 'HERE/media/d.pdf', thumbnails: [{ page: 1, url: 'HERE/media/1.jpg' }] },
      ['type\tdocument', 'document\tHERE/media/d.pdf', 'pages\t1 HERE/media/1.jpg'],
    ],
    [
      'third_party',
      { type: 'third_party', embed_url: 'HERE/media/embed' },
      ['type\tthird_party', 'embed\tHERE/media/embed', 'note\ta page of the provider, not a stream'],
    ],
  ])('play prints the URLs and details of an asset of type %s', async (_type, info, lines) => {
    const { plain } = await startService(info);
    expect(await plain()).toEqual({ code: 0, stdout: `${lines.join('\n')}\n` });
  });
});

describe('play --probe', () => {
  it.each<[string, object, string]>([
    ['audio', { type: 'audio', source: { url: 'HERE/media/a.mp3' } }, 'file'],
    ['image', { type: 'image', variants }, 'image'],
    ['document', { type: 'document', url: 'HERE/media/d.pdf' }, 'document'],
    ['third_party', { type: 'third_party', embed_url: 'HERE/media/embed' }, 'embed'],
  ])(
    'play --probe reports an asset of type %s as playable, and exits with 12 if its media URL returns status 404',
    async (_type, info, kind) => {
      const playable = await startService(info);
      const report = JSON.parse((await playable.run('--probe', '--json')).stdout);
      expect(report).toMatchObject({ asset_uid: uid, kind, playable: true });
      const missing = await startService(info, () => ({ status: 404, body: 'gone' }));
      const { code, stdout, stderr } = await missing.run('--probe', '--json');
      expect([code, JSON.parse(stdout).playable]).toEqual([12, false]);
      expect(JSON.parse(stderr).error).toMatchObject({ code: 'playback_broken', cause: 'HTTP 404' });
    },
  );

  it('play --probe sends neither API key nor playback token to media URLs', async () => {
    const { run, requests } = await startService({ type: 'document', url: 'HERE/media/d.pdf' });
    await run('--probe');
    const fetched = requests.filter(({ path }) => path.startsWith('/media/'));
    expect(fetched).toHaveLength(1);
    expect(JSON.stringify(fetched)).not.toMatch(new RegExp(`${key}|${token}`));
  });
});

it.each<[string, object[]]>([
  ['as a width only', [{ width: 150 }, { width: 6000 }, { width: 900 }]],
  ['as text', [{ width: '150' }, { width: '6000' }]],
  ['as one number', [{ size: 150 }, { size: 1000 }]],
  ['as an object', [{ size: { width: 150, height: 100 } }, { size: { width: 900, height: 600 } }]],
])('play --url prints the URL of the largest image if the service reports image sizes %s', async (_by, sizes) => {
  const { plain } = await startService({
    type: 'image',
    variants: sizes.map((size, n) => ({ ...size, url: `HERE/media/${n}.jpg` })),
  });
  expect((await plain('--url')).stdout).toBe('HERE/media/1.jpg\n');
});

describe('play of a blocked asset', () => {
  it.each(['play', 'play --url', 'play --probe', 'play --web'])(
    '%s exits with 12 and fetches no media if the asset is blocked',
    async (command) => {
      const { run, requests } = await startService({
        type: 'video',
        blocked: true,
        source_url: { url: 'HERE/media/f' },
      });
      const { code, stdout } = await run(...command.split(' ').slice(1));
      expect([code, stdout]).toEqual([12, '']);
      expect(requests.filter(({ path }) => path.startsWith('/media/'))).toEqual([]);
    },
  );
});

describe('play --web', () => {
  /** Creates a program that records its arguments. */
  const installProgram = (name: string) => {
    const folder = join(cli.home, 'bin');
    mkdirSync(folder, { recursive: true });
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\nprintf '%s\\n' "$@" > '${cli.home}/played'\n`);
    chmodSync(path, 0o755);
    return path;
  };
  const programArguments = () => readFileSync(join(cli.home, 'played'), 'utf8').trimEnd().split('\n');

  /** Runs mediactl as a separate process, whose PATH finds the desktop's opener. */
  const runMediactl = async (url: string, ...args: string[]) => {
    if (!existsSync(join(cli.home, 'bin/xdg-open'))) installProgram('xdg-open');
    return promisify(execFile)(mediactlCommand[0], [...mediactlCommand.slice(1), 'play', uid, ...args], {
      env: {
        ...inherited,
        PATH: `${join(cli.home, 'bin')}:${process.env.PATH}`,
        HOME: cli.home,
        MEDIACTL_CONFIG_DIR: `${cli.home}/config`,
        MEDIACTL_STATE_DIR: `${cli.home}/state`,
        MEDIACTL_API_KEY: key,
        MEDIACTL_BASE_URL: url,
      },
    });
  };

  /** Polls until the desktop's opener has run, since mediactl does not wait for it. */
  const waitUntilOpened = () =>
    expect.poll(() => existsSync(join(cli.home, 'played')) && programArguments().join()).toBeTruthy();

  it('play --web warns if the program that opens the browser exits with an error after a second', async () => {
    const { url } = await startService({ type: 'third_party', embed_url: 'HERE/media/embed' });
    writeFileSync(installProgram('xdg-open'), '#!/bin/sh\nsleep 1.3\nexit 3\n');
    const { stdout, stderr } = await runMediactl(url, '--web');
    expect([stdout, stderr]).toEqual([expect.stringMatching(/\.html\n$/), expect.stringContaining('exit code 3')]);
  });

  it('play --web opens a local page of mode 0600 that contains neither API key nor playback token', async () => {
    const { url } = await startService({ type: 'video', source_url: { url: 'HERE/media/f' } });
    const { stdout } = await runMediactl(url, '--web');
    const path = stdout.trim();
    await waitUntilOpened();
    expect(programArguments()).toEqual([`file://${path}`]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const page = readFileSync(path, 'utf8');
    expect(page).toContain(`${url}/media/f`);
    expect(page).toContain('data-theme="light"');
    expect(page).toContain('Of &lt;/p&gt; words');
    expect(page).toContain('<li>sea</li>');
    expect(page).not.toMatch(new RegExp(`${key}|${token}`));
    expect(page).not.toContain('A </script> name');
  });
});

it('play resolves relative media URLs and ignores invalid ones', async () => {
  const { plain, run } = await startService({
    type: 'video',
    hls_url: { url: 'not a url' },
    source_url: { url: '/media/f.mp4' },
  });
  expect((await plain('--url')).stdout).toBe('HERE/media/f.mp4\n');
  expect((await run('--stream', 'hls', '--url')).code).toBe(12);
});

it('play shows each URL beside its label on a terminal of 80 columns, and whole in a pipe', async () => {
  const path = `/media/${uid}/${uid}/extras/sprites.vtt`;
  const { url } = await startService({
    ...{ type: 'video', source_url: { url: `HERE/media/f?${'s'.repeat(24)}` } },
    preview_sprites_url: { url: `HERE${path}?${'s'.repeat(24)}` },
  });
  const environment = { MEDIACTL_API_KEY: key, MEDIACTL_BASE_URL: url };
  const { stdout } = await cli.run(['play', uid], { environment, tty: true, columns: 80 });
  const lines = stdout.replaceAll(url, 'HERE').split('\n');
  expect(lines).toContain('file     HERE/media/f?…');
  expect(lines).toContain('sprites  HERE/…/sprites.vtt?…');
  expect((await cli.run(['play', uid], { environment })).stdout).toContain(`${url}${path}?${'s'.repeat(24)}`);
});

it('share prints what play --url prints: the URL alone on stdout, its expiry on stderr, and both as JSON', async () => {
  const expires_at = '2999-01-01T00:00:00Z';
  const { url, run } = await startService({ type: 'document', url: { url: 'HERE/media/a.pdf', expires_at } });
  const environment = { MEDIACTL_API_KEY: key, MEDIACTL_BASE_URL: url };
  const shared = await cli.run(['share', uid], { environment });
  expect(shared).toEqual(await run('--url'));
  expect(shared).toMatchObject({
    code: 0,
    stdout: `${url}/media/a.pdf\n`,
    stderr: expect.stringContaining(expires_at),
  });
  const json = await cli.run(['share', uid, '--json'], { environment });
  expect(JSON.parse(json.stdout)).toEqual({ asset_uid: uid, url: `${url}/media/a.pdf`, expires_at });
  expect((await run('--url', '-q')).stdout).toBe(`${url}/media/a.pdf\n`);
});

it('play exits with 4 and the code token_expired, and does not suggest auth login, if the service rejects the playback token', async () => {
  const { url } = await startRecordingServer(() => ({ status: 401, body: { error: { message: 'expired' } } }));
  const environment = { MEDIACTL_API_KEY: key, MEDIACTL_BASE_URL: url };
  const args = ['play', uid, '--token-file', '-', '--url', '--json'];
  const { code, stderr } = await cli.run(args, { environment, stdin: token });
  const { error } = JSON.parse(stderr);
  expect([code, error.code]).toEqual([4, 'token_expired']);
  expect(error.hint).toContain('assets player-data');
  expect(stderr).not.toContain('auth login');
});

it.each([['javascript:alert(1)'], ['file:///etc/passwd'], ['--script=/tmp/x.lua'], ['not a url']])(
  'play --web exits with 12 if the media URL is “%s”, because it plays only http and https URLs',
  async (address) => {
    const { run } = await startService({ type: 'document', url: address });
    const { code, stderr } = await run('--web');
    expect([code, stderr]).toEqual([
      12,
      expect.stringContaining(`only http and https URLs can be played, and it has ${address}`),
    ]);
  },
);
