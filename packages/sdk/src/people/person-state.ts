import type { BatonClient } from '../baton.ts';
import type { Person } from '../generated/coordination-types.ts';
import type { Invitation, Principal } from '../generated/identity-types.ts';

/** Identity's administration of one tenant. */
export interface IdentityAdministration {
  readonly identity: BatonClient['identity'];
  readonly tenantId: string;
  /** The issuer of access tokens, to which bindings of coordination refer. */
  readonly issuer: string;
}

export type PersonKind = Person['kind'];
export type PersonState = 'active' | 'invited' | 'no_access' | 'disabled';

/** A person, an agent or a service: the records of both services under one name. */
export interface JoinedPerson {
  /** The principal's id at coordination, or at identity for somebody who exists only there. */
  readonly id: string;
  /** Null for somebody who exists only at identity. */
  readonly principalId: string | null;
  /** The principal at identity; null if none is bound. */
  readonly iamPrincipalId: string | null;
  readonly kind: PersonKind;
  readonly displayName: string;
  readonly email: string | null;
  /** The key of its agent in the registry. */
  readonly agent: string | null;
  readonly accessRole: string | null;
  readonly permissions: readonly string[];
  readonly state: PersonState;
  /** Why they can't sign in, in words; empty for somebody who can. */
  readonly reason: string;
  readonly lastUsedAt: string | null;
  readonly createdAt: string;
}

/** What identity stores about the people of a page. Undefined where its administration isn't available. */
export interface IdentityRecords {
  readonly principals: ReadonlyMap<string, Principal>;
  /** Open invitations by their person. */
  readonly invitations: ReadonlyMap<string, Invitation>;
}

type Status = Pick<JoinedPerson, 'state' | 'reason'>;

const active: Status = { state: 'active', reason: '' };

/** A principal of coordination with its records at identity. */
export function joinPerson(person: Person, records: IdentityRecords | undefined): JoinedPerson {
  const { id, kind, displayName, email, agent, accessRole, permissions, lastUsedAt, createdAt } = person;
  const identity = person.identities.find(({ status }) => status === 'active') ?? person.identities[0];
  return {
    id,
    principalId: id,
    iamPrincipalId: identity?.iamPrincipalId ?? person.formerIamPrincipalIds[0] ?? null,
    kind,
    displayName,
    email,
    agent,
    accessRole,
    permissions,
    ...statusOf(person, records),
    lastUsedAt,
    createdAt,
  };
}

function statusOf(person: Person, records: IdentityRecords | undefined): Status {
  const { status, identities, liveApiKeys } = person;
  if (status !== 'active') return { state: 'disabled', reason: disabledReason(person, records) };
  if (identities.length === 0)
    return liveApiKeys > 0 ? active : { state: 'no_access', reason: "can't sign in: no identity is bound" };
  const bound = identities.filter((identity) => identity.status === 'active');
  if (bound.length === 0) return { state: 'disabled', reason: 'the binding of its identity is disabled' };
  if (records === undefined) return active;
  const found = bound.flatMap(({ iamPrincipalId }) => records.principals.get(iamPrincipalId) ?? []);
  if (found.some((principal) => principal.status === 'active')) return active;
  const [first] = found;
  if (first === undefined)
    return { state: 'no_access', reason: "can't sign in: its identity doesn't exist in this tenant" };
  return statusAtIdentity(first, records);
}

function disabledReason({ formerIamPrincipalIds: [id = ''] }: Person, records: IdentityRecords | undefined) {
  return records?.principals.get(id)?.status === 'active'
    ? 'disabled here; its identity is still active'
    : 'disabled';
}

function statusAtIdentity({ id, status }: Principal, { invitations }: IdentityRecords): Status {
  if (invitations.has(id)) return { state: 'invited', reason: 'invited, not accepted yet' };
  return status === 'disabled'
    ? { state: 'disabled', reason: 'disabled at identity' }
    : { state: 'disabled', reason: 'paused at identity, without an open invitation' };
}

/** A principal of identity that coordination doesn't have. */
export function joinUnbound(principal: Principal, records: IdentityRecords): JoinedPerson {
  const { id, kind, display_name: displayName, status, created_at: createdAt } = principal;
  const { state, reason }: Status =
    status === 'active'
      ? { state: 'no_access', reason: 'has an identity, but no access here yet' }
      : statusAtIdentity(principal, records);
  return {
    id,
    principalId: null,
    iamPrincipalId: id,
    kind: kind === 'human' || kind === 'agent' ? kind : 'service',
    displayName,
    email: records.invitations.get(id)?.email ?? null,
    agent: null,
    accessRole: null,
    permissions: [],
    state,
    reason: status === 'active' ? reason : `${reason}; has no access here`,
    lastUsedAt: null,
    createdAt,
  };
}
