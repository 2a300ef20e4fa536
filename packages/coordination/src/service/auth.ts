/**
 * Credentials other than the bearer credential: `bootstrap` is the bootstrap secret, `metrics` the token for `/metrics`
 * if one is set, `none` requires no credential.
 */
export type Auth = 'bootstrap' | 'metrics' | 'none';
