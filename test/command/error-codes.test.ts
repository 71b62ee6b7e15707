import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openAccountLibrary } from '../../src/cli/commands/page/account-library.ts';
import type { ErrorRecord } from '../../src/cli/error-hints.ts';
import { tryLock } from '../../src/client/lock.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { EventBroadcaster } from '../../src/web/browse/server/event-broadcaster.ts';
import { Cli, type CliOptions } from '../support/cli.ts';
import { acceleratedClockInProcess } from '../support/clock.ts';
import { errorInTable, errorOf, recordedError, type SeenError, seenError } from '../support/errors.ts';
import { assetUid, createLibrary, folderUid, testKey, workspaceUid } from '../support/fake-library.ts';
import { respond, startServer } from '../support/http-server.ts';
import { type RecordedRequest, type Responder, startRecordingServer } from '../support/recording-server.ts';
import { SmallDisk } from '../support/small-disk.ts';

/* Provokes errors of the account, the network and the service, and compares code, exit code and next step. */

const unreachableUrl = 'http://127.0.0.1:9';
const environment = { MEDIACTL_API_KEY: testKey, MEDIACTL_BASE_URL: unreachableUrl, MEDIACTL_WORKSPACE: workspaceUid };

let cli: Cli;
beforeEach(() => {
  cli = new Cli();
});

/** Runs a command with --json on a fast clock, and returns its error. */
const errorFrom = async (args: string[], options: CliOptions = {}) =>
  errorOf(await cli.run([...args, '--json'], { clock: acceleratedClockInProcess(), ...options }));

/** Runs a command against a service. */
const errorAt = (url: string, args: string[], moreEnvironment: Record<string, string> = {}) =>
  errorFrom(args, { environment: { ...environment, MEDIACTL_BASE_URL: url, ...moreEnvironment } });

