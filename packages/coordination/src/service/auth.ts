/** How a caller enters: `bootstrap` by the bootstrap secret, `none` without any credential. Absent: a bearer credential. */
export type Auth = 'bootstrap' | 'none';
