import type { MatrixRules } from '@baton/kernel/testing/matrix/matrix-service';

/** SCIM in the matrix: the general rules in the envelope of RFC 7644. */
export const scimRules: MatrixRules = {
  unauthenticated: { status: 401, code: '401' },
  invalid: { status: 400, code: '400 invalidValue' },
  notJson: { status: 400, code: '400 invalidSyntax' },
  unstorable: { status: 400, code: '400 invalidValue' },
  tooLarge: { status: 413, code: '413' },
  wrongMethod: { status: 405, code: '405' },
  keyRequired: { status: 400, code: '400' },
  keyTooLong: { status: 400, code: '400' },
};

/** The code of a SCIM error; an absent object has the same code at every endpoint. */
export function scimCodeOf(body: unknown): string | undefined {
  const { status, scimType, detail, schemas } = (body ?? {}) as Record<string, unknown>;
  if (!Array.isArray(schemas) || typeof detail !== 'string') return undefined;
  if (status === '404') return 'scim_not_found';
  return scimType === undefined ? String(status) : `${status} ${scimType}`;
}
