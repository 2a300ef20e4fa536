/**
 * Describes the remaining access of a disabled principal or a revoked credential: earlier access tokens stay valid
 * until they expire.
 * @param whom as the object of a sentence
 */
export const describeRemainingAccess = (whom: string): string =>
  `Baton rejects ${whom} immediately, or within 2 seconds if its services run separately, even with an unexpired access token. Other services accept such a token until it expires (300 seconds at most).`;
