import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { environmentOf, signIn, startBrowse } from '../support/browse.ts';
import { Cli } from '../support/cli.ts';
import { assetUid, createLibrary, folderUid, testKey, workspaceUid } from '../support/fake-library.ts';
import { respond, startServer } from '../support/http-server.ts';
import { Pty } from '../support/pty.ts';
import { rawHttp } from '../support/raw-http.ts';
import { type Responder, startRecordingServer } from '../support/recording-server.ts';
import { fixturePath, startSandbox } from '../support/sandbox.ts';
import { mediactl, mediactlCommand } from '../support/spawn.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* The HTTP server of the browse page: its own browser's requests, and all others. */

const v1 = '/api/external/v1';

/** Starts the page of a small library. @param override replaces responses of the service */
async function startPage(override: Responder = () => undefined, args: string[] = []) {
  const respondAsLibrary = createLibrary();
  const service = await startRecordingServer((request) => override(request) ?? respondAsLibrary(request));
  const browsing = await startBrowse({ url: service.url, key: testKey, workspace: workspaceUid }, args);
  return { ...browsing, requests: service.requests };
}

const openSignedIn = async (override?: Responder, args?: string[]) => {
  const browsing = await startPage(override, args);
  return { ...browsing, ...(await signIn(browsing.address)) };
};

/** Sends a request with arbitrary headers, some of which fetch does not allow. */
function sendRaw(url: string, headers: Record<string, string>, method = 'GET') {
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    const { hostname, port, pathname, search } = new URL(url);
    const clientRequest = request(
      { hostname, port, path: pathname + search, method, headers, agent: false },
      async (response) => {
        let body = '';
        for await (const part of response.setEncoding('utf8')) body += part;
        resolve({ status: response.statusCode as number, body });
      },
    );
    clientRequest.on('error', reject).end();
  });
}

it('the page of a profile that is not the current one names it in the commands that it tells', async () => {
  const service = await startRecordingServer(createLibrary());
  const cli = new Cli();
  for (const profile of ['er', 'current']) {
    const login = ['auth', 'login', '--profile', profile, '--base-url', service.url, '--with-key', '--skip-verify'];
    expect((await cli.run(login, { stdin: testKey })).code).toBe(0);
  }
  const environment = {
    MEDIACTL_CONFIG_DIR: join(cli.home, 'config'),
    MEDIACTL_STATE_DIR: join(cli.home, 'state'),
    MEDIACTL_KEY_STORE: 'file',
    MEDIACTL_WORKSPACE: workspaceUid,
  };
  const programOf = async (profile: string) => {
    const { address } = await startBrowse({ url: '', key: '', workspace: '' }, ['--profile', profile], environment);
    const { fetchPage } = await signIn(address);
    return /"program":"([^"]*)"/.exec(await (await fetchPage('')).text())?.[1];
  };
  expect(await programOf('er')).toBe('mediactl --profile er');
  expect(await programOf('current')).toBe('mediactl');
});

it('the page does not blame the API key for a 403 that a firewall sends', async () => {
  const { fetchPage } = await openSignedIn(({ path }) =>
    path.endsWith('/assets/')
      ? { status: 403, body: '<html><title>Blocked</title></html>', headers: { 'content-type': 'text/html' } }
      : undefined,
  );
  const { error } = await (await fetchPage('assets')).json();
  expect(error).toMatchObject({
    problem: expect.stringContaining('a gateway in front of it, denied the request'),
    hint: expect.stringContaining('check any proxy or firewall'),
  });
});

it('the page itself asks the service for nothing, so that it can say what it waits for', async () => {
  const { fetchPage } = await openSignedIn(() => ({ status: 429, body: {}, headers: { 'retry-after': '3000' } }));
  const page = await fetchPage('', { signal: AbortSignal.timeout(60_000) });
  expect(await page.text()).toContain('id="gallery"');
});

it('the links of selected assets leave out those that have nothing to play, and say how many', async () => {
  const [playable, empty] = [assetUid, folderUid];
  const respondAsLibrary = createLibrary({
    assets: [{ uid: playable }, { uid: empty }],
    playback: { type: 'video', source_url: 'HERE/media/clip.mp4' },
  });
  const { fetchPage } = await openSignedIn((request) =>
    request.path.endsWith('/playback/info/') && JSON.stringify(request).includes(empty)
      ? { body: { type: 'video' } }
      : respondAsLibrary(request),
  );
  const copy = async (uids: string[]) =>
    (await fetchPage('links', { method: 'POST', body: JSON.stringify({ uids }) })).json();
  expect(await copy([empty, playable])).toMatchObject({
    text: expect.stringMatching(/^http:.*clip\.mp4$/),
    count: 1,
    unplayableCount: 1,
  });
  expect((await copy([empty])).error.problem).toBe('none of these assets has anything to play');
});

