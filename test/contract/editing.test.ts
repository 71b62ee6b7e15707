import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isSlug } from '../../src/contract/slug.ts';
import { rawHttp } from '../support/raw-http.ts';
import { fixturePath, startSandbox, type TestSandbox } from '../support/sandbox.ts';

let sandbox: TestSandbox;
const { call, send, upload } = rawHttp(() => sandbox);
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.end());

const patch = (path: string, body: unknown, key?: string) => send('PATCH', path, body, key);

describe('§4 PATCH: "partial update of editorial fields"', () => {
  it('PATCH updates only the given fields, and search finds the new values', async () => {
    const { uid } = await upload(fixturePath('clip.mp4'), { description: 'before' });
    const response = await patch(`/videos/${uid}/`, { name: 'Quay at dusk', tags: ['sea', 'night-shift'] });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      uid,
      name: 'Quay at dusk',
      description: 'before',
      tags: ['sea', 'night-shift'],
      width: 640,
    });
    const { items } = await (await call('GET', '/assets/?search=dusk&tag=sea')).json();
    expect(items.map((item: { uid: string }) => item.uid)).toEqual([uid]);
    expect((await (await call('GET', '/assets/?search=clip')).json()).count).toBe(0);
    expect((await patch(`/assets/${uid}/`, {})).status).toBe(200);
  });

  it.each([
    ['an unknown field', { title: 'x' }],
    ['an empty name', { name: ' ' }],
    ['a tag that is not a slug', { tags: ['Not A Slug'] }],
    ['a value of the wrong type', { name: 5 }],
    ['a body that is not an object', ['x']],
  ])('PATCH of an asset with %s returns 422', async (_what, body) => {
    const { uid } = await upload(fixturePath('still.jpg'));
    expect((await patch(`/assets/${uid}/`, body)).status).toBe(422);
  });

  it.each(['sea_side', '2026', '_sea-', 'Summer', 'sea side', 'sea,night', 'äpfel', '-_', 'sea\n', ''])(
    'PATCH accepts the tag %j only if it is a slug',
    async (tag) => {
      const { uid } = await upload(fixturePath('still.jpg'));
      expect((await patch(`/assets/${uid}/`, { tags: [tag] })).status).toBe(isSlug(tag) ? 200 : 422);
    },
  );

  it('"(required body)": PATCH without a JSON body returns 422 and changes nothing', async () => {
    const { uid } = await upload(fixturePath('clip.mp4'), { asset_name: 'before' });
    const foldersPath = `/workspaces/${sandbox.workspace}/folders/`;
    const folderUid = (await (await send('POST', foldersPath, { name: 'before' })).json()).uid;
    const jsonHeaders = { 'content-type': 'application/json' };
    for (const path of [`/assets/${uid}/`, `/videos/${uid}/`, `${foldersPath}${folderUid}/`]) {
      for (const options of [
        {},
        { headers: jsonHeaders },
        { headers: jsonHeaders, body: ' ' },
        { body: '{"name":"after"}' }, // fetch calls it text/plain
        { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'name=after' },
      ]) {
        const refused = await call('PATCH', path, options);
        expect([path, refused.status]).toEqual([path, 422]);
        expect((await refused.json()).error.details[0].loc).toEqual(['body']);
      }
      const response = await patch(path, {});
      expect([response.status, (await response.json()).name]).toEqual([200, 'before']);
    }
    const charset = { 'content-type': 'application/json; charset=utf-8' };
    const after = await call('PATCH', `/assets/${uid}/`, { headers: charset, body: '{"name":"a"}' });
    expect([after.status, (await after.json()).name]).toEqual([200, 'a']);
  });

  it('the error location in a 422 response starts with body, path or query', async () => {
    const { uid } = await upload(fixturePath('still.jpg'));
    const errorLocation = async (response: ReturnType<typeof call>) =>
      (await (await response).json()).error.details[0].loc;
    expect(await errorLocation(patch(`/assets/${uid}/`, { tags: ['Not A Slug'] }))).toEqual(['body', 'tags', 0]);
    expect(await errorLocation(call('GET', '/assets/no-uid/'))).toEqual(['path', 'uid']);
    expect(await errorLocation(call('GET', '/assets/?limit=0'))).toEqual(['query', 'limit']);
    expect(await errorLocation(call('GET', `/assets/?parent=${uid}`))).toEqual(['query', 'parent']);
  });

  it('PATCH returns 404 for the wrong collection and 403 without the Write Assets scope', async () => {
    const { uid } = await upload(fixturePath('tone.mp3'));
    expect((await patch(`/videos/${uid}/`, { name: 'x' })).status).toBe(404);
    const read = sandbox.createKey('read', ['Read Assets', 'Delete Assets']);
    expect((await patch(`/assets/${uid}/`, { name: 'x' }, read)).status).toBe(403);
  });
});

describe('§4 DELETE: soft delete', () => {
  it('DELETE returns 204 without a body, and the asset can no longer be found or played', async () => {
    const { uid } = await upload(fixturePath('clip.mp4'));
    const { playback_token } = await (await call('GET', `/assets/${uid}/player/`)).json();
    const play = () =>
      call('POST', '/playback/info/', {
        key: '',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ asset_id: uid, playback_token }),
      });
    const { hls_url } = await (await play()).json();
    const before = (await (await call('GET', '/assets/')).json()).count;
    const response = await call('DELETE', `/assets/${uid}/`);
    expect([response.status, await response.text()]).toEqual([204, '']);
    for (const path of [`/assets/${uid}/`, `/videos/${uid}/`, `/assets/${uid}/player/`])
      expect((await call('GET', path)).status).toBe(404);
    expect((await call('DELETE', `/assets/${uid}/`)).status).toBe(404);
    expect((await (await call('GET', '/assets/')).json()).count).toBe(before - 1);
    expect((await play()).status).toBe(404);
    expect((await fetch(hls_url.url)).status).toBe(404);
  });

  it('DELETE without the Delete Assets scope returns 403', async () => {
    const { uid } = await upload(fixturePath('still.jpg'));
    const write = sandbox.createKey('write', ['Read Assets', 'Write Assets']);
    expect((await call('DELETE', `/assets/${uid}/`, { key: write })).status).toBe(403);
  });
});
