import { sql } from '@baton/kernel/sql';
import type { IamBindingRow, Identity } from './iam-binding.ts';

export interface NewBinding extends Identity {
  id: string;
  tenantId: string;
  principalId: string;
  permissions: readonly string[];
}

/** Returns no row when the identity is bound already, here or in another tenant. */
export function insertBinding(binding: NewBinding) {
  return sql<IamBindingRow>`
    insert into iam_bindings (id, tenant_id, principal_id, issuer, iam_tenant_id, iam_principal_id, permissions)
    values (${binding.id}, ${binding.tenantId}, ${binding.principalId}, ${binding.issuer}, ${binding.iamTenantId},
      ${binding.iamPrincipalId}, ${binding.permissions})
    on conflict (issuer, iam_principal_id) do nothing
    returning *`;
}