it('a sign-in address works only once', async () => {
  const { address } = await startPage();
  await signIn(address);
  const secondResponse = await fetch(address);
  expect(secondResponse.status).toBe(403);
  expect(secondResponse.headers.get('set-cookie')).toBeNull();
  expect(await secondResponse.text()).toMatch('works once, in one browser');
});

it('the browse server refuses requests without the cookie and below a guessed path', async () => {
  const { base, cookie, origin, requests } = await openSignedIn();
  const requestsBefore = requests.length;
  for (const [url, headers] of [
    [`${base}assets`, {}],
    [`${base}assets`, { cookie: `mediactl=${'A'.repeat(43)}` }],
    [`${base}assets`, { cookie: 'mediactl=' }],
    [`${origin}/b/AAAAAAAAAAAAAAAA/assets`, { cookie }],
    [`${origin}/b/`, { cookie }],
    [`${origin}/`, { cookie }],
    [`${origin}/?token=`, { cookie }],
    [`${origin}/?token=${'A'.repeat(43)}`, {}],
  ] as const)
    expect((await fetch(url, { headers })).status, url).toBe(403);
  expect((await fetch(`${origin}/etc/passwd`)).status).toBe(404);
  expect(requests.length).toBe(requestsBefore);
});

it('the browse server refuses requests from other sites, origins and host names', async () => {
  const { base, cookie, origin, requests } = await openSignedIn();
  const requestsBefore = requests.length;
  const { host, port } = new URL(origin);
  const status = async (headers: Record<string, string>, method = 'GET') =>
    (await sendRaw(`${base}assets/${assetUid}`, { cookie, host, ...headers }, method)).status;
  expect(await status({ 'sec-fetch-site': 'cross-site' })).toBe(403);
  expect(await status({ 'sec-fetch-site': 'same-site' })).toBe(403);
  expect(await status({ origin: 'https://evil.example' })).toBe(403);
  expect(await status({ origin: 'null' })).toBe(403);
  expect(await status({ origin: `http://127.0.0.1:${Number(port) + 1}` })).toBe(403);
  // DNS rebinding, and the loopback address by other names.
  expect(await status({ host: 'evil.example' })).toBe(403);
  expect(await status({ host: `evil.example:${port}`, origin })).toBe(403);
  expect(await status({ host: `localhost:${port}` })).toBe(403);
  // Writes need an Origin header (CSRF).
  for (const method of ['DELETE', 'PATCH', 'POST']) expect(await status({}, method)).toBe(403);
  expect(await status({ origin: 'https://evil.example' }, 'DELETE')).toBe(403);
  expect(requests.length).toBe(requestsBefore);
  expect(await status({ origin })).toBe(200);
});

it('the session cookie is limited to its path, HttpOnly and SameSite=Strict', async () => {
  const { address } = await startPage();
  const response = await fetch(address);
  const cookie = response.headers.get('set-cookie') ?? '';
  expect(cookie).toMatch(/^mediactl=[\w-]{43}; Path=\/b\/[\w-]{16}\/; HttpOnly; SameSite=Strict$/);
  expect(response.headers.get('location')).toBeNull();
});

it('no response contains the API key, and every response has a Content-Security-Policy', async () => {
  const { fetchPage } = await openSignedIn();
  for (const path of ['', 'assets', `assets/${assetUid}`, `assets/${assetUid}/watch`, 'folders', 'no']) {
    const response = await fetchPage(path);
    const { headers } = response;
    expect(await response.text(), path).not.toMatch(testKey);
    expect(headers.get('content-security-policy'), path).toMatch("default-src 'none'");
    expect(headers.get('content-security-policy'), path).toMatch('frame-ancestors');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('access-control-allow-origin')).toBeNull();
    expect(headers.get('referrer-policy')).toBe('no-referrer');
  }
});

it('the scripts and styles of the page have addresses with a hash, which a browser keeps, and they contain no secret', async () => {
  const { fetchPage, address } = await openSignedIn();
  const page = await (await fetchPage('')).text();
  const paths = page.match(/\/static\/[\w.-]+/g) ?? [];
  expect(paths.map((path) => path.replace(/-[\da-f]{16}/, ''))).toEqual(['/static/browse.css', '/static/browse.js']);
  for (const path of paths) {
    const response = await fetch(new URL(path, address));
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, expect.stringMatching('immutable')]);
    expect(await response.text()).not.toMatch(testKey);
  }
  expect((await fetch(new URL('/static/browse-0000000000000000.js', address))).status).toBe(404);
});

