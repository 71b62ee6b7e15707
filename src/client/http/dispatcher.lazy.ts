import type { LookupFunction } from 'node:net';
import type { Dispatcher } from 'undici';
import undiciRequest from 'undici/lib/api/api-request.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import type { ProxySettings } from './proxy.ts';

export type Connections = {
  request(options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData>;
  close(): Promise<void>;
};

/** How connections are opened. @property timeout in milliseconds */
type ConnectOptions = { timeout: number; lookup?: LookupFunction | undefined };

/** Runs the request that compiles undici's HTTP parser (WebAssembly), so that a program can tune its compiler. */
export type WrapFirstRequest = <T>(send: () => Promise<T>) => Promise<T>;

export async function openConnections(
  connect: ConnectOptions,
  proxy?: ProxySettings,
  wrapFirst: WrapFirstRequest = (send) => send(),
): Promise<Connections> {
  const dispatcher = await openDispatcher(connect, proxy);
  let isCompiled = false;
  return {
    request: async (call) => {
      if (isCompiled) return undiciRequest.call(dispatcher, call);
      const answer = await wrapFirst(() => undiciRequest.call(dispatcher, call));
      isCompiled = true;
      return answer;
    },
    close: () => dispatcher.destroy(),
  };
}

async function openDispatcher(connect: ConnectOptions, proxy?: ProxySettings): Promise<Dispatcher> {
  const options = { connect, keepAliveTimeout: 20_000 };
  if (!proxy?.httpProxy && !proxy?.httpsProxy) return new Agent(options);
  const [{ default: EnvHttpProxyAgent }, { default: Dispatcher }, api] = await Promise.all([
    import('undici/lib/dispatcher/env-http-proxy-agent.js'),
    import('undici/lib/dispatcher/dispatcher.js'),
    import('undici/lib/api/index.js'),
  ]);
  // The main entry point of undici would add `connect`, which the proxy agent calls, to the dispatchers.
  Object.assign(Dispatcher.prototype, { connect: api.connect });
  // A proxy cannot reach the loopback interface of this machine, where the sandbox listens.
  const noProxy = [proxy.noProxy, 'localhost', '127.0.0.1', '[::1]'].filter(Boolean).join(',');
  return new EnvHttpProxyAgent({ ...options, ...proxy, noProxy });
}
