import type { BatonClient } from '../baton.ts';
import type { CallOptions } from '../call.ts';
import { BatonError } from '../errors.ts';
import type { Person } from '../generated/coordination-types.ts';
import type { Invitation, Principal } from '../generated/identity-types.ts';
import {
  type IdentityAdministration,
  type IdentityRecords,
  type JoinedPerson,
  joinPerson,
  joinUnbound,
  type PersonKind,
  type PersonState,
} from './person-state.ts';

export interface PeopleSources {
  readonly baton: BatonClient;
  /** If undefined, only coordination's records are listed. */
  readonly administration: IdentityAdministration | undefined;
}

export interface PeopleQuery {
  readonly kind?: PersonKind;
  /** Prefixes of words in the name. */
  readonly q?: string;
  readonly accessRole?: string;
  readonly state?: PersonState;
  /** `nextCursor` of the previous page. */
  readonly cursor?: string;
}

export interface PeoplePage {
  readonly items: readonly JoinedPerson[];
  readonly nextCursor: string | null;
}

/** Both services accept this many ids in one request. */
const pageMax = 100;
/** If a page has fewer people than this, further pages of the services are read, up to a maximum. */
const itemsMin = 50;
const readsMax = 5;
/** The maximum page size of identity, which equals the default maximum of a tenant's open invitations. */
const invitationsMax = 500;

/**
 * Lists people, agents and services with the records of both services under one name: first those of coordination,
 * newest first, then those that only identity has.
 */
export async function listJoinedPeople(
  sources: PeopleSources,
  { cursor = 'here:', ...filter }: PeopleQuery,
  options: CallOptions = {},
): Promise<PeoplePage> {
  const items: JoinedPerson[] = [];
  let next: string | null = cursor;
  for (let reads = 0; next !== null && items.length < itemsMin && reads < readsMax; reads += 1) {
    const page: PeoplePage = next.startsWith('here:')
      ? await readHere(sources, filter, next.slice('here:'.length), options)
      : await readUnbound(sources, filter, next.slice('identity:'.length), options);
    items.push(...page.items.filter(({ state }) => filter.state === undefined || state === filter.state));
    next = page.nextCursor;
  }
  return { items, nextCursor: next };
}

type Filter = Omit<PeopleQuery, 'cursor'>;

async function readHere(
  { baton, administration }: PeopleSources,
  { kind, q, accessRole }: Filter,
  cursor: string,
  options: CallOptions,
): Promise<PeoplePage> {
  const { items, nextCursor } = await baton.people.list(
    {
      limit: pageMax,
      ...(kind !== undefined && { kind }),
      ...(q !== undefined && { q }),
      ...(accessRole !== undefined && { accessRole }),
      ...(cursor !== '' && { cursor }),
    },
    options,
  );
  const records = administration && (await readRecords(administration, items, options));
  // Nobody who is only in identity has an access role.
  const isLast = administration === undefined || accessRole !== undefined;
  const after = isLast ? null : 'identity:';
  return {
    items: items.map((person) => joinPerson(person, records)),
    nextCursor: nextCursor === null ? after : `here:${nextCursor}`,
  };
}

async function readUnbound(
  { baton, administration }: PeopleSources,
  { kind, q }: Filter,
  cursor: string,
  options: CallOptions,
): Promise<PeoplePage> {
  if (administration === undefined) return { items: [], nextCursor: null };
  const { identity, tenantId } = administration;
  const { items, next_after: after } = await identity.principals.list(
    tenantId,
    {
      limit: pageMax,
      // Services have two kinds in identity.
      ...(kind !== undefined && kind !== 'service' && { kind }),
      ...(q !== undefined && { q }),
      ...(cursor !== '' && { after: cursor }),
    },
    options,
  );
  const unbound = await withoutBound(baton, items, options);
  const invitations = await readInvitations(administration, unbound, options);
  const records = { principals: new Map(), invitations };
  return {
    items: unbound
      .map((principal) => joinUnbound(principal, records))
      .filter((one) => kind === undefined || one.kind === kind),
    nextCursor: after === null ? null : `identity:${after}`,
  };
}

