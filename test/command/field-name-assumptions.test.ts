import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.ts';
import { assetUid, createLibrary, testKey, workspaceUid } from '../support/fake-library.ts';
import { FakeService } from '../support/fake-service.ts';
import { createProfileCli, startProfileCli } from '../support/profile-cli.ts';
import { type Responder, startRecordingServer } from '../support/recording-server.ts';

/*
 * Services with other field names where the specification does not show any. Each works, or fails with the
 * override in the hint; none fails silently.
 */

const [top, below, made] = [1, 2, 3].map((n) => `00000000-0000-4000-8000-00000000000${n}`);

/** Creates a folder service with the field names of `names`; it ignores unknown fields of a body. */
function folderService(names: {
  name: string;
  parent: string;
  children: string;
  asObject?: boolean;
  /** Omits the parent from records. */
  isHidden?: boolean;
}) {
  type Row = { uid: string; name: string; parent: string | null };
  const rows: Row[] = [
    { uid: top as string, name: 'Top', parent: null },
    { uid: below as string, name: 'Below', parent: top as string },
  ];
  const toRecord = (row: Row): Record<string, unknown> => ({
    uid: row.uid,
    [names.name]: row.name,
    ...(!names.isHidden && {
      [names.parent]: names.asObject && row.parent ? { uid: row.parent } : row.parent,
    }),
    [names.children]: rows.filter(({ parent }) => parent === row.uid).map(toRecord),
  });
  const answers: Responder = ({ method, path, body }) => {
    const asked = (body ?? {}) as Record<string, string | null | undefined>;
    const { [names.name]: name, [names.parent]: parent } = asked;
    if (method === 'GET') return { body: rows.filter((row) => row.parent === null).map(toRecord) };
    if (method === 'POST') {
      rows.push({ uid: made as string, name: name ?? 'unnamed', parent: parent ?? null });
      return { status: 201, body: toRecord(rows.at(-1) as Row) };
    }
    const row = rows.find(({ uid }) => path.includes(uid)) as Row;
    if (name) row.name = name;
    if (parent !== undefined) row.parent = parent;
    return { body: toRecord(row) };
  };
  return answers;
}

describe('A02, A03: folders', () => {
  it.each([
    { name: 'name', parent: 'parent', children: 'subfolders' },
    { name: 'name', parent: 'parent_folder_uid', children: 'folders', asObject: true },
    { name: 'name', parent: 'parent_uid', children: 'children', asObject: true },
  ])('%j: the names seen in the tree are the names written', async (names) => {
    const { cli, writes } = await startProfileCli(folderService(names));
    const path = (await cli.json(['folders', 'create', '/Top/Below/New'])).path;
    expect(path).toBe('/Top/Below/New');
    expect(writes()[0]?.body).toEqual({ name: 'New', [names.parent]: below });
    expect((await cli.json(['folders', 'mv', '/Top/Below', '/'])).path).toBe('/Below');
    expect(await cli.json(['folders', 'ls', '-r', '--fields', 'path'])).toEqual([
      { path: '/Top' },
      { path: '/Below' },
      { path: '/Below/New' },
    ]);
  });

  it('a parent under a name that nobody knows: not in silence, and mended by an override', async () => {
    const names = { name: 'name', parent: 'inside', children: 'children', isHidden: true };
    const { cli, writes } = await startProfileCli(folderService(names));
    const failed = await cli.run(['folders', 'create', '/Top/New']);
    expect(failed.code).toBe(6);
    expect(failed.stderr).toContain(`did not apply parent to the new folder /New (${made})`);
    expect(failed.stderr).toContain('mediactl config set field_names.folder_parent NAME');
    expect(writes()).toHaveLength(1);
    const moved = await cli.run(['folders', 'mv', '/Top/Below', '/']);
    expect([moved.code, moved.stdout]).toEqual([6, '']);
    expect((await cli.run(['config', 'set', 'field_names.folder_parent', 'inside'])).code).toBe(0);
    expect((await cli.json(['folders', 'mv', '/Top/Below', '/'])).path).toBe('/Below');
  });

  it('a name that is called otherwise', async () => {
    const names = { name: 'title', parent: 'parent_uid', children: 'children' };
    const { cli } = await startProfileCli(folderService(names), {});
    const failed = await cli.run(['folders', 'create', '/New']);
    expect(failed.code).toBe(6);
    expect(failed.stderr).toContain('mediactl config set field_names.folder_name NAME');
    await cli.run(['config', 'set', 'field_names.folder_name', 'title']);
    expect((await cli.json(['folders', 'rename', '/Top', 'Other'])).path).toBe('/Other');
  });
});

