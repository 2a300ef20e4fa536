/** The maximum length of a mailbox's address (RFC 5321). */
export const addressCharactersMax = 254;

// Plain addresses only: no quoted local part, no comment, no literal of a host, no list. So nothing in an address can
// be read as a header, or as a second address.
const form =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@((?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63})$/;

/**
 * Checks an address to which notifications would be sent.
 * @param domains the allowed domains, in any case; empty for all
 * @returns the fault; undefined for a usable address
 */
export function faultOfAddress(
  address: string,
  domains: readonly string[],
): 'malformed' | 'domain_not_allowed' | undefined {
  const domain = form.exec(address)?.[1]?.toLowerCase();
  if (domain === undefined || address.length > addressCharactersMax) return 'malformed';
  const isAllowed = domains.length === 0 || domains.some((allowed) => allowed.toLowerCase() === domain);
  return isAllowed ? undefined : 'domain_not_allowed';
}

/** The address for somebody's notifications: their own choice, else that of the profile, if it can be used. */
export function addressOf(
  { email, profile_email: profileEmail }: { email: string | null; profile_email: string | null },
  domains: readonly string[],
): { address: string | null; source: 'own' | 'profile' | null } {
  const usable = (text: string | null) => text !== null && faultOfAddress(text, domains) === undefined;
  if (email !== null) return { address: usable(email) ? email : null, source: 'own' };
  return usable(profileEmail)
    ? { address: profileEmail, source: 'profile' }
    : { address: null, source: null };
}
