import { certificateCodeOf } from '@baton/sdk/node';

/** All of the SDK's other codes mean that the signer isn't trusted. */
const problems: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'has expired: renew it there, or correct the clock of this machine',
  CERT_NOT_YET_VALID: 'is not valid yet: correct the clock of this machine',
  ERR_TLS_CERT_ALTNAME_INVALID: 'is for another host name: use the name that it was issued for',
};

/**
 * Explains why a server's certificate was rejected, and the remedy; undefined for any other failure.
 * @param error of a request, or an error with it as its cause
 */
export function certificateProblem(error: unknown): string | undefined {
  const code = certificateCodeOf(error);
  if (code === undefined) return undefined;
  const problem = problems[code];
  if (problem !== undefined) return `The server's certificate ${problem} (${code}).`;
  return `The server's certificate is signed by an authority that this machine does not trust (${code}), such as a private one. If you trust it, set NODE_EXTRA_CA_CERTS to the PEM file of that authority, or NODE_USE_SYSTEM_CA=1 if the system trusts it, and try again.`;
}
