import { BlockList } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Values of HOST that mean all of the machine's addresses. */
export const everyAddress: readonly string[] = ['0.0.0.0', '::', ''];

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** The URLs of a local port for other machines. @param host the listening address */
export function reachableUrls(host: string, port: number): string[] {
  if (!everyAddress.includes(host)) return [];
  return Object.values(networkInterfaces())
    .flatMap((found) => found ?? [])
    .filter(({ internal, family, address }) => {
      if (internal || address.startsWith('fe80:')) return false;
      return family === 'IPv4' || host !== '0.0.0.0';
    })
    .map(({ family, address }) => `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`);
}

/** Whether an address is one of this machine's. @param address without a zone; IPv4 not mapped to IPv6 */
export function isOwnAddress(address: string): boolean {
  if (loopback.check(address, address.includes(':') ? 'ipv6' : 'ipv4')) return true;
  return Object.values(networkInterfaces()).some((found) => found?.some((own) => own.address === address));
}