it('the asset list returns the assets of the service with the filters of the page', async () => {
  const { fetchPage, requests } = await openSignedIn();
  const response = await fetchPage('assets?search=quay&status=ready&ordering=name&limit=100');
  expect(await response.json()).toEqual({
    items: [
      {
        uid: assetUid,
        name: 'Quay',
        description: 'two\nlines',
        type: 'document',
        status: 'ready',
        means: 'ready',
        reason: null,
        tags: [],
        size: 10,
        duration: null,
        createdAt: '2026-03-01T11:00:00.000Z',
        thumbnail: expect.stringMatching(/^[\w-]{10}$/),
      },
    ],
    total: 1,
    leftOut: 0,
    isAll: true, // no workspaces are listed yet
    firstCreatedAt: '2026-03-01T11:00:00.000Z',
  });
  const { path, query, headers } = requests.at(-1) ?? {};
  expect(path).toBe(`${v1}/assets/`);
  expect(query).toEqual({ search: 'quay', status: 'ready', ordering: 'name', limit: '100', offset: '0' });
  expect(headers?.authorization).toBe(`Bearer ${testKey}`);
});

it('the server of the browse page refuses a list with a field that is not a filter', async () => {
  const { fetchPage, requests } = await openSignedIn();
  const requestsBefore = requests.length;
  const response = await fetchPage('assets?search=quay&has_captions=true');
  expect([response.status, (await response.json()).error.problem]).toEqual([
    400,
    'has_captions is not a filter of the asset list',
  ]);
  expect(requests.length).toBe(requestsBefore);
});

it('the browse server cancels a list request that the page aborts', async () => {
  let [isRequested, isCanceled] = [false, false];
  const url = await startServer((request, response) => {
    if (!request.url?.includes('type=video')) return respond(response, 200, { items: [], count: 0 });
    isRequested = true;
    response.on('close', () => {
      isCanceled = true;
    });
  });
  const { address } = await startBrowse({ url, key: testKey, workspace: workspaceUid });
  const { fetchPage } = await signIn(address);
  const abort = new AbortController();
  const listing = fetchPage('assets?type=video', { signal: abort.signal }).catch(() => undefined);
  await expect.poll(() => isRequested).toBe(true);
  abort.abort();
  await listing;
  await expect.poll(() => isCanceled).toBe(true);
});

it('the browse server caches a list for a moment, unless an edit or fresh=1 bypasses the cache', async () => {
  const { fetchPage, requests } = await openSignedIn();
  const countRequestsFor = async (...paths: string[]) => {
    const requestsBefore = requests.length;
    for (const path of paths) await (await fetchPage(path)).text();
    return requests.length - requestsBefore;
  };
  // The same list twice, which is requested from the service once.
  await expect.poll(() => countRequestsFor('assets?type=video', 'assets?type=video')).toBeLessThan(2);
  expect(await countRequestsFor('assets?type=video&fresh=1')).toBe(1);
  const body = JSON.stringify({ name: 'Other' });
  await fetchPage(`assets/${assetUid}`, { method: 'PATCH', body });
  expect(await countRequestsFor('assets?type=video')).toBe(1);
});

it('the browse server fetches thumbnails without the API key and serves only those whose bytes are an image', async () => {
  const thumbnails: Record<string, [Buffer | string, number]> = {
    png: [Buffer.from('89504e470d0a1a0a00', 'hex'), 200],
    html: ['<script>alert(1)</script>', 404],
    svg: ['<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', 404],
    text: ['\u001b[2J', 404],
    empty: ['', 404],
  };
  const credentials: unknown[] = [];
  const mediaServer = createServer(({ url = '', headers }, response) => {
    credentials.push(headers.authorization, headers.cookie, headers.referer);
    const [body] = thumbnails[url.slice(1)] ?? [''];
    response.writeHead(200, { 'content-type': 'image/png' }).end(body);
  });
  await new Promise<void>((resolve) => mediaServer.listen(0, '127.0.0.1', resolve));
  const { port } = mediaServer.address() as { port: number };
  try {
    for (const [name, [, status]] of Object.entries(thumbnails)) {
      const uid = randomUUID();
      const { fetchPage } = await openSignedIn(({ path }) =>
        path.endsWith(`/${uid}/`) ? { body: { uid, thumbnail_url: `http://127.0.0.1:${port}/${name}` } } : undefined,
      );
      const response = await fetchPage(`assets/${uid}/thumbnail`);
      expect(response.status, name).toBe(status);
      if (status === 200) expect(response.headers.get('content-type')).toBe('image/png');
    }
    expect(credentials.every((value) => value === undefined)).toBe(true);
  } finally {
    mediaServer.close();
  }
});

it('the browse server does not fetch preview frames from private addresses of other hosts', async () => {
  const neighborRequests: unknown[] = [];
  const neighbor = createServer(({ url }, response) => {
    neighborRequests.push(url);
    response.end('WEBVTT\n\n00:00.000 --> 00:01.000\nsheet.jpg#xywh=0,0,8,8\n');
  });
  await new Promise<void>((resolve) => neighbor.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void neighbor.close());
  const { port } = neighbor.address() as { port: number };
  const elsewhere = `http://localhost:${port}`;
  for (const cues of [`${elsewhere}/cues.vtt`, '/moved.vtt']) {
    const { fetchPage } = await openSignedIn(({ path }) => {
      if (path === '/moved.vtt') return { status: 302, headers: { location: `${elsewhere}/cues.vtt` } };
      return path.endsWith('/playback/info/')
        ? { body: { type: 'video', preview_sprites_url: { url: cues } } }
        : undefined;
    });
    const refused = await fetchPage(`assets/${assetUid}/frames`);
    expect([refused.ok, (await refused.json()).error?.problem]).toEqual([...[false, 'localhost is a private address']]);
  }
  expect(neighborRequests).toEqual([]);
});

