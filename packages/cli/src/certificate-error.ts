/** Error codes of Node for a certificate whose signer it doesn't trust. */
const unknownSigner = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

const others: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'has expired: renew it there, or set the clock of this machine right',
  CERT_NOT_YET_VALID: 'is not valid yet: set the clock of this machine right',
  ERR_TLS_CERT_ALTNAME_INVALID: 'is for another host name: use the name that it was issued for',
};

const causesMax = 5;

/**
 * Why the certificate of a server was not accepted, and what to do about it; undefined for any other failure.
 * @param error of a request, or whatever wraps it as its cause
 */
export function certificateProblem(error: unknown): string | undefined {
  let at = error;
  for (let depth = 0; depth < causesMax && at instanceof Error; depth += 1, at = at.cause) {
    const { code = '' } = at as NodeJS.ErrnoException;
    if (unknownSigner.has(code))
      return `The server's certificate is signed by an authority that this machine does not trust (${code}), such as a private one. If you trust it, set NODE_EXTRA_CA_CERTS to the PEM file of that authority, or NODE_USE_SYSTEM_CA=1 if the system trusts it, and try again.`;
    const problem = others[code];
    if (problem !== undefined) return `The server's certificate ${problem} (${code}).`;
  }
  return undefined;
}
