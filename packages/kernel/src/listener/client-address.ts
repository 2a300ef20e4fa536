import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, SocketAddress } from 'node:net';
import type { Setting } from '../process/config.ts';

/** A set of networks. Undefined contains no address. */
export type Networks = BlockList | undefined;

interface Address {
  readonly text: string;
  readonly family: 'ipv4' | 'ipv6';
}

/** The longest chain of proxies that is read from the header; the rest is ignored. */
const hopsMax = 32;
/** The maximum length of an address: IPv6 with a zone, in brackets, with a port. */
const entryCharactersMax = 80;

/**
 * The address of the client that sent a request: the address of the connection or, if a trusted proxy made the
 * connection, the last address in X-Forwarded-For that is not a trusted proxy's. Every proxy appends the address it got
 * the request from, so any address further left was sent by the client and can be forged.
 * @param trusted the networks of the trusted proxies
 * @returns the address of the last known proxy if an entry isn't an address or all are trusted
 */
export function clientAddressOf({ socket, headers }: IncomingMessage, trusted: Networks): string {
  const peer = socket.remoteAddress ?? '';
  const forwarded = headers['x-forwarded-for'];
  if (trusted === undefined || typeof forwarded !== 'string') return peer;
  let client = parseAddress(peer);
  if (client === undefined) return peer;
  let end = forwarded.length;
  for (let hop = 0; hop < hopsMax && end > 0 && holds(trusted, client); hop += 1) {
    const comma = forwarded.lastIndexOf(',', end - 1);
    const next = parseEntry(forwarded.slice(comma + 1, end));
    if (next === undefined) break;
    client = next;
    end = comma;
  }
  return client.text;
}

/** A JSON array of addresses and networks: `["10.0.0.0/8", "::1"]`. */
export function networks(options: { doc: string }): Setting<Networks> {
  return {
    ...options,
    default: undefined,
    kind: 'JSON array of networks',
    parse(value) {
      const entries = parseList(value);
      const found = new BlockList();
      for (const entry of entries) addNetwork(found, entry);
      return entries.length === 0 ? undefined : found;
    },
  };
}

function parseList(value: string): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(value);
    if (Array.isArray(parsed)) return parsed;
  } catch {
    // Rejected below with the same message as JSON that isn't an array.
  }
  throw new Error('must be a JSON array of networks, such as ["10.0.0.0/8"].');
}

function addNetwork(found: BlockList, entry: unknown): void {
  const [, text = '', bits] = (typeof entry === 'string' && /^([^/]+)(?:\/(\d{1,3}))?$/.exec(entry)) || [];
  const address = parseAddress(text);
  const bitsMax = isIP(text) === 6 ? 128 : 32;
  if (address === undefined || Number(bits ?? 0) > bitsMax || text.includes('%'))
    throw new Error('must contain only addresses and networks, such as "10.0.0.0/8" or "::1".');
  // IPv4 clients are compared as IPv4 addresses, so a network of IPv4-mapped IPv6 addresses would never match.
  if (bitsMax === 128 && address.family === 'ipv4')
    throw new Error('must contain IPv4 networks in IPv4 notation, such as "10.0.0.0/8".');
  if (bits === undefined) found.addAddress(address.text, address.family);
  else found.addSubnet(address.text, Number(bits), address.family);
}

function holds(networks: BlockList, { text, family }: Address): boolean {
  return networks.check(text, family);
}

/** `192.0.2.1`, `192.0.2.1:443`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:443` */
function parseEntry(entry: string): Address | undefined {
  if (entry.length > entryCharactersMax) return undefined;
  const text = entry.trim();
  const [, bracketed] = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(text) ?? [];
  return parseAddress(bracketed ?? text.replace(/^([\d.]+):\d{1,5}$/, '$1'));
}

/** In canonical form; an IPv4 address that is mapped to IPv6 becomes the IPv4 address, and a zone is left out. */
function parseAddress(written: string): Address | undefined {
  const bare = written.replace(/%.*$/, '');
  const version = isIP(bare);
  if (version === 0) return undefined;
  if (version === 4) return { text: bare, family: 'ipv4' };
  const { address } = new SocketAddress({ address: bare, family: 'ipv6' });
  const mapped = /^::ffff:([\d.]+)$/.exec(address)?.[1];
  return mapped === undefined ? { text: address, family: 'ipv6' } : { text: mapped, family: 'ipv4' };
}
