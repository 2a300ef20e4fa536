import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { QueuePosition } from '../../service/queue-walk.ts';
import type { Tables } from '../../service/schema.ts';
import type { NamesOfBindings } from './claim-invocation.sql.ts';

export type BasisLossRow = RowOf<Tables['basis_losses']>;
export type DueLossRow = Pick<BasisLossRow, 'id' | 'tenant_id' | 'noted_at'>;

export function findLosses([notedAt, id]: QueuePosition, rowsMax: number) {
  return sql<DueLossRow>`
    select id, tenant_id, noted_at from basis_losses
    where (noted_at, id) > (${notedAt}::timestamptz, ${id}::uuid)
    order by noted_at, id limit ${rowsMax}`;
}

/** Returns no row if another worker has locked the entry, or if the entry is done. */
export function lockFreeLoss(tenantId: string, id: string) {
  return sql<BasisLossRow>`
    select * from basis_losses where id = ${id} and tenant_id = ${tenantId} for update skip locked`;
}

/** The next live calls of the subject, ordered by id, each with the basis that it lost. */
export function findCallsOfSubject(
  tenantId: string,
  loss: BasisLossRow,
  named: NamesOfBindings,
  rowsMax: number,
) {
  return sql<{ id: string; lost: string | null }>`
    with found as materialized (
      (select i.id from skill_invocations i
      where ${loss.kind} = 'principal' and i.authority_principal_id = ${loss.subject_id} and i.tenant_id = ${tenantId}
        and i.status in ('pending', 'running') and i.id > ${loss.looked_until} order by i.id limit ${rowsMax})
      union all
      (select i.id from skill_invocations i
      where ${loss.kind} = 'skill' and i.skill_id = ${loss.subject_id} and i.tenant_id = ${tenantId}
        and i.status in ('pending', 'running') and i.id > ${loss.looked_until} order by i.id limit ${rowsMax})
      union all
      (select i.id from skill_invocations i
      where ${loss.kind} = 'run' and i.run_id = ${loss.subject_id} and i.tenant_id = ${tenantId}
        and i.status in ('pending', 'running') and i.id > ${loss.looked_until} order by i.id limit ${rowsMax})
      union all
      (select i.id from skill_invocations i
      where ${loss.kind} = 'task' and i.task_id = ${loss.subject_id} and i.tenant_id = ${tenantId}
        and i.status in ('pending', 'running') and i.id > ${loss.looked_until} order by i.id limit ${rowsMax})
    )
    select id, lost_basis(id, ${named}::text[]) as lost from found order by id`;
}

export function updateLoss(tenantId: string, id: string, lookedUntil: string) {
  return sql`update basis_losses set looked_until = ${lookedUntil} where id = ${id} and tenant_id = ${tenantId}`;
}

export function deleteLoss(tenantId: string, id: string) {
  return sql`delete from basis_losses where id = ${id} and tenant_id = ${tenantId}`;
}
