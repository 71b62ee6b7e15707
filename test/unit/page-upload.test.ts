import { expect, it } from 'vitest';
import { createUploader } from '../../src/sandbox/page/page-upload.ts';
import { ServiceClient } from '../../src/sandbox/page/service-client.ts';
import { type Handler, respond, startServer } from '../support/http-server.ts';

const prefix = '/api/external/v1';

/** Uploads five bytes from the library page to a service. @returns the reported states */
async function uploadTo(handler: Handler): Promise<string[]> {
  const upload = createUploader(new ServiceClient(await startServer(handler), 'key'), 'workspace');
  const file = { name: 'a.mp4', sizeBytes: 5, folder: null, relativeDir: '' };
  async function* bytes() {
    yield Buffer.from('12345');
  }
  const states: string[] = [];
  await upload(file, bytes(), ({ state }) => states.push(state));
  return states;
}

it('a 429 without Retry-After is retried after a pause', async () => {
  const times: number[] = [];
  const states = await uploadTo((request, response) => {
    if (request.method === 'PATCH') return respond(response, 204, undefined, { 'upload-offset': '5' });
    times.push(performance.now());
    if (times.length === 1) return respond(response, 429, {});
    respond(response, 201, { asset_uid: 'asset', location: `${prefix}/upload/session/` });
  });
  expect(states).toEqual(['waiting', 'sending']);
  const [first = 0, second = 0] = times;
  expect(second - first).toBeGreaterThan(200);
});

it('a connection that breaks during a PATCH: only what the service lacks is sent again', async () => {
  const sent: string[] = [];
  let isBroken = false;
  await uploadTo(async (request, response) => {
    if (request.method === 'POST')
      return respond(response, 201, { asset_uid: 'asset', location: `${prefix}/upload/session/` });
    if (request.method === 'HEAD') return respond(response, 200, undefined, { 'upload-offset': '2' });
    const body = Buffer.concat(await request.toArray()).toString();
    sent.push(`${request.headers['upload-offset']} ${body}`);
    if (isBroken) return respond(response, 204, undefined, { 'upload-offset': '5' });
    isBroken = true;
    response.destroy();
  });
  expect(sent).toEqual(['0 12345', '2 345']);
});
