import type { Answer, TestIdentity } from './identity.ts';

export interface ScimClient {
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(path: string, body: unknown): Promise<Answer>;
  put(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  patch(path: string, operations: unknown, headers?: Record<string, string>): Promise<Answer>;
  delete(path: string, headers?: Record<string, string>): Promise<Answer>;
}

export const patchUrn = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

/** A SCIM client with its token, below `/scim/v2`. */
export function scimClient({ request }: TestIdentity, token: string): ScimClient {
  const send = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    request(method, `/scim/v2${path}`, {
      ...(body === undefined ? {} : { body }),
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/scim+json' }),
        ...headers,
      },
    });
  return {
    get: (path, headers) => send('GET', path, undefined, headers),
    post: (path, body) => send('POST', path, body),
    put: (path, body, headers) => send('PUT', path, body, headers),
    patch: (path, operations, headers) =>
      send('PATCH', path, { schemas: [patchUrn], Operations: operations }, headers),
    delete: (path, headers) => send('DELETE', path, undefined, headers),
  };
}

/** The query string of a filter. */
export function filtered(filter: string): string {
  return `?filter=${encodeURIComponent(filter)}`;
}
