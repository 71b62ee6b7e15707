import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cli, type CliOptions } from '../support/cli.ts';
import { respond, startServer } from '../support/http-server.ts';
import { startRecordingServer } from '../support/recording-server.ts';
import { fixturePath, forSandboxMode, isStrict, startSandbox, type TestSandbox } from '../support/sandbox.ts';

let sandbox: TestSandbox;
let cli: Cli;
let environment: Record<string, string>;
const uids: Record<string, string> = {};

beforeAll(async () => {
  sandbox = await startSandbox();
  environment = {
    MEDIACTL_API_KEY: sandbox.key,
    MEDIACTL_BASE_URL: sandbox.url,
    MEDIACTL_WORKSPACE: sandbox.workspace,
  };
  cli = new Cli(environment);
  for (const name of ['still.jpg', 'tone.mp3', 'clip.mp4'])
    uids[name] = (await cli.json(['upload', fixturePath(name), '--wait']))[0].asset_uid;
});
afterAll(() => sandbox.end());

const runMediactl = (args: string[], options?: CliOptions) => cli.run(args, options);

/** Returns an id for what is handed out: a name, or a uid where the service does not show whose an asset is. */
const idOf = (name: string) => forSandboxMode({ normal: name, strict: uids[name] as string });

describe('assets ls', () => {
  const shortUid = (name: string) => (uids[name] as string).slice(0, 8);

  it('assets ls prints a table with short uids, newest first, on a terminal, and get accepts short uids', async () => {
    const { stdout } = await runMediactl(['assets', 'ls'], { tty: true, columns: 90, environment: { NO_COLOR: '1' } });
    const typeCell = (text: string) => forSandboxMode({ normal: `${text.padEnd(5)}  `, strict: '' });
    const sizeCell = (text: string) => forSandboxMode({ normal: `${text.padEnd(9)}  `, strict: '' });
    const lines = stdout.split('\n').map((line) => line.trimEnd().replace(/\d+ minutes? ago$/, 'just now'));
    expect(lines).toEqual([
      `NAME       UID       ${typeCell('TYPE')}STATUS  DURATION  ${sizeCell('SIZE')}CREATED AT`,
      `clip.mp4   ${shortUid('clip.mp4')}  ${typeCell('video')}ready   10s       ${sizeCell('421.8 KiB')}just now`,
      `tone.mp3   ${shortUid('tone.mp3')}  ${typeCell('audio')}ready   3s        ${sizeCell('18.0 KiB')}just now`,
      `still.jpg  ${shortUid('still.jpg')}  ${typeCell('image')}ready             ${sizeCell('5.5 KiB')}just now`,
      '',
    ]);
    expect((await cli.json(['assets', 'get', shortUid('tone.mp3')]))[0].uid).toBe(uids['tone.mp3']);
    expect((await cli.json(['get', shortUid('tone.mp3').slice(0, 6)]))[0].uid).toBe(uids['tone.mp3']);
  });

  it('assets ls shortens wide columns, but not the first eight digits of uids, on a narrow terminal', async () => {
    const { stdout } = await runMediactl(['assets', 'ls'], { tty: true, columns: 70, environment: { NO_COLOR: '1' } });
    for (const line of stdout.trimEnd().split('\n')) expect(line.length).toBeLessThanOrEqual(70);
    expect(stdout).toContain(shortUid('clip.mp4'));
  });

  it('assets ls prints tab-separated lines with ISO dates, without header or color, to a pipe', async () => {
    const { stdout } = await runMediactl(['assets', 'ls', '--type', 'audio']);
    expect(stdout).toMatch(
      new RegExp(
        `^${uids['tone.mp3']}\ttone\\.mp3\t${forSandboxMode({ normal: 'audio', strict: '' })}\tready\t3\\.03\t\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z\n$`,
      ),
    );
  });

  it('assets ls prints the records of the service with --json, one per line with --jsonl, and uids with -q', async () => {
    const [first, ...rest] = await cli.json(['assets', 'ls']);
    expect(first).toMatchObject({ uid: uids['clip.mp4'], thumbnail_url: null, tags: [] });
    expect(rest).toHaveLength(2);
    const lines = (await runMediactl(['assets', 'ls', '--jsonl'])).stdout.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).uid)).toEqual([first, ...rest].map(({ uid }) => uid));
    expect((await runMediactl(['assets', 'ls', '-q', '--sort', 'name'])).stdout).toBe(
      `${uids['clip.mp4']}\n${uids['still.jpg']}\n${uids['tone.mp3']}\n`,
    );
  });

  it('assets ls applies filters, --limit and --offset', async () => {
    const listUids = async (...args: string[]) => (await runMediactl(['assets', 'ls', '-q', ...args])).stdout;
    expect(await listUids('--status', 'ready', 'tone')).toBe(`${uids['tone.mp3']}\n`);
    expect(await listUids('--limit', '1', '--offset', '1')).toBe(`${uids['tone.mp3']}\n`);
    expect(await listUids('--created-after', 'today', '--type', 'image')).toBe(`${uids['still.jpg']}\n`);
    expect(await listUids('--created-before', '7d')).toBe('');
    // In strict mode, no workspace is known to be the primary one, so folders cannot be listed.
    expect(await listUids('/', '--type', 'video')).toBe(
      forSandboxMode({ normal: `${uids['clip.mp4']}\n`, strict: '' }),
    );
    expect((await runMediactl(['videos', 'ls', '-q'])).stdout).toBe(`${uids['clip.mp4']}\n`);
  });

  it.each([
    [['ls', '--status', 'redy'], "the status 'redy'", 'did you mean ready?'],
    [['ls', '--status', 'READY'], "the status 'READY'", 'did you mean ready?'],
    [
      ['videos', 'ls', '--status', 'pending'],
      "the status 'pending'",
      'use one of uploading, queued, processing, ready',
    ],
    [['rm', '--status', 'filed', '--yes'], "the status 'filed'", 'did you mean failed?'],
    [['ls', '--type', 'movie', '--count'], "the type 'movie'", 'use one of video, audio, image'],
  ])('mediactl %j exits with 2 and proposes a value, since the service refuses that one', async (args, value, hint) => {
    const { code, stderr } = await runMediactl([...args, '--json']);
    const { error } = JSON.parse(stderr);
    expect([code, error.http_status]).toEqual([2, 422]);
    expect([error.message, error.hint]).toEqual([expect.stringContaining(value), expect.stringContaining(hint)]);
  });

  it('assets ls lists by a status that only the service knows', async () => {
    const { url, requests } = await startRecordingServer(() => ({
      body: { items: [{ uid: 'x', status: 'archived' }] },
    }));
    const { code, stdout } = await runMediactl(['ls', '--status', 'archived', '-q'], {
      environment: { MEDIACTL_BASE_URL: url },
    });
    expect([code, stdout, requests[0]?.query.status]).toEqual([0, 'x\n', 'archived']);
  });

  it('assets ls --count prints the total, and exits with 10 if the service reports none', async () => {
    const { code, stdout, stderr } = await runMediactl(['assets', 'ls', '--count']);
    if (isStrict) {
      expect([code, stdout]).toEqual([10, '']);
      expect(stderr).toContain('the service does not report a total');
    } else {
      expect([code, stdout]).toEqual([0, '3\n']);
      expect(await cli.json(['assets', 'ls', '--count'])).toBe(3);
    }
  });

  it('assets ls with filters that match nothing prints [] with --json, and says so on stderr', async () => {
    const listNothing = ['assets', 'ls', '--tag', 'nothing-like-it'];
    const stderr = 'no assets match the filters\n';
    expect(await runMediactl([...listNothing, '--json'])).toEqual({ code: 0, stdout: '[]\n', stderr });
    expect(await runMediactl(listNothing, { tty: true })).toEqual({ code: 0, stdout: '', stderr });
  });

  it.each([
    [['--limit', 'x'], "--limit does not accept 'x'"],
    [['--limit', '0'], "--limit does not accept '0'"],
    [['--limit', '0x10'], "--limit does not accept '0x10'"],
    [['--sort', 'size'], "--sort does not accept 'size'"],
    [['--created-after', '2026-11'], "--created-after does not accept '2026-11'"],
    [['--created-after', '2026-02-30'], '--created-after: 2026-02-30 is not a valid date'],
    [['--nonsense'], "unknown option '--nonsense'"],
    [['--json', '--jsonl'], '--json and --jsonl cannot be used together'],
    [['--all', '--limit', '1'], '--all and --limit cannot be used together'],
  ])('assets ls with %j exits with 2 and names the invalid option', async (args, problem) => {
    const { code, stdout, stderr } = await runMediactl(['assets', 'ls', ...args]);
    expect([code, stdout]).toEqual([2, '']);
    if (args[0] === '--json') expect(JSON.parse(stderr).error.message).toBe(problem);
    else expect(stderr.split('\n')[0]).toBe(`error: ${problem}`);
  });
});

