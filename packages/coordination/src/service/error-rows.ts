/** Rows of the error tables: the status, and what a client does about it; the layer's own table says when. */

export const fixRequest = 'Fix the request.';
export const renewCredential = 'Renew the credential.';
export const getRights = 'Get the rights.';
export const reRead = 'Read the state again, then decide.';
export const retryLater = 'Retry later with the same Idempotency-Key.';

export const row = (status: number, react: string) => (when: string) => ({ status, when, react });
export const badRequest = row(400, fixRequest);
export const forbidden = row(403, getRights);
export const conflict = row(409, reRead);
export const invalid = row(422, fixRequest);
