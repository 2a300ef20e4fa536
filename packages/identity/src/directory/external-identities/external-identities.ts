import { randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/database/db';
import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { isMember } from '../principals/principals.ts';
import { tenantExists } from '../tenants/tenants.ts';
import { externalIdentityLinked } from './external-identities.events.ts';
import {
  findExternalIdentity,
  findOwnIssuer,
  findReadOnlyProvider,
  insertExternalIdentity,
} from './external-identities.sql.ts';
import type { ExternalIdentityRow, NewExternalIdentity } from './external-identity.ts';
import { sharedIssuer } from './shared-issuers.ts';

/**
 * Links a principal of any kind and status manually (see docs/reference/directory.md#external-identities). Issuers are
 * compared without trailing slashes, and a subject can be linked only once across all tenants.
 * @throws Refusal `principal_not_found`; `outside_administration` for an administration token and an issuer that isn't
 * the tenant's alone; `identity_provider_managed`, `external_identity_exists`
 */
export async function linkExternalIdentity(
  context: Context,
  tenantId: string,
  principalId: string,
  { issuer, subject }: NewExternalIdentity,
): Promise<ExternalIdentityRow> {
  const { db, caller } = context;
  const action = 'external_identities.link';
  if (!(await isMember(db, tenantId, principalId))) {
    const resource = ['principal', principalId] as const;
    if (await tenantExists(db, tenantId))
      audit(context, { tenantId, action, resource, outcome: 'denied', reason: 'principal_not_found' });
    fail('principal_not_found', {}, { commits: true });
  }
  if (caller.isAdministrator && !(await isOfTenantAlone(db, tenantId, issuer)))
    fail('outside_administration', { field: 'issuer' }, { reason: 'issuer' });
  if ((await db.row(findReadOnlyProvider(tenantId, issuer))) !== undefined) fail('identity_provider_managed');
  const wanted = { id: randomUUID(), tenantId, principalId, issuer, subject };
  const linked = (await db.row(insertExternalIdentity(wanted))) ?? fail('external_identity_exists');
  const about = { tenantId, aggregateId: linked.id };
  emit(context, externalIdentityLinked, about, { externalIdentityId: linked.id, principalId });
  audit(context, { tenantId, action, resource: ['external_identity', linked.id] });
  return linked;
}

/** Whether, by the registered providers and identities, nobody in another tenant can have an identity of the issuer. */
async function isOfTenantAlone(db: Db, tenantId: string, issuer: string): Promise<boolean> {
  if (sharedIssuer(issuer.replace(/\/+$/, '')) !== undefined) return false;
  return (await db.row(findOwnIssuer(tenantId, issuer))) !== undefined;
}

export async function hasExternalIdentity(
  db: Db,
  principalId: string,
  externalIdentityId: string,
): Promise<boolean> {
  return (await db.row(findExternalIdentity(principalId, externalIdentityId))) !== undefined;
}
