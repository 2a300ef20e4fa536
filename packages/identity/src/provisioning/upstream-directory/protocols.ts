import type { OutboundRequest } from '@baton/kernel/outbound/outbound';

/**
 * The two protocols that a directory may speak (see docs/reference/scim.md#upstream-directory), as requests below its
 * base address.
 */

/** The attributes of a new user that are sent to the directory. */
export interface UpstreamUser {
  readonly userName: string;
  readonly externalId: string | null;
  readonly displayName: string | null;
  readonly active: boolean;
  readonly givenName: string | undefined;
  readonly familyName: string | undefined;
  readonly email: string | undefined;
}

export interface ProtocolRequest {
  readonly method: OutboundRequest['method'];
  readonly path: string;
  readonly body?: object;
}

/** An account in a search result. Its fields are not validated. */
export interface FoundAccount {
  readonly id: unknown;
  readonly userName: unknown;
  /** Milliseconds since 1970; NaN if the directory does not return it. */
  readonly createdMs: number;
}

export interface Protocol {
  readonly name: 'scim' | 'admin';
  readonly mediaType: string;
  create(realm: string, user: UpstreamUser): ProtocolRequest;
  setActive(realm: string, id: string, active: boolean): ProtocolRequest;
  search(realm: string, userName: string): ProtocolRequest;
  /** The accounts in the response to a search. */
  accountsIn(json: unknown): FoundAccount[];
}

const schemaUrn = 'urn:ietf:params:scim:schemas:core:2.0:User';
const patchUrn = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

const scim: Protocol = {
  name: 'scim',
  mediaType: 'application/scim+json',
  create: (realm, user) => ({ method: 'POST', path: scimPath(realm), body: scimUserOf(user) }),
  setActive: (realm, id, active) => ({
    method: 'PATCH',
    path: `${scimPath(realm)}/${encodeURIComponent(id)}`,
    body: { schemas: [patchUrn], Operations: [{ op: 'replace', path: 'active', value: active }] },
  }),
  search: (realm, userName) => {
    const filter = encodeURIComponent(`userName eq ${JSON.stringify(userName)}`);
    return { method: 'GET', path: `${scimPath(realm)}?filter=${filter}` };
  },
  accountsIn: (json) =>
    objectsOf(fieldsOf(json)['Resources']).map(({ id, userName, meta }) => ({
      id,
      userName,
      createdMs: Date.parse(String(fieldsOf(meta)['created'])),
    })),
};

const admin: Protocol = {
  name: 'admin',
  mediaType: 'application/json',
  create: (realm, { userName, active, givenName, familyName, email }) => ({
    method: 'POST',
    path: adminPath(realm),
    body: { username: userName, enabled: active, firstName: givenName, lastName: familyName, email },
  }),
  setActive: (realm, id, active) => ({
    method: 'PUT',
    path: `${adminPath(realm)}/${encodeURIComponent(id)}`,
    body: { enabled: active },
  }),
  search: (realm, userName) => ({
    method: 'GET',
    path: `${adminPath(realm)}?username=${encodeURIComponent(userName)}&exact=true`,
  }),
  accountsIn: (json) =>
    objectsOf(json).map(({ id, username, createdTimestamp }) => ({
      id,
      userName: username,
      createdMs: typeof createdTimestamp === 'number' ? createdTimestamp : Number.NaN,
    })),
};

/** The protocols of an `upstreamMode`, in the order in which they are tried. */
export const protocolsOf: Readonly<Record<'scim' | 'admin' | 'auto', readonly Protocol[]>> = {
  scim: [scim],
  admin: [admin],
  auto: [scim, admin],
};

function scimPath(realm: string): string {
  return `/realms/${encodeURIComponent(realm)}/scim/v2/Users`;
}

function adminPath(realm: string): string {
  return `/admin/realms/${encodeURIComponent(realm)}/users`;
}

function scimUserOf({
  userName,
  externalId,
  displayName,
  active,
  givenName,
  familyName,
  email,
}: UpstreamUser): object {
  return {
    schemas: [schemaUrn],
    userName,
    externalId: externalId ?? undefined,
    displayName: displayName ?? undefined,
    active,
    name: givenName === undefined && familyName === undefined ? undefined : { givenName, familyName },
    emails: email === undefined ? undefined : [{ value: email, type: 'work', primary: true }],
  };
}

function objectsOf(json: unknown): Record<string, unknown>[] {
  return Array.isArray(json) ? json.map(fieldsOf) : [];
}

/** The fields of an object; an empty object for any other value. */
export function fieldsOf(json: unknown): Record<string, unknown> {
  return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {};
}
