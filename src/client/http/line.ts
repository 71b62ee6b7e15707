import type { Scope } from '../../contract/scopes.ts';
import type { Clock } from '../clock.ts';
import type { Connections } from './dispatcher.lazy.ts';
import { Gate } from './gate.ts';
import type { PublicAddresses } from './public-address.ts';
import type { RateLimit } from './rate-limit.ts';
import { WaitBudget } from './wait-budget.ts';

/** What all callers of one service share. */
export class Line {
  /** As the newest answer told it. */
  rateLimit: RateLimit | undefined;
  requestCount = 0;
  /** Of each scope that a call needed, whether the service let it. */
  readonly scopes = new Map<Scope, boolean>();
  /** The service, or something in its place, has answered once. */
  wasReached = false;
  /** Aborted by close(): what is under way then is not tried again, and nothing waits. */
  readonly ended = new AbortController();
  readonly waitBudget: WaitBudget;
  readonly gate: Gate;
  connections: Promise<Connections> | undefined;
  publicAddresses: Promise<PublicAddresses> | undefined;
  /** Connections to public addresses alone. */
  publicConnections: Promise<Connections> | undefined;

  /** @param maxWaitMs milliseconds that all of them may spend waiting */
  constructor(clock: Clock, maxWaitMs: number) {
    this.waitBudget = new WaitBudget(clock, maxWaitMs);
    this.gate = new Gate(clock, maxWaitMs);
  }
}
