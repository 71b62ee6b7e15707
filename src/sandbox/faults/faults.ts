import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MiddlewareHandler } from 'hono';
import { apiPrefix, type Env } from '../http.ts';
import { ServiceError } from '../service-error.ts';
import { type Fault, type FaultName, parseFault } from './parse.ts';

/** Method and path of a request, by which faults are filtered. */
type RequestTarget = { method: string; path: string };

type FaultOf<Name extends FaultName> = Extract<Fault, { name: Name }>;

/** Paths that are exempt from faults, so that the sandbox stays observable. */
const exemptPaths = ['/health', `${apiPrefix}/openapi.json`];

/** Fault injection. Finds, counts and logs the faults that can still fire. */
export class Faults {
  readonly #faults: readonly Fault[];
  readonly #remaining: Map<Fault, number>;
  readonly #log: (line: string) => void;

  /** @throws ArgumentError for an invalid fault */
  constructor(specs: readonly string[], log: (line: string) => void) {
    this.#faults = specs.map(parseFault);
    this.#remaining = new Map(this.#faults.map((fault) => [fault, fault.times]));
    this.#log = log;
  }

  /** Lists the faults as `/health` reports them. `remaining_count` is null if a fault can fire without limit. */
  listActive() {
    const active = [...this.#remaining].filter(([, left]) => left > 0);
    return active.map(([{ spec }, left]) => ({ fault: spec, remaining_count: Number.isFinite(left) ? left : null }));
  }

  /** Returns the first fault with a name that matches the request and can still fire. */
  #find<Name extends FaultName>(name: Name, { method, path }: RequestTarget): FaultOf<Name> | undefined {
    return this.#faults.find(
      (fault): fault is FaultOf<Name> =>
        fault.name === name &&
        (this.#remaining.get(fault) ?? 0) > 0 &&
        (fault.method === undefined || fault.method === method) &&
        (fault.path === undefined || path.startsWith(fault.path) || path.startsWith(apiPrefix + fault.path)),
    );
  }

  /** Counts and logs a fault. Returns false if concurrent requests have already used it up. */
  fire(fault: Fault, { method, path }: RequestTarget): boolean {
    const left = this.#remaining.get(fault) ?? 0;
    if (left === 0) return false;
    this.#remaining.set(fault, left - 1);
    this.#log(`fault ${fault.spec} at ${method} ${path}`);
    return true;
  }

  findAndFire<Name extends FaultName>(name: Name, target: RequestTarget): FaultOf<Name> | undefined {
    const fault = this.#find(name, target);
    return fault && this.fire(fault, target) ? fault : undefined;
  }

  /** Applies the faults that affect a whole request: latency, an error status, or a response that is never sent. */
  readonly middleware: MiddlewareHandler<Env> = async (c, next) => {
    const asked = { method: c.req.method, path: c.req.path };
    if (exemptPaths.includes(asked.path)) return next();
    const latency = this.findAndFire('latency', asked);
    if (latency) await sleep(latency.delayMs);
    const refusal = this.findAndFire('status', asked);
    // "429 … carries Retry-After (seconds to wait)" (§7)
    const headers: Record<string, string> = refusal?.status === 429 ? { 'Retry-After': '1' } : {};
    if (refusal) throw new ServiceError(refusal.status, 'injected fault', { headers });
    await next();
    if (this.findAndFire('lost-answer', asked)) c.env.incoming.socket.destroy();
  };

  /** Returns the bytes of an upload PATCH until a fault drops or stalls the connection. */
  readBody(incoming: IncomingMessage, target: RequestTarget): AsyncIterable<Buffer> {
    const fault = this.#find('cut-after', target) ?? this.#find('silent-after', target);
    return fault ? this.#readUntilFault(fault, incoming, target) : bodyOf(incoming);
  }

  /** Yields bytes until the fault fires. Those bytes are kept, as after any dropped connection. */
  async *#readUntilFault(
    fault: FaultOf<'cut-after' | 'silent-after'>,
    incoming: IncomingMessage,
    target: RequestTarget,
  ): AsyncGenerator<Buffer> {
    let remainingBytes = fault.bytes;
    for await (const bytes of bodyOf(incoming)) {
      if (bytes.length < remainingBytes || !this.fire(fault, target)) {
        remainingBytes = Math.max(1, remainingBytes - bytes.length);
        yield bytes;
        continue;
      }
      yield bytes.subarray(0, remainingBytes);
      incoming.setTimeout(0); // an idle timeout would end the stall
      if (fault.name === 'cut-after') incoming.socket.destroy();
      else if (!incoming.destroyed) await new Promise((resolve) => incoming.once('close', resolve));
      return;
    }
  }
}

/** Returns the bytes of a body. A caller that stops reading early can still respond. */
const bodyOf = (incoming: IncomingMessage): AsyncIterable<Buffer> => incoming.iterator({ destroyOnReturn: false });
