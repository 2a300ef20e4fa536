import { sql } from '@baton/kernel/database/sql';
import type { IamBindingRow, Identity } from './iam-binding.ts';

export interface Binding extends Identity {
  id: string;
  tenantId: string;
  principalId: string;
  accessRole: string | null;
  permissions: readonly string[];
  visibility: IamBindingRow['visibility'];
}

/** Returns no row if the identity is already bound in any tenant; waits for a transaction that is binding it. */
export function insertBinding(binding: Binding) {
  return sql<IamBindingRow>`
    insert into iam_bindings (id, tenant_id, principal_id, issuer, iam_tenant_id, iam_principal_id, access_role,
      permissions, visibility)
    values (${binding.id}, ${binding.tenantId}, ${binding.principalId}, ${binding.issuer}, ${binding.iamTenantId},
      ${binding.iamPrincipalId}, ${binding.accessRole}, ${binding.permissions}, ${binding.visibility})
    on conflict (issuer, iam_principal_id) do nothing
    returning *`;
}

/** Locks the tenant's binding of an identity; returns no row if this tenant hasn't bound it. */
export function lockBindingOfIdentity(tenantId: string, { issuer, iamPrincipalId }: Identity) {
  return sql<IamBindingRow>`
    select * from iam_bindings
    where issuer = ${issuer} and iam_principal_id = ${iamPrincipalId} and tenant_id = ${tenantId}
    for update`;
}

/** Points a binding to a principal with these permissions and reactivates a revoked one. */
export function updateBinding(binding: Binding) {
  return sql<IamBindingRow>`
    update iam_bindings
    set principal_id = ${binding.principalId}, iam_tenant_id = ${binding.iamTenantId},
      access_role = ${binding.accessRole}, permissions = ${binding.permissions}, visibility = ${binding.visibility},
      status = 'active', revoked_at = null, updated_at = now()
    where id = ${binding.id} and tenant_id = ${binding.tenantId}
    returning *`;
}

/** Newest first, including revoked bindings. */
export function findBindings(tenantId: string, principalId: string) {
  return sql<IamBindingRow>`
    select * from iam_bindings where principal_id = ${principalId} and tenant_id = ${tenantId}
    order by created_at desc, id desc`;
}

/** Locks the live bindings of a principal in order of their ids. */
export function lockLiveBindings(tenantId: string, principalId: string) {
  return sql<IamBindingRow>`
    select * from iam_bindings
    where principal_id = ${principalId} and tenant_id = ${tenantId} and status <> 'revoked'
    order by id
    for update`;
}

/** Changes the access of these bindings; returns those whose access was different. */
export function updateAccessOfBindings(
  tenantId: string,
  ids: readonly string[],
  { accessRole, permissions }: Pick<Binding, 'accessRole' | 'permissions'>,
) {
  return sql<IamBindingRow>`
    update iam_bindings set access_role = ${accessRole}, permissions = ${permissions}, updated_at = now()
    where id = any (${ids}::uuid[]) and tenant_id = ${tenantId}
      and (access_role is distinct from ${accessRole}::text or permissions is distinct from ${permissions}::text[])
    returning *`;
}

/** Revokes the live bindings; the rows are oldest first. A binding that is re-pointed in the meantime is skipped. */
export function updateBindingsToRevoked(tenantId: string, principalId: string) {
  return sql<IamBindingRow>`
    with live as materialized (
      select id from iam_bindings
      where principal_id = ${principalId} and tenant_id = ${tenantId} and status <> 'revoked'
      order by id
      for update
    ), revoked as (
      update iam_bindings b set status = 'revoked', revoked_at = now(), updated_at = now()
      from live where b.id = live.id
      returning b.*
    )
    select * from revoked order by created_at, id`;
}

/** Returns no row if the binding has these permissions or is revoked. */
export function updateBindingPermissions(
  tenantId: string,
  bindingId: string,
  permissions: readonly string[],
) {
  return sql<IamBindingRow>`
    update iam_bindings set permissions = ${permissions}, updated_at = now()
    where id = ${bindingId} and tenant_id = ${tenantId} and status <> 'revoked'
      and permissions is distinct from ${permissions}::text[]
    returning *`;
}

/** Returns no row if the binding isn't revoked. */
export function updateBindingToActive(tenantId: string, bindingId: string, permissions: readonly string[]) {
  return sql<IamBindingRow>`
    update iam_bindings
    set permissions = ${permissions}, status = 'active', revoked_at = null, updated_at = now()
    where id = ${bindingId} and tenant_id = ${tenantId} and status = 'revoked'
    returning *`;
}

/** The principal's agent in the registry. */
export function findAgentId(tenantId: string, principalId: string) {
  return sql<{ agent_id: string | null }>`
    select agent_id from principals where id = ${principalId} and tenant_id = ${tenantId}`;
}

export function findBinding(tenantId: string, bindingId: string) {
  return sql<IamBindingRow>`select * from iam_bindings where id = ${bindingId} and tenant_id = ${tenantId}`;
}

/** Of any tenant. */
export function findBindingOfIdentity({
  issuer,
  iamPrincipalId,
}: Pick<Identity, 'issuer' | 'iamPrincipalId'>) {
  return sql<IamBindingRow>`
    select * from iam_bindings where issuer = ${issuer} and iam_principal_id = ${iamPrincipalId}`;
}

/** Returns no row for a binding that is already revoked. */
export function updateBindingToRevoked(tenantId: string, bindingId: string) {
  return sql<IamBindingRow>`
    update iam_bindings set status = 'revoked', revoked_at = now(), updated_at = now()
    where id = ${bindingId} and tenant_id = ${tenantId} and status <> 'revoked'
    returning *`;
}

export function findPrincipalId(tenantId: string, principalId: string) {
  return sql<{ id: string }>`select id from principals where id = ${principalId} and tenant_id = ${tenantId}`;
}
