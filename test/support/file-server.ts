import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { listen } from './http-server.ts';

export type Asked = { path: string; headers: IncomingHttpHeaders; nth: number };

/** Deviation of a file server from RFC 9110. */
export type Misdeed = {
  /** Sends the whole response instead of the server. */
  respond?: (response: ServerResponse) => unknown;
  /** Drops the connection after this many bytes of the body. */
  cutAfterBytes?: number;
  /** Overrides response headers; undefined removes one. */
  headers?: Record<string, string | undefined>;
};

/** Real web server with one file: ranges, preconditions and validators as in RFC 9110. */
export class FileServer {
  url = '';
  readonly asked: Asked[] = [];
  /** Selects the fault of a request, if any. */
  misdeed: (asked: Asked) => Misdeed | undefined = () => undefined;
  bytes: Buffer;
  modified = 'Tue, 03 Mar 2026 10:00:00 GMT';
  /** Sends an ETag; false for Last-Modified only. */
  hasTag = true;

  private constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  static async of(bytes: Buffer): Promise<FileServer> {
    const server = new FileServer(bytes);
    const origin = await listen(({ url = '', headers }, response) => {
      const asked = { path: url, headers, nth: server.asked.length + 1 };
      server.asked.push(asked);
      server.#answer(asked, server.misdeed(asked) ?? {}, response);
    });
    server.url = `${origin}/rushes/day%201.mp4`;
    return server;
  }

  get tag(): string {
    return `"${createHash('sha256').update(this.bytes).digest('hex').slice(0, 12)}"`;
  }

  /** Byte ranges that were requested, in order. */
  get ranges(): string[] {
    return this.asked.map(({ headers }) => (headers.range ?? '').replace('bytes=', ''));
  }

  #answer({ headers }: Asked, misdeed: Misdeed, response: ServerResponse): void {
    if (misdeed.respond) return void misdeed.respond(response);
    const { bytes, tag, modified, hasTag } = this;
    const head = { 'last-modified': modified, ...(hasTag && { etag: tag }) };
    const isOther =
      (headers['if-match'] ?? tag) !== tag ||
      Date.parse(headers['if-unmodified-since'] ?? modified) < Date.parse(modified);
    if (isOther) return void response.writeHead(412, head).end();
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
    const [first, last] = [Number(from), Math.min(Number(to), bytes.length - 1)];
    if (first >= bytes.length)
      return void response
        .writeHead(416, { ...head, 'content-range': `bytes */${bytes.length}` })
        .end();
    const body = bytes.subarray(first, last + 1);
    const told: Record<string, string | undefined> = {
      ...head,
      'content-type': 'video/mp4',
      'content-range': `bytes ${first}-${last}/${bytes.length}`,
      'content-length': String(body.length),
      ...misdeed.headers,
    };
    for (const [name, value] of Object.entries(told))
      if (value !== undefined) response.setHeader(name, value);
    response.statusCode = 206;
    const { cutAfterBytes } = misdeed;
    if (cutAfterBytes === undefined) return void response.end(body);
    response.write(body.subarray(0, cutAfterBytes), () => setTimeout(() => response.destroy(), 20));
  }
}