describe('A02: folders like those on disk', () => {
  async function world(options: Parameters<typeof FakeService.start>[0]) {
    const service = await FakeService.start(options);
    const { cli } = createProfileCli(service.url);
    const directory = join(cli.home, 'shots');
    for (const path of ['x/y/z/1.bin', 'x/2.bin', 'q/r/3.bin', 'q/4.bin']) {
      mkdirSync(join(directory, path, '..'), { recursive: true });
      writeFileSync(join(directory, path), path);
    }
    const upload = (...how: string[]) => cli.run(['upload', ...how, '--folder', '/Top', '--json']);
    return { service, cli, directory, upload };
  }
  const everywhere = ['/Top/q/4.bin', '/Top/q/r/3.bin', '/Top/x/2.bin', '/Top/x/y/z/1.bin'];

  it.each([
    ['and no record shows it', { taken: 'parent_folder' }],
    ['and records show another', { taken: 'parent_folder_uid', shown: 'parent_uid' }],
    ['and records show it as null', { taken: 'above', shown: 'parent_uid' }],
  ])('a parent under another name %s: the first in the wrong place ends the run', async (_, parentFields) => {
    const { service, cli, directory, upload } = await world({ parentFields });
    for (const how of [
      [directory, '--create-folders'],
      ['--sync', directory],
    ]) {
      const before = service.folders.length;
      const { code, stderr } = await upload(...how);
      const error = JSON.parse(stderr.trim().split('\n').at(-1) as string).error;
      const wrong = service.folders.at(-1);
      expect([code, error.code, error.exit_code]).toEqual([6, 'write_ignored', 6]);
      expect(error.message).toBe(`the service did not apply parent to the new folder /${wrong?.name} (${wrong?.uid})`);
      expect(error.hint).toContain('mediactl config set field_names.folder_parent NAME');
      // One correct folder at the top level, and one misplaced folder.
      expect(service.folders.length - before).toBe(before === 0 ? 2 : 1);
      expect(service.paths).toEqual([]);
      expect(service.assets.size).toBe(0);
    }
    await cli.run(['config', 'set', 'field_names.folder_parent', parentFields.taken]);
    expect((await upload(directory, '--create-folders')).code).toBe(0);
    expect(service.paths).toEqual(everywhere);
  });

  it('an answer that shows another parent than was sent is not believed', async () => {
    const { service, directory, upload } = await world({
      parentFields: { taken: 'parent_uid', shown: 'parent_uid' },
      onNewFolder: (folder) => {
        if (folder.name === 'z') folder.parent = undefined;
      },
    });
    const { code, stderr } = await upload(directory, '--create-folders');
    expect([code, stderr]).toEqual([6, expect.stringContaining('to the new folder /z (')]);
    expect(service.paths).not.toContain('/z/1.bin');
  });
});

describe('checks of a write', () => {
  const update = async (args: string[], record: object) => {
    const { cli } = await startProfileCli(() => ({ body: { uid: top, ...record } }));
    const { code, stderr } = await cli.run(['assets', 'update', top as string, ...args]);
    return [code, /cannot verify the change/.test(stderr)];
  };

  it.each([
    ['an object in another order', ['--set-json', 'a={"x":1,"y":2}'], { a: { y: 2, x: 1 } }, 0],
    ['null that is null', ['--set-json', 'a=null'], { a: null }, 0],
    ['another value', ['--set', 'a=new'], { a: 'old' }, 6],
    ['a named field that is not there', ['--description', 'new'], {}, 6],
    ['a guessed field that is not there', ['--set-tags', 'new'], {}, 6],
  ])('%s', async (_what, args, record, code) => {
    expect(await update(args, record)).toEqual([code, false]);
  });

  it.each([
    ['null', ['--set-json', 'a=null']],
    ['an empty text', ['--set', 'a=']],
    ['a text', ['--set', 'a=b']],
  ])('%s of a field that no record shows cannot be told: a warning', async (_what, args) => {
    expect(await update(args, {})).toEqual([0, true]);
  });
});

