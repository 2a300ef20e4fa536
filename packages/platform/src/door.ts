import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';

/** Which requests the port of the default run takes. */
export interface Door {
  /** Host names under which Baton is reached, besides `localhost` and addresses; lower case, without a port. */
  readonly hosts: readonly string[];
  /** Hosts (with their port) of its own pages, besides the one that a request names. */
  readonly ownOrigins: readonly string[];
  /** Origins of other web pages that may call; `*` is all. */
  readonly origins: readonly string[];
  /** The setting that holds these; absent where there is none. */
  readonly originsSetting?: string;
}

export interface TurnedAway {
  readonly status: 403 | 421;
  readonly code: 'misdirected_request' | 'origin_not_allowed' | 'address_not_allowed';
  /** A sentence for people. */
  readonly reason: string;
}

/** The longest name of DNS, with a port. */
const hostCharactersMax = 260;

/**
 * Turns away what a stranger's web page sends through its visitor's browser. Such a page can let its own name point to
 * 127.0.0.1 (DNS rebinding) and would then read the answers; but the browser names the page in Host, or in Origin. An
 * address in place of a name can't be pointed elsewhere.
 */
export function turnAway({ host, origin }: IncomingHttpHeaders, door: Door): TurnedAway | undefined {
  // Only HTTP/1.0 has no Host, and no browser speaks it.
  if (host !== undefined && !isKnownHost(host, door))
    return {
      status: 421,
      code: 'misdirected_request',
      reason: `Baton does not answer under the host name ${named(host.replace(/:\d*$/, ''))}. Use its address, or start it with this name in BATON_ALLOWED_HOSTS, for example BATON_ALLOWED_HOSTS='["baton.example.com"]'.`,
    };
  if (origin !== undefined && !isKnownOrigin(origin, host, door))
    return {
      status: 403,
      code: 'origin_not_allowed',
      reason: `Pages of the origin ${named(origin)} may not call this Baton.${originAdvice(door)}`,
    };
  return undefined;
}

function originAdvice({ originsSetting: setting }: Door): string {
  return setting === undefined
    ? ''
    : ` To allow them, start it with the origin in ${setting}, for example ${setting}='["https://app.example.com"]'.`;
}

/** A value of the request, quoted and bounded. */
function named(text: string): string {
  return JSON.stringify(text.slice(0, hostCharactersMax));
}

function isKnownHost(host: string, { hosts }: Door): boolean {
  const [, inBrackets, plain] = /^(?:\[([\da-f:.]+)\]|([^:[\]]+))(?::\d{1,5})?$/i.exec(host) ?? [];
  if (inBrackets !== undefined) return isIP(inBrackets) === 6;
  // A name may be written with the dot of the root at its end.
  const name = plain?.toLowerCase().replace(/\.$/, '') ?? '';
  return name === 'localhost' || isIP(name) === 4 || hosts.includes(name);
}

function isKnownOrigin(origin: string, host: string | undefined, { ownOrigins, origins }: Door): boolean {
  if (origins.includes('*') || origins.includes(origin)) return true;
  const [, from] = /^https?:\/\/([^/]+)$/i.exec(origin) ?? [];
  if (from === undefined) return false;
  return [host, ...ownOrigins].some((own) => own?.toLowerCase() === from.toLowerCase());
}
