/**
 * Credentials other than the usual bearer credential: `bootstrap` is the bootstrap secret, `metrics` the token for `/metrics`
 * where one is set, `none` asks for none.
 */
export type Auth = 'bootstrap' | 'metrics' | 'none';
