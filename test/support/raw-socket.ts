import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A raw TCP connection. */
export type RawSocket = {
  socket: Socket;
  /** Returns all bytes received so far, as latin1. */
  received(): string;
  /** Resolves with all received bytes once the connection is closed. */
  closed: Promise<string>;
};

export async function rawSocket(url: string): Promise<RawSocket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let text = '';
  socket.on('data', (bytes) => {
    text += bytes.toString('latin1');
  });
  socket.on('error', () => {}); // a reset also emits `close`
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(text)));
  onTestFinished(() => void socket.destroy());
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
  return { socket, received: () => text, closed };
}

/** Formats a request line and headers, with the Host header that the sandbox requires. */
export const requestHead = (url: string, requestLine: string, headers: Record<string, string | number> = {}) =>
  [
    `${requestLine} HTTP/1.1`,
    `Host: ${new URL(url).host}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n');
