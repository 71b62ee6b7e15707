import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawHttp } from '../support/raw-http.ts';
import { fixture, startSandbox, type TestSandbox } from '../support/sandbox.ts';

let sandbox: TestSandbox;
const { call, send, upload } = rawHttp(() => sandbox);
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.end());

const edit = (path: string, body: unknown, key?: string) => send('PATCH', path, body, key);

describe('§4 PATCH: "partial update of editorial fields"', () => {
  it('changes what is named, keeps the rest, and is found by its new words', async () => {
    const { uid } = await upload(fixture('clip.mp4'), { description: 'before' });
    const response = await edit(`/videos/${uid}/`, {
      name: 'Quay at dusk',
      tags: ['sea', 'night-shift'],
    });
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
    expect((await edit(`/assets/${uid}/`, {})).status).toBe(200);
  });

  it.each([
    ['a field that is not known', { title: 'x' }],
    ['a name that is empty', { name: ' ' }],
    ['a tag that is no slug', { tags: ['Not A Slug'] }],
    ['a wrong type', { name: 5 }],
    ['no object', ['x']],
  ])('%s: 422', async (_what, body) => {
    const { uid } = await upload(fixture('still.jpg'));
    expect((await edit(`/assets/${uid}/`, body)).status).toBe(422);
  });

  it('is asked of the right collection, with the right scope', async () => {
    const { uid } = await upload(fixture('tone.mp3'));
    expect((await edit(`/videos/${uid}/`, { name: 'x' })).status).toBe(404);
    const read = sandbox.createKey('read', ['Read Assets', 'Delete Assets']);
    expect((await edit(`/assets/${uid}/`, { name: 'x' }, read)).status).toBe(403);
  });
});

describe('§4 DELETE: soft delete', () => {
  it('204 without a body; then it is nowhere to be found, nor played', async () => {
    const { uid } = await upload(fixture('clip.mp4'));
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

  it('needs the scope Delete Assets', async () => {
    const { uid } = await upload(fixture('still.jpg'));
    const write = sandbox.createKey('write', ['Read Assets', 'Write Assets']);
    expect((await call('DELETE', `/assets/${uid}/`, { key: write })).status).toBe(403);
  });
});