describe('account errors', () => {
  const writeProfiles = (profiles: Record<string, object>, current?: string) => {
    const folder = join(cli.home, 'config');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ current, profiles }), { mode: 0o600 });
  };
  const profile = { baseUrl: 'https://media.example.com', key: testKey, keyStore: 'file' };

  it('assets ls exits with 4 and code not_logged_in if no profile is selected', async () => {
    expect(await errorFrom(['assets', 'ls'])).toEqual({
      code: 'not_logged_in',
      exit: 4,
      hint: expect.stringMatching(/^mediactl auth login, or mediactl sandbox start/),
    });
    writeProfiles({ one: profile });
    expect(await errorFrom(['assets', 'ls'])).toMatchObject({ hint: 'mediactl auth switch NAME, or --profile NAME' });
  });

  it('assets ls exits with 4 and code not_logged_in if the profile does not exist', async () => {
    expect(await errorFrom(['assets', 'ls', '--profile', 'two'])).toEqual({
      code: 'not_logged_in',
      exit: 4,
      hint: 'mediactl auth ls, or mediactl auth login --profile two',
    });
  });

  it('assets ls exits with code not_logged_in if only the API key is set', async () => {
    expect(await errorFrom(['assets', 'ls'], { environment: { MEDIACTL_API_KEY: testKey } })).toEqual({
      code: 'not_logged_in',
      exit: 4,
      hint: 'set MEDIACTL_BASE_URL, for example to https://media.example.com',
    });
  });

  it('assets ls exits with 4 and code not_logged_in if the profile has no key', async () => {
    writeProfiles({ one: { ...profile, key: undefined } }, 'one');
    expect(await errorFrom(['assets', 'ls'])).toEqual({
      code: 'not_logged_in',
      exit: 4,
      hint: 'mediactl auth login --profile one',
    });
  });

  it('assets ls --all exits with code list_changed if the total changes on every page', async () => {
    let count = 2_000;
    const { url } = await startRecordingServer(({ query }) => {
      count -= 1;
      const offset = Number(query.offset ?? 0);
      const items = Array.from({ length: Math.min(100, Math.max(0, count - offset)) }, (_, index) => ({
        uid: `${String(offset + index).padStart(8, '0')}-0000-4000-8000-000000000000`,
        name: 'clip',
      }));
      return { body: { items, count } };
    });
    expect(await errorAt(url, ['assets', 'ls', '--all'])).toEqual(errorInTable('list_changed'));
  });

  it('assets ls --all exits with code list_incomplete if the service lists fewer assets than it counts', async () => {
    const items = [{ uid: '00000001-0000-4000-8000-000000000000', name: 'clip' }];
    const { url } = await startRecordingServer(({ query }) => ({
      body: { items: query.offset === '0' ? items : [], count: 3 },
    }));
    expect(await errorAt(url, ['assets', 'ls', '--all'])).toEqual(errorInTable('list_incomplete'));
  });

  it('assets ls exits with 2 and the error code `usage` if the API key is malformed', async () => {
    expect(await errorAt(unreachableUrl, ['assets', 'ls'], { MEDIACTL_API_KEY: 'two words' })).toEqual({
      code: 'usage',
      exit: 2,
      hint: 'create one in your organization’s settings, under API keys',
    });
  });

  it('assets ls exits with 4 and code key_origin_mismatch for a base URL other than the profile has', async () => {
    writeProfiles({ one: profile }, 'one');
    expect(await errorFrom(['assets', 'ls', '--base-url', 'https://other.example'])).toEqual({
      code: 'key_origin_mismatch',
      exit: 4,
      hint: 'mediactl auth login --profile NAME --base-url https://other.example, or set MEDIACTL_API_KEY and MEDIACTL_BASE_URL',
    });
  });

  it('assets ls exits with 4 and code keychain_unavailable if the keychain cannot be read', async () => {
    writeProfiles({ one: { ...profile, key: undefined, keyStore: 'keychain' } }, 'one');
    expect(await errorFrom(['assets', 'ls'])).toEqual({
      code: 'keychain_unavailable',
      exit: 4,
      hint: 'set MEDIACTL_API_KEY, or mediactl auth login --profile one --key-store file',
    });
  });

  it('auth login exits with 4 and code keychain_unavailable if the keychain cannot store the key', async () => {
    const { url } = await startRecordingServer(createLibrary());
    const options = { environment: { MEDIACTL_KEY_STORE: 'keychain' }, stdin: `${testKey}\n` };
    expect(
      await errorFrom(['auth', 'login', '--with-key', '--base-url', url, '--key-store', 'keychain'], options),
    ).toEqual({ code: 'keychain_unavailable', exit: 4, hint: 'use --key-store file' });
  });

  it('assets ls exits with 2 and code invalid_config if the config file is not JSON', async () => {
    mkdirSync(join(cli.home, 'config'));
    const path = join(cli.home, 'config/config.json');
    writeFileSync(path, '{');
    expect(await errorFrom(['assets', 'ls'])).toEqual({
      code: 'invalid_config',
      exit: 2,
      hint: `fix it, or move it out of the way: mv ${path} ${path}.bad`,
    });
  });

  it('assets ls exits with 2 and code invalid_config if the project file sets base_url', async () => {
    writeFileSync(join(cli.home, '.mediactl.json'), '{"base_url":"https://evil.example"}');
    expect(await errorFrom(['assets', 'ls'])).toEqual({
      code: 'invalid_config',
      exit: 2,
      hint: expect.stringMatching(/^use a JSON object with any of profile, workspace/),
    });
  });
});

describe('doctor findings', () => {
  /** Returns the error of a finding, on a clock that is not fast. */
  async function doctorError(check: string, moreEnvironment: Record<string, string> = {}) {
    const { stdout } = await cli.run(['doctor', '--json'], { environment: { ...environment, ...moreEnvironment } });
    const findings: { check: string; error: ErrorRecord }[] = JSON.parse(stdout);
    const finding = findings.find((each) => each.check === check);
    return recordedError((finding as { error: ErrorRecord }).error);
  }

  it('doctor reports code insecure_config if other users can read the config file', async () => {
    mkdirSync(join(cli.home, 'config'));
    const path = join(cli.home, 'config/config.json');
    writeFileSync(path, '{"profiles":{}}', { mode: 0o644 });
    const hint = `chmod 600 '${path}'`;
    expect(await doctorError('config_file')).toEqual({ code: 'insecure_config', exit: 1, hint });
  });

  it('doctor reports code clock_skew if the clock differs from that of the service by an hour', async () => {
    const date = new Date(Date.now() - 3_600_000).toUTCString();
    const url = await startServer((_, response) => respond(response, 200, { items: [], count: 0 }, { date }));
    expect(await doctorError('clock', { MEDIACTL_BASE_URL: url })).toEqual({
      code: 'clock_skew',
      exit: 2,
      hint: 'set the clock of this machine; until then, expiry times are wrong',
    });
  });

  it('doctor reports code state_unusable if the disk of the state folder is full', { tags: 'root-mount' }, async () => {
    const disk = new SmallDisk();
    const state = join(disk.path, 'state');
    mkdirSync(state);
    disk.fill();
    expect(await doctorError('state_folder', { MEDIACTL_STATE_DIR: state })).toEqual({
      code: 'state_unusable',
      exit: 14,
      hint: 'set MEDIACTL_STATE_DIR',
    });
  });
});

