import { isIPv4, isIPv6 } from 'node:net';

const groupsOfNetwork = 4;

/**
 * The key under which requests from an address are counted: an IPv4 address, even if it is mapped to IPv6, or the /64
 * network of an IPv6 address, which usually belongs to one household or machine. Any other text is its own key.
 */
export function clientOfAddress(address: string): string {
  const bare = address.replace(/%.*$/, '');
  if (!isIPv6(bare)) return bare;
  const dotted = bare.slice(bare.lastIndexOf(':') + 1);
  const groups = groupsOf(isIPv4(dotted) ? bare.slice(0, -dotted.length) + hexOf(dotted) : bare);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped)
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 255])
      .join('.');
  const network = groups.slice(0, groupsOfNetwork).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
}

/** The eight groups of an IPv6 address, `::` expanded. */
function groupsOf(address: string): number[] {
  const [head = [], tail = []] = address
    .split('::')
    .map((part) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))));
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}

function hexOf(dotted: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split('.').map(Number);
  return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}
