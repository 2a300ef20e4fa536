import { sql } from '@baton/kernel/database/sql';

/** The addressee of a task; all three columns are null if the addressee doesn't exist. */
export interface AddresseeRow {
  readonly principal_id: string | null;
  readonly agent_key: string | null;
  readonly role_id: string | null;
}

/** Sets the addressee of a locked task and replaces an earlier one. */
export function upsertAddressee(
  tenantId: string,
  taskId: string,
  { principal_id, agent_key, role_id }: AddresseeRow,
) {
  return sql`
    with addressed as (
      insert into task_addressees as d (task_id, tenant_id, principal_id, agent_key, role_id)
      values (${taskId}, ${tenantId}, ${principal_id}, ${agent_key}, ${role_id})
      on conflict (task_id) do update
        set principal_id = excluded.principal_id, agent_key = excluded.agent_key, role_id = excluded.role_id
      returning d.task_id
    )
    update tasks t set is_addressed = true from addressed
    where t.id = addressed.task_id and t.tenant_id = ${tenantId} and not t.is_addressed`;
}

/** Filters the tasks to those with an addressee other than the given principal. */
export function findAddressedToOthers(tenantId: string, taskIds: readonly string[], principalId: string) {
  return sql<AddresseeRow & { task_id: string }>`
    select d.task_id, d.principal_id, d.agent_key, d.role_id
    from task_addressees d
    where d.task_id = any (${taskIds}::uuid[]) and d.tenant_id = ${tenantId}
      and not is_addressee(d.task_id, ${principalId})`;
}
