import { randomUUID } from 'node:crypto';
import { endpointName, type Operation } from '@baton/kernel/service';
import type { MatrixRules, Prepared } from '@baton/kernel/testing/matrix-bench';
import type { TestIdentity } from './identity.ts';
import { made } from './objects.ts';
import { scimClient } from './scim-client.ts';

/** SCIM in the matrix: the general rules in the envelope of RFC 7644. */
export const scimRules: MatrixRules = {
  unauthenticated: { status: 401, code: '401' },
  invalid: { status: 400, code: '400 invalidValue' },
  unstorable: { status: 400, code: '400 invalidValue' },
  tooLarge: { status: 413, code: '413' },
  wrongMethod: { status: 405, code: '405' },
  keyRequired: { status: 400, code: '400' },
  keyTooLong: { status: 400, code: '400' },
};

/** The code in a SCIM error; what is absent has one code at every endpoint. */
export function scimCodeOf(body: unknown): string | undefined {
  const { status, scimType, detail, schemas } = (body ?? {}) as Record<string, unknown>;
  if (!Array.isArray(schemas) || typeof detail !== 'string') return undefined;
  if (status === '404') return 'scim_not_found';
  return scimType === undefined ? String(status) : `${status} ${scimType}`;
}

/** A user and a group of the source, and a body with names of its own. */
export async function prepareScim(
  identity: TestIdentity,
  endpoint: Pick<Operation, 'path' | 'method'> & Partial<Operation>,
  token: string,
): Promise<Prepared> {
  const client = scimClient(identity, token);
  const name = randomUUID();
  const user = await made(client.post('/Users', { userName: `${name}@example.com` }));
  const group = await made(client.post('/Groups', { displayName: name }));
  const params = {
    id: endpoint.path.includes('Groups') ? group.id : user.id,
    name: 'User',
    urn: 'urn:ietf:params:scim:schemas:core:2.0:Group',
  };
  if (endpoint.example === undefined) return { params };
  const own: Record<string, object> = {
    'POST /scim/v2/Users': { userName: randomUUID(), externalId: randomUUID() },
    'PUT /scim/v2/Users/{id}': { externalId: randomUUID(), userName: randomUUID() },
    'POST /scim/v2/Groups': { displayName: randomUUID() },
    'PUT /scim/v2/Groups/{id}': { displayName: randomUUID() },
  };
  return { params, body: { ...(endpoint.example as object), ...own[endpointName(endpoint)] } };
}
