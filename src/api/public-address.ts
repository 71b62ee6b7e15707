import { lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { exitCodes, MediactlError } from '../errors.ts';

/** Networks that cannot be reached from the internet. An IPv4 address that is mapped into IPv6 counts, too. */
const privateNetworks = new BlockList();
for (const network of [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16'],
  ...['172.16.0.0/12', '192.168.0.0/16', '224.0.0.0/3'],
  ...['::/96', 'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
]) {
  const [address = '', bits] = network.split('/');
  privateNetworks.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

const isPrivate = (address: string) =>
  isIP(address) > 0 && privateNetworks.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Throws if the host is written as a private address, unless it is the service's own. */
export function assertPublic(url: URL, service: URL): void {
  const own = service.hostname === 'localhost' ? '127.0.0.1' : service.hostname;
  if (url.hostname !== own && isPrivate(url.hostname.replace(/^\[|\]$/g, '')))
    throw notPublic(url.hostname);
}

/** Resolves a name for a connection, which then goes to the address that was checked. */
export const lookupPublic: LookupFunction = (hostname, options, callback) =>
  lookup(hostname, options, (error, found, family) => {
    const addresses = error ? [] : [found].flat();
    const isRefused = addresses.some((each) =>
      isPrivate(typeof each === 'string' ? each : each.address),
    );
    callback(isRefused ? notPublic(hostname) : error, found, family);
  });

const notPublic = (hostname: string) =>
  new MediactlError(`${hostname} is a private address`, {
    code: 'private_address',
    exitCode: exitCodes.rejected,
    reason: 'pictures are fetched from public addresses and from the service itself alone',
    hint: 'mediactl assets get ID shows the addresses that the service names',
  });