describe('a 422 that names the field it misses', () => {
  it.each([
    [{ error: { code: 'validation_error', message: 'Field required' } }],
    [{ error: { code: 'x', message: 'Field required', details: { reason: 'y', limit: 3 } } }],
    [{ code: 'required', message: 'Field required' }],
  ])('%j names none: no hint that would teach a wrong name', async (body) => {
    const { cli, kept } = await startProfileCli(({ method }) =>
      method === 'GET' ? { body: { enabled: true, domains: [] } } : { status: 422, body },
    );
    for (const args of [
      ['embed', 'domains', 'add', 'a.example'],
      ['embed', 'unrestrict'],
    ]) {
      const { code, stderr } = await cli.run(args);
      expect([code, stderr]).toEqual([6, expect.stringContaining('Field required')]);
      expect(stderr).not.toContain('config set');
    }
    expect(kept()).toEqual({});
  });

  it.each([
    [{ detail: [{ loc: ['body', 'payload', 'fqdn'], msg: 'Field required' }] }],
    [{ error: { message: 'invalid', details: { fqdn: ['This field is required.'] } } }],
  ])('%j: the hint is the override', async (body) => {
    const { cli } = await startProfileCli(({ method }) =>
      method === 'GET' ? { body: { enabled: true, domains: [] } } : { status: 422, body },
    );
    const { code, stderr } = await cli.run(['embed', 'domains', 'add', 'a.example']);
    expect(code).toBe(6);
    expect(stderr).toContain('try:   mediactl config set field_names.embed_domain fqdn');
  });

  it('of a folder: name or parent', async () => {
    const { cli } = await startProfileCli(({ method }) =>
      method === 'GET'
        ? { body: [] }
        : { status: 422, body: { detail: [{ loc: ['body', 'title'], msg: 'Field required' }] } },
    );
    const { stderr } = await cli.run(['folders', 'create', '/New']);
    expect(stderr).toContain('try:   mediactl config set field_names.folder_name title');
  });
});

describe('A08: editable fields', () => {
  const asset = { uid: top, name: 'Quay', labels: ['a'] };
  const patched: Responder = ({ method, body }) => {
    const { labels = asset.labels, name = asset.name } = (body ?? {}) as Partial<typeof asset>;
    return { body: method === 'PATCH' ? { ...asset, labels, name } : asset };
  };

  it('a field that is passed over is an error that names it', async () => {
    const { cli } = await startProfileCli(patched);
    const args = ['assets', 'update', top as string, '--set-tags', 'b'];
    const { code, stderr, stdout } = await cli.run(args);
    expect([code, stdout]).toEqual([6, '']);
    expect(stderr).toContain('did not apply tags to the asset');
    expect(stderr).toContain('field_names.asset_tags NAME');
  });

  it.each([
    [['--set-json', 'labels=["b","c"]'], { labels: ['b', 'c'] }],
    [['--set', 'name=New'], { name: 'New' }],
    [['--body', '-'], { name: 'From stdin' }],
  ])('%j sends it as it is', async (args, body) => {
    const { cli, writes } = await startProfileCli(patched);
    const stdin = JSON.stringify({ name: 'From stdin' });
    const { code } = await cli.run(['assets', 'update', top as string, ...args], { stdin });
    expect([code, writes()[0]?.body]).toEqual([0, body]);
  });

  it('field_names.asset_tags says what tags are called', async () => {
    const { cli, writes } = await startProfileCli(patched, { asset_tags: 'labels' });
    expect((await cli.run(['assets', 'update', top as string, '--set-tags', 'b'])).code).toBe(0);
    expect(writes()[0]?.body).toEqual({ labels: ['b'] });
  });

  it('tags written under one name and shown under another are looked for where they are', async () => {
    let slugs = ['day'];
    const { cli, writes } = await startProfileCli(
      ({ method, body }) => {
        if (method === 'PATCH') slugs = (body as { tag_slugs: string[] }).tag_slugs;
        return { body: { uid: top, tags: slugs.map((slug) => ({ slug, name: slug })) } };
      },
      { asset_tags: 'tag_slugs' },
    );
    const args = ['assets', 'update', top as string, '--add-tag', 'night'];
    const { code, stderr } = await cli.run(args);
    expect([code, stderr]).toEqual([0, '']);
    expect(writes()[0]?.body).toEqual({ tag_slugs: ['day', 'night'] });
  });

  it('tags as objects, in another order, are the tags that were asked for', async () => {
    const { cli } = await startProfileCli(({ method, body }) => {
      const { tags = [] } = (body ?? {}) as { tags?: string[] };
      const shown = tags.map((slug, id) => ({ id, slug })).reverse();
      return { body: { uid: top, tags: method === 'PATCH' ? shown : [] } };
    });
    const args = ['assets', 'update', top as string, '--set-tags', 'a,b'];
    expect((await cli.run(args)).code).toBe(0);
  });
});

