/** Error codes that TLS libraries use for a rejected certificate. A retry does not help. */
const certificateCodes: readonly string[] = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'ERR_TLS_CERT_ALTNAME_INVALID',
];

/** The maximum depth of nested causes. */
const causesMax = 5;

/**
 * Returns the code with which a certificate was rejected, or undefined for any other failure. Browsers don't report it.
 * @param error of a request, or an error with it as its cause
 * @example
 * await baton.tasks.list({ limit: 1 }).catch((error: unknown) => console.log(certificateCodeOf(error)));
 */
export function certificateCodeOf(error: unknown): string | undefined {
  let at = error;
  for (let depth = 0; depth < causesMax && at instanceof Error; depth += 1, at = at.cause) {
    const { code } = at as Error & { readonly code?: unknown };
    if (typeof code === 'string' && certificateCodes.includes(code)) return code;
  }
  return undefined;
}
