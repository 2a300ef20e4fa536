/** Fields of a request or a response that contain a secret, with its kind. */
export const secretFields: ReadonlyMap<string, string> = new Map([
  ['token', 'presented token'],
  ['accessToken', 'access token'],
  ['access_token', 'access token'],
  ['id_token', 'upstream token'],
  ['clientSecret', 'client secret'],
  ['client_secret', 'client secret'],
  ['password', 'password'],
  ['key', 'key'],
]);

/** Matches Baton's tokens and keys, and JSON Web Tokens. */
export const tokenForms =
  /\b(?:iam_pat|iam_scim|iam_ses|iam_inv|iam_adm|cp)_\w{12}_[\w-]{20,}|\beyJ[\w-]+\.[\w-]+\.[\w-]{20,}/g;

const fieldForms = new RegExp(`"(${[...secretFields.keys()].join('|')})":"(?:[^"\\\\]|\\\\.)*"`, 'g');

/** Masks secrets in a string; it recognizes them by field name or by format. */
export const maskSecrets = (text: string): string =>
  text.replace(fieldForms, '"$1":"…"').replace(tokenForms, '…');
