import { connect as connectTo, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** What becomes of what a client sends: passed on (in time), or answered so, or its connection cut. */
type What = 'pass' | 'cut' | Buffer;
export type Plan = (sent: string, connection: number) => What | Promise<What>;

/** A line to a store that a test may break. */
export class StoreLine {
  connections = 0;
  readonly #server: Server;
  readonly #address: URL;

  private constructor(server: Server, address: URL) {
    this.#server = server;
    this.#address = address;
  }

  /** @param address of the store, with the queue's name @param plan asked of all that is sent, by the nth connection */
  static async before(address: string, plan: Plan): Promise<StoreLine> {
    const store = new URL(address);
    const open = new Set<Socket>();
    const server = createServer((client) => {
      const nth = ++line.connections;
      const upstream = connectTo(Number(store.port), store.hostname);
      for (const socket of [client, upstream]) {
        open.add(socket);
        socket.on('error', () => {}); // cut by the other end
        socket.on('close', () => [client, upstream].map((each) => each.destroy()));
      }
      let passed = Promise.resolve();
      client.on('data', (sent) => {
        passed = passed.then(async () => {
          const what = await plan(sent.toString('latin1'), nth);
          if (what === 'pass') upstream.write(sent);
          else if (what === 'cut') client.destroy();
          else client.end(what);
        });
      });
      upstream.pipe(client);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const line = new StoreLine(server, store);
    onTestFinished(() => {
      for (const socket of open) socket.destroy();
      server.close();
    });
    return line;
  }

  /** For `--queue`. */
  get address(): string {
    const address = new URL(this.#address);
    const { port } = this.#server.address() as { port: number };
    address.port = String(port);
    return address.href;
  }
}

/** PostgreSQL's ErrorResponse: severity, SQLSTATE, message. */
export function postgresError(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`);
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}
