import { certificateCodeOf } from '@baton/sdk/node';

/** Any other code that the SDK knows is of a signer that this machine doesn't trust. */
const problems: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'has expired: renew it there, or set the clock of this machine right',
  CERT_NOT_YET_VALID: 'is not valid yet: set the clock of this machine right',
  ERR_TLS_CERT_ALTNAME_INVALID: 'is for another host name: use the name that it was issued for',
};

/**
 * Why the certificate of a server was not accepted, and what to do about it; undefined for any other failure.
 * @param error of a request, or whatever wraps it as its cause
 */
export function certificateProblem(error: unknown): string | undefined {
  const code = certificateCodeOf(error);
  if (code === undefined) return undefined;
  const problem = problems[code];
  if (problem !== undefined) return `The server's certificate ${problem} (${code}).`;
  return `The server's certificate is signed by an authority that this machine does not trust (${code}), such as a private one. If you trust it, set NODE_EXTRA_CA_CERTS to the PEM file of that authority, or NODE_USE_SYSTEM_CA=1 if the system trusts it, and try again.`;
}
