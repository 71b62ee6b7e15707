import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { errorRecord } from '../../src/cli/error-hints.ts';
import { UploadSessionsApi } from '../../src/client/api/upload-sessions.ts';
import type { CodedError } from '../../src/client/errors.ts';
import { Transport } from '../../src/client/http/transport.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { respond } from '../support/http-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const uid = '00000000-0000-4000-8000-000000000001';
const path = `/api/external/v1/upload/${uid}/?part=1`;

/** Starts a service behind TLS, whose sessions have the URL that `locationOf` returns, and creates a session there. */
async function createSession(locationOf: (port: number) => string): Promise<{ port: number; sessionUrl?: string }> {
  const folder = temporaryFolder();
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-nodes', '-days', '2', '-subj', '/CN=127.0.0.1'];
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-keyout', key, '-out', cert, ...subject];
  execFileSync('openssl', args, { stdio: 'ignore' });
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_request, response) => {
    const location = locationOf(port);
    respond(response, 201, { uid, asset_uid: uid, location }, { location });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const { NODE_TLS_REJECT_UNAUTHORIZED: before } = process.env;
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'; // accepts the certificate of this server
  const transport = new Transport({
    baseUrl: new URL(`https://127.0.0.1:${port}`),
    apiKey: 'a-key',
    clock: systemClock,
    userAgent: 'test',
    requestTimeoutMs: 10_000,
    maxWaitMs: 0,
  });
  onTestFinished(async () => {
    if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    await transport.close();
    server.close();
  });
  const { sessionUrl } = await new UploadSessionsApi(transport, {}).create(5, { filename: 'a', workspace_uid: uid });
  return { port, sessionUrl };
}

it.each([
  ['without the port', () => `http://127.0.0.1${path}`],
  ['with the port', (port: number) => `http://127.0.0.1:${port}${path}`],
])(
  'a session URL with http: of the same host %s, behind TLS, is used at the origin of the base URL',
  {
    tags: 'openssl',
  },
  async (_how, locationOf) => {
    const { port, sessionUrl } = await createSession(locationOf);
    expect(sessionUrl).toBe(`https://127.0.0.1:${port}${path}`);
  },
);

it.each([
  ['of another host', (port: number) => `http://localhost:${port}${path}`],
  ['of another port', () => `http://127.0.0.1:8080${path}`],
  ['whose path names another host', () => `http://127.0.0.1//elsewhere.example/upload/`],
])('a session URL with http: %s, behind TLS, is refused', { tags: 'openssl' }, async (_what, locationOf) => {
  const error = await createSession(locationOf).catch((thrown: CodedError) => errorRecord(thrown));
  expect(error).toMatchObject({ code: 'origin_mismatch', exit_code: 13, details: { asset_uid: uid } });
});
