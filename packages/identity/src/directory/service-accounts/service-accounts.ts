import { randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/database/db';
import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import type { CreatedPage } from '../../service/pages.ts';
import { makeClientId, makeClientSecret } from '../../service/secrets.ts';
import { allowedScopesOf, refuseWiderCeiling } from '../audiences/audiences.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { addPrincipal } from '../principals/principals.ts';
import { tenantExists } from '../tenants/tenants.ts';
import {
  type ChangedServiceAccount,
  type CreatedServiceAccount,
  type LockedAccountRow,
  type NewServiceAccount,
  type ServiceAccount,
  type ServiceAccountChange,
  serviceAccountOf,
  serviceAccountPages,
} from './service-account.ts';
import {
  serviceAccountCreated,
  serviceAccountRevoked,
  serviceAccountSecretRotated,
  serviceAccountUpdated,
} from './service-accounts.events.ts';
import {
  findServiceAccount,
  findServiceAccounts,
  insertServiceAccount,
  lockServiceAccount,
  updateReach,
  updateRevoked,
  updateSecret,
} from './service-accounts.sql.ts';

/**
 * Creates a principal, its membership and its client credentials. The ceiling isn't checked: an exchange grants only
 * scopes that the audience also allows.
 * @throws Refusal `unknown_audience`, also for an unknown tenant
 */
export async function createServiceAccount(
  context: Context,
  tenantId: string,
  { displayName, audiences, scopeCeiling }: NewServiceAccount,
): Promise<CreatedServiceAccount> {
  const { db } = context;
  await allowedScopesOf(db, tenantId, audiences);
  const principal = await addPrincipal(db, { tenantId, kind: 'service_account', displayName });
  if (principal === undefined) fail('unknown_audience');
  const [id, clientId] = [randomUUID(), makeClientId()];
  const { clientSecret, storedHash } = makeClientSecret();
  const principalId = principal.id;
  await db.run(
    insertServiceAccount({ id, tenantId, principalId, clientId, storedHash, audiences, scopeCeiling }),
  );
  const payload = { serviceAccountId: id, principalId, audiences };
  emit(context, serviceAccountCreated, { tenantId, aggregateId: id }, payload);
  audit(context, { tenantId, action: 'service_accounts.create', resource: ['service_account', id] });
  return { principalId, clientId, clientSecret };
}

/** @throws Refusal `tenant_not_found` */
export async function listServiceAccounts(db: Db, tenantId: string, query: CreatedPage) {
  if (!(await tenantExists(db, tenantId))) fail('tenant_not_found');
  const { items, next_after: nextAfter } = await serviceAccountPages.read(
    query,
    (page) => db.rows(findServiceAccounts(tenantId, page)),
    serviceAccountOf,
  );
  return { items, nextAfter };
}

/** @throws Refusal `service_account_not_found` */
export async function getServiceAccount(db: Db, tenantId: string, clientId: string): Promise<ServiceAccount> {
  return serviceAccountOf(
    (await db.row(findServiceAccount(tenantId, clientId))) ?? fail('service_account_not_found'),
  );
}

/**
 * Changes the given fields; a new secret replaces the old one in the same commit.
 * @throws Refusal `service_account_not_found`, `service_account_revoked`; `unknown_audience` and
 * `invalid_scope_ceiling`, which are checked against the resulting state, stored values included
 */
export async function updateServiceAccount(
  context: Context,
  tenantId: string,
  clientId: string,
  change: ServiceAccountChange,
): Promise<ChangedServiceAccount> {
  const { db } = context;
  const account = (await db.row(lockServiceAccount(tenantId, clientId))) ?? fail('service_account_not_found');
  if (account.revoked_at !== null) fail('service_account_revoked');
  const audiences = change.audiences ?? account.audiences;
  const scopeCeiling = change.scopeCeiling ?? account.scope_ceiling;
  refuseWiderCeiling(scopeCeiling, await allowedScopesOf(db, tenantId, audiences));

  await changeReach(context, account, audiences, scopeCeiling);
  const view = { principalId: account.principal_id, clientId, audiences, scopeCeiling };
  return change.rotateSecret ? { ...view, clientSecret: await rotateSecret(context, account) } : view;
}

/** @throws Refusal `service_account_not_found` */
export async function revokeServiceAccount(
  context: Context,
  tenantId: string,
  clientId: string,
): Promise<undefined> {
  const { db } = context;
  const account = (await db.row(lockServiceAccount(tenantId, clientId))) ?? fail('service_account_not_found');
  if (account.revoked_at !== null) return;
  await db.run(updateRevoked(account.id));
  emit(context, serviceAccountRevoked, aboutAccount(account), idsOf(account));
  audit(context, { tenantId, action: 'service_accounts.revoke', resource: ['service_account', account.id] });
}

async function changeReach(
  context: Context,
  account: LockedAccountRow,
  audiences: string[],
  scopeCeiling: string[],
): Promise<void> {
  const difference = [
    ...differences('audience', account.audiences, audiences),
    ...differences('scope', account.scope_ceiling, scopeCeiling),
  ];
  if (difference.length === 0) return;
  await context.db.run(updateReach(account.id, audiences, scopeCeiling));
  emit(context, serviceAccountUpdated, aboutAccount(account), { ...idsOf(account), audiences, scopeCeiling });
  audit(context, {
    tenantId: account.tenant_id,
    action: 'service_accounts.update',
    resource: ['service_account', account.id],
    reason: difference.join(' '),
  });
}

async function rotateSecret(context: Context, account: LockedAccountRow): Promise<string> {
  const { clientSecret, storedHash } = makeClientSecret();
  await context.db.run(updateSecret(account.id, storedHash));
  emit(context, serviceAccountSecretRotated, aboutAccount(account), idsOf(account));
  audit(context, {
    tenantId: account.tenant_id,
    action: 'service_accounts.rotate_secret',
    resource: ['service_account', account.id],
  });
  return clientSecret;
}

/** `+scope:control-plane:write`, `-audience:memory-service` */
function differences(what: string, before: readonly string[], after: readonly string[]): string[] {
  return [
    ...after.filter((name) => !before.includes(name)).map((name) => `+${what}:${name}`),
    ...before.filter((name) => !after.includes(name)).map((name) => `-${what}:${name}`),
  ];
}

function aboutAccount(account: LockedAccountRow) {
  return { tenantId: account.tenant_id, aggregateId: account.id };
}

function idsOf(account: LockedAccountRow) {
  return { serviceAccountId: account.id, principalId: account.principal_id };
}
