import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { serveHttp } from '../../src/cli/commands/http-server.ts';

it('a loopback server closes connections beyond its limit so that file descriptors do not run out', async () => {
  const server = await serveHttp((_request, response) => response.end('here'), 0, '');
  onTestFinished(() => server.close());
  expect(await (await fetch(server.origin)).text()).toBe('here');
  const port = Number(new URL(server.origin).port);
  let closedCount = 0;
  for (let opened = 0; opened < 100; opened++) {
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.once('close', () => closedCount++);
  }
  await expect.poll(() => closedCount).toBeGreaterThan(30); // the limit is 64 connections
});
