/**
 * What a disable or a revocation ends, and what it doesn't: the access tokens that were exchanged before.
 * @param whom as the object of a sentence
 */
export const remainsOf = (whom: string): string =>
  `Baton refuses ${whom} at once, or within 2 seconds where its services run apart, also with access tokens from before. Other services accept such a token until it expires, at most 300 seconds.`;
