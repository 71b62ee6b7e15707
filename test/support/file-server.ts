import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { startServer } from './http-server.ts';

export type FileRequest = { path: string; headers: IncomingHttpHeaders; nth: number };

/** Deviation of a file server from RFC 9110. */
export type FileServerFault = {
  /** Sends the whole response instead of the server. */
  respond?: (response: ServerResponse) => unknown;
  /** Drops the connection after this many bytes of the body. */
  cutAfterBytes?: number;
  /** Overrides response headers; undefined removes one. */
  headers?: Record<string, string | undefined>;
};

/** Selects these faults for the first requests, in order. */
export const faultsInOrder =
  (faults: readonly (FileServerFault | undefined)[]): FileServer['fault'] =>
  ({ nth }) =>
    faults[nth - 1];

/** Real web server with one file: ranges, preconditions and validators as in RFC 9110. */
export class FileServer {
  url = '';
  readonly requests: FileRequest[] = [];
  /** Selects the fault of a request, if any. */
  fault: (asked: FileRequest) => FileServerFault | undefined = () => undefined;
  bytes: Buffer;
  lastModified = 'Tue, 03 Mar 2026 10:00:00 GMT';
  /** Sends an ETag; false for Last-Modified only. */
  hasEtag = true;

  private constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** @param onEnd as for `startServer` */
  static async start(bytes: Buffer, onEnd?: (close: () => void) => unknown): Promise<FileServer> {
    const server = new FileServer(bytes);
    const origin = await startServer(({ url = '', headers }, response) => {
      const asked = { path: url, headers, nth: server.requests.length + 1 };
      server.requests.push(asked);
      server.#respond(asked, server.fault(asked) ?? {}, response);
    }, onEnd);
    server.url = `${origin}/rushes/day%201.mp4`;
    return server;
  }

  get etag(): string {
    return `"${createHash('sha256').update(this.bytes).digest('hex').slice(0, 12)}"`;
  }

  /** Byte ranges that were requested, in order. */
  get ranges(): string[] {
    return this.requests.map(({ headers }) => (headers.range ?? '').replace('bytes=', ''));
  }

  #respond({ headers }: FileRequest, fault: FileServerFault, response: ServerResponse): void {
    if (fault.respond) return void fault.respond(response);
    const { bytes, etag, lastModified, hasEtag } = this;
    const head = { 'last-modified': lastModified, ...(hasEtag && { etag: etag }) };
    const preconditionFails =
      (headers['if-match'] ?? etag) !== etag ||
      Date.parse(headers['if-unmodified-since'] ?? lastModified) < Date.parse(lastModified);
    if (preconditionFails) return void response.writeHead(412, head).end();
    const range = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '');
    // "If the validator does not match, the server SHOULD ignore the Range header" (§13.1.5).
    const isRangeIgnored = ![undefined, hasEtag ? etag : lastModified].includes(headers['if-range'] as string);
    const isPartial = range !== null && !isRangeIgnored;
    const first = isPartial ? Number(range[1]) : 0;
    const last = isPartial && range[2] ? Math.min(Number(range[2]), bytes.length - 1) : bytes.length - 1;
    if (isPartial && first >= bytes.length)
      return void response.writeHead(416, { ...head, 'content-range': `bytes */${bytes.length}` }).end();
    const body = bytes.subarray(first, last + 1);
    const responseHeaders: Record<string, string | undefined> = {
      ...head,
      'content-type': 'video/mp4',
      'content-range': isPartial ? `bytes ${first}-${last}/${bytes.length}` : undefined,
      'content-length': String(body.length),
      ...fault.headers,
    };
    for (const [name, value] of Object.entries(responseHeaders))
      if (value !== undefined) response.setHeader(name, value);
    response.statusCode = isPartial ? 206 : 200;
    const { cutAfterBytes } = fault;
    if (cutAfterBytes === undefined) return void response.end(body);
    response.write(body.subarray(0, cutAfterBytes), () => setTimeout(() => response.destroy(), 20));
  }
}