it('the browse server does not fetch a thumbnail whose URL is not an HTTP URL', async () => {
  for (const thumbnail_url of ['file:///etc/passwd', 'javascript:alert(1)', 'data:image/png,x', 7])
    await openSignedIn(({ path }) =>
      path.endsWith(`/${assetUid}/`) ? { body: { uid: assetUid, thumbnail_url } } : undefined,
    ).then(async ({ fetchPage }) => {
      expect((await fetchPage(`assets/${assetUid}/thumbnail`)).status).toBe(404);
      expect(await (await fetchPage(`assets/${assetUid}`)).json()).toMatchObject({ thumbnail: null });
    });
});

it('the browse server returns valid cards for records whose fields have the wrong types', async () => {
  const wrongValues: unknown[] = [null, true, -1, [], {}, [[]], '<b>', 1e300, { toString: 1 }, '\u0000', ['a', {}]];
  const fields = ['name', 'description', 'type', 'status', 'duration', 'size', 'tags', 'created_at'];
  const items = wrongValues.flatMap((wrongValue) =>
    [...fields, 'thumbnail_url', 'parent', 'failure_reason'].map((field) => ({
      uid: randomUUID(),
      [field]: wrongValue,
    })),
  );
  const { fetchPage } = await openSignedIn(({ path }) =>
    path === `${v1}/assets/` ? { body: { items, count: {} } } : undefined,
  );
  const { items: cards, total } = await (await fetchPage('assets?limit=1000')).json();
  expect(total).toBeNull();
  expect(cards).toHaveLength(items.length);
  for (const card of cards) {
    for (const field of ['uid', 'name', 'description', 'type', 'status', 'means'])
      expect(card[field]).toBeTypeOf('string');
    for (const field of ['duration', 'size'])
      expect(card[field] === null || card[field] >= 0, JSON.stringify(card)).toBe(true);
    expect(card.tags === null || card.tags.every((tag: unknown) => typeof tag === 'string')).toBe(true);
  }
});

it('the browse server returns readable errors when the service refuses a request or sends a malformed response', async () => {
  const { fetchPage } = await openSignedIn(({ path, method }) => {
    if (method === 'DELETE') return { status: 403, body: { error: { message: 'not you' } } };
    if (path.endsWith('/gone/')) return { status: 401, body: {} };
    if (path.endsWith('/folders/')) return { body: 'no folders' };
    return undefined;
  });
  const refused = await fetchPage(`assets/${assetUid}`, { method: 'DELETE' });
  expect(refused.status).toBe(403);
  expect((await refused.json()).error).toMatchObject({
    problem: 'this API key cannot delete assets (403)',
    status: 403,
  });
  const lockedError = (await (await fetchPage('assets/gone')).json()).error;
  expect(lockedError.hint).toMatch(/sign in again/);
  const malformed = await fetchPage('folders');
  expect(malformed.status).toBe(502);
  expect((await malformed.json()).error.problem).toBeTypeOf('string');
});

it('an edit sends only the changed fields, and an edit that the service ignores is an error', async () => {
  const { fetchPage, requests } = await openSignedIn(({ method, path }) =>
    method === 'PATCH' && path.endsWith(`/${assetUid}/`)
      ? { body: { uid: assetUid, name: 'Other', parent: null } }
      : undefined,
  );
  const sendEdit = (body: unknown) => fetchPage(`assets/${assetUid}`, { method: 'PATCH', body: JSON.stringify(body) });
  expect((await sendEdit({ name: 'Other', status: 'ready', uid: 'x' })).status).toBe(200);
  expect(requests.findLast(({ method }) => method === 'PATCH')?.body).toEqual({ name: 'Other' });
  const ignored = await sendEdit({ name: 'Third' });
  expect(ignored.status).toBe(502);
  expect((await ignored.json()).error.problem).toMatch('did not apply name');
  expect((await fetchPage(`assets/${assetUid}`, { method: 'PATCH', body: 'x' })).ok).toBe(false);
});

it('an edit of a text that others have changed since it was shown is refused with 409 and the present text', async () => {
  const { fetchPage, requests } = await openSignedIn();
  const edit = (body: object) => fetchPage(`assets/${assetUid}`, { method: 'PATCH', body: JSON.stringify(body) });
  const shown = (await (await fetchPage(`assets/${assetUid}`)).json()) as { name: string };
  const refused = await edit({ name: 'Mine', from: { name: 'An earlier name' } });
  expect([refused.status, (await refused.json()).error]).toEqual([
    409,
    expect.objectContaining({ problem: 'the name was changed meanwhile', present: shown.name }),
  ]);
  expect(requests.filter(({ method }) => method === 'PATCH')).toEqual([]);
  expect((await edit({ name: 'Mine', from: { name: shown.name } })).status).toBe(200);
});

