import { expect, it } from 'vitest';
import { PlaybackApi } from '../../src/client/api/playback.ts';
import { CodedError } from '../../src/client/errors.ts';
import { Transport } from '../../src/client/http/transport.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { startServer } from '../support/http-server.ts';

const neverAborted = new AbortController().signal;

/** Fetches at most 10 bytes. */
async function fetchUpTo10Bytes(url: string, { timeoutMs = 60_000, interruption = neverAborted } = {}) {
  const transport = new Transport({
    baseUrl: new URL(url),
    apiKey: 'never-sent',
    clock: systemClock,
    userAgent: 'test',
    requestTimeoutMs: 60_000,
    maxWaitMs: 60_000,
  });
  const bounds = { maxBytes: 10, timeoutMs, interruption };
  try {
    return (await new PlaybackApi(transport).fetchSmall(new URL(url), bounds)).toString();
  } catch (error) {
    return (error as CodedError).explanation.code;
  } finally {
    await transport.close();
  }
}

it('fetchSmall returns a small body and does not send the API key', async () => {
  const authorizationHeaders: unknown[] = [];
  const url = await startServer((request, response) => {
    authorizationHeaders.push(request.headers.authorization);
    response.end('ten bytes.');
  });
  expect([await fetchUpTo10Bytes(url), authorizationHeaders]).toEqual(['ten bytes.', [undefined]]);
});

it('fetchSmall stops reading a body that exceeds the size limit', async () => {
  const url = await startServer((_, response) => void response.write('eleven bytes'));
  expect(await fetchUpTo10Bytes(url)).toBe('rejected');
});

it('fetchSmall times out when the server does not respond or only drips bytes', async () => {
  const silentServer = await startServer(() => {});
  const drippingServer = await startServer((_, response) => {
    const timer = setInterval(() => response.write('.'), 100);
    response.write('.');
    response.on('close', () => clearInterval(timer));
  });
  const brief = { timeoutMs: 500 };
  const results = await Promise.all([fetchUpTo10Bytes(silentServer, brief), fetchUpTo10Bytes(drippingServer, brief)]);
  expect(results).toEqual(['timeout', 'timeout']);
});

it('fetchSmall stops when the program is interrupted', async () => {
  const stop = new AbortController();
  const url = await startServer(() => {
    stop.abort(new CodedError('interrupted', { code: 'interrupted' }));
  });
  expect(await fetchUpTo10Bytes(url, { interruption: stop.signal })).toBe('interrupted');
});