describe('A08: tags whose slugs are shown in some form', () => {
  const [a, b, c] = ['a', 'b', 'c'];
  const each = (shown: (slug: string, id: number) => unknown) => [a, b, c].map(shown as never);
  const update = async (tags: unknown, ...change: string[]) => {
    const { cli, writes } = await startProfileCli(({ method, body }) => ({
      body: { uid: top, ...(method === 'PATCH' ? (body as object) : { tags }) },
    }));
    const { code, stderr } = await cli.run(['assets', 'update', top as string, ...change]);
    return { code, stderr, sent: writes().map(({ body }) => (body as { tags: string[] }).tags) };
  };

  it.each([
    ['texts', each((slug) => slug)],
    ['{slug}', each((slug) => ({ slug }))],
    ['{id, slug, name}', each((slug, id) => ({ id, slug, name: `The ${slug}` }))],
    ['{name}', each((name) => ({ name }))],
    ['{id, name}', each((name, id) => ({ id, name }))],
    ['texts and {slug}', [a, { slug: b }, c]],
  ])('%s: the others stay', async (_, tags) => {
    const added = await update(tags, '--add-tag', 'zz');
    expect([added.code, added.sent]).toEqual([0, [['a', 'b', 'c', 'zz']]]);
    expect((await update(tags, '--remove-tag', 'b')).sent).toEqual([['a', 'c']]);
  });

  it.each([
    ['no field', undefined],
    ['one text', 'a,b,c'],
    ['an object', { a: true, b: true }],
    ['{id, title}', each((title, id) => ({ id, title }))],
    ['{tag}', each((tag) => ({ tag }))],
    ['{label}', each((label) => ({ label }))],
    ['{value}', each((value) => ({ value }))],
    ['{tag_slug}', each((tag_slug) => ({ tag_slug }))],
    ['{tag: {slug}}', each((slug) => ({ tag: { slug } }))],
    ['ids', [1, 2, 3]],
    ['lists', each((slug) => [slug])],
    ['{name} that is no slug', [{ name: 'Sea Side' }]],
    ['one of three that cannot be read', [a, { title: b }, c]],
    ['null among them', [a, null, c]],
  ])('%s: the change stops before a request', async (_, tags) => {
    for (const change of [
      ['--add-tag', 'zz'],
      ['--remove-tag', 'b'],
    ]) {
      const { code, stderr, sent } = await update(tags, ...change);
      expect([code, sent]).toEqual([6, []]);
      expect(stderr).toContain('does not show the tags of asset');
      expect(stderr).toContain('--set-tags');
    }
  });

  it('tags that are set under another name are read under that name', async () => {
    const { cli, writes } = await startProfileCli(
      ({ body }) => ({ body: { uid: top, tags: ['other'], labels: ['a'], ...(body as object) } }),
      { asset_tags: 'labels' },
    );
    await cli.run(['assets', 'update', top as string, '--add-tag', 'b']);
    expect(writes()[0]?.body).toEqual({ labels: ['a', 'b'] });
  });
});

