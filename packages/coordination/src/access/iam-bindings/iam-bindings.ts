import { newId } from '@baton/values/ids';
import { emit } from '../../ledger/journal/journal.ts';
import type { Permission } from '../../service/permissions.ts';
import { viewerOf } from '../../service/sight/sight.ts';
import { lockPrincipal } from '../authn/principal-lock.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type GrantedAccess, resolveAccess } from '../grants/granted-access.ts';
import { refuseEscalation, refuseForKind } from '../permission-list.ts';
import { requireAdministrator, takesAdmin } from './administrators.ts';
import {
  type IamBinding,
  type IamBindingRequest,
  type IamBindingRow,
  type Identity,
  iamBindingOf,
} from './iam-binding.ts';
import { iamBindingCreated, iamBindingRevoked, iamBindingUpdated } from './iam-bindings.events.ts';
import {
  findAgentId,
  findBinding,
  findBindingOfIdentity,
  findBindings,
  findPrincipalId,
  insertBinding,
  lockBindingOfIdentity,
  lockLiveBindings,
  updateBinding,
  updateBindingPermissions,
  updateBindingsToRevoked,
  updateBindingToActive,
  updateBindingToRevoked,
} from './iam-bindings.sql.ts';

/** A stored binding, and whether the identity was bound for the first time. */
export interface BoundIdentity {
  readonly binding: IamBinding;
  readonly isNew: boolean;
}

type Grant = Identity & Pick<IamBinding, 'visibility'> & GrantedAccess & { principalId: string };

/**
 * Binds an identity to a principal, or re-points the tenant's existing binding: permissions are replaced and the
 * binding is active again. See docs/reference/access.md#bindings.
 * @throws Refusal `iam_issuer_untrusted`, `not_found`, 422 `principal_not_active`, `invalid_permissions`,
 * `permission_escalation`, `visibility_escalation`, `permissions_not_allowed_for_kind`, `visibility_requires_human`,
 * `agent_identity_conflict`, `iam_identity_bound_elsewhere`, `last_administrator`
 */
export async function createIamBinding(
  context: Context,
  principalId: string,
  { accessRole, permissions, visibility, ...identity }: IamBindingRequest,
): Promise<BoundIdentity> {
  requireTrustedIssuer(context, identity.issuer);
  const principal = await lockPrincipal(context, principalId);
  if (principal.status !== 'active') fail('principal_not_active', { principalId }, { status: 422 });
  const access = await resolveAccess(context, principal.kind, { accessRole, permissions });
  refuseEscalation(context.caller.permissions, access.permissions);
  if (visibility === 'tenant' && (await viewerOf(context)) !== null) fail('visibility_escalation');
  refuseForKind(principal.kind, access.permissions);
  if (visibility === 'members' && principal.kind !== 'human')
    fail('visibility_requires_human', { kind: principal.kind });
  if (principal.agent_id !== null) fail('agent_identity_conflict', { principalId });

  const grant: Grant = { ...identity, ...access, principalId, visibility };
  const known = await context.db.row(lockBindingOfIdentity(context.tenantId, identity));
  if (known !== undefined) return { binding: await repoint(context, known, grant), isNew: false };
  const binding = await bindNewIdentity(context, grant);
  if (binding !== undefined) return { binding, isNew: true };
  // The identity was bound in the meantime, in this tenant or in another one.
  const bound = await context.db.row(lockBindingOfIdentity(context.tenantId, identity));
  if (bound?.principal_id !== principalId) return fail('iam_identity_bound_elsewhere');
  return { binding: await repoint(context, bound, grant), isNew: false };
}

/**
 * Moving an identity to a different principal requires `admin`, because the identity then acts as that principal;
 * removing `admin` from a live binding requires it, too. The identity of a registry agent can't be moved.
 */
async function repoint(context: Context, known: IamBindingRow, grant: Grant): Promise<IamBinding> {
  const moves = known.principal_id !== grant.principalId;
  const { db, tenantId } = context;
  if (moves && (await db.row(findAgentId(tenantId, known.principal_id)))?.agent_id != null)
    fail('agent_identity_conflict', { principalId: known.principal_id });
  const demotes = known.status !== 'revoked' && (moves || takesAdmin(known.permissions, grant.permissions));
  const isOfAdministrator = known.permissions.includes('admin');
  if (moves || (demotes && isOfAdministrator)) refuseEscalation(context.caller.permissions, ['admin']);
  const row = await db.row(updateBinding({ ...grant, id: known.id, tenantId }));
  if (row === undefined) throw new Error('a locked binding was not found');
  const previous = moves ? { previousPrincipalId: known.principal_id } : {};
  emit(context, iamBindingUpdated, { entityId: row.id }, { ...boundIdentityOf(row), ...previous });
  forgetIdentity(context, row);
  if (demotes && isOfAdministrator) await requireAdministrator(context);
  return iamBindingOf(row);
}

/**
 * Binds an identity that no tenant has bound; the caller checks the permissions to grant.
 * @returns undefined when it is already bound
 */
export async function bindNewIdentity(
  context: Context,
  grant: Grant & { id?: string },
): Promise<IamBinding | undefined> {
  const { db, tenantId } = context;
  const row = await db.row(insertBinding({ id: newId(), ...grant, tenantId }));
  if (row === undefined) return undefined;
  emit(context, iamBindingCreated, { entityId: row.id }, boundIdentityOf(row));
  forgetIdentity(context, row);
  return iamBindingOf(row);
}

