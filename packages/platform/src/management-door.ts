import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { clientAddressOf, type Networks } from '@baton/kernel/listener/client-address';
import type { TurnedAway } from './door.ts';
import { isOwnAddress } from './own-addresses.ts';

/** Who may read metrics and present secrets of administrators. This machine always may. */
export interface ManagementDoor {
  /** Networks of other machines that may, too. */
  readonly allowed: Networks;
  /** The proxies whose `X-Forwarded-For` is believed. */
  readonly proxies: Networks;
  /** The setting that names these. */
  readonly proxiesSetting: string;
  /** Whether `/metrics` has a token of its own, which is then all that it needs. */
  readonly hasMetricsToken: boolean;
}

/** Headers that proxies add. A request with one of these comes from another place than its connection. */
const forwardingHeaders = [
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'forwarded',
  'via',
  'x-real-ip',
  'x-client-ip',
  'cf-connecting-ip',
  'true-client-ip',
];

/**
 * Turns away requests of other machines for `/metrics` and for management: those that present a secret of an administrator,
 * to identity in its header, to coordination for its bootstrap.
 */
export function turnAwayManagement(req: IncomingMessage, door: ManagementDoor): TurnedAway | undefined {
  const path = plainPath(req.url);
  const isMetrics = path === '/metrics' && !door.hasMetricsToken;
  const isManagement =
    req.headers['x-iam-bootstrap-token'] !== undefined || path === '/api/v1/bootstrap' || isMetrics;
  if (!isManagement || isAllowed(req, door)) return undefined;
  const what = isMetrics ? '/metrics answers' : 'Secrets of administrators are accepted from';
  return {
    status: 403,
    code: 'address_not_allowed',
    reason: `${what} this machine only. To allow others, start Baton with their network in BATON_MANAGEMENT_NETWORKS, for example ["10.0.0.0/8"]; behind a proxy also set ${door.proxiesSetting}.`,
  };
}

function isAllowed(req: IncomingMessage, { allowed, proxies }: ManagementDoor): boolean {
  const peer = bareAddress(req.socket.remoteAddress);
  const client = bareAddress(clientAddressOf(req, proxies));
  const isForwarded = forwardingHeaders.some((name) => req.headers[name] !== undefined);
  // A proxy on this machine, or in one of the networks, would make everybody a neighbour.
  const isKnown = !isForwarded || (isIn(proxies, peer) && req.headers['x-forwarded-for'] !== undefined);
  return isKnown && (isIn(allowed, client) || isOwnAddress(client));
}

function isIn(networks: Networks, address: string): boolean {
  const version = isIP(address);
  return version !== 0 && networks?.check(address, version === 6 ? 'ipv6' : 'ipv4') === true;
}

/** Without a zone; an IPv4 address that is mapped to IPv6 in its own form. */
function bareAddress(address = ''): string {
  return address.replace(/%.*$/, '').replace(/^::ffff:(?=[\d.]+$)/i, '');
}

/**
 * The path in its simplest form: the services' routers decode escapes, leave the host of an absolute URL out, and take any first
 * character for a slash, as of `*metrics`.
 */
function plainPath(url = '/'): string {
  const [path = ''] = url.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#;]/, 1);
  return decoded(path)
    .toLowerCase()
    .replace(/^[^/]/, '/')
    .replaceAll(/\/{2,}/g, '/')
    .replace(/(?<=.)\/$/, '');
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
