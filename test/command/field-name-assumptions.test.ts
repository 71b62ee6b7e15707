import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/shared/clock.ts';
import { Cli } from '../support/cli.ts';
import { acceleratedClockInProcess } from '../support/clock.ts';
import { assetUid, createLibrary, testKey, workspaceUid } from '../support/fake-library.ts';
import { FakeService, handleThen } from '../support/fake-service.ts';
import { createProfileCli, startProfileCli } from '../support/profile-cli.ts';
import { type Responder, startRecordingServer } from '../support/recording-server.ts';

/*
 * Services with other field names where the specification does not show any. Each works, or fails with the
 * override in the hint; none fails silently.
 */

const clock = acceleratedClockInProcess();
/** A clock by which what was read before a wait is not old. */
const onlySleepsFaster = { ...systemClock, sleep: clock.sleep };
const [firstUid, childUid, createdUid] = [1, 2, 3].map((n) => `00000000-0000-4000-8000-00000000000${n}`);

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
    { uid: firstUid as string, name: 'Top', parent: null },
    { uid: childUid as string, name: 'Below', parent: firstUid as string },
  ];
  const toRecord = (row: Row): Record<string, unknown> => ({
    uid: row.uid,
    [names.name]: row.name,
    ...(!names.isHidden && { [names.parent]: names.asObject && row.parent ? { uid: row.parent } : row.parent }),
    [names.children]: rows.filter(({ parent }) => parent === row.uid).map(toRecord),
  });
  const respond: Responder = ({ method, path, body }) => {
    const fields = (body ?? {}) as Record<string, string | null | undefined>;
    const { [names.name]: name, [names.parent]: parent } = fields;
    if (method === 'GET') return { body: rows.filter((row) => row.parent === null).map(toRecord) };
    if (method === 'POST') {
      rows.push({ uid: createdUid as string, name: name ?? 'unnamed', parent: parent ?? null });
      return { status: 201, body: toRecord(rows.at(-1) as Row) };
    }
    const row = rows.find(({ uid }) => path.includes(uid)) as Row;
    if (name) row.name = name;
    if (parent !== undefined) row.parent = parent;
    return { body: toRecord(row) };
  };
  return respond;
}

describe('folder fields (A02, A03)', () => {
  it.each([
    { name: 'name', parent: 'parent', children: 'subfolders' },
    { name: 'name', parent: 'parent_folder_uid', children: 'folders', asObject: true },
    { name: 'name', parent: 'parent_uid', children: 'children', asObject: true },
  ])('folders create and mv write the field names that the folder tree shows, such as $parent', async (names) => {
    const { cli, writeRequests } = await startProfileCli(folderService(names));
    const path = (await cli.json(['folders', 'create', '/Top/Below/New'])).path;
    expect(path).toBe('/Top/Below/New');
    expect(writeRequests()[0]?.body).toEqual({ name: 'New', [names.parent]: childUid });
    expect((await cli.json(['folders', 'mv', '/Top/Below', '/'])).path).toBe('/Below');
    expect(await cli.json(['folders', 'ls', '-r', '--fields', 'path'])).toEqual([
      { path: '/Top' },
      { path: '/Below' },
      { path: '/Below/New' },
    ]);
  });

  it('folders create exits with 6 for an unknown parent field, and works with field_names.folder_parent', async () => {
    const names = { name: 'name', parent: 'inside', children: 'children', isHidden: true };
    const { cli, writeRequests } = await startProfileCli(folderService(names));
    const failed = await cli.run(['folders', 'create', '/Top/New'], { clock });
    expect(failed.code).toBe(6);
    expect(failed.stderr).toContain(`did not apply parent to the new folder /New (${createdUid})`);
    expect(failed.stderr).toContain('mediactl config set field_names.folder_parent NAME');
    expect(writeRequests()).toHaveLength(1);
    const moved = await cli.run(['folders', 'mv', '/Top/Below', '/'], { clock });
    expect([moved.code, moved.stdout]).toEqual([6, '']);
    expect((await cli.run(['config', 'set', 'field_names.folder_parent', 'inside'])).code).toBe(0);
    expect((await cli.json(['folders', 'mv', '/Top/Below', '/'])).path).toBe('/Below');
  });

  it('folders create exits with 6 for an unknown name field, and rename works with field_names.folder_name', async () => {
    const names = { name: 'title', parent: 'parent_uid', children: 'children' };
    const { cli } = await startProfileCli(folderService(names), {});
    const failed = await cli.run(['folders', 'create', '/New'], { clock });
    expect(failed.code).toBe(6);
    expect(failed.stderr).toContain('mediactl config set field_names.folder_name NAME');
    await cli.run(['config', 'set', 'field_names.folder_name', 'title']);
    expect((await cli.json(['folders', 'rename', '/Top', 'Other'])).path).toBe('/Other');
  });
});