it('the browse server refuses a tag edit if the service does not return the tags of the asset', async () => {
  const { fetchPage, requests } = await openSignedIn(({ path }) =>
    path.endsWith(`/${assetUid}/`) ? { body: { uid: assetUid, name: 'Quay' } } : undefined,
  );
  const body = JSON.stringify({ tags: { add: ['sea'], remove: [] } });
  const refused = await fetchPage(`assets/${assetUid}`, { method: 'PATCH', body });
  expect((await refused.json()).error.problem).toBe(`the service does not show the tags of asset ${assetUid}`);
  expect(requests.filter(({ method }) => method === 'PATCH')).toEqual([]);
});

it('the browse server refuses a new tag that is no slug, and a filter of two tags', async () => {
  const { fetchPage, requests } = await openSignedIn();
  const body = JSON.stringify({ tags: { add: ['night', 'Summer'], remove: ['Sea Side'] } });
  const refused = await fetchPage(`assets/${assetUid}`, { method: 'PATCH', body });
  expect([refused.status, (await refused.json()).error.problem]).toEqual([
    400,
    expect.stringMatching(/^'Summer' is not a valid tag: .*; try summer$/),
  ]);
  expect(requests.filter(({ method }) => method === 'PATCH')).toEqual([]);
  const filtered = await fetchPage('assets?tag=spring,teaser');
  expect([filtered.status, (await filtered.json()).error.problem]).toEqual([
    400,
    'a list cannot be filtered by several tags: spring,teaser',
  ]);
});

it('browse fails if the port of --port is not available', async () => {
  const { origin } = await startPage();
  const { port } = new URL(origin);
  for (const taken of [port, '99999'])
    await expect(startPage(undefined, ['--port', taken])).rejects.toThrow(`port ${taken} is not available`);
});

it('browse exits with 0 on SIGINT and leaves no file', async () => {
  const { child, finished } = await startPage();
  child.kill('SIGINT');
  expect(await finished).toMatchObject({ code: 0, stderr: '' });
});

