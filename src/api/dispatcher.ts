import type { Dispatcher } from 'undici';
import Agent from 'undici/lib/dispatcher/agent.js';

/** HTTP_PROXY, HTTPS_PROXY and NO_PROXY as the environment gives them. */
export type ProxySettings = { httpProxy?: string; httpsProxy?: string; noProxy?: string };

const options = { connect: { timeout: 10_000 }, keepAliveTimeout: 20_000 };

/** undici's connections: straight, or through the proxies of the environment. */
export async function openDispatcher(proxy: ProxySettings | undefined): Promise<Dispatcher> {
  if (!proxy?.httpProxy && !proxy?.httpsProxy) return new Agent(options);
  const { default: EnvHttpProxyAgent } = await import(
    'undici/lib/dispatcher/env-http-proxy-agent.js'
  );
  // A proxy cannot reach this machine's own loopback, where the sandbox lives.
  const noProxy = [proxy.noProxy, 'localhost', '127.0.0.1', '[::1]'].filter(Boolean).join(',');
  return new EnvHttpProxyAgent({ ...options, ...proxy, noProxy });
}