describe('mirrored folders (A02)', () => {
  async function setUp(options: Parameters<typeof FakeService.start>[0]) {
    const service = await FakeService.start(options);
    const { cli } = createProfileCli(service.url);
    const directory = join(cli.home, 'shots');
    for (const path of ['x/y/z/1.bin', 'x/2.bin', 'q/r/3.bin', 'q/4.bin']) {
      mkdirSync(join(directory, path, '..'), { recursive: true });
      writeFileSync(join(directory, path), path);
    }
    const uploadToTop = (...uploadArgs: string[]) => cli.run([...uploadArgs, '--folder', '/Top', '--json'], { clock });
    return { service, cli, directory, uploadToTop };
  }
  const expectedPaths = ['/Top/q/4.bin', '/Top/q/r/3.bin', '/Top/x/2.bin', '/Top/x/y/z/1.bin'];

  it.each([
    ['unknown and in no record', { inRequest: 'parent_folder' }],
    ['not the one that records show', { inRequest: 'parent_folder_uid', inResponse: 'parent_uid' }],
    ['not the one that records show as null', { inRequest: 'above', inResponse: 'parent_uid' }],
  ])('upload exits with 6 at the first misplaced folder if the parent field is %s', async (_, parentFields) => {
    const { service, cli, directory, uploadToTop } = await setUp({ parentFields });
    for (const uploadArgs of [
      ['upload', directory, '--create-folders'],
      ['sync', directory],
    ]) {
      const folderCount = service.folders.length;
      const { code, stderr } = await uploadToTop(...uploadArgs);
      const error = JSON.parse(stderr.trim().split('\n').at(-1) as string).error;
      const misplaced = service.folders.at(-1);
      expect([code, error.code, error.exit_code]).toEqual([6, 'write_ignored', 6]);
      const newFolder = `the new folder /${misplaced?.name} (${misplaced?.uid})`;
      expect(error.message).toBe(`the service did not apply parent to ${newFolder}`);
      expect(error.hint).toContain('mediactl config set field_names.folder_parent NAME');
      // One correct folder at the top level, and one misplaced folder.
      expect(service.folders.length - folderCount).toBe(folderCount === 0 ? 2 : 1);
      expect(service.paths).toEqual([]);
      expect(service.assets.size).toBe(0);
    }
    await cli.run(['config', 'set', 'field_names.folder_parent', parentFields.inRequest]);
    expect((await uploadToTop('upload', directory, '--create-folders')).code).toBe(0);
    expect(service.paths).toEqual(expectedPaths);
  });

  it('upload exits with 6 if the response to a new folder shows another parent than it sent', async () => {
    const { service, directory, uploadToTop } = await setUp({
      parentFields: { inRequest: 'parent_uid', inResponse: 'parent_uid' },
      onNewFolder: (folder) => {
        if (folder.name === 'z') folder.parent = undefined;
      },
    });
    const { code, stderr } = await uploadToTop('upload', directory, '--create-folders');
    expect([code, stderr]).toEqual([6, expect.stringContaining('to the new folder /z (')]);
    expect(service.paths).not.toContain('/z/1.bin');
  });

  it('upload exits with 6 if the response to a new folder names a folder that exists', async () => {
    const { service, directory, uploadToTop } = await setUp({});
    let created = 0;
    service.fault = ({ method, path }) =>
      method === 'POST' && path.endsWith('/folders/') && ++created > 3
        ? handleThen((reply) => ({ ...reply, body: { uid: service.folders[0]?.uid } }))
        : undefined;
    const { code, stderr } = await uploadToTop('upload', directory, '--create-folders');
    expect([code, stderr]).toEqual([6, expect.stringContaining('did not apply name')]);
    expect(service.paths.filter((path) => !expectedPaths.includes(path))).toEqual([]);
  });
});