describe('data and state folder errors', () => {
  it('sandbox start exits with 2 and code invalid_folder if the data directory cannot exist', async () => {
    const args = ['sandbox', 'start', '--port', '0', '--data-dir', '/proc/nope'];
    expect(await errorFrom(args)).toEqual({
      code: 'invalid_folder',
      exit: 2,
      hint: 'use another directory: --data-dir DIR',
    });
  });

  it('sandbox start exits with 1 and code write_failed if the disk has no free inodes', {
    tags: 'root-mount',
  }, async () => {
    const disk = new SmallDisk('nr_inodes=1');
    const args = ['sandbox', 'start', '--port', '0', '--data-dir', join(disk.path, 'data')];
    expect(await errorFrom(args)).toEqual({
      code: 'write_failed',
      exit: 1,
      hint: 'use another directory: --data-dir DIR',
    });
  });

  it('uploads ls exits with 14 and code state_unusable if the state folder is a file', async () => {
    writeFileSync(join(cli.home, 'state'), 'a file in its place');
    expect(await errorFrom(['uploads', 'ls', '--finished'])).toEqual({
      code: 'state_unusable',
      exit: 14,
      hint: expect.stringMatching(/^make the state folder writable; upload --force goes on without it/),
    });
  });

  it('folders create exits with code locked while another process holds the lock', async () => {
    const { url } = await startRecordingServer(createLibrary());
    mkdirSync(join(cli.home, 'state'));
    const lock = await tryLock(join(cli.home, 'state/folders.lock'));
    expect(await errorAt(url, ['folders', 'create', '/New'])).toEqual(errorInTable('locked'));
    lock?.release();
  });
});

describe('output errors', () => {
  it('assets ls exits with code write_failed if stdout is on a full disk', async () => {
    const { url } = await startRecordingServer(createLibrary());
    const options = { environment: { ...environment, MEDIACTL_BASE_URL: url }, stdoutError: 'ENOSPC' } as const;
    expect(await errorFrom(['assets', 'ls'], options)).toEqual(errorInTable('write_failed'));
  });

  it('assets ls exits with code unclassified if a bug throws an unexpected error', async () => {
    const now = () => {
      throw new RangeError('a bug, such as a time that is no time');
    };
    const clock = { ...systemClock, now };
    expect(await errorFrom(['assets', 'ls'], { environment, clock })).toEqual(errorInTable('unclassified'));
  });
});

describe('prompt errors', () => {
  const errorOfRmAnswered = async (stdin: string) => {
    const { url } = await startRecordingServer(createLibrary());
    const options = { environment: { ...environment, MEDIACTL_BASE_URL: url }, tty: true, stdin };
    return errorFrom(['assets', 'rm', assetUid], options);
  };

  it('assets rm exits with code declined if the answer is no', async () => {
    expect(await errorOfRmAnswered('n\n')).toEqual(errorInTable('declined'));
  });

  it('assets rm exits with code interrupted if Ctrl-C answers the prompt', async () => {
    expect(await errorOfRmAnswered('\u0003')).toEqual(errorInTable('interrupted'));
  });
});

