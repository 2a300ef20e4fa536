import { BlockList, isIPv4, isIPv6 } from 'node:net';

/**
 * The IPv4 networks that are not public: loopback, private, link-local, carrier-grade NAT, documentation, multicast.
 */
const closedV4: readonly [string, number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

/** Not public within 2000::/3: tunnels that carry another address, and reserved ranges. */
const closedV6: readonly [string, number][] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

const closed = new BlockList();
for (const [net, prefix] of closedV4) closed.addSubnet(net, prefix, 'ipv4');
for (const [net, prefix] of closedV6) closed.addSubnet(net, prefix, 'ipv6');

const global = new BlockList();
global.addSubnet('2000::', 3, 'ipv6');

/**
 * Whether an address is on the public internet. An IPv6 address that maps or translates an IPv4 address is not, because
 * it could reach a private IPv4 address.
 */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !closed.check(address, 'ipv4');
  // A zone (`fe80::1%eth0`) refers to a network interface of this machine.
  if (!isIPv6(address) || address.includes('%')) return false;
  return global.check(address, 'ipv6') && !closed.check(address, 'ipv6');
}