describe('verification of updates', () => {
  const changeRecord = async (verb: string, args: string[], record: object) => {
    const { cli } = await startProfileCli(() => ({ body: { uid: firstUid, ...record } }));
    const { code, stderr } = await cli.run(['assets', verb, firstUid as string, ...args], { clock });
    return { code, warns: stderr.includes('cannot verify the change') };
  };

  it.each([
    ['update', 'accepts an object with another key order', ['--set-json', 'a={"x":1,"y":2}'], { a: { y: 2, x: 1 } }, 0],
    ['update', 'accepts null for null', ['--set-json', 'a=null'], { a: null }, 0],
    ['update', 'exits with 6 for another value', ['--set', 'a=new'], { a: 'old' }, 6],
    ['update', 'exits with 6 if a specified field is absent', ['--description', 'new'], {}, 6],
    ['tag', 'exits with 6 if a guessed field is absent', ['--set', 'new'], {}, 6],
  ])('assets %s verifies the response and %s', async (verb, _what, args, record, code) => {
    expect(await changeRecord(verb, args, record)).toEqual({ code, warns: false });
  });

  it.each([
    ['null', ['--set-json', 'a=null']],
    ['an empty string', ['--set', 'a=']],
    ['a string', ['--set', 'a=b']],
  ])('assets update warns that it cannot verify %s in a field that no record shows', async (_what, args) => {
    expect(await changeRecord('update', args, {})).toEqual({ code: 0, warns: true });
  });
});