describe('HTTP statuses (§7)', () => {
  const statuses: [status: number, SeenError][] = [
    [400, errorInTable('rejected')],
    [401, errorInTable('unauthenticated')],
    [402, errorInTable('credits_depleted')],
    [403, errorInTable('forbidden')],
    [404, errorInTable('not_found')],
    [408, { code: 'timeout', exit: 10, hint: 'run it again in a moment' }],
    [409, errorInTable('conflict')],
    [410, errorInTable('not_found')],
    [412, errorInTable('conflict')],
    [413, errorInTable('rejected')],
    [418, errorInTable('unexpected_status')],
    [422, errorInTable('invalid_request')],
    [423, { code: 'rejected', exit: 6, hint: 'run it again in a moment' }],
    [425, errorInTable('server_error')],
    [429, errorInTable('rate_limited')],
    [431, { code: 'rejected', exit: 6, hint: 'shorten the name or the description, which are sent in a header' }],
    [460, { code: 'checksum_mismatch', exit: 13, hint: 'run the same command again' }],
    [500, errorInTable('server_error')],
    [501, errorInTable('invalid_response')],
    [507, errorInTable('storage_full')],
  ];
  it.each(statuses)(
    'api POST reports the exit code, the error code and the hint for HTTP status %i',
    async (status, error) => {
      const url = await startServer((_, response) => respond(response, status, { detail: 'no' }));
      const reported = await errorAt(url, ['api', '/things/', '-X', 'POST'], { MEDIACTL_MAX_WAIT: '0s' });
      expect(reported).toEqual(error);
    },
  );

  it('api POST exits with code invalid_response if the service redirects a write', async () => {
    const url = await startServer((_, response) => respond(response, 307, undefined, { location: '/elsewhere/' }));
    expect(await errorAt(url, ['api', '/things/', '-X', 'POST'])).toEqual(errorInTable('invalid_response'));
  });

  it('assets ls exits with code origin_mismatch if the service redirects to another origin', async () => {
    const url = await startServer((_, response) =>
      respond(response, 302, undefined, { location: 'http://127.0.0.1:9/' }),
    );
    expect(await errorAt(url, ['assets', 'ls'])).toEqual(errorInTable('origin_mismatch'));
  });

  it('assets ls exits with code invalid_response if the JSON is not a response of the API', async () => {
    const url = await startServer((_, response) => respond(response, 200, { answer: 42 }));
    expect(await errorAt(url, ['assets', 'ls'])).toEqual(errorInTable('invalid_response'));
  });
});

