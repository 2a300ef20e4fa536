import { sql } from '@baton/kernel/database/sql';
import type { IamBindingRow } from './iam-binding.ts';

/** Finds a binding in any tenant, for an operator's command. */
export function findTenantOfBinding(bindingId: string) {
  return sql<{ tenant_id: string }>`select tenant_id from iam_bindings where id = ${bindingId}`;
}

export function lockBinding(tenantId: string, bindingId: string) {
  return sql<IamBindingRow>`
    select * from iam_bindings where id = ${bindingId} and tenant_id = ${tenantId} for update`;
}

export function updateBindingStatus(tenantId: string, bindingId: string, status: 'active' | 'disabled') {
  return sql<IamBindingRow>`
    update iam_bindings set status = ${status}, updated_at = now()
    where id = ${bindingId} and tenant_id = ${tenantId}
    returning *`;
}
