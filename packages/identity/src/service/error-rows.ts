/** Rows of the error tables: the status, and what a client does about it; the layer's own table says when. */

export const code = (status: number, when: string, react: string) => ({ status, when, react });
export const always = (status: number, react: string) => (when: string) => code(status, when, react);

export const malformed = always(400, 'Fix the request.');
export const credential = always(
  401,
  'Get a new credential; the answer never says what is wrong with this one.',
);
export const upstream = always(401, 'Sign in at the identity provider again.');
export const forbidden = always(403, 'Ask for less, or have the rights widened.');
export const absent = always(404, 'Check the identifier and the tenant.');
export const conflict = always(409, 'Read the state again, then decide.');
export const exists = always(409, 'Treat it as done, or choose another name.');
export const invalid = always(422, 'Fix the request.');
