/** Fields of a request or an answer that hold a secret, and what kind it is. */
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

/** Tokens and keys of Baton, and JSON Web Tokens. */
export const tokenForms = /\b(?:iam_pat|iam_scim|cp)_\w{12}_[\w-]{20,}|\beyJ[\w-]+\.[\w-]+\.[\w-]{20,}/g;

const fieldForms = new RegExp(`"(${[...secretFields.keys()].join('|')})":"(?:[^"\\\\]|\\\\.)*"`, 'g');

/** A text as a person may see it: without the secrets that a field's name or their form shows. */
export const maskSecrets = (text: string): string =>
  text.replace(fieldForms, '"$1":"…"').replace(tokenForms, '…');
