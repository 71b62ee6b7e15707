import { parseHttpUrl } from '../../shared/http-url.ts';
import { usageError } from '../errors.ts';

/** Proxy settings from HTTP_PROXY, HTTPS_PROXY and NO_PROXY. `httpProxy` and `httpsProxy` are absolute URLs. */
export type ProxySettings = { httpProxy?: string; httpsProxy?: string; noProxy?: string };

/**
 * Reads the proxy settings from environment variables. Like curl, prefers lower-case names and accepts `host:port`
 * as an http proxy. Error messages show only the name of a variable, because its value might contain a password.
 *
 * @throws CodedError `usage` (exit 2) if the address of a proxy is invalid
 */
export function readProxySettings(environment: Readonly<Record<string, string | undefined>>): ProxySettings {
  const read = (name: string) => [name.toLowerCase(), name].find((each) => environment[each]) ?? undefined;
  const [httpName, httpsName, noName] = [read('HTTP_PROXY'), read('HTTPS_PROXY'), read('NO_PROXY')];
  return {
    ...(httpName && { httpProxy: proxyUrl(httpName, environment[httpName]) }),
    ...(httpsName && { httpsProxy: proxyUrl(httpsName, environment[httpsName]) }),
    ...(noName && { noProxy: environment[noName] as string }),
  };
}

function proxyUrl(name: string, value = ''): string {
  const url = parseHttpUrl(value.includes('://') ? value : `http://${value}`);
  if (!url) throw usageError(`${name} is not a valid http or https proxy URL`, `${name}=http://HOST:PORT`);
  return url.href;
}

/** Returns the proxy that requests to a URL go through, unless NO_PROXY lists its host, which is not looked at. */
export function proxyOf({ protocol }: URL, { httpProxy, httpsProxy }: ProxySettings = {}): URL | undefined {
  const proxy = protocol === 'https:' ? (httpsProxy ?? httpProxy) : httpProxy;
  return proxy === undefined ? undefined : new URL(proxy);
}

/** Returns true if a connection certainly failed between this machine and the proxy, not at the service. */
export function isProxyUnreachable(error: NodeJS.ErrnoException, url: URL, proxy: URL): boolean {
  const { hostname, port, errors = [] } = error as { hostname?: string; port?: number; errors?: { port?: number }[] };
  // The socket of a proxy's host name has its address only.
  const failedPort = port ?? errors[0]?.port;
  if (failedPort !== undefined) return failedPort === portOf(proxy) && failedPort !== portOf(url);
  if (hostname !== undefined) return hostname === proxy.hostname && hostname !== url.hostname;
  return error.message.includes(`attempted address: ${proxy.hostname}:${portOf(proxy)},`);
}

const portOf = ({ port, protocol }: URL) => Number(port) || (protocol === 'https:' ? 443 : 80);
