import { connect as connectTo, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** Action on data that a client sends: forward it, drop the connection, or send this response and close. */
type ProxyAction = 'pass' | 'cut' | Buffer;
export type ProxyPlan = (sent: string, connection: number) => ProxyAction | Promise<ProxyAction>;

/** TCP proxy before a store, which can drop connections and delay or replace responses. */
export class StoreProxy {
  connections = 0;
  readonly #server: Server;
  readonly #address: URL;

  private constructor(server: Server, address: URL) {
    this.#server = server;
    this.#address = address;
  }

  /**
   * @param address of the store, with the queue's name
   * @param plan called with everything that a client sends and the number of its connection
   */
  static async start(address: string, plan: ProxyPlan): Promise<StoreProxy> {
    const store = new URL(address);
    const open = new Set<Socket>();
    const server = createServer((client) => {
      const nth = ++line.connections;
      const upstream = connectTo(Number(store.port), store.hostname);
      for (const socket of [client, upstream]) {
        open.add(socket);
        socket.on('error', () => {}); // closed by the other end
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
    const line = new StoreProxy(server, store);
    onTestFinished(() => {
      for (const socket of open) socket.destroy();
      server.close();
    });
    return line;
  }

  /** Value for `--queue`. */
  get address(): string {
    const address = new URL(this.#address);
    const { port } = this.#server.address() as { port: number };
    address.port = String(port);
    return address.href;
  }
}

/** Encodes PostgreSQL's ErrorResponse message: severity, SQLSTATE, message. */
export function postgresError(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`);
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}
