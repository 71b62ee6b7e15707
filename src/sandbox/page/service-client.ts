import type { RequestBudget } from '../../web/browse/protocol.ts';
import { apiPrefix } from '../http.ts';

type ClientRequest = {
  method?: string;
  json?: unknown;
  body?: Uint8Array;
  headers?: Record<string, string>;
};

/** Error for a response of the sandbox's API whose status is not 2xx. */
export class RequestRefusedError extends Error {
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, message: string, retryAfterSeconds?: number) {
    super(message);
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** HTTP client with which the library page calls the sandbox's own API. */
export class ServiceClient {
  readonly #origin: string;
  readonly #key: string;
  budget: RequestBudget | undefined;

  constructor(origin: string, key: string) {
    this.#origin = origin;
    this.#key = key;
  }

  /** Requests a path relative to the API prefix. @throws RequestRefusedError if the status is not 2xx */
  async request(path: string, { method = 'GET', json, body, headers }: ClientRequest = {}): Promise<Response> {
    const response = await fetch(new URL(`${apiPrefix}${path}`, this.#origin), {
      method,
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body ?? (json === undefined ? undefined : JSON.stringify(json)),
    });
    const [limit, left, reset] = ['limit', 'remaining', 'reset'].map((name) =>
      Number(response.headers.get(`x-ratelimit-${name}`) ?? Number.NaN),
    );
    if (limit && left !== undefined && reset) this.budget = { limit, left, resetAt: reset * 1000 };
    if (response.ok) return response;
    const seconds = Number(response.headers.get('retry-after')) || undefined;
    throw new RequestRefusedError(response.status, errorMessageOf(await response.text()), seconds);
  }

  async json<T>(path: string, call?: ClientRequest): Promise<T> {
    return (await this.request(path, call)).json() as T;
  }
}

/** Returns the message of an error response, whose body is JSON, or plain text for an upload creation (§7). */
function errorMessageOf(text: string): string {
  try {
    return JSON.parse(text).error.message;
  } catch {
    return text.trim();
  }
}
