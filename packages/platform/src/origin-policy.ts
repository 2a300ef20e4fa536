import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';

/** The hosts and origins that the port of the default run accepts. */
export interface OriginPolicy {
  /** Allowed host names in addition to `localhost` and IP addresses; lower case, without a port. */
  readonly hosts: readonly string[];
  /** Hosts (with their port) of Baton's own pages, in addition to the host of the request. */
  readonly ownOrigins: readonly string[];
  /** Allowed origins of other web pages; `*` allows all. */
  readonly origins: readonly string[];
  /** The setting that `origins` came from, if there is one. */
  readonly originsSetting?: string;
}

export interface Rejection {
  readonly status: 403 | 421;
  readonly code: 'misdirected_request' | 'origin_not_allowed' | 'address_not_allowed';
  /** A user-readable message. */
  readonly reason: string;
}

/** The maximum length of a DNS name with a port. */
const hostCharactersMax = 260;

/**
 * Rejects requests that a foreign web page sends through its visitor's browser. Such a page can resolve its own name
 * to 127.0.0.1 (DNS rebinding) to read the responses, but the browser sends the page's name in Host or Origin. An IP
 * address in place of a name can't be rebound.
 */
export function rejectForeignRequest(
  { host, origin }: IncomingHttpHeaders,
  policy: OriginPolicy,
): Rejection | undefined {
  // Only HTTP/1.0 requests lack Host, and no browser sends these.
  if (host !== undefined && !isKnownHost(host, policy))
    return {
      status: 421,
      code: 'misdirected_request',
      reason: `The host name ${quote(host.replace(/:\d*$/, ''))} is not allowed. Use the IP address, or start Baton with this name in BATON_ALLOWED_HOSTS, for example BATON_ALLOWED_HOSTS='["baton.example.com"]'.`,
    };
  if (origin !== undefined && !isKnownOrigin(origin, host, policy))
    return {
      status: 403,
      code: 'origin_not_allowed',
      reason: `The origin ${quote(origin)} is not allowed.${originAdvice(policy)}`,
    };
  return undefined;
}

function originAdvice({ originsSetting: setting }: OriginPolicy): string {
  return setting === undefined
    ? ''
    : ` To allow it, start Baton with the origin in ${setting}, for example ${setting}='["https://app.example.com"]'.`;
}

/** Quotes a value from the request, truncated if it is long. */
function quote(text: string): string {
  return JSON.stringify(text.slice(0, hostCharactersMax));
}

function isKnownHost(host: string, { hosts }: OriginPolicy): boolean {
  const [, inBrackets, plain] = /^(?:\[([\da-f:.]+)\]|([^:[\]]+))(?::\d{1,5})?$/i.exec(host) ?? [];
  if (inBrackets !== undefined) return isIP(inBrackets) === 6;
  // A host name may end with a dot, the root of the DNS.
  const name = plain?.toLowerCase().replace(/\.$/, '') ?? '';
  return name === 'localhost' || isIP(name) === 4 || hosts.includes(name);
}

function isKnownOrigin(
  origin: string,
  host: string | undefined,
  { ownOrigins, origins }: OriginPolicy,
): boolean {
  if (origins.includes('*') || origins.includes(origin)) return true;
  const [, from] = /^https?:\/\/([^/]+)$/i.exec(origin) ?? [];
  if (from === undefined) return false;
  return [host, ...ownOrigins].some((own) => own?.toLowerCase() === from.toLowerCase());
}
