import { connect as connectTo, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** TCP proxy before a store, which can drop connections. */
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
   * @param isCut called with the number of each connection; if it returns true, the proxy drops the connection once the
   *   client sends something
   */
  static async start(address: string, isCut: (connection: number) => boolean): Promise<StoreProxy> {
    const store = new URL(address);
    const open = new Set<Socket>();
    const server = createServer((client) => {
      const upstream = connectTo(Number(store.port), store.hostname);
      for (const socket of [client, upstream]) {
        open.add(socket);
        socket.on('error', () => {}); // closed by the other end
        socket.on('close', () => [client, upstream].map((each) => each.destroy()));
      }
      if (isCut(++proxy.connections)) client.once('data', () => client.destroy());
      else client.pipe(upstream).pipe(client);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const proxy = new StoreProxy(server, store);
    onTestFinished(() => {
      for (const socket of open) socket.destroy();
      server.close();
    });
    return proxy;
  }

  /** Value for `--queue`. */
  get address(): string {
    const address = new URL(this.#address);
    const { port } = this.#server.address() as { port: number };
    address.port = String(port);
    return address.href;
  }
}
