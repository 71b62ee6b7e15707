import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A connection of a test's own, byte by byte. */
export type RawSocket = {
  socket: Socket;
  /** What came so far. */
  received(): string;
  /** Settles when the other side is gone, with all that came. */
  closed: Promise<string>;
};

export async function rawSocket(url: string): Promise<RawSocket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let text = '';
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1');
  });
  socket.on('error', () => {}); // a reset closes too
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(text)));
  onTestFinished(() => void socket.destroy());
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
  return { socket, received: () => text, closed };
}

/** The head of a request, with the Host that the sandbox wants. */
export const requestHead = (
  url: string,
  line: string,
  headers: Record<string, string | number> = {},
) =>
  [
    `${line} HTTP/1.1`,
    `Host: ${new URL(url).host}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n');
