import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { serveOnLoopback } from '../../src/cli/commands/loopback-server.ts';

it('idle connections do not use up the file descriptors of a server, and it answers beside them', async () => {
  const server = await serveOnLoopback((_request, response) => response.end('here'), 0, '');
  onTestFinished(() => server.close());
  const port = Number(new URL(server.origin).port);
  let closed = 0;
  for (let opened = 0; opened < 100; opened++) {
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.once('close', () => closed++);
  }
  expect(await (await fetch(server.origin)).text()).toBe('here');
  await expect.poll(() => closed).toBeGreaterThan(30);
});