it('the browse page starts with the search, filter and order of the command line', async () => {
  const { address } = await startPage(undefined, ['quay', '--status', 'ready', '--sort', 'name']);
  const html = await (await fetch(address)).text();
  expect(html).toMatch(/url=\/b\/[\w-]{16}\/\?search=quay&amp;status=ready&amp;ordering=name"/);
});

it('browse opens the browser with a file of mode 0600, and Enter prints another address', {
  tags: 'script',
}, async () => {
  const service = await startRecordingServer(createLibrary());
  const home = temporaryFolder();
  const fakeOpener = join(home, 'xdg-open');
  const openedFile = join(home, 'opened');
  writeFileSync(
    fakeOpener,
    `#!/bin/sh\nfile="\${1#file://}"\n(echo "$1"; stat -c %a "$file"; cat "$file") > ${openedFile}.part\nmv ${openedFile}.part ${openedFile}\n`,
    { mode: 0o755 },
  );
  const terminal = new Pty([...mediactlCommand, 'browse'], {
    ...environmentOf({ url: service.url, key: testKey, workspace: workspaceUid }, home),
    PATH: `${home}:${process.env.PATH}`,
    HOME: home,
  });
  onTestFinished(terminal.kill);
  const addresses = () => terminal.output.match(/http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{43}/g) ?? [];
  await expect.poll(() => existsSync(openedFile)).toBe(true);
  const [argument = '', mode, ...lines] = readFileSync(openedFile, 'utf8').split('\n');
  expect(argument).toMatch(/^file:\/\/.*\.html$/);
  expect(mode).toBe('600');
  const entry = /url=([^"]+)"/.exec(lines.join('\n'))?.[1] ?? '';
  const path = argument.slice('file://'.length);
  expect((await fetch(entry)).status).toBe(200);
  await expect.poll(() => existsSync(path)).toBe(false);
  expect(addresses()).toHaveLength(1);
  terminal.type('\n');
  await expect.poll(() => addresses().length).toBe(2);
  for (const address of addresses()) await signIn(address);
  terminal.type('\u0003'); // Ctrl-C
  await terminal.exited;
  expect(terminal.output).toMatch(/\^C\r?\n/); // the prompt of the shell begins on a new line
});

it('browse prints its address once if no program can open it', { tags: 'script' }, async () => {
  const service = await startRecordingServer(createLibrary());
  const terminal = new Pty(
    ['env', 'PATH=/nowhere', ...mediactlCommand, 'browse'],
    environmentOf({ url: service.url, key: testKey, workspace: workspaceUid }, temporaryFolder()),
  );
  onTestFinished(terminal.kill);
  await expect.poll(() => terminal.output).toContain('no program can open it');
  terminal.type('\u0003');
  await terminal.exited;
  expect(terminal.output.match(/token=/g)).toHaveLength(1);
});

it('Ctrl-C during an upload exits with 130 and says how to resume the upload', async () => {
  const service = await startSandbox();
  try {
    const { address, child, finished, environment } = await startBrowse(service, [...['--limit-rate', '100KiB']]);
    const { fetchPage } = await signIn(address);
    const body = new Uint8Array(4 * 1024 * 1024).fill(7);
    const query = `id=1&name=long.bin&below=&folder=&size=${body.length}`;
    const events = (await fetchPage('events')).body?.pipeThrough(new TextDecoderStream()).getReader();
    const sending = fetchPage(`uploads?${query}`, { method: 'POST', body }).catch(() => undefined);
    for (let received = ''; !received.includes('"state":"sending"'); ) received += (await events?.read())?.value ?? '';
    child.kill('SIGINT');
    const { code, stderr } = await finished;
    expect([code, stderr]).toEqual([130, expect.stringContaining('mediactl uploads resume --all')]);
    await sending;
    const listed = await mediactl(['uploads', 'ls', '--json'], environment).finished;
    expect(JSON.parse(listed.stdout)).toMatchObject([{ path: 'long.bin' }]);
  } finally {
    await service.end();
  }
});

it('the browse server rejects incomplete and empty files and removes path separators from file names', async () => {
  const service = await startSandbox();
  try {
    const { fetchPage, base, cookie } = await signIn((await startBrowse(service)).address);
    const events = (await fetchPage('events')).body?.pipeThrough(new TextDecoderStream()).getReader();
    const waitForState = async (state: string, { id }: { id: number }) => {
      for (let text = ''; ; ) {
        text += (await events?.read())?.value ?? '';
        const upload = text
          .split('\n')
          .filter((line) => line.startsWith('data: ') && line.endsWith('}}'))
          .map((line) => JSON.parse(line.slice('data: '.length)).upload)
          .find((upload) => upload.id === String(id) && upload.state === state);
        if (upload) return upload;
      }
    };
    const sendFile = ({ id, declaredBytes, name = 'a.bin' }: { id: number; declaredBytes: number; name?: string }) =>
      fetchPage(`uploads?id=${id}&name=${name}&below=./..//&folder=&size=${declaredBytes}`, {
        method: 'POST',
        body: declaredBytes === 0 ? '' : 'abc',
      });
    await sendFile({ id: 1, declaredBytes: 4 });
    expect((await waitForState('failed', { id: 1 })).problem).toBe('received 3 of 4 bytes from the page');
    // The page is reloaded or closed while it sends the file.
    const query = 'id=4&name=a.bin&below=&folder=&size=10';
    const abortedUpload = request(`${base}uploads?${query}`, {
      method: 'POST',
      headers: { cookie, origin: new URL(base).origin, 'content-length': 10 },
    });
    abortedUpload.on('error', () => {}).write('abc');
    await waitForState('taking', { id: 4 });
    abortedUpload.destroy();
    expect((await waitForState('failed', { id: 4 })).problem).toBe(
      'the page was closed before the whole file had arrived; drop the file again',
    );
    await sendFile({ id: 2, declaredBytes: 0 });
    expect((await waitForState('failed', { id: 2 })).problem).toBe('the file is empty');
    // File names cannot traverse directories.
    await sendFile({ id: 3, declaredBytes: 3, name: encodeURIComponent('../../etc/x') });
    await waitForState('uploaded', { id: 3 });
    const listed = await rawHttp(() => service).call('GET', '/assets/');
    expect((await listed.json()).items.map(({ name }: { name: string }) => name)).toEqual(['.. .. etc x']);
  } finally {
    await service.end();
  }
});

it('files of one dropped folder share the requests for the folder tree', async () => {
  const { fetchPage, requests } = await openSignedIn();
  const events = (await fetchPage('events')).body?.pipeThrough(new TextDecoderStream()).getReader();
  let received = '';
  for (const id of [1, 2, 3]) {
    const query = `id=${id}&name=${id}.bin&below=day%201&folder=${folderUid}&size=4`;
    await fetchPage(`uploads?${query}`, { method: 'POST', body: `byt${id}` });
    while (!received.includes(`"id":"${id}","name":"${id}.bin","state":"uploaded"`))
      received += (await events?.read())?.value ?? '';
  }
  const uploads = requests.filter(({ path, method }) => path === `${v1}/upload/` && method === 'POST');
  expect(uploads).toHaveLength(3);
  const folderTreeRequests = requests.filter(({ path, method }) => path.endsWith('/folders/') && method === 'GET');
  // One request for all files, and one to check the folder that was created.
  expect(folderTreeRequests).toHaveLength(2);
});

it('browse opens the view of a copied address and ignores its token', async () => {
  const copiedAddress = 'http://127.0.0.1:4999/b/AAAAAAAAAAAAAAAA/?search=quay+wall&asset=x1&token=stolen';
  const { address } = await startPage(undefined, [copiedAddress]);
  expect(new URL(address).searchParams.get('token')).toMatch(/^[\w-]{43}$/);
  expect(await (await fetch(address)).text()).toMatch(/url=\/b\/[\w-]{16}\/\?search=quay\+wall&amp;asset=x1"/);
});

it('browse rejects an address with a field that is not a filter, and names the field', async () => {
  const copiedAddress = 'http://127.0.0.1:4999/b/AAAAAAAAAAAAAAAA/?search=quay&has_captions=true';
  const { code, stderr } = await mediactl(
    ['browse', '--no-open', copiedAddress],
    environmentOf({ url: 'http://127.0.0.1:9', key: testKey, workspace: workspaceUid }),
  ).finished;
  expect([code, stderr]).toEqual([2, expect.stringContaining('has_captions is not a filter of the asset list')]);
});

it('the browse server requests playback info again if it was blocked or has expired', async () => {
  const infos = [
    { type: 'video', blocked: true },
    { type: 'video', source_url: { url: '/media/one.mp4', expires_at: '2020-01-01T00:00:00Z' } },
    { type: 'video', source_url: { url: '/media/two.mp4', expires_at: '2999-01-01T00:00:00Z' } },
  ];
  const { fetchPage } = await openSignedIn(({ path }) =>
    path.endsWith('/playback/info/') ? { body: infos.shift() } : undefined,
  );
  const fetchWatchPage = async () => (await fetchPage(`assets/${assetUid}/watch`)).text();
  expect(await fetchWatchPage()).not.toMatch('/media/one');
  expect(await fetchWatchPage()).toMatch('/media/one.mp4');
  expect(await fetchWatchPage()).toMatch('/media/two.mp4');
  expect(await fetchWatchPage()).toMatch('/media/two.mp4');
  expect(infos).toEqual([]);
});

it('a description is complete in the asset dialog and shortened in the list', async () => {
  const description = 'x'.repeat(30_000);
  const { fetchPage, requests } = await openSignedIn(({ path, method, body }) => {
    const record = { uid: assetUid, name: 'Quay', description };
    if (path === `${v1}/assets/`) return { body: { items: [record], count: 1 } };
    if (!path.endsWith(`/${assetUid}/`)) return undefined;
    return { body: method === 'PATCH' ? { ...record, ...(body as object) } : record };
  });
  const { items } = await (await fetchPage('assets')).json();
  expect(items[0].description.length).toBeLessThan(1000);
  const card = await (await fetchPage(`assets/${assetUid}`)).json();
  expect(card.description).toBe(description);
  const body = JSON.stringify({ description: `${description}!` });
  expect((await fetchPage(`assets/${assetUid}`, { method: 'PATCH', body })).status).toBe(200);
  expect(requests.at(-1)?.body).toEqual({ description: `${description}!` });
});

it('repeated requests for a missing thumbnail send no request with the API key', async () => {
  const { fetchPage, requests } = await openSignedIn(({ path, headers }) => {
    const record = { uid: assetUid, thumbnail_url: `http://${headers.host}/gone.jpg` };
    if (path === `${v1}/assets/`) return { body: { items: [record], count: 1 } };
    return path === '/gone.jpg' ? { status: 404 } : undefined;
  });
  await fetchPage('assets');
  for (let n = 0; n < 3; n++) expect((await fetchPage(`assets/${assetUid}/thumbnail`)).status).toBe(404);
  const requestsWithKey = requests.filter(({ headers }) => headers.authorization);
  expect(requestsWithKey.map(({ path }) => path)).toEqual([`${v1}/assets/`]);
});

it('a file that is dropped twice at once is uploaded once, and its request ends before the upload does', async () => {
  const service = await startSandbox({ strict: false });
  try {
    const { address } = await startBrowse(service, ['--limit-rate', '1MiB']);
    const { fetchPage } = await signIn(address);
    const body = new Uint8Array(3 * 1024 * 1024).fill(7);
    const sendFile = (id: number) =>
      fetchPage(`uploads?id=${id}&name=a.bin&below=&folder=&size=${body.length}`, { method: 'POST', body });
    const events = (await fetchPage('events')).body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await sendFile(1)).status).toBe(200);
    let received = '';
    const waitForEvent = async (words: string) => {
      while (!received.includes(words)) received += (await events?.read())?.value ?? '';
    };
    await waitForEvent('"state":"sending"');
    expect(received).not.toMatch('"state":"uploaded"');
    const secondRequest = sendFile(2);
    await waitForEvent('"id":"1","name":"a.bin","state":"uploaded"');
    expect((await secondRequest).status).toBe(200);
    await waitForEvent('"id":"2","name":"a.bin","state":"skipped"');
    const { items } = await (await rawHttp(() => service).call('GET', '/assets/')).json();
    expect(items).toHaveLength(1);
  } finally {
    await service.end();
  }
});

it('a dropped file is compared with the folder, so that what another machine uploaded is not sent again', async () => {
  const service = await startSandbox({ strict: false });
  try {
    const path = fixturePath('tone.mp3');
    const body = new Uint8Array(readFileSync(path));
    const api = rawHttp(() => service);
    const { uid } = await api.upload(path);
    const { address } = await startBrowse(service);
    const { fetchPage } = await signIn(address);
    const events = (await fetchPage('events')).body?.pipeThrough(new TextDecoderStream()).getReader();
    let received = '';
    const drop = async (id: number, name: string, outcome: string) => {
      await fetchPage(`uploads?id=${id}&name=${name}&below=&folder=&size=${body.length}`, { method: 'POST', body });
      while (!received.includes(`"id":"${id}","name":"${name}","state":"${outcome}"`))
        received += (await events?.read())?.value ?? '';
    };
    await drop(1, 'tone.mp3', 'same_name_and_size');
    await drop(2, 'other.mp3', 'uploaded');
    const { items } = await (await api.call('GET', '/assets/')).json();
    expect(items.map(({ name }: { name: string }) => name).sort()).toEqual(['other.mp3', 'tone.mp3']);
    expect(received).toContain(uid);
  } finally {
    await service.end();
  }
});

it('the script of the page has at most 90 kB, and that of the watch page at most 25 kB', () => {
  const sizeOf = (name: string) => readFileSync(new URL(`../../dist/${name}`, import.meta.url)).length;
  expect(sizeOf('browse.js')).toBeLessThanOrEqual(90_000);
  expect(sizeOf('player.js')).toBeLessThanOrEqual(25_000);
});

it('the page moves no asset that others have moved since it was listed, until it has listed it again', async () => {
  const sandbox = await startSandbox({ strict: false, seed: 5 });
  onTestFinished(() => sandbox.end());
  const cli = new Cli(environmentOf(sandbox));
  const [theirs, mine] = await Promise.all(
    ['/Theirs', '/Mine'].map(async (path) => ((await cli.json(['folders', 'create', path])) as { uid: string }).uid),
  );
  const { fetchPage } = await signIn((await startBrowse(sandbox)).address);
  const list = async () => (await (await fetchPage('assets?limit=5&fresh=1')).json()).items as { uid: string }[];
  const { uid = '' } = (await list())[2] ?? {};
  await cli.json(['mv', uid, '/Theirs']);
  const move = async () => {
    const body = JSON.stringify({ uids: [uid], folder: mine });
    const { status } = await fetchPage('move', { method: 'POST', body });
    const [asset] = (await cli.json(['get', uid])) as { parent: string }[];
    return [status, asset?.parent];
  };
  expect(await move()).toEqual([409, theirs]);
  await list();
  expect(await move()).toEqual([200, mine]);
});

describe('the page and other workspaces', () => {
  /** Starts the page of a sandbox in its workspace Main. @returns also the uids of an asset in Main and one in Archive */
  async function openPageOfMain(strict: boolean, args: string[] = []) {
    const sandbox = await startSandbox({ strict });
    onTestFinished(() => sandbox.end());
    const { call, createUploadOfSize } = rawHttp(() => sandbox);
    const { items } = await (await call('GET', '/workspaces/')).json();
    const archive = items.find(({ uid }: { uid: string }) => uid !== sandbox.workspace).uid;
    const [own, foreign] = await Promise.all(
      [sandbox.workspace, archive].map(async (workspace_uid) => {
        const created = await createUploadOfSize(5, { asset_name: 'clip.mp4', workspace_uid });
        return (await created.json()).asset_uid as string;
      }),
    );
    const service = { url: sandbox.url, key: sandbox.key, workspace: sandbox.workspace };
    const { fetchPage } = await signIn((await startBrowse(service, args)).address);
    const change = async (uid: string) => {
      const renamed = await fetchPage(`assets/${uid}`, { method: 'PATCH', body: JSON.stringify({ name: 'other' }) });
      const trashed = await fetchPage(`assets/${uid}`, { method: 'DELETE' });
      return [renamed.status, trashed.status, (await call('GET', `/assets/${uid}/`)).status];
    };
    return { own: own as string, foreign: foreign as string, change };
  }

  it('the page changes an asset of the workspace in use, and none of another', async () => {
    const { own, foreign, change } = await openPageOfMain(false);
    expect(await change(foreign)).toEqual([400, 400, 200]);
    expect(await change(own)).toEqual([200, 200, 404]);
  });

  it('the page changes no asset of which the service does not show the workspace, unless --any-workspace is given', async () => {
    const refusing = await openPageOfMain(true);
    expect(await refusing.change(refusing.own)).toEqual([400, 400, 200]);
    const accepting = await openPageOfMain(true, ['--any-workspace']);
    expect(await accepting.change(accepting.own)).toEqual([200, 200, 404]);
  });
});
