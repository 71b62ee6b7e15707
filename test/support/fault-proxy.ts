import {
  type ClientRequest,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { hangMs } from './hang.ts';
import { respond, startServer } from './http-server.ts';

export type ProxiedRequest = {
  method: string;
  path: string;
  /** Number of requests of this method so far, including this one. */
  nth: number;
  headers: IncomingMessage['headers'];
};

/** Fault of one request: responds in place of the service, or forwards the request with changes. */
export type Fault = {
  /** Responds instead of the service. */
  respond?: (response: ServerResponse, request: IncomingMessage) => void;
  /** Drops the connection once the service has received this many bytes of the body. */
  cutAfterBytes?: number;
  /** Called with the number of body bytes forwarded so far. */
  onBytes?: (passed: number) => void;
  /** Drops the connection instead of forwarding the service's response. */
  dropResponse?: boolean;
  /** Called before the service's response is forwarded. */
  beforeResponse?: (status: number) => void | Promise<void>;
  /** Replaces the service's response after the service has acted, as a gateway that timed out does. */
  replaceResponse?: { status: number; body: string; type: string };
  /** Changes response headers. */
  headers?: (headers: Record<string, string>) => Record<string, string>;
};

/** Creates a fault that reads the whole request and responds instead of the service. */
export const respondWith = (status: number, body?: unknown, headers: Record<string, string> = {}): Fault => ({
  respond: (response, request) => {
    request.resume();
    request.on('end', () => respond(response, status, body, headers));
  },
});

/** Reverse proxy between client and service that injects faults. */
export class FaultProxy {
  readonly requests: ProxiedRequest[] = [];
  /** Requests that were forwarded, and that the service has not answered yet. */
  readonly unanswered = new Set<ClientRequest>();
  readonly #target: string;
  readonly #plan: (seen: ProxiedRequest) => Fault | undefined;
  url = '';

  private constructor(target: string, plan: (seen: ProxiedRequest) => Fault | undefined) {
    this.#target = target;
    this.#plan = plan;
  }

  static async start(
    target: string,
    plan: (seen: ProxiedRequest) => Fault | undefined = () => undefined,
  ): Promise<FaultProxy> {
    const proxy = new FaultProxy(target, plan);
    proxy.url = await startServer((request, response) => proxy.#forward(request, response));
    return proxy;
  }

  /** Methods of all requests, in order. */
  get methods(): string[] {
    return this.requests.map(({ method }) => method);
  }

  /** Requests that create or transfer an upload, without the earlier ones that look for an existing asset. */
  get uploadRequests(): ProxiedRequest[] {
    return this.requests.filter(({ path }) => path.includes('/upload/'));
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = request.method ?? '';
    const nth = this.requests.filter((each) => each.method === method).length + 1;
    const seen = { method, path: request.url ?? '', nth, headers: request.headers };
    this.requests.push(seen);
    const fault = this.#plan(seen) ?? {};
    if (fault.respond) return fault.respond(response, request);
    const upstream = httpRequest(new URL(request.url ?? '', this.#target), {
      method,
      headers: { ...request.headers, host: new URL(this.#target).host },
      agent: false,
    });
    this.unanswered.add(upstream);
    upstream.on('close', () => this.unanswered.delete(upstream));
    upstream.on('error', () => response.destroy());
    upstream.on('response', async (answer) => {
      this.unanswered.delete(upstream);
      await fault.beforeResponse?.(answer.statusCode ?? 0);
      if (fault.dropResponse) return request.socket.destroy();
      if (fault.replaceResponse) {
        answer.resume();
        const { status, body, type } = fault.replaceResponse;
        return response.writeHead(status, { 'content-type': type }).end(body);
      }
      const headers = answer.headers as Record<string, string>;
      response.writeHead(answer.statusCode ?? 502, fault.headers?.(headers) ?? headers);
      answer.pipe(response);
    });
    let forwarded = 0;
    // A client that disconnects must disconnect from the service too.
    request.on('close', () => !request.complete && upstream.destroy());
    for await (const chunk of request) {
      const remaining = (fault.cutAfterBytes ?? Number.POSITIVE_INFINITY) - forwarded;
      upstream.write(chunk.subarray(0, Math.max(0, remaining)));
      forwarded += chunk.length;
      fault.onBytes?.(forwarded);
      if (forwarded < (fault.cutAfterBytes ?? Number.POSITIVE_INFINITY)) continue;
      if (method === 'PATCH')
        await this.#waitUntilStored(upstream, request.headers, forwarded - chunk.length + remaining);
      upstream.destroy();
      request.socket.destroy();
      return;
    }
    upstream.end();
  }

  /** Polls HEAD until the service has this many bytes of a PATCH, or closes the request itself. */
  async #waitUntilStored(patch: ClientRequest, sent: IncomingHttpHeaders, bytes: number): Promise<void> {
    const { authorization = '', 'upload-offset': start } = sent;
    const headers = { authorization, 'tus-resumable': '1.0.0' };
    for (const deadline = Date.now() + hangMs; !patch.closed && Date.now() < deadline; ) {
      const { status, headers: responseHeaders } = await fetch(new URL(patch.path, this.#target), {
        method: 'HEAD',
        headers,
      });
      // Without a usable HEAD response the offset cannot be determined.
      if (status !== 200 || Number(responseHeaders.get('upload-offset')) >= Number(start) + bytes) return;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}
