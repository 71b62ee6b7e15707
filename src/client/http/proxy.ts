import { parseHttpUrl } from '../../contract/http-url.ts';
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
