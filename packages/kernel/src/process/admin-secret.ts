import { BlockList, isIP } from 'node:net';

/**
 * The minimum length of a named admin secret: 16 random characters of base64url are 96 bits, which can't be guessed.
 */
export const adminSecretCharactersMin = 16;

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/**
 * The warning for an admin secret that somebody on another machine could guess.
 * @param setting the name of the secret; @param host the address that the service listens on @returns undefined if the
 * secret is long enough or absent, or if only this machine can connect
 */
export function shortSecretWarning(setting: string, secret: string, host: string): string | undefined {
  if (secret === '' || secret.length >= adminSecretCharactersMin || isLoopback(host)) return undefined;
  return `${setting} has fewer than ${adminSecretCharactersMin} characters, and anybody who can reach ${host || 'this machine'} can try to guess it: set a longer one.`;
}

/** Names other than `localhost` may resolve to any address. */
function isLoopback(host: string): boolean {
  const version = isIP(host);
  if (version === 0) return host.toLowerCase() === 'localhost';
  return loopback.check(host, version === 6 ? 'ipv6' : 'ipv4');
}