async function withoutBound(
  baton: BatonClient,
  principals: readonly Principal[],
  options: CallOptions,
): Promise<readonly Principal[]> {
  if (principals.length === 0) return principals;
  const ids = principals.map(({ id }) => id);
  const bound = await readBound(baton, ids, options);
  return principals.filter(({ id }) => !bound.has(id));
}

/** Of at most 100 ids in identity, those to which a principal in coordination is or was bound. */
async function readBound(
  baton: BatonClient,
  ids: readonly string[],
  options: CallOptions,
): Promise<Set<string>> {
  const { items } = await baton.people.list({ iamPrincipalIds: ids.join(','), limit: pageMax }, options);
  return new Set(
    items.flatMap(({ identities, formerIamPrincipalIds }) => [
      ...identities.map(({ iamPrincipalId }) => iamPrincipalId),
      ...formerIamPrincipalIds,
    ]),
  );
}

/** What identity has about these people: at most one request per 100 identities, and one for open invitations. */
async function readRecords(
  administration: IdentityAdministration,
  people: readonly Person[],
  options: CallOptions,
): Promise<IdentityRecords> {
  const { identity, tenantId } = administration;
  const ids = [...new Set(people.flatMap(identityIdsOf))];
  const principals: Principal[] = [];
  for (let from = 0; from < ids.length; from += pageMax) {
    const some = ids.slice(from, from + pageMax).join(',');
    const { items } = await identity.principals.list(tenantId, { ids: some, limit: pageMax }, options);
    principals.push(...items);
  }
  return {
    principals: new Map(principals.map((principal) => [principal.id, principal])),
    invitations: await readInvitations(administration, principals, options),
  };
}

/** A disabled person's bindings are revoked. */
function identityIdsOf({ identities, formerIamPrincipalIds }: Person): string[] {
  return identities.length === 0
    ? formerIamPrincipalIds.slice(0, 1)
    : identities.filter(({ status }) => status === 'active').map(({ iamPrincipalId }) => iamPrincipalId);
}

/** Reads the open invitations, by the id of the invited person; sends no request if nobody is paused. */
async function readInvitations(
  { identity, tenantId }: IdentityAdministration,
  principals: readonly Principal[],
  options: CallOptions,
): Promise<Map<string, Invitation>> {
  if (!principals.some(({ status }) => status === 'paused')) return new Map();
  const { items } = await identity.invitations.list(
    tenantId,
    { status: 'open', limit: invitationsMax },
    options,
  );
  return new Map(items.map((invitation) => [invitation.principalId, invitation]));
}

/**
 * Reads one person, agent or service.
 * @param id in coordination, or in identity for somebody who exists only there
 * @throws BatonError `not_found`, or identity's `principal_not_found`
 */
export async function readJoinedPerson(
  { baton, administration }: PeopleSources,
  id: string,
  options: CallOptions = {},
): Promise<JoinedPerson> {
  const person = await readHereById(baton, id, options);
  if (person !== undefined) {
    const records = administration && (await readRecords(administration, [person], options));
    return joinPerson(person, records);
  }
  if (administration === undefined)
    throw new BatonError({ code: 'not_found', status: 404, message: 'There is no such person here.' });
  const { identity, tenantId } = administration;
  const principal = await identity.principals.get(tenantId, id, options);
  const invitations = await readInvitations(administration, [principal], options);
  return joinUnbound(principal, { principals: new Map(), invitations });
}

/**
 * @param id in coordination or, for somebody who is bound here, in identity
 */
async function readHereById(
  baton: BatonClient,
  id: string,
  options: CallOptions,
): Promise<Person | undefined> {
  try {
    return await baton.people.get(id, options);
  } catch (error) {
    if (!(error instanceof BatonError) || error.status !== 404) throw error;
    const { items } = await baton.people.list({ iamPrincipalIds: id, limit: 1 }, options);
    return items[0];
  }
}
