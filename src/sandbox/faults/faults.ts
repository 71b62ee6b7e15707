import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MiddlewareHandler } from 'hono';
import { apiPrefix, type Env } from '../http.ts';
import { ServiceError } from '../service-error.ts';
import { type Fault, type FaultName, parseFault } from './parse.ts';

/** What a fault may be narrowed to. */
type Asked = { method: string; path: string };

type Named<Name extends FaultName> = Extract<Fault, { name: Name }>;

/** What /health tells of a fault; `times_left` is null where it fires for ever. */
export type ActiveFault = { fault: string; times_left: number | null };

/** How the sandbox itself is asked; no fault stands in the way of that. */
const spared = ['/health', `${apiPrefix}/openapi.json`];

/** Faults on demand: which there are, how often each may still fire, and a log line when it does. */
export class Faults {
  readonly #faults: readonly Fault[];
  readonly #left: Map<Fault, number>;
  readonly #log: (line: string) => void;

  /** @throws Error where one is not understood */
  constructor(specs: readonly string[], log: (line: string) => void) {
    this.#faults = specs.map(parseFault);
    this.#left = new Map(this.#faults.map((fault) => [fault, fault.times]));
    this.#log = log;
  }

  /** Faults that may still fire. */
  active(): ActiveFault[] {
    return [...this.#left]
      .filter(([, left]) => left > 0)
      .map(([{ spec }, left]) => ({
        fault: spec,
        times_left: Number.isFinite(left) ? left : null,
      }));
  }

  /** The first of that name that fits the request and may still fire. */
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

  /** Counts a fault down. False where others used up its times meanwhile. */
  fire(fault: Fault, { method, path }: Asked): boolean {
    const left = this.#left.get(fault) ?? 0;
    if (left === 0) return false;
    this.#left.set(fault, left - 1);
    this.#log(`fault ${fault.spec} at ${method} ${path}`);
    return true;
  }

  /** Found and fired at once. */
  take<Name extends FaultName>(name: Name, asked: Asked): Named<Name> | undefined {
    const fault = this.find(name, asked);
    return fault && this.fire(fault, asked) ? fault : undefined;
  }

  /** Faults that strike a request as a whole: late, refused, or carried out and never answered. */
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
   * The bytes of an upload PATCH, up to where a fault breaks the line or falls silent. Who stops
   * reading them may still answer.
   */
  body(incoming: IncomingMessage, asked: Asked): AsyncIterable<Buffer> {
    const fault = this.find('cut-after', asked) ?? this.find('silent-after', asked);
    return fault ? this.#upTo(fault, incoming, asked) : bytesOf(incoming);
  }

  /** Ends where the fault fired: what was taken until then is kept, as by any broken line. */
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
      incoming.setTimeout(0); // silence is what was asked for
      if (fault.name === 'cut-after') incoming.socket.destroy();
      else if (!incoming.destroyed) await new Promise((resolve) => incoming.once('close', resolve));
      return;
    }
  }
}

const bytesOf = (incoming: IncomingMessage): AsyncIterable<Buffer> =>
  incoming.iterator({ destroyOnReturn: false });