describe('missing fields in a 422', () => {
  it.each([
    [{ error: { code: 'validation_error', message: 'Field required' } }],
    [{ error: { code: 'x', message: 'Field required', details: { reason: 'y', limit: 3 } } }],
    [{ code: 'required', message: 'Field required' }],
  ])('embed commands suggest no override if a 422 does not name the missing field (body %#)', async (body) => {
    const { cli, storedFieldNames: savedFieldNames } = await startProfileCli(({ method }) =>
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
    expect(savedFieldNames()).toEqual({});
  });

  it.each([
    [{ detail: [{ loc: ['body', 'payload', 'fqdn'], msg: 'Field required' }] }],
    [{ error: { message: 'invalid', details: { fqdn: ['This field is required.'] } } }],
  ])('embed domains add suggests the override for the field that a 422 names (body %#)', async (body) => {
    const { cli } = await startProfileCli(({ method }) =>
      method === 'GET' ? { body: { enabled: true, domains: [] } } : { status: 422, body },
    );
    const { code, stderr } = await cli.run(['embed', 'domains', 'add', 'a.example']);
    expect(code).toBe(6);
    expect(stderr).toContain('try:   mediactl config set field_names.embed_domain fqdn');
  });

  it('folders create suggests field_names.folder_name for the field that a 422 names', async () => {
    const { cli } = await startProfileCli(({ method }) =>
      method === 'GET'
        ? { body: [] }
        : { status: 422, body: { detail: [{ loc: ['body', 'title'], msg: 'Field required' }] } },
    );
    const { stderr } = await cli.run(['folders', 'create', '/New']);
    expect(stderr).toContain('try:   mediactl config set field_names.folder_name title');
  });
});

describe('editable fields (A08)', () => {
  const asset = { uid: firstUid, name: 'Quay', labels: ['a'] };
  const acceptLabelsAndName: Responder = ({ method, body }) => {
    const { labels = asset.labels, name = asset.name } = (body ?? {}) as Partial<typeof asset>;
    return { body: method === 'PATCH' ? { ...asset, labels, name } : asset };
  };

  it('assets tag exits with 6 and names the field if the service ignores it', async () => {
    const { cli } = await startProfileCli(acceptLabelsAndName);
    const args = ['assets', 'tag', firstUid as string, '--set', 'b'];
    const { code, stderr, stdout } = await cli.run(args, { clock: onlySleepsFaster });
    expect([code, stdout]).toEqual([6, '']);
    expect(stderr).toContain('did not apply tags to the asset');
    expect(stderr).toContain('field_names.asset_tags NAME');
  });

  it.each([
    [['--set-json', 'labels=["b","c"]'], { labels: ['b', 'c'] }],
    [['--set', 'name=New'], { name: 'New' }],
  ])('assets update %j sends the fields unchanged', async (args, body) => {
    const { cli, writeRequests } = await startProfileCli(acceptLabelsAndName);
    const { code } = await cli.run(['assets', 'update', firstUid as string, ...args]);
    expect([code, writeRequests()[0]?.body]).toEqual([0, body]);
  });

  it('assets tag writes tags to the field that field_names.asset_tags names', async () => {
    const { cli, writeRequests } = await startProfileCli(acceptLabelsAndName, { asset_tags: 'labels' });
    expect((await cli.run(['assets', 'tag', firstUid as string, '--set', 'b'])).code).toBe(0);
    expect(writeRequests()[0]?.body).toEqual({ labels: ['b'] });
  });

  it('assets tag reads tags from the field that shows them, even if it writes them to another one', async () => {
    let slugs = ['day'];
    const { cli, writeRequests } = await startProfileCli(
      ({ method, body }) => {
        if (method === 'PATCH') slugs = (body as { tag_slugs: string[] }).tag_slugs;
        return { body: { uid: firstUid, tags: slugs.map((slug) => ({ slug, name: slug })) } };
      },
      { asset_tags: 'tag_slugs' },
    );
    const args = ['assets', 'tag', firstUid as string, '--add', 'night'];
    const { code, stderr } = await cli.run(args);
    expect([code, stderr]).toEqual([0, '']);
    expect(writeRequests()[0]?.body).toEqual({ tag_slugs: ['day', 'night'] });
  });

  it('assets tag accepts a response that shows the tags as objects in another order', async () => {
    const { cli } = await startProfileCli(({ method, body }) => {
      const { tags = [] } = (body ?? {}) as { tags?: string[] };
      const shown = tags.map((slug, id) => ({ id, slug })).reverse();
      return { body: { uid: firstUid, tags: method === 'PATCH' ? shown : [] } };
    });
    const args = ['assets', 'tag', firstUid as string, '--set', 'a,b'];
    expect((await cli.run(args)).code).toBe(0);
  });
});

describe('tag formats (A08)', () => {
  const [a, b, c] = ['a', 'b', 'c'];
  const tagsAs = (shown: (slug: string, id: number) => unknown) => [a, b, c].map(shown as never);
  const updateTags = async (tags: unknown, ...changeArgs: string[]) => {
    const { cli, writeRequests } = await startProfileCli(({ method, body }) => ({
      body: { uid: firstUid, ...(method === 'PATCH' ? (body as object) : { tags }) },
    }));
    const { code, stderr } = await cli.run(['assets', 'tag', firstUid as string, ...changeArgs]);
    return { code, stderr, sentTags: writeRequests().map(({ body }) => (body as { tags: string[] }).tags) };
  };

  it.each([
    ['strings', tagsAs((slug) => slug)],
    ['{slug}', tagsAs((slug) => ({ slug }))],
    ['{id, slug, name}', tagsAs((slug, id) => ({ id, slug, name: `The ${slug}` }))],
    ['{name}', tagsAs((name) => ({ name }))],
    ['{id, name}', tagsAs((name, id) => ({ id, name }))],
    ['strings and {slug}', [a, { slug: b }, c]],
  ])('assets tag keeps the other tags if the record shows tags as %s', async (_, tags) => {
    const added = await updateTags(tags, '--add', 'zz');
    expect([added.code, added.sentTags]).toEqual([0, [['a', 'b', 'c', 'zz']]]);
    expect((await updateTags(tags, '--remove', 'b')).sentTags).toEqual([['a', 'c']]);
  });

  it.each([
    ['a missing field', undefined],
    ['one string', 'a,b,c'],
    ['an object', { a: true, b: true }],
    ['{id, title}', tagsAs((title, id) => ({ id, title }))],
    ['{tag}', tagsAs((tag) => ({ tag }))],
    ['{label}', tagsAs((label) => ({ label }))],
    ['{value}', tagsAs((value) => ({ value }))],
    ['{tag_slug}', tagsAs((tag_slug) => ({ tag_slug }))],
    ['{tag: {slug}}', tagsAs((slug) => ({ tag: { slug } }))],
    ['ids', [1, 2, 3]],
    ['lists', tagsAs((slug) => [slug])],
    ['{name} that is not a slug', [{ name: 'Sea Side' }]],
    ['one unknown form among three', [a, { title: b }, c]],
    ['null among strings', [a, null, c]],
  ])('assets tag exits with 6 and changes no tag if the record shows tags as %s', async (_, tags) => {
    for (const changeArgs of [
      ['--add', 'zz'],
      ['--remove', 'b'],
    ]) {
      const { code, stderr, sentTags } = await updateTags(tags, ...changeArgs);
      expect([code, sentTags]).toEqual([6, []]);
      expect(stderr).toContain('does not show the tags of asset');
      expect(stderr).toContain(`mediactl tag ${firstUid} --set`);
    }
  });

  it('assets tag reads tags from the field that field_names.asset_tags names', async () => {
    const { cli, writeRequests } = await startProfileCli(
      ({ body }) => ({ body: { uid: firstUid, tags: ['other'], labels: ['a'], ...(body as object) } }),
      { asset_tags: 'labels' },
    );
    await cli.run(['assets', 'tag', firstUid as string, '--add', 'b']);
    expect(writeRequests()[0]?.body).toEqual({ labels: ['a', 'b'] });
  });
});

describe('tag slugs (A08)', () => {
  const startServiceWithoutTags = async () => {
    const { cli, requests } = await startProfileCli(() => ({ body: { uid: firstUid, tags: [] } }));
    return { cli, requests };
  };

  it.each([
    ['tag', '--add', '日本語', /slug, such as/],
    ['tag', '--add', 'مشروع', /slug, such as/],
    ['tag', '--add', 'sea 日本語', /slug, such as/],
    ['tag', '--add', '!?', /slug, such as/],
    ['tag', '--add', '', /slug, such as/],
    ['tag', '--add', 'Äpfel & Birnen', /try: {3}apfel-birnen/],
    ['tag', '--set', 'sea,日本語', /'日本語'[\s\S]*slug, such as/],
    ['tag', '--set', 'Große Straße', /try: {3}grosse-strasse/],
  ])('assets %s %s %s exits with 2 before it sends a request', async (verb, option, tag, message) => {
    const { cli, requests } = await startServiceWithoutTags();
    const { code, stderr } = await cli.run(['assets', verb, firstUid as string, option, tag]);
    expect([code, requests.length]).toEqual([2, 0]);
    expect(stderr).toMatch(message);
  });

  it('upload --manifest exits with 2 and names the line of an invalid tag', async () => {
    const { cli, requests } = await startServiceWithoutTags();
    const path = join(cli.home, 'a.bin');
    writeFileSync(path, 'a');
    const stdin = `path,tags\n${path},"sea;日本語"\n`;
    const { code, stderr } = await cli.run(['upload', '--manifest', '-'], { stdin });
    expect([code, requests.length]).toEqual([2, 0]);
    expect(stderr).toContain('line 2 of the manifest is invalid');
    expect(stderr).toContain("'日本語'");
  });

  it.each([
    ['tag', ['--set', 'a,b,a'], ['a', 'b']],
    ['tag', ['--add', 'a', '--add', 'a'], ['a']],
    ['tag', ['--add', 'in_house-2'], ['in_house-2']],
  ])('assets %s %j sends each tag once, as it was typed', async (verb, args, tags) => {
    const { cli, writeRequests } = await startProfileCli(({ body }) => ({
      body: { uid: firstUid, tags: [], ...(body as object) },
    }));
    expect((await cli.run(['assets', verb, firstUid as string, ...args])).code).toBe(0);
    expect(writeRequests()[0]?.body).toEqual({ tags });
  });
});

describe('statuses (A11)', () => {
  it.each([
    ['Failed', 12],
    ['CANCELLED', 12],
    ['canceled', 12],
    ['quarantined', 12],
    ['failed_transcode', 12],
    ['upload_failed', 12],
    ['READY', 0],
    ['unfailed', 8],
  ])('assets wait for an asset with status %s exits with %d', async (status, code) => {
    const { cli } = await startProfileCli(({ query }) => {
      const asset = { uid: firstUid, status };
      return { body: query.limit === undefined ? asset : { items: [asset], count: 1 } };
    });
    const args = ['assets', 'wait', firstUid as string, '--timeout', '1s'];
    expect((await cli.run(args)).code).toBe(code);
  });
});

it('upload exits with 13 and sends no byte if the upload session has another size than the file', async () => {
  const respond = createLibrary();
  const { cli, writeRequests } = await startProfileCli((request) => {
    const { body, ...response } = respond(request) ?? {};
    return { ...response, body: request.method === 'POST' ? { ...(body as object), total_size: 4 } : body };
  });
  const path = join(cli.home, 'five.bin');
  writeFileSync(path, '12345');
  const { code, stderr } = await cli.run(['upload', path]);
  expect([code, stderr]).toEqual([13, expect.stringContaining('the file has 5 bytes, the session 4')]);
  expect(writeRequests().map(({ method }) => method)).toEqual(['POST']);
});

describe('page envelope (A01)', () => {
  const items = Array.from({ length: 250 }, (_, n) => ({
    uid: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  }));
  const pageOf = (query: Record<string, string>) =>
    items.slice(Number(query.offset), Number(query.offset) + Number(query.limit));

  it.each([
    ['total_count', (query: Record<string, string>) => ({ items: pageOf(query), total_count: 250 })],
    ['no total', (query: Record<string, string>) => ({ items: pageOf(query) })],
    ['next links', (query: Record<string, string>) => ({ items: pageOf(query), next: '/x', previous: null })],
    ['an unknown name for the total', (query: Record<string, string>) => ({ items: pageOf(query), n: 250 })],
  ])('assets ls --all lists every asset if the page envelope has %s', async (_what, createEnvelope) => {
    const { cli } = await startProfileCli(({ query }) => ({ body: createEnvelope(query) }));
    expect(await cli.json(['assets', 'ls', '--all'])).toEqual(items);
  });

  it.each([
    ['the length of the page', (length: number) => length],
    ['too low', () => 120],
    ['too high', () => 1000],
    ['zero', () => 0],
  ])('assets ls --all lists every asset even if the reported count is %s', async (_what, countFor) => {
    const { cli } = await startProfileCli(({ query }) => {
      const pageItems = pageOf(query);
      return { body: { items: pageItems, count: countFor(pageItems.length) } };
    });
    const { code, stdout } = await cli.run(['assets', 'ls', '--all', '--json']);
    expect([code, JSON.parse(stdout)]).toEqual([_what === 'too high' ? 11 : 0, items]);
    expect((await cli.run(['assets', 'ls', '--limit', '150', '-q'])).stdout.trim().split('\n')).toHaveLength(150);
    expect((await cli.run(['assets', 'ls', '--count'])).stdout).toBe('250\n');
  });

  it('assets ls --count exits with 10 without a total, and works with field_names.page_total', async () => {
    const { cli } = await startProfileCli(({ query }) => ({ body: { items: pageOf(query), n: 250 } }));
    expect((await cli.run(['assets', 'ls', '--count'])).code).toBe(10);
    await cli.run(['config', 'set', 'field_names.page_total', 'n']);
    expect((await cli.run(['assets', 'ls', '--count'])).stdout).toBe('250\n');
  });

  it('assets ls exits with 10 and prints no list if the page envelope is unknown', async () => {
    const { cli } = await startProfileCli(() => ({ body: { results: items } }));
    const { code, stdout } = await cli.run(['assets', 'ls', '--json']);
    expect(code).toBe(10);
    expect(stdout).toBe('');
  });
});

describe('error bodies (A13)', () => {
  it.each([
    ['a string', { error: 'no such tag' }, 'no such tag'],
    ['a detail field', { detail: 'no such tag' }, 'no such tag'],
    [
      'fields with their expected values',
      { detail: [{ loc: ['query', 'status'], msg: 'wrong', ctx: { expected: "'a' or 'b'" } }] },
      "status: wrong (expected 'a' or 'b')",
    ],
  ])(
    'assets ls exits with 6 and prints the message of an error body that contains %s',
    async (_what, body, message) => {
      const { cli } = await startProfileCli(() => ({ status: 422, body }));
      const { code, stderr } = await cli.run(['assets', 'ls', '--status', 'ready']);
      expect(code).toBe(6);
      expect(stderr).toContain(message);
    },
  );

  it('assets ls exits with 6 if the service refuses another parameter than the unknown status', async () => {
    const body = { detail: [{ loc: ['query', 'tag'], msg: 'no such tag' }] };
    const { cli } = await startProfileCli(() => ({ status: 422, body }));
    expect((await cli.run(['assets', 'ls', '--status', 'archived', '--tag', 'sea'])).code).toBe(6);
  });

  it('folders tree exits with 5 and prints the title of the web page of a proxy', async () => {
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
  const move = (fieldNames: string) =>
    cli.run(['mv', assetUid, '/In'], { environment: { MEDIACTL_FIELD_NAMES: fieldNames } });
  expect((await move('asset_parent=container')).code).toBe(0);
  expect(requests.find(({ method }) => method === 'PATCH')?.body).toEqual({ container: folderUid });
  for (const invalid of ['parent=x', 'asset_parent', 'asset_parent=a b']) expect((await move(invalid)).code).toBe(2);
});