/** @throws Refusal `not_found` */
export async function listIamBindings({ db, tenantId }: Context, principalId: string): Promise<IamBinding[]> {
  const rows = await db.rows(findBindings(tenantId, principalId));
  if (rows.length === 0 && (await db.row(findPrincipalId(tenantId, principalId))) === undefined)
    fail('not_found', { principalId });
  return rows.map(iamBindingOf);
}

/**
 * Revokes an identity's binding; revoking it again changes nothing. Only an administrator can revoke one with `admin`,
 * and only a caller that sees the whole tenant can remove the limit of somebody's visibility.
 * @throws Refusal `not_found`, `permission_escalation`, `visibility_escalation`
 */
export async function revokeIamBinding(context: Context, bindingId: string): Promise<IamBinding> {
  const { db, tenantId } = context;
  // Before the revocation, which may concern the caller's own binding.
  const isCallerNarrow = (await viewerOf(context)) !== null;
  const live = isCallerNarrow ? await lockBindingsBeside(context, bindingId) : [];
  const revoked = await db.row(updateBindingToRevoked(tenantId, bindingId));
  if (revoked === undefined) return iamBindingOf(await getBindingRow(context, bindingId));
  if (revoked.permissions.includes('admin')) refuseEscalation(context.caller.permissions, ['admin']);
  if (isCallerNarrow && isLimit(revoked, live)) fail('visibility_escalation');
  noteRevoked(context, revoked);
  return iamBindingOf(revoked);
}

/** Locks the other live bindings of the principal, so that two revocations of its narrow bindings wait for each other. */
async function lockBindingsBeside(context: Context, bindingId: string): Promise<IamBindingRow[]> {
  const { principal_id: principalId } = await getBindingRow(context, bindingId);
  const live = await context.db.rows(lockLiveBindings(context.tenantId, principalId));
  return live.filter(({ id }) => id !== bindingId);
}

/** Whether a principal with these other bindings sees the whole tenant without this one, and not with it. */
function isLimit({ visibility }: IamBindingRow, others: readonly IamBindingRow[]): boolean {
  const limits = others.some((one) => one.status === 'active' && one.visibility === 'members');
  return visibility === 'members' && !limits && others.some((one) => one.visibility === 'tenant');
}

/** The binding of an identity, in any tenant and status; undefined for an identity that was never bound. */
export function findBindingOf(
  { db }: Pick<Context, 'db'>,
  identity: Pick<Identity, 'issuer' | 'iamPrincipalId'>,
): Promise<IamBindingRow | undefined> {
  return db.row(findBindingOfIdentity(identity));
}

/** Revokes all live bindings of a principal in one statement. @returns their number */
export async function revokeIamBindingsOf(context: Context, principalId: string): Promise<number> {
  const revoked = await context.db.rows(updateBindingsToRevoked(context.tenantId, principalId));
  for (const binding of revoked) noteRevoked(context, binding);
  return revoked.length;
}

/** Replaces a binding's permissions; changes nothing if they are equal or the binding is revoked. */
export async function regrantIamBinding(
  context: Context,
  bindingId: string,
  permissions: readonly Permission[],
): Promise<void> {
  const row = await context.db.row(updateBindingPermissions(context.tenantId, bindingId, permissions));
  if (row !== undefined) noteBindingUpdated(context, row);
}

/** Reactivates a revoked binding with these permissions. */
export async function reopenIamBinding(
  context: Context,
  bindingId: string,
  permissions: readonly Permission[],
): Promise<void> {
  const row = await context.db.row(updateBindingToActive(context.tenantId, bindingId, permissions));
  if (row !== undefined) noteBindingUpdated(context, row);
}

/** Records a change to a binding: writes its event, and makes every process drop the identity from its cache. */
export function noteBindingUpdated(context: Context, row: IamBindingRow): void {
  emit(context, iamBindingUpdated, { entityId: row.id }, boundIdentityOf(row));
  forgetIdentity(context, row);
}

/** @throws Refusal `not_found` */
export async function getBindingRow({ db, tenantId }: Context, bindingId: string): Promise<IamBindingRow> {
  return (await db.row(findBinding(tenantId, bindingId))) ?? fail('not_found', { bindingId });
}

/** @throws Refusal `iam_issuer_untrusted` for an issuer other than the configured one */
export function requireTrustedIssuer({ settings }: Context, issuer: string): void {
  const trusted = settings.CP_IAM_ISSUER;
  if (trusted !== '' && issuer !== trusted) fail('iam_issuer_untrusted');
}

function noteRevoked(context: Context, revoked: IamBindingRow): void {
  const { principal_id: principalId, issuer, iam_principal_id: iamPrincipalId } = revoked;
  emit(context, iamBindingRevoked, { entityId: revoked.id }, { principalId, issuer, iamPrincipalId });
  forgetIdentity(context, revoked);
}

/** All bindings of a principal, newest first, including revoked ones. */
export async function getBindingRows({ db, tenantId }: Context, principalId: string) {
  return db.rows(findBindings(tenantId, principalId));
}

/** Makes every process drop the identity from its cache after the commit. */
export function forgetIdentity(
  context: Context,
  { issuer, iam_principal_id: iamPrincipalId }: Pick<IamBindingRow, 'issuer' | 'iam_principal_id'>,
): void {
  context.afterCommit.push(() => context.publishBindingChange(issuer, iamPrincipalId));
}

/** The payload that a binding's events share. */
export function boundIdentityOf(row: IamBindingRow) {
  return {
    principalId: row.principal_id,
    issuer: row.issuer,
    iamTenantId: row.iam_tenant_id,
    iamPrincipalId: row.iam_principal_id,
    accessRole: row.access_role,
    permissions: row.permissions,
    visibility: row.visibility,
  };
}
