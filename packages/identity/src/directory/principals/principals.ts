import { randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/database/db';
import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { endBrowserSessions } from '../revocation/browser-sessions.ts';
import { revokeInvitations } from '../revocation/invitations.ts';
import { revokeTokensOfPrincipal } from '../revocation/revocation.ts';
import { tenantExists } from '../tenants/tenants.ts';
import {
  type NewPrincipal,
  type PrincipalQuery,
  type PrincipalRow,
  principalOf,
  principalPages,
} from './principal.ts';
import {
  principalCreated,
  principalDisabled,
  principalEnabled,
  principalUpdated,
} from './principals.events.ts';
import {
  enterPrincipal,
  findDirectoryUsers,
  findPrincipal,
  findPrincipals,
  findPrincipalsById,
  findPrincipalsByName,
  insertPrincipal,
  type LockedPerson,
  lockPrincipal,
  lockPrincipalAnywhere,
  takeMemberLock,
  takePrincipalLock,
  updateDisabled,
  updateDisplayName,
  updateEnabled,
  updatePaused,
  updateUsersResumed,
  updateUsersSuspended,
} from './principals.sql.ts';

/**
 * Creates a principal; this also works in a disabled tenant, so that it can be prepared.
 * @throws Refusal `tenant_not_found`
 */
export async function createPrincipal(
  context: Context,
  tenantId: string,
  { kind, displayName }: NewPrincipal,
): Promise<PrincipalRow> {
  const principal = await addPrincipal(context.db, { tenantId, kind, displayName });
  if (principal === undefined) fail('tenant_not_found');
  const about = { tenantId, aggregateId: principal.id };
  emit(context, principalCreated, about, { principalId: principal.id, kind });
  audit(context, { tenantId, action: 'principals.create', resource: ['principal', principal.id] });
  return principal;
}

/** Inserts a principal with an active membership; undefined for an unknown tenant. Writes no event or audit row. */
export function addPrincipal(
  db: Db,
  principal: { id?: string; tenantId: string; kind: PrincipalRow['kind']; displayName: string },
): Promise<PrincipalRow | undefined> {
  return db.row(insertPrincipal({ id: randomUUID(), ...principal }));
}

/** @throws Refusal `principal_not_found` without an active membership in this tenant */
export async function getPrincipal(db: Db, tenantId: string, principalId: string): Promise<PrincipalRow> {
  return (await db.row(findPrincipal(tenantId, principalId))) ?? fail('principal_not_found');
}

/** @throws Refusal `tenant_not_found` */
export async function listPrincipals(db: Db, tenantId: string, query: PrincipalQuery) {
  if (!(await tenantExists(db, tenantId))) fail('tenant_not_found');
  const { q = '', ids } = query;
  return principalPages.read(
    query,
    (page) => {
      const filter = { ...query, ...page, tenantId };
      if (ids !== undefined) return db.rows(findPrincipalsById(filter, ids));
      return db.rows(q === '' ? findPrincipals(filter) : findPrincipalsByName(filter, q));
    },
    principalOf,
    ({ joined_at }) => joined_at,
  );
}

export async function isMember(db: Db, tenantId: string, principalId: string): Promise<boolean> {
  return (await db.row(findPrincipal(tenantId, principalId))) !== undefined;
}

/**
 * Reads a principal and locks it against disabling until the transaction ends. A later disable therefore finds and
 * revokes a credential that is created for it now. Undefined without an active membership in this tenant.
 */
export function getLockedMember(
  db: Db,
  tenantId: string,
  principalId: string,
): Promise<PrincipalRow | undefined> {
  return db.row(enterPrincipal(tenantId, principalId));
}

export type { LockedPerson };

/** Like `getLockedMember`, but for a change to the principal itself: such changes wait for each other. */
export function lockMember(db: Db, tenantId: string, principalId: string): Promise<PrincipalRow | undefined> {
  return db.row(lockPrincipal(tenantId, principalId));
}

/** Deactivates a principal that was created in this transaction. Nobody has seen it active, so no event is written. */
export async function pauseNew(db: Db, principalId: string): Promise<void> {
  await db.run(updatePaused(principalId));
}

/**
 * Locks a principal regardless of its memberships, for a source that manages the person; undefined when there is none.
 */
export function lockPerson(db: Db, principalId: string): Promise<LockedPerson | undefined> {
  return db.row(lockPrincipalAnywhere(principalId));
}

/**
 * Like `lockPerson`, but exclusive, for disabling the person: no other transaction changes the principal until this one
 * ends.
 */
export async function lockPersonAlone(db: Db, principalId: string): Promise<LockedPerson | undefined> {
  await db.run(takePrincipalLock(principalId));
  return lockPerson(db, principalId);
}

/**
 * Disables a principal that was created in this transaction. No event is written, because the principal was never
 * visible as active.
 */
export async function disableNew(db: Db, principalId: string): Promise<void> {
  await db.run(updateDisabled(principalId, false));
}

/** Enables a paused or disabled principal, for `:enable` and for directories. */
export async function makeActive(
  context: Context,
  { tenantId, principalId, ...by }: { tenantId: string; principalId: string; provisioningSource?: string },
): Promise<void> {
  const enabled = await context.db.row(updateEnabled(principalId));
  if (enabled === undefined) return;
  const payload = { principalId, sessionsNotBefore: enabled.at, ...by };
  emit(context, principalEnabled, { tenantId, aggregateId: principalId }, payload);
}

/** Like `getLockedMember`; @throws Refusal `principal_not_found` */
export async function getLockedPrincipal(
  db: Db,
  tenantId: string,
  principalId: string,
): Promise<PrincipalRow> {
  return (await getLockedMember(db, tenantId, principalId)) ?? fail('principal_not_found');
}

export interface DisableOrder {
  tenantId: string;
  principalId: string;
  reason: string;
  /** The key of the directory source that disables the principal; absent if the admin does. */
  provisioningSource?: string;
}

/**
 * Disables a principal in all its tenants, revokes all its tokens, invitations and recovery links, and ends its browser
 * sessions.
 * @returns the number of tokens; 0 if the call is repeated
 * @throws Refusal `principal_not_found`
 */
export async function disablePrincipal(context: Context, order: DisableOrder): Promise<number> {
  const principal = await lockForChange(context, 'principals.disable', order);
  return disableLocked(context, principal, order);
}

/**
 * Enables a principal. Its revoked tokens stay revoked; the secret of a service account works again.
 * @throws Refusal `principal_not_found`, `principal_provisioned` while the person is inactive in a directory
 */
export async function enablePrincipal(
  context: Context,
  tenantId: string,
  principalId: string,
): Promise<void> {
  const action = { tenantId, action: 'principals.enable', resource: ['principal', principalId] } as const;
  const principal = await lockForChange(context, 'principals.enable', { tenantId, principalId });
  if (principal.status !== 'active') {
    const users = await context.db.rows(findDirectoryUsers(principalId));
    if (users.some(({ is_wanted_active }) => !is_wanted_active)) {
      audit(context, { ...action, outcome: 'denied', reason: 'principal_provisioned' });
      fail('principal_provisioned', {}, { commits: true });
    }
    await makeActive(context, { tenantId, principalId });
    await context.db.run(updateUsersResumed(principalId));
  }
  audit(context, action);
}

/**
 * Renames a principal; the same name changes nothing.
 * @throws Refusal `principal_not_found`, `principal_provisioned` for a person whose name follows a directory
 */
export async function updatePrincipal(
  context: Context,
  tenantId: string,
  principalId: string,
  displayName: string,
): Promise<PrincipalRow> {
  const { db } = context;
  const principal = (await db.row(lockPrincipal(tenantId, principalId))) ?? fail('principal_not_found');
  if (principal.display_name === displayName) return principal;
  if ((await db.rows(findDirectoryUsers(principalId))).length > 0) fail('principal_provisioned');
  await db.run(updateDisplayName(principalId, displayName));
  emit(context, principalUpdated, { tenantId, aggregateId: principalId }, { principalId });
  audit(context, { tenantId, action: 'principals.update', resource: ['principal', principalId] });
  return { ...principal, display_name: displayName };
}

/** @throws Refusal `principal_not_found`, which is audited if the tenant is known */
async function lockForChange(
  context: Context,
  action: 'principals.disable' | 'principals.enable',
  { tenantId, principalId }: { tenantId: string; principalId: string },
): Promise<PrincipalRow> {
  const { db } = context;
  if (action === 'principals.disable') await db.run(takeMemberLock(tenantId, principalId));
  const principal = await db.row(lockPrincipal(tenantId, principalId));
  if (principal !== undefined) return principal;
  const resource = ['principal', principalId] as const;
  const reason = 'principal_not_found';
  if (await tenantExists(db, tenantId))
    audit(context, { tenantId, action, resource, outcome: 'denied', reason });
  return fail('principal_not_found', {}, { commits: true });
}

/**
 * Disables a principal whose row this transaction has locked, for `:disable` and for directories.
 * @returns the number of revoked tokens
 */
export async function disableLocked(
  context: Context,
  principal: Pick<PrincipalRow, 'status'>,
  { tenantId, principalId, reason, provisioningSource }: DisableOrder,
): Promise<number> {
  const revokedCredentials = await revokeTokensOfPrincipal(context, { tenantId, principalId, reason });
  await endBrowserSessions(context, { principalId, reason });
  // Otherwise, anyone who has a link could sign in as the person as soon as they are enabled again.
  await revokeInvitations(context, { principalId, reason });
  const byAdmin = provisioningSource === undefined;
  if (byAdmin || principal.status !== 'disabled') await context.db.run(updateDisabled(principalId, byAdmin));
  if (byAdmin) await context.db.run(updateUsersSuspended(principalId));
  if (principal.status !== 'disabled') {
    const by = provisioningSource === undefined ? {} : { provisioningSource };
    const about = { tenantId, aggregateId: principalId };
    emit(context, principalDisabled, about, { principalId, revokedCredentials, ...by });
  }
  audit(context, {
    tenantId,
    action: 'principals.disable',
    resource: ['principal', principalId],
    reason: `${reason} revoked:${revokedCredentials}`,
  });
  return revokedCredentials;
}