describe('network errors', () => {
  /** Starts a server that listens until the test ends, without an answer of its own. */
  async function startRawServer(prepare: (server: ReturnType<typeof createServer>) => void): Promise<string> {
    const server = createServer();
    prepare(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it('assets ls exits with 10 and code unreachable if no server listens on the port', async () => {
    expect(await errorAt(unreachableUrl, ['assets', 'ls'])).toEqual({
      code: 'unreachable',
      exit: 10,
      hint: 'mediactl sandbox start, if it is a sandbox; or correct MEDIACTL_BASE_URL',
    });
  });

  it('assets ls exits with code unreachable if the server drops every connection', async () => {
    const url = await startRawServer((server) => server.on('request', (request) => request.socket.destroy()));
    expect(await errorAt(url, ['assets', 'ls'])).toEqual(errorInTable('unreachable'));
  });

  it('assets ls exits with code timeout if the server never responds', async () => {
    const url = await startRawServer((server) => server.on('request', () => {}));
    const options = ['assets', 'ls', '--request-timeout', '300ms', '--max-wait', '0s'];
    expect(await errorAt(url, options)).toEqual(errorInTable('timeout'));
  });

  it('assets ls exits with 10 and code unreachable if the server does not use TLS', async () => {
    const url = await startRawServer(() => {});
    expect(await errorAt(url.replace('http:', 'https:'), ['assets', 'ls'])).toEqual({
      code: 'unreachable',
      exit: 10,
      hint: `if it uses plain http, set the base URL to ${url}`,
    });
  });

  it('assets ls exits with code unreachable if the proxy rejects the connection', async () => {
    const url = await startRawServer((server) =>
      server.on('connect', (_, client) => client.end('HTTP/1.1 403 Forbidden\r\n\r\n')),
    );
    expect(await errorAt('http://media.example.test', ['assets', 'ls'], { HTTP_PROXY: url })).toEqual(
      errorInTable('proxy_failed'),
    );
  });
});

describe('asset and folder errors', () => {
  /** Starts a library in which some answers differ. */
  const fakeLibrary = async (override: Responder = () => undefined): Promise<string> => {
    const respond = createLibrary();
    return (await startRecordingServer((request) => override(request) ?? respond(request))).url;
  };

  it('folders create exits with code already_exists if the folder exists', async () => {
    const url = await fakeLibrary();
    expect(await errorAt(url, ['folders', 'create', '/Campaigns'])).toEqual(errorInTable('already_exists'));
  });

  it('assets ls --count exits with 10 and code invalid_response if the service reports no total', async () => {
    const url = await fakeLibrary(({ path }) =>
      path.endsWith('/assets/') ? { body: [{ uid: assetUid }] } : undefined,
    );
    expect(await errorAt(url, ['assets', 'ls', '--count'])).toEqual({
      code: 'invalid_response',
      exit: 10,
      hint: 'count them: mediactl ls --all -q | wc -l',
    });
  });

  it('assets wait exits with 2 and the error code `usage` for a status that it cannot wait for', async () => {
    const url = await fakeLibrary();
    expect(await errorAt(url, ['assets', 'wait', assetUid, '--for', 'archived'])).toEqual({
      code: 'usage',
      exit: 2,
      hint: 'wait for ready',
    });
  });

  it('assets wait exits with 8 and code still_processing if the asset is not ready at the timeout', async () => {
    const body = { uid: assetUid, status: 'transcoding' };
    const url = await fakeLibrary(({ path }) => (path.endsWith(`/assets/${assetUid}/`) ? { body } : undefined));
    expect(await errorAt(url, ['assets', 'wait', assetUid, '--timeout', '2s'])).toEqual({
      code: 'still_processing',
      exit: 8,
      hint: `mediactl wait ${assetUid}, with a longer --timeout`,
    });
  });

  it('a move in the browser UI fails with code write_ignored if the response does not show the new folder', async () => {
    const url = await fakeLibrary(({ method, path }) =>
      path.endsWith(`/assets/${assetUid}/`) || method === 'PATCH' ? { body: { uid: assetUid } } : undefined,
    );
    const options = { environment: { ...environment, MEDIACTL_BASE_URL: url } };
    const failure = await cli.withContext(async (context) => {
      const account = await openAccountLibrary(context, new EventBroadcaster(), {
        bytesPerSecond: undefined,
        anyWorkspace: false,
      });
      return account.update(assetUid, { folder: folderUid }).catch(seenError);
    }, options);
    expect(failure).toMatchObject({ code: 'write_ignored', exit: 6 });
  });

  it('assets thumb exits with 3 and code not_found if the asset has no thumbnail', async () => {
    const url = await fakeLibrary(({ path }) =>
      path.endsWith(`/assets/${assetUid}/`) || path.endsWith('/player/')
        ? { body: { uid: assetUid, name: 'Quay' } }
        : undefined,
    );
    expect(await errorAt(url, ['assets', 'thumb', assetUid, '-o', join(cli.home, 't.jpg')])).toEqual({
      code: 'not_found',
      exit: 3,
      hint: `mediactl get ${assetUid}`,
    });
  });
});

describe('ignored writes', () => {
  const fakeLibrary = async (override: Responder): Promise<string> => {
    const respond = createLibrary();
    return (await startRecordingServer((request) => override(request) ?? respond(request))).url;
  };
  const asset = { uid: assetUid, name: 'Quay', description: '', type: 'document', status: 'ready' };
  const assetPath = `/assets/${assetUid}/`;

  it('assets update exits with 6 and code write_ignored if the service does not apply the new name', async () => {
    const url = await fakeLibrary(({ method, path }) =>
      method !== 'GET' || path.endsWith(assetPath) ? { body: { ...asset, tags: [] } } : undefined,
    );
    expect(await errorAt(url, ['assets', 'update', assetUid, '--name', 'Other'])).toEqual({
      code: 'write_ignored',
      exit: 6,
      hint: `mediactl get ${assetUid}, to see its fields`,
    });
  });

  it.each([
    ['the response to the change', ({ method }: RecordedRequest) => method === 'PATCH'],
    ['the record that is read after it', ({ method }: RecordedRequest, n: number) => method === 'GET' && n > 2],
  ])('assets update exits with 10 and code invalid_response if %s is of another asset', async (_what, isOther) => {
    let count = 0;
    const url = await fakeLibrary((request) => {
      if (!request.path.endsWith(assetPath)) return undefined;
      const record = { ...asset, name: 'Other' };
      if (isOther(request, ++count)) return { body: { ...record, uid: folderUid } };
      return { body: request.method === 'GET' ? asset : { uid: assetUid } };
    });
    expect(await errorAt(url, ['assets', 'update', assetUid, '--name', 'Other'])).toEqual({
      code: 'invalid_response',
      exit: 10,
      hint: `mediactl get ${assetUid}, to see if it was changed`,
    });
  });

  it('assets tag --add exits with 6 and code tags_unknown if the record shows no tags', async () => {
    const url = await fakeLibrary(({ path }) => (path.endsWith(assetPath) ? { body: asset } : undefined));
    expect(await errorAt(url, ['assets', 'tag', assetUid, '--add', 'sea'])).toEqual({
      code: 'tags_unknown',
      exit: 6,
      hint: `mediactl tag ${assetUid} --set SLUGS, to replace all tags`,
    });
  });

  it('assets rm exits with 6 and code filter_ignored if the service returns assets that do not match', async () => {
    const items = { body: { items: [{ ...asset, status: 'failed' }], count: 1 } };
    const url = await fakeLibrary(({ path }) => (path.endsWith('/assets/') ? items : undefined));
    expect(await errorAt(url, ['assets', 'rm', '--status', 'ready', '--yes'])).toEqual({
      code: 'filter_ignored',
      exit: 6,
      hint: 'use uids instead: mediactl ls … -q | mediactl rm -',
    });
  });

  const startEmbedService = (body: object) =>
    fakeLibrary(({ path }) => (path.includes('/embed-settings/') ? { body } : undefined));

  it('embed domains ls exits with 6 and code settings_unclear if two fields could be the list', async () => {
    const url = await startEmbedService({ enabled: true, first: [], second: [] });
    expect(await errorAt(url, ['embed', 'domains', 'ls'])).toEqual({
      code: 'settings_unclear',
      exit: 6,
      hint: 'export MEDIACTL_FIELD_NAMES=embed_domains=NAME, with one of first, second',
    });
  });

  it('embed restrict exits with 6 and code settings_unclear if two fields could be the switch', async () => {
    const url = await startEmbedService({ strict: true, locked: true, domains: [] });
    expect(await errorAt(url, ['embed', 'restrict'])).toEqual({
      code: 'settings_unclear',
      exit: 6,
      hint: expect.stringMatching(/^export MEDIACTL_FIELD_NAMES=embed_enabled=NAME, with one of strict, locked/),
    });
  });

  it('embed domains ls exits with 6 and code settings_unclear if an entry is not a domain', async () => {
    const url = await startEmbedService({ enabled: true, domains: [{ a: 1 }] });
    expect(await errorAt(url, ['embed', 'domains', 'ls'])).toEqual({
      code: 'settings_unclear',
      exit: 6,
      hint: 'export MEDIACTL_FIELD_NAMES=embed_domain=NAME',
    });
  });
});

describe('playback errors', () => {
  const startPlayback = async (info: object, override: Responder = () => undefined): Promise<string> => {
    const respond = createLibrary();
    const respondTo: Responder = (request) =>
      override(request) ?? (request.path.endsWith('/playback/info/') ? { body: info } : respond(request));
    return (await startRecordingServer(respondTo)).url;
  };

  const respondStatus =
    (status: string): Responder =>
    ({ path }) =>
      path.endsWith(`/assets/${assetUid}/`) ? { body: { uid: assetUid, name: 'Quay', status } } : undefined;

  it('download exits with 2 and the error code `usage` if the image variants have no sizes', async () => {
    const variants = ['a', 'b'].map((name) => ({ url: `http://127.0.0.1:9/${name}.jpg` }));
    const url = await startPlayback({ type: 'image', blocked: false, variants });
    expect(await errorAt(url, ['download', assetUid, '-o', '-'])).toEqual({
      code: 'usage',
      exit: 2,
      hint: `mediactl play ${assetUid}, to see their URLs; download the one that you want`,
    });
  });

  it.each([true, false])('play of an asset that is still processing suggests waiting, blocked: %s', async (blocked) => {
    const url = await startPlayback({ type: 'video', blocked }, respondStatus('processing'));
    expect(await errorAt(url, ['play', assetUid, '--url'])).toEqual({
      ...errorInTable('nothing_to_play'),
      hint: `mediactl wait ${assetUid}, then run the same command again`,
    });
  });

  it.each([
    ['play --url', { type: 'video', blocked: true }, 'mediactl embed show, to see if a restriction'],
    ['play --url', { type: 'audio', sources: [] }, 'it is ready, so waiting does not help'],
    ['download', { type: 'third_party', embed_url: 'https://p.example/v' }, `mediactl play ${assetUid}, to see what`],
  ])('%s of an asset that is ready does not suggest waiting: %j', async (typed, info, hint) => {
    const url = await startPlayback(info, respondStatus('ready'));
    const [verb = '', ...options] = typed.split(' ');
    expect(await errorAt(url, [verb, assetUid, ...options])).toEqual({
      ...errorInTable('nothing_to_play'),
      hint: expect.stringContaining(hint),
    });
  });

  it('share of a link that has expired says so, and does not call it playable', async () => {
    const url = await startPlayback({
      type: 'video',
      hls_url: { url: 'https://cdn.example/m.m3u8', expires_at: '2020-01-01T00:00:00Z' },
    });
    const { stderr } = await cli.run(['share', assetUid], {
      environment: { MEDIACTL_BASE_URL: url, MEDIACTL_API_KEY: testKey },
    });
    expect(stderr).toContain('warning: this link expired');
    expect(stderr).not.toContain('can play the asset');
  });

  it('play --probe exits with 12 and code playback_broken if the media URL is unreachable', async () => {
    const info = { type: 'document', blocked: false, url: 'http://127.0.0.1:9/a.pdf' };
    expect(await errorAt(await startPlayback(info), ['play', assetUid, '--probe'])).toEqual({
      code: 'playback_broken',
      exit: 12,
      hint: `mediactl get ${assetUid}, to see its status`,
    });
  });

  it('play exits with code token_expired if the service rejects the playback token (401)', async () => {
    const url = await startPlayback({}, ({ path }) =>
      path.endsWith('/playback/info/') ? { status: 401, body: {} } : undefined,
    );
    expect(await errorAt(url, ['play', assetUid, '--url'])).toEqual(errorInTable('token_expired'));
  });
});

describe('sandbox errors', () => {
  it('sandbox logs exits with code not_running if there is no log', async () => {
    expect(await errorFrom(['sandbox', 'logs'])).toEqual(errorInTable('not_running'));
  });

  it('sandbox start exits with 2 and the error code `usage` for an unknown fault', async () => {
    expect(await errorFrom(['sandbox', 'start', '--fault', 'nonsense'], { clock: systemClock })).toEqual({
      code: 'usage',
      exit: 2,
      hint: 'mediactl sandbox start --help',
    });
  });
});

describe('file errors', () => {
  it('upload exits with code file_unusable if the path does not exist', async () => {
    expect(await errorAt(unreachableUrl, ['upload', '/no/such.mp4'])).toEqual(errorInTable('file_unusable'));
  });

  it('upload exits with 2 and code file_unusable if the path is a device', async () => {
    const path = join(cli.home, 'device');
    symlinkSync('/dev/null', path);
    expect(await errorAt(unreachableUrl, ['upload', path])).toEqual(errorInTable('not_a_file'));
  });

  it('assets ls exits with 2 and the error code `usage` if --limit is not a number', async () => {
    expect(await errorAt(unreachableUrl, ['assets', 'ls', '--limit', 'many'])).toEqual({
      code: 'usage',
      exit: 2,
      hint: 'use a whole number of at least 1',
    });
  });
});