describe('assets get', () => {
  it('assets get finds an asset by uid, by exact name and by @last', async () => {
    for (const id of [uids['clip.mp4'] as string, 'clip.mp4', '@last', uids['clip.mp4']?.toUpperCase() as string])
      expect((await cli.json(['assets', 'get', id]))[0].uid).toBe(uids['clip.mp4']);
  });

  it('assets get prints an array for several ids, including ids from stdin', async () => {
    const stdin = `${uids['tone.mp3']}\n{"uid":"${uids['still.jpg']}"}\n`;
    const assets = await cli.json(['assets', 'get', '@last', '-'], { stdin });
    expect(assets.map(({ uid }: { uid: string }) => uid)).toEqual([
      uids['clip.mp4'],
      uids['tone.mp3'],
      uids['still.jpg'],
    ]);
  });

  it('assets get exits with 3 for an unknown uid or name', async () => {
    const unknownUid = '00000000-0000-4000-8000-000000000000';
    expect((await runMediactl(['assets', 'get', unknownUid])).code).toBe(3);
    const unknownName = await runMediactl(['assets', 'get', 'clip']);
    expect(unknownName.code).toBe(3);
    expect(unknownName.stderr).toBe(
      "error: the service's search finds no asset named clip\n  cause: it is not a uid either\n  try:   mediactl ls clip, or mediactl ls '/**/clip' to look into each folder\n",
    );
  });

  it('assets get exits with 2 and lists the candidates if a name is ambiguous', async () => {
    const firstUid = (await cli.json(['upload', fixturePath('still.jpg'), '--existing', 'upload', '--name', 'twin']))[0]
      .asset_uid;
    const secondUid = (await cli.json(['upload', fixturePath('tone.mp3'), '--existing', 'upload', '--name', 'twin']))[0]
      .asset_uid;
    const { code, stderr } = await runMediactl(['assets', 'get', 'twin']);
    expect(code).toBe(2);
    expect(stderr).toContain('2 assets are named twin');
    for (const uid of [firstUid, secondUid]) expect(stderr).toContain(uid);
  });
});

