import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { clientAddressOf, type Networks } from '@baton/kernel/listener/client-address';
import type { Rejection } from './origin-policy.ts';
import { isOwnAddress } from './own-addresses.ts';

/** The addresses that may read metrics and use administrator secrets. This machine is always allowed. */
export interface ManagementPolicy {
  /** Allowed networks of other machines. */
  readonly allowed: Networks;
  /** The proxies whose `X-Forwarded-For` is trusted. */
  readonly proxies: Networks;
  /** The name of the setting for `proxies`. */
  readonly proxiesSetting: string;
  /** Whether `/metrics` has its own token, which is then sufficient. */
  readonly hasMetricsToken: boolean;
}

/** Headers that proxies add. If a request has one of these, the address of its connection is not the client's. */
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
 * Rejects requests from other machines for `/metrics`, and their requests with an administrator secret: those with
 * identity's secret in a header, and coordination's bootstrap.
 */
export function rejectManagementRequest(
  req: IncomingMessage,
  policy: ManagementPolicy,
): Rejection | undefined {
  const path = plainPath(req.url);
  const isMetrics = path === '/metrics' && !policy.hasMetricsToken;
  const isManagement =
    req.headers['x-iam-bootstrap-token'] !== undefined || path === '/api/v1/bootstrap' || isMetrics;
  if (!isManagement || isAllowed(req, policy)) return undefined;
  const what = isMetrics ? '/metrics is available to' : 'Administrator secrets are accepted from';
  return {
    status: 403,
    code: 'address_not_allowed',
    reason: `${what} this machine only. To allow others, add their network to BATON_MANAGEMENT_NETWORKS, for example ["10.0.0.0/8"]; behind a proxy also set ${policy.proxiesSetting}.`,
  };
}

function isAllowed(req: IncomingMessage, { allowed, proxies }: ManagementPolicy): boolean {
  const peer = bareAddress(req.socket.remoteAddress);
  const client = bareAddress(clientAddressOf(req, proxies));
  const isForwarded = forwardingHeaders.some((name) => req.headers[name] !== undefined);
  // Without this condition, an untrusted proxy on this machine or in an allowed network would admit every client.
  const isKnown = !isForwarded || (isIn(proxies, peer) && req.headers['x-forwarded-for'] !== undefined);
  return isKnown && (isIn(allowed, client) || isOwnAddress(client));
}

function isIn(networks: Networks, address: string): boolean {
  const version = isIP(address);
  return version !== 0 && networks?.check(address, version === 6 ? 'ipv6' : 'ipv4') === true;
}

/** Strips the zone, and unwraps an IPv4 address mapped to IPv6. */
function bareAddress(address = ''): string {
  return address.replace(/%.*$/, '').replace(/^::ffff:(?=[\d.]+$)/i, '');
}

/**
 * Normalizes the path like the services' routers, which decode escapes, ignore the host of an absolute URL, and treat
 * any first character as a slash, as in `*metrics`.
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
