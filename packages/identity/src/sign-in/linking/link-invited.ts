import { randomUUID } from 'node:crypto';
import { externalIdentityLinked } from '../../directory/external-identities/external-identities.events.ts';
import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { OpenProvider } from '../identity-providers/identity-provider.ts';
import type { UpstreamIdentity } from '../upstream-token/upstream-token.ts';
import { findLinks, insertLink, lockLinks, updateLink } from './links.sql.ts';

/**
 * Links a person who accepts an invitation to the identity that a token names. Call it with the principal's row locked.
 * @returns the id of the external identity
 * @throws Refusal `external_identity_conflict` if the identity belongs to somebody else, `identity_disabled`
 * @throws a violated unique index when a concurrent transaction links the same identity
 */
export async function linkInvited(
  context: Context,
  provider: OpenProvider,
  identity: UpstreamIdentity,
  principalId: string,
): Promise<string> {
  const { db } = context;
  const { tenant_id: tenantId, key: identityProvider } = provider;
  const { subject, externalId, acr } = identity;
  const claims = { providerId: provider.id, issuer: provider.issuer, subject, externalId };
  const found = await db.rows(findLinks(claims));
  const links = found.length === 0 ? [] : await db.rows(lockLinks(claims));
  const [link] = links;
  const isOther = links.some(
    (one) => one.principal_id !== principalId || (one.external_id !== '' && one.external_id !== externalId),
  );
  if (links.length > 1 || isOther) fail('external_identity_conflict');
  if (link !== undefined) {
    if (link.status !== 'active') fail('identity_disabled');
    await db.run(updateLink(link.id, claims, acr));
    return link.id;
  }
  const externalIdentityId = randomUUID();
  await db.run(insertLink({ ...claims, id: externalIdentityId, tenantId, principalId, acr }));
  const payload = { externalIdentityId, principalId, identityProvider };
  emit(context, externalIdentityLinked, { tenantId, aggregateId: externalIdentityId }, payload);
  audit(context, {
    tenantId,
    action: 'external_identities.link',
    resource: ['external_identity', externalIdentityId],
    reason: `provider:${identityProvider}`,
    actor: principalId,
  });
  return externalIdentityId;
}