describe('assets wait', () => {
  it('assets wait prints the asset when it is ready', async () => {
    expect(await cli.json(['assets', 'wait', 'clip.mp4'])).toMatchObject([{ status: 'ready' }]);
  });

  it('upload --wait and assets wait exit with 12 and the service’s reason if processing failed', async () => {
    const broken = join(cli.home, 'broken.mp4');
    writeFileSync(broken, 'not a video at all');
    const { code, stdout, stderr } = await runMediactl(['upload', broken, '--wait', '--json']);
    expect(code).toBe(12);
    const [{ error, asset_uid }] = JSON.parse(stdout);
    expect(error.cause).toContain(forSandboxMode({ normal: 'unsupported file type', strict: 'its status is failed' }));
    expect(JSON.parse(stderr.trimEnd().split('\n').at(-1) as string).error.exit_code).toBe(12);
    const waited = await runMediactl(['assets', 'wait', asset_uid]);
    expect([waited.code, waited.stderr]).toEqual([12, expect.stringContaining('broken.mp4: failed\n')]);
  });

  it('assets wait exits with 8 if processing takes longer than --timeout', async () => {
    const service = await startServer((_request, response) =>
      respond(response, 200, { uid: 'x', status: 'transcoding' }),
    );
    const { code, stderr } = await runMediactl(['assets', 'wait', uids['clip.mp4'] as string, '--timeout', '1s'], {
      environment: { MEDIACTL_BASE_URL: service },
    });
    expect(code).toBe(8);
    expect(stderr).toContain('is still transcoding');
  });
});

