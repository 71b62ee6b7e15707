import { httpUrl } from '../../contract/http-url.ts';
import { usageError } from '../errors.ts';

/** HTTP_PROXY, HTTPS_PROXY and NO_PROXY as the environment gives them; the first two are absolute URLs. */
export type ProxySettings = { httpProxy?: string; httpsProxy?: string; noProxy?: string };

/**
 * The proxies that the variables name, in small letters first, as curl reads them: `host:port` is an
 * http proxy. Of what is wrong, the name alone is told: the value may hold a password.
 *
 * @throws MediactlError `usage`
 */
export function proxiesOf(
  environment: Readonly<Record<string, string | undefined>>,
): ProxySettings {
  const read = (name: string) =>
    [name.toLowerCase(), name].find((each) => environment[each]) ?? undefined;
  const [httpName, httpsName, noName] = [read('HTTP_PROXY'), read('HTTPS_PROXY'), read('NO_PROXY')];
  return {
    ...(httpName && { httpProxy: proxyUrl(httpName, environment[httpName]) }),
    ...(httpsName && { httpsProxy: proxyUrl(httpsName, environment[httpsName]) }),
    ...(noName && { noProxy: environment[noName] as string }),
  };
}

function proxyUrl(name: string, value = ''): string {
  const url = httpUrl(value.includes('://') ? value : `http://${value}`);
  if (!url)
    throw usageError(
      `${name} is not the address of an http or https proxy`,
      `${name}=http://HOST:PORT`,
    );
  return url.href;
}
