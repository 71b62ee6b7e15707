import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MiddlewareHandler } from 'hono';
import { apiPrefix, type Env } from '../http.ts';
import { ServiceError } from '../service-error.ts';
import { type Fault, type FaultName, parseFault } from './parse.ts';

/** Method and path of a request, which faults filter by. */
type Asked = { method: string; path: string };

type Named<Name extends FaultName> = Extract<Fault, { name: Name }>;

/** A fault as /health reports it; `times_left` is null if it fires without limit. */
export type ActiveFault = { fault: string; times_left: number | null };

/** Paths that are exempt from faults, so that the sandbox itself stays observable. */
const spared = ['/health', `${apiPrefix}/openapi.json`];

/** Fault injection: finds, counts and logs the faults that may still fire. */
export class Faults {
  readonly #faults: readonly Fault[];
  readonly #left: Map<Fault, number>;
  readonly #log: (line: string) => void;

  /** @throws ArgumentError for an invalid fault */
  constructor(specs: readonly string[], log: (line: string) => void) {
    this.#faults = specs.map(parseFault);
    this.#left = new Map(this.#faults.map((fault) => [fault, fault.times]));
    this.#log = log;
  }

  active(): ActiveFault[] {
    return [...this.#left]
      .filter(([, left]) => left > 0)
      .map(([{ spec }, left]) => ({
        fault: spec,
        times_left: Number.isFinite(left) ? left : null,
      }));
  }

  /** Returns the first fault of a name that matches the request. */
  find<Name extends FaultName>(
    name: Name,
    { method, path }: Asked = { method: '', path: '' },
  ): Named<Name> | undefined {
    return this.#faults.find(
      (fault): fault is Named<Name> =>
        fault.name === name &&
        (this.#left.get(fault) ?? 0) > 0 &&
        (fault.method === undefined || fault.method === method) &&
        (fault.path === undefined ||
          path.startsWith(fault.path) ||
          path.startsWith(apiPrefix + fault.path)),
    );
  }

  /**
   * Decrements the remaining count of a fault and logs it. Returns false if concurrent requests
   * have used it up.
   */
  fire(fault: Fault, { method, path }: Asked): boolean {
    const left = this.#left.get(fault) ?? 0;
    if (left === 0) return false;
    this.#left.set(fault, left - 1);
    this.#log(`fault ${fault.spec} at ${method} ${path}`);
    return true;
  }

  /** Finds a fault and fires it. */
  take<Name extends FaultName>(name: Name, asked: Asked): Named<Name> | undefined {
    const fault = this.find(name, asked);
    return fault && this.fire(fault, asked) ? fault : undefined;
  }

  /**
   * Applies the faults that affect a whole request: latency, an error status, or a response that is
   * never sent.
   */
  readonly middleware: MiddlewareHandler<Env> = async (c, next) => {
    const asked = { method: c.req.method, path: c.req.path };
    if (spared.includes(asked.path)) return next();
    const latency = this.take('latency', asked);
    if (latency) await sleep(latency.delayMs);
    const refusal = this.take('status', asked);
    if (refusal)
      throw new ServiceError(refusal.status, 'a fault that was asked for', {
        // "429 … carries Retry-After (seconds to wait)" (§7)
        ...(refusal.status === 429 && { headers: { 'Retry-After': '1' } }),
      });
    await next();
    if (this.take('lost-answer', asked)) c.env.incoming.socket.destroy();
  };

  /**
   * Returns the bytes of an upload PATCH until a fault drops or stalls the connection. A reader
   * that stops early can still respond.
   */
  body(incoming: IncomingMessage, asked: Asked): AsyncIterable<Buffer> {
    const fault = this.find('cut-after', asked) ?? this.find('silent-after', asked);
    return fault ? this.#upTo(fault, incoming, asked) : bytesOf(incoming);
  }

  /** Ends when the fault fires; the bytes before it are kept, as after any dropped connection. */
  async *#upTo(
    fault: Named<'cut-after' | 'silent-after'>,
    incoming: IncomingMessage,
    asked: Asked,
  ): AsyncGenerator<Buffer> {
    let room = fault.bytes;
    for await (const bytes of bytesOf(incoming)) {
      if (bytes.length < room || !this.fire(fault, asked)) {
        room = Math.max(1, room - bytes.length);
        yield bytes;
        continue;
      }
      yield bytes.subarray(0, room);
      incoming.setTimeout(0); // the fault is a stall: no idle timeout
      if (fault.name === 'cut-after') incoming.socket.destroy();
      else if (!incoming.destroyed) await new Promise((resolve) => incoming.once('close', resolve));
      return;
    }
  }
}

const bytesOf = (incoming: IncomingMessage): AsyncIterable<Buffer> =>
  incoming.iterator({ destroyOnReturn: false });
