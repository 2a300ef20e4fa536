import type { ErrorExample, ErrorRow } from './refusal.ts';

/**
 * A row of an error table.
 * @param when the condition of the code, in a sentence; it's also the message of the error @param react the recommended
 * action, in a sentence specific to this code @param example the refused and the corrected request, if the request is
 * malformed
 */
export function errorRow(status: number, when: string, react: string, example?: ErrorExample): ErrorRow {
  return { status, when, react, ...(example && { example }) };
}

const rowsOf = (status: number) => (when: string, react: string, example?: ErrorExample) =>
  errorRow(status, when, react, example);

export const badRequest = rowsOf(400);
export const unauthenticated = rowsOf(401);
export const forbidden = rowsOf(403);
export const notFound = rowsOf(404);
export const conflict = rowsOf(409);
export const gone = rowsOf(410);
export const invalid = rowsOf(422);
export const badGateway = rowsOf(502);
export const unavailable = rowsOf(503);