describe('assets player-data', () => {
  it('assets player-data masks the playback token unless --show-token is given', async () => {
    const masked = await cli.json(['assets', 'player-data', idOf('clip.mp4')]);
    expect(masked.playback_token).toMatch(/^.{4}…..{3}$/);
    const unmasked = await cli.json(['assets', 'player-data', idOf('clip.mp4'), '--show-token']);
    expect(unmasked.playback_token.length).toBeGreaterThan(60);
    expect(unmasked.items[0].asset.uid).toBe(uids['clip.mp4']);
  });
});

describe('play', () => {
  it('play --url prints a working HLS URL, or with --stream file the URL of the video file', async () => {
    const playUrl = async (...args: string[]) =>
      (await runMediactl(['play', idOf('clip.mp4'), '--url', ...args])).stdout.trim();
    expect(await (await fetch(await playUrl())).text()).toMatch(/^#EXTM3U/);
    expect((await fetch(await playUrl('--stream', 'file'))).headers.get('content-type')).toBe('video/mp4');
    expect((await fetch((await runMediactl(['play', idOf('tone.mp3'), '--url'])).stdout.trim())).status).toBe(200);
  });

  it('share of several assets prints a URL of each, one a line, in the order of the ids or of stdin', async () => {
    const [clip, tone] = [uids['clip.mp4'], uids['tone.mp3']] as [string, string];
    const shared = await runMediactl(['share', tone, clip]);
    const urls = shared.stdout.trimEnd().split('\n');
    expect(urls).toEqual([expect.stringContaining(tone), expect.stringContaining(clip)]);
    for (const url of urls) expect((await fetch(url)).status).toBe(200);
    expect(shared.stderr).toContain('the first of these links expires in 4 hours');
    const piped = await cli.run(['share', '-', '--json'], { stdin: `${clip}\n${tone}\n` });
    expect(JSON.parse(piped.stdout)).toMatchObject([{ asset_uid: clip }, { asset_uid: tone }]);
    expect((await runMediactl(['share', clip, tone, '-q'])).stdout.split('\n')).toHaveLength(3);
  });

  it('share of several assets prints the URLs of those that can be played, and names the others', async () => {
    const { code, stdout, stderr } = await runMediactl([
      'share',
      uids['tone.mp3'] as string,
      uids['clip.mp4'] as string,
      '--stream',
      'hls',
    ]);
    expect([code, stdout.split('\n')]).toEqual([11, [expect.stringContaining(uids['clip.mp4'] as string), '']]);
    expect(stderr).toContain('1 of 2 assets cannot be shared');
    expect(stderr).toContain(uids['tone.mp3'] as string);
  });

  it('play prints URLs, chapters and the expiry time', async () => {
    const { stdout } = await runMediactl(['play', idOf('clip.mp4')], {
      tty: true,
      columns: 300,
      environment: { NO_COLOR: '1' },
    });
    expect(stdout).toMatch(/^type\s+video$/m);
    expect(stdout).toMatch(/^hls\s+http.*\(expires in 4 hours\)$/m);
    expect(stdout).toMatch(/^chapters\s+0s Arrival\n\s+4s The crane/m);
  });

  it('play --json prints the playback info as the service returned it', async () => {
    expect(await cli.json(['play', idOf('clip.mp4')])).toMatchObject({ type: 'video', blocked: false });
  });

  it('play --probe fetches the playlists, the init segment and the first segment', async () => {
    const report = await cli.json(['play', idOf('clip.mp4'), '--probe']);
    expect(report.playable).toBe(true);
    expect(report.steps.map(({ step }: { step: string }) => step)).toEqual([
      'master_playlist',
      'media_playlist',
      'init_segment',
      'first_segment',
    ]);
    expect((await cli.json(['play', idOf('still.jpg'), '--probe'])).steps).toMatchObject([{ step: 'file', ok: true }]);
  });

  it.each([
    ['master', 'master_playlist'],
    ['playlist', 'media_playlist'],
    ['init', 'init_segment'],
    ['segment', 'first_segment'],
  ])('play --probe exits with 12 and names the broken step if the %s returns 403', async (broken, step) => {
    const files: Record<string, string> = {
      '/master': '#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nplaylist\n',
      '/playlist': '#EXTM3U\n#EXT-X-MAP:URI="init"\n#EXTINF:1,\nsegment\n',
      '/init': 'x',
      '/segment': 'x',
    };
    let keySeen = false;
    const service: string = await startServer((request, response) => {
      const path = request.url ?? '';
      if (path.endsWith('/player/')) return respond(response, 200, { uid: 'x', playback_token: 'the-token' });
      if (request.headers.authorization) keySeen = true;
      if (path.endsWith('/info/'))
        return respond(response, 200, { type: 'video', hls_url: { url: `${service}/master` } });
      if (path === `/${broken}`) return respond(response, 403, 'expired');
      respond(response, 200, files[path] ?? '');
    });
    const { code, stdout, stderr } = await runMediactl(['play', uids['clip.mp4'] as string, '--probe', '--json'], {
      environment: { MEDIACTL_BASE_URL: service },
    });
    expect(code).toBe(12);
    expect(JSON.parse(stdout).steps.at(-1)).toMatchObject({ step, ok: false, http_status: 403, error: 'HTTP 403' });
    expect(JSON.parse(stderr).error.message).toContain(`the ${step.replaceAll('_', ' ')} is broken`);
    expect(keySeen).toBe(false);
  });

  it('play --url prints nothing and exits with 12 if the asset is blocked', async () => {
    const service = await startServer((request, response) =>
      respond(
        response,
        200,
        request.url?.endsWith('/player/')
          ? { uid: 'x', playback_token: 'the-token' }
          : { type: 'video', blocked: true },
      ),
    );
    const { code, stdout } = await runMediactl(['play', uids['clip.mp4'] as string, '--url'], {
      environment: { MEDIACTL_BASE_URL: service },
    });
    expect([code, stdout]).toEqual([12, '']);
  });
});

describe('workspaces', () => {
  it('workspaces ls lists workspaces, and workspaces use exits with 2 if the key comes from the environment', async () => {
    expect((await runMediactl(['workspaces', 'ls'], { tty: true, environment: { NO_COLOR: '1' } })).stdout).toMatch(
      new RegExp(
        forSandboxMode({
          normal: `^NAME .*\nMain     ${sandbox.workspace.slice(0, 8)}  yes\nArchive  [0-9a-f]{8} *\n$`,
          strict: `^UID\n${sandbox.workspace.slice(0, 8)}\n[0-9a-f]{8}\n$`,
        }),
      ),
    );
    const main = forSandboxMode({ normal: 'Main', strict: sandbox.workspace });
    expect((await runMediactl(['workspaces', 'use', main, '-n'])).stderr).toContain(sandbox.workspace);
    expect((await runMediactl(['workspaces', 'use', 'Nowhere'])).code).toBe(3);
    const { code, stderr } = await runMediactl(['workspaces', 'use', main]);
    expect(code).toBe(2);
    expect(stderr).toContain('the account comes from MEDIACTL_API_KEY');
  });
});

describe('api', () => {
  it('api prints the response unchanged, and with -i its status and headers', async () => {
    const { stdout } = await runMediactl(['api', '/workspaces/']);
    expect(JSON.parse(stdout).items[0].uid).toBe(sandbox.workspace);
    const withHeaders = (await runMediactl(['api', 'assets/?limit=1', '-i'])).stdout;
    expect(withHeaders).toMatch(/^HTTP 200\n/);
    expect(withHeaders).toMatch(/^x-ratelimit-limit: 1000$/m);
  });

  it('api indents the JSON of a response on a terminal, as the other commands do', async () => {
    const piped = await runMediactl(['api', '/workspaces/']);
    const shown = await cli.run(['api', '/workspaces/'], { tty: true, environment: { NO_COLOR: '1' } });
    expect(shown.stdout).toBe(`${JSON.stringify(JSON.parse(piped.stdout), null, 2)}\n`);
  });

  it('api --paginate merges the items of all pages into one array', async () => {
    expect(await cli.json(['api', '/workspaces/', '--paginate'])).toHaveLength(2);
    const fromSecondItem = await runMediactl(['api', '/workspaces/?offset=1', '--paginate'], {
      tty: true,
      environment: { NO_COLOR: '1' },
    });
    const [second, ...rest] = JSON.parse(fromSecondItem.stdout);
    expect([second.uid === sandbox.workspace, rest]).toEqual([false, []]);
    expect((await runMediactl(['api', '/workspaces/', '--paginate', '-X', 'POST'])).code).toBe(2);
  });

  it('api with -f sends a POST, and has the errors and exit codes of other commands', async () => {
    const { code, stderr } = await runMediactl(['api', '/playback/info/', '-f', 'asset_id=x', '-F', 'n=1']);
    expect(code).toBe(6);
    expect(stderr).toContain(forSandboxMode({ normal: 'playback_token', strict: 'invalid parameters or body' }));
    const readOnlyKey = sandbox.createKey('read', ['Read Assets']);
    const refused = await runMediactl(['api', '-X', 'DELETE', `/assets/${uids['clip.mp4']}/`], {
      environment: { MEDIACTL_API_KEY: readOnlyKey },
    });
    expect(refused.code).toBe(5);
  });

  it.each([
    [['https://elsewhere.example/x'], 'is not the service of this account'],
    [['/assets/', '-f', 'novalue'], "-f does not accept 'novalue'"],
    [['/assets/', '-F', 'a={'], '-F a: not JSON: {'],
    [['/assets/', '-H', 'Authorization: Bearer x'], '-H does not accept an API key'],
    [['/assets/', '--input', '/nowhere'], 'cannot read /nowhere'],
  ])('api with the arguments %j exits with 2 and says why it rejects them', async (args, problem) => {
    const { code, stderr } = await runMediactl(['api', ...args]);
    expect([code, stderr.includes(problem)]).toEqual([2, true]);
  });

  it('api --dry-run prints the write without sending it', async () => {
    const { stdout } = await runMediactl(['api', '/upload/', '-f', 'a=b', '-n']);
    expect(stdout).toBe(`POST\t${sandbox.url}/api/external/v1/upload/\t{"a":"b"}\n`);
  });
});

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const controlCharacters = /[\u001b\u009b\u202e]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const colorSequences = /\u001b\[\d+m/g;

describe('control characters from the service', () => {
  const hostileName = 'evil\u001b[2J\u009b31m\u202egpj.exe\nnew line\ttab';
  it('assets ls escapes control characters in tables and on a terminal, but keeps them in piped JSON', async () => {
    const service = await startServer((_request, response) =>
      respond(response, 200, { items: [{ uid: uids['clip.mp4'], name: hostileName, status: hostileName }], count: 1 }),
    );
    const options = { environment: { MEDIACTL_BASE_URL: service } };
    for (const tty of [true, false]) {
      const { stdout } = await runMediactl(['assets', 'ls'], { ...options, tty, columns: 200 });
      const withoutColors = stdout.replace(colorSequences, '');
      expect(withoutColors).toContain('evil\\u001b[2J\\u009b31m\\u202egpj.exe\\nnew line\\ttab');
      expect(withoutColors).not.toMatch(controlCharacters);
    }
    expect((await cli.json(['assets', 'ls'], options))[0].name).toBe(hostileName);
    const coloredJson = (await runMediactl(['assets', 'ls', '--json'], { ...options, tty: true })).stdout;
    const json = coloredJson.replace(colorSequences, '');
    expect(json).not.toMatch(controlCharacters);
    expect(JSON.parse(json)[0].name).toBe(hostileName);
  });

  it('assets ls escapes control characters in error messages of the service', async () => {
    const service = await startServer((_request, response) =>
      respond(response, 400, { error: { message: hostileName } }),
    );
    const { stderr } = await runMediactl(['assets', 'ls'], { environment: { MEDIACTL_BASE_URL: service }, tty: true });
    expect(stderr.replace(colorSequences, '')).not.toMatch(controlCharacters);
  });
});
