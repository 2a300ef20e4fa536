import { randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/database/db';
import { externalIdentityLinked } from '../../directory/external-identities/external-identities.events.ts';
import { principalCreated } from '../../directory/principals/principals.events.ts';
import { addPrincipal } from '../../directory/principals/principals.ts';
import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { OpenProvider, StoredProvider } from '../identity-providers/identity-provider.ts';
import { admits } from '../identity-providers/self-admission.ts';
import { nameOf, type UpstreamIdentity } from '../upstream-token/upstream-token.ts';
import {
  deletePendingRequest,
  enterPeople,
  findLinks,
  findPerson,
  findRefusal,
  insertLink,
  type LinkClaims,
  type LinkRow,
  lockLinks,
  type PersonRow,
  readLinks,
  updateLink,
} from './links.sql.ts';

/** A concurrent transaction changed the looked-up rows: the sign-in must be retried. */
export class LinkChanged extends Error {
  override readonly name = 'LinkChanged';
}

/** The person that a token identifies. */
export interface LinkedPerson {
  readonly principalId: string;
  readonly principalKind: string;
  readonly externalIdentityId: string;
}

/**
 * Finds the person that a token identifies, or creates one (see docs/reference/providers.md#linking). The principal is
 * locked before its identity, as in every transaction, and the lock lasts until this one ends.
 * @returns undefined for an unknown person about whom an administrator decides
 * @throws Refusal `external_identity_conflict`, `identity_disabled`, `principal_disabled`, `principal_not_in_tenant`
 * @throws LinkChanged, or a violated unique index, when a concurrent transaction was faster
 */
export async function linkPerson(
  context: Context,
  provider: OpenProvider,
  identity: UpstreamIdentity,
): Promise<LinkedPerson | undefined> {
  const { db } = context;
  const { subject, externalId } = identity;
  const claims = { providerId: provider.id, issuer: provider.issuer, subject, externalId };
  const found = await db.rows(findLinks(claims));
  const people = await db.rows(
    enterPeople(
      provider.tenant_id,
      found.map((link) => link.principal_id),
    ),
  );
  const links = found.length === 0 ? [] : await db.rows(lockLinks(claims));
  if (links.length > 1) fail('external_identity_conflict');
  const [link] = links;
  if (link === undefined)
    return (await mayEnter(db, provider, identity))
      ? createPerson(context, provider, { ...claims, ...identity })
      : undefined;
  const person = people.find(({ id }) => id === link.principal_id);
  if (person === undefined) throw new LinkChanged();
  refuseUnusableLink(link, person, externalId);
  await db.run(updateLink(link.id, claims, identity.acr));
  auditChanges(context, provider, link, subject);
  return { principalId: person.id, principalKind: person.kind, externalIdentityId: link.id };
}

/**
 * The person that a token identifies, without a lock; undefined for an unknown person.
 * @throws Refusal as `linkPerson`
 */
export async function findPersonOf(
  db: Db,
  provider: StoredProvider,
  { subject, externalId }: UpstreamIdentity,
): Promise<PersonRow | undefined> {
  const claims = { providerId: provider.id, issuer: provider.issuer, subject, externalId };
  const [link, ...others] = await db.rows(readLinks(claims));
  if (link === undefined) return undefined;
  if (others.length > 0) fail('external_identity_conflict');
  const person = (await db.row(findPerson(provider.tenant_id, link.principal_id))) as PersonRow;
  refuseUnusableLink(link, person, externalId);
  return person;
}

/**
 * Whether the first sign-in of an unknown person creates a principal. A refusal by an administrator takes precedence
 * over automatic admission by the provider.
 */
export async function mayEnter(
  db: Db,
  provider: StoredProvider,
  identity: UpstreamIdentity,
): Promise<boolean> {
  const { unknown_people: unknown, principal_kind: kind, admit, tenant_id: tenantId, issuer } = provider;
  if (unknown === 'request' && kind === 'human' && !admits(admit, identity)) return false;
  return (await db.row(findRefusal(tenantId, { issuer, subject: identity.subject }))) === undefined;
}

function refuseUnusableLink(
  link: Pick<LinkRow, 'status' | 'external_id'>,
  person: PersonRow,
  externalId: string,
): void {
  if (link.status !== 'active') fail('identity_disabled');
  if (link.external_id !== '' && link.external_id !== externalId) fail('external_identity_conflict');
  if (person.status !== 'active') fail('principal_disabled');
  if (!person.is_member) fail('principal_not_in_tenant');
}

async function createPerson(
  context: Context,
  provider: OpenProvider,
  claims: LinkClaims & Pick<UpstreamIdentity, 'acr' | 'displayName'>,
): Promise<LinkedPerson> {
  const { tenant_id: tenantId, key, principal_kind: kind } = provider;
  const displayName = nameOf(provider, claims);
  const person = await addPrincipal(context.db, { tenantId, kind, displayName });
  if (person === undefined) throw new LinkChanged();
  const [principalId, externalIdentityId] = [person.id, randomUUID()];
  await context.db.run(insertLink({ ...claims, id: externalIdentityId, tenantId, principalId }));
  await context.db.run(deletePendingRequest(tenantId, claims));
  const origin = { identityProvider: key };
  emit(context, principalCreated, { tenantId, aggregateId: principalId }, { principalId, kind, ...origin });
  const linked = { externalIdentityId, principalId, ...origin };
  emit(context, externalIdentityLinked, { tenantId, aggregateId: externalIdentityId }, linked);
  return { principalId, principalKind: kind, externalIdentityId };
}

function auditChanges(context: Context, provider: OpenProvider, link: LinkRow, subject: string): void {
  const entry = {
    tenantId: provider.tenant_id,
    resource: ['external_identity', link.id],
    reason: `provider:${provider.key}`,
    actor: link.principal_id,
  } as const;
  if (link.identity_provider_id === null) audit(context, { ...entry, action: 'federation.identity_adopted' });
  if (link.subject !== subject) audit(context, { ...entry, action: 'federation.subject_rotated' });
}
