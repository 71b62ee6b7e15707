import { lookup } from 'node:dns';
import { lookup as resolve } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { CodedError } from '../errors.ts';

function networks(all: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of all) {
    const [address = '', bits] = network.split('/');
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

const lan = ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'];
const local = [
  ...['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '192.0.0.0/24', '198.18.0.0/15', '224.0.0.0/3'],
  // Those that embed an IPv4 address (compatible, NAT64, Teredo, 6to4) lead to it through a gateway.
  ...['::/96', '64:ff9b::/96', '64:ff9b:1::/48', '2001::/32', '2002::/16'],
  ...['100::/64', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
];

const stripBrackets = (hostname: string) => hostname.replace(/^\[|\]$/g, '');

/** Returns true if an address is in the list. Recognizes IPv4 addresses mapped into IPv6. */
const isListed = (list: BlockList, address: string) =>
  isIP(address) > 0 && list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Rejects addresses that are not reachable from the internet, to prevent server-side request forgery (SSRF). */
export type PublicAddresses = {
  /**
   * Checks the host of a URL. A proxy resolves names itself, so that `lookup` never sees them.
   *
   * @throws CodedError `private_address` (exit 6)
   */
  assertAllowed(url: URL, throughProxy: boolean): Promise<void>;
  /** Resolves a host name, and rejects private addresses. The connection uses the result: no TOCTOU race with DNS. */
  lookup: LookupFunction;
};

/**
 * Creates the filter for a service. If the service is on a local network, the filter allows addresses of local
 * networks, because the media of the service might be on another host there.
 */
export async function publicAddressesFor({ hostname: service }: URL): Promise<PublicAddresses> {
  const own = await resolve(stripBrackets(service), { all: true }).catch(() => []);
  const isOnLan = own.some(({ address }) => isListed(networks(lan), address));
  const refused = networks(isOnLan ? local : [...local, ...lan]);
  return {
    assertAllowed: async ({ hostname }, throughProxy) => {
      const host = stripBrackets(hostname);
      const resolved = throughProxy ? await resolve(host, { all: true }).catch(() => []) : [];
      if ([host, ...resolved.map(({ address }) => address)].some((address) => isListed(refused, address)))
        throw notPublic(hostname);
    },
    lookup: (hostname, options, callback) =>
      lookup(hostname, options, (error, found, family) => {
        const addresses = error ? [] : [found].flat();
        const isRefused = addresses.some((each) => isListed(refused, typeof each === 'string' ? each : each.address));
        callback(isRefused ? notPublic(hostname) : error, found, family);
      }),
  };
}

const notPublic = (hostname: string) =>
  new CodedError(`${hostname} is a private address`, {
    code: 'private_address',
    reason: 'images are fetched only from public addresses and from the service itself',
  });
