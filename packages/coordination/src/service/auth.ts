/** Credentials other than the usual bearer credential: `bootstrap` is the bootstrap secret, `none` asks for none. */
export type Auth = 'bootstrap' | 'none';
