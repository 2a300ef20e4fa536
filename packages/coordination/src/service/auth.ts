/** How a caller authenticates: `bootstrap` by the bootstrap secret, `none` without any credential. Absent: a bearer credential. */
export type Auth = 'bootstrap' | 'none';