describe('A08: a tag is a slug', () => {
  const service = async () => {
    const { cli, requests } = await startProfileCli(() => ({ body: { uid: top, tags: [] } }));
    return { cli, requests };
  };

  it.each([
    ['--add-tag', '日本語', /slug, such as/],
    ['--add-tag', 'مشروع', /slug, such as/],
    ['--add-tag', 'sea 日本語', /slug, such as/],
    ['--add-tag', '!?', /slug, such as/],
    ['--add-tag', '', /slug, such as/],
    ['--add-tag', 'Äpfel & Birnen', /try: {3}apfel-birnen/],
    ['--set-tags', 'sea,日本語', /'日本語'[\s\S]*slug, such as/],
    ['--set-tags', 'Große Straße', /try: {3}grosse-strasse/],
  ])('%s %s is refused before a request', async (option, tag, words) => {
    const { cli, requests } = await service();
    const { code, stderr } = await cli.run(['assets', 'update', top as string, option, tag]);
    expect([code, requests.length]).toEqual([2, 0]);
    expect(stderr).toMatch(words);
  });

  it('of a manifest: its line is named', async () => {
    const { cli, requests } = await service();
    const path = join(cli.home, 'a.bin');
    writeFileSync(path, 'a');
    const stdin = `path,tags\n${path},"sea;日本語"\n`;
    const { code, stderr } = await cli.run(['upload', '--manifest', '-'], { stdin });
    expect([code, requests.length]).toEqual([2, 0]);
    expect(stderr).toContain('line 2 of the manifest is invalid');
    expect(stderr).toContain("'日本語'");
  });

  it.each([
    [
      ['--set-tags', 'a,b,a'],
      ['a', 'b'],
    ],
    [['--add-tag', 'a', '--add-tag', 'a'], ['a']],
    [['--add-tag', 'In_House-2'], ['In_House-2']],
  ])('%j: each is sent once, as it was typed', async (args, tags) => {
    const { cli, writes } = await startProfileCli(({ body }) => ({
      body: { uid: top, tags: [], ...(body as object) },
    }));
    expect((await cli.run(['assets', 'update', top as string, ...args])).code).toBe(0);
    expect(writes()[0]?.body).toEqual({ tags });
  });
});

describe('A11: the words of a status', () => {
  it.each([
    ['Failed', 12],
    ['CANCELLED', 12],
    ['canceled', 12],
    ['quarantined', 12],
    ['failed_transcode', 12],
    ['upload_failed', 12],
    ['READY', 0],
    ['unfailed', 8],
  ])('%s ends a wait with exit %d', async (status, code) => {
    const { cli } = await startProfileCli(({ query }) => {
      const asset = { uid: top, status };
      return { body: query.limit === undefined ? asset : { items: [asset], count: 1 } };
    });
    const args = ['assets', 'wait', top as string, '--timeout', '1s'];
    expect((await cli.run(args)).code).toBe(code);
  });
});

it('an upload session for another number of bytes: an error before a byte is sent', async () => {
  const answers = createLibrary();
  const { cli, writes } = await startProfileCli((request) => {
    const { body, ...response } = answers(request) ?? {};
    return { ...response, body: request.method === 'POST' ? { ...(body as object), total_size: 4 } : body };
  });
  const path = join(cli.home, 'five.bin');
  writeFileSync(path, '12345');
  const { code, stderr } = await cli.run(['upload', path]);
  expect([code, stderr]).toEqual([13, expect.stringContaining('the file has 5 bytes, the session 4')]);
  expect(writes().map(({ method }) => method)).toEqual(['POST']);
});

