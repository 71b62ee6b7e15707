import type { LookupFunction } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import type { Dispatcher } from 'undici';
import undiciRequest from 'undici/lib/api/api-request.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import type { ProxySettings } from './proxy.ts';

export type Connections = {
  request(options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData>;
  close(): Promise<void>;
};

/** undici's connections: straight, or through the proxies of the environment, which resolve names themselves. */
export async function openConnections(
  proxy: ProxySettings | undefined,
  lookup: LookupFunction | undefined,
): Promise<Connections> {
  const dispatcher = await openDispatcher(proxy, lookup);
  let isCompiled = false;
  return {
    request: async (call) => {
      if (isCompiled) return undiciRequest.call(dispatcher, call);
      const answer = await withBaselineWasm(() => undiciRequest.call(dispatcher, call));
      isCompiled = true;
      return answer;
    },
    close: () => dispatcher.destroy(),
  };
}

/**
 * undici's HTTP parser is WebAssembly, compiled with the first connection. Optimizing it takes
 * threads 100 ms, for which the process would wait at its end; the baseline code parses a few
 * answers as fast. The flag is put back, since V8 keeps compiled code by its flags.
 */
async function withBaselineWasm<T>(work: () => Promise<T>): Promise<T> {
  setFlagsFromString('--liftoff-only');
  try {
    return await work();
  } finally {
    for (const flag of ['--no-liftoff-only', '--wasm-tier-up', '--wasm-dynamic-tiering'])
      setFlagsFromString(flag);
  }
}

async function openDispatcher(
  proxy: ProxySettings | undefined,
  lookup: LookupFunction | undefined,
): Promise<Dispatcher> {
  const options = { connect: { timeout: 10_000, lookup }, keepAliveTimeout: 20_000 };
  if (!proxy?.httpProxy && !proxy?.httpsProxy) return new Agent(options);
  const [{ default: EnvHttpProxyAgent }, { default: Dispatcher }, api] = await Promise.all([
    import('undici/lib/dispatcher/env-http-proxy-agent.js'),
    import('undici/lib/dispatcher/dispatcher.js'),
    import('undici/lib/api/index.js'),
  ]);
  // undici's whole entry gives its dispatchers their methods; the proxy agent calls `connect`.
  Object.assign(Dispatcher.prototype, { connect: api.connect });
  // A proxy cannot reach this machine's own loopback, where the sandbox lives.
  const noProxy = [proxy.noProxy, 'localhost', '127.0.0.1', '[::1]'].filter(Boolean).join(',');
  return new EnvHttpProxyAgent({ ...options, ...proxy, noProxy });
}