describe('A01: the page envelope', () => {
  const items = Array.from({ length: 250 }, (_, n) => ({
    uid: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  }));
  const page = (query: Record<string, string>) =>
    items.slice(Number(query.offset), Number(query.offset) + Number(query.limit));

  it.each([
    ['total_count', (query: Record<string, string>) => ({ items: page(query), total_count: 250 })],
    ['no total', (query: Record<string, string>) => ({ items: page(query) })],
    ['next links', (query: Record<string, string>) => ({ items: page(query), next: '/x', previous: null })],
    ['another name', (query: Record<string, string>) => ({ items: page(query), n: 250 })],
  ])('%s: all are listed', async (_what, envelope) => {
    const { cli } = await startProfileCli(({ query }) => ({ body: envelope(query) }));
    expect(await cli.json(['assets', 'ls', '--all'])).toEqual(items);
  });

  it.each([
    ['the length of the page', (length: number) => length],
    ['too few', () => 120],
    ['too many', () => 1000],
    ['none', () => 0],
  ])('a count that is %s: all are listed all the same', async (_what, count) => {
    const { cli } = await startProfileCli(({ query }) => {
      const there = page(query);
      return { body: { items: there, count: count(there.length) } };
    });
    expect(await cli.json(['assets', 'ls', '--all'])).toEqual(items);
    expect((await cli.run(['assets', 'ls', '--limit', '150', '-q'])).stdout.trim().split('\n')).toHaveLength(150);
    expect((await cli.run(['assets', 'ls', '--count'])).stdout).toBe('250\n');
  });

  it('--count without a total says so, and field_names.page_total mends it', async () => {
    const { cli } = await startProfileCli(({ query }) => ({
      body: { items: page(query), n: 250 },
    }));
    expect((await cli.run(['assets', 'ls', '--count'])).code).toBe(10);
    await cli.run(['config', 'set', 'field_names.page_total', 'n']);
    expect((await cli.run(['assets', 'ls', '--count'])).stdout).toBe('250\n');
  });

  it('no envelope that is known: an error, not an empty list', async () => {
    const { cli } = await startProfileCli(() => ({ body: { results: items } }));
    const { code, stdout } = await cli.run(['assets', 'ls', '--json']);
    expect(code).toBe(10);
    expect(stdout).toBe('');
  });
});

describe('A13: errors', () => {
  it.each([
    ['a string', { error: 'no such tag' }, 'no such tag'],
    ['detail', { detail: 'no such tag' }, 'no such tag'],
    [
      'fields with what they may be',
      { detail: [{ loc: ['query', 'status'], msg: 'wrong', ctx: { expected: "'a' or 'b'" } }] },
      "status: wrong (expected 'a' or 'b')",
    ],
  ])('%s', async (_what, body, words) => {
    const { cli } = await startProfileCli(() => ({ status: 422, body }));
    const { code, stderr } = await cli.run(['assets', 'ls', '--status', 'x']);
    expect(code).toBe(6);
    expect(stderr).toContain(words);
  });

  it('HTML of a proxy', async () => {
    const { cli } = await startProfileCli(() => ({
      status: 403,
      body: '<html><title>Blocked by policy</title></html>',
      headers: { 'content-type': 'text/html' },
    }));
    const { code, stderr } = await cli.run(['folders', 'tree']);
    expect(code).toBe(5);
    expect(stderr).toContain('Blocked by policy');
  });
});

it('MEDIACTL_FIELD_NAMES overrides field names without a profile, and rejects an unknown key', async () => {
  const folderUid = '00000000-0000-4000-8000-0000000000f1';
  const { url, requests } = await startRecordingServer(({ method, path }) =>
    path.endsWith('/folders/')
      ? { body: [{ uid: folderUid, name: 'In', children: [] }] }
      : { body: { uid: assetUid, name: 'a', container: method === 'PATCH' ? folderUid : null } },
  );
  const cli = new Cli({ MEDIACTL_API_KEY: testKey, MEDIACTL_BASE_URL: url, MEDIACTL_WORKSPACE: workspaceUid });
  const move = (names: string) => cli.run(['mv', assetUid, '/In'], { environment: { MEDIACTL_FIELD_NAMES: names } });
  expect((await move('asset_parent=container')).code).toBe(0);
  expect(requests.find(({ method }) => method === 'PATCH')?.body).toEqual({ container: folderUid });
  for (const wrong of ['parent=x', 'asset_parent', 'asset_parent=a b']) expect((await move(wrong)).code).toBe(2);
});
