import { sql } from '@baton/kernel/database/sql';
import type { ContextPackRow } from './context-pack.ts';

export function findPack(tenantId: string, id: string) {
  return sql<ContextPackRow>`select * from context_packs where id = ${id} and tenant_id = ${tenantId}`;
}

export function findPackOfClaim(tenantId: string, claimId: string) {
  return sql<ContextPackRow>`select * from context_packs where claim_id = ${claimId} and tenant_id = ${tenantId}`;
}

export type NewPack = Omit<ContextPackRow, 'created_at'>;

/** Returns no row if the claim already has a pack. */
export function insertPack(pack: NewPack) {
  return sql<ContextPackRow>`
    insert into context_packs (id, tenant_id, task_id, claim_id, created_by, as_of, as_of_mode, budget_tokens, question,
      pack, trace_id)
    values (${pack.id}, ${pack.tenant_id}, ${pack.task_id}, ${pack.claim_id}, ${pack.created_by}, ${pack.as_of},
      ${pack.as_of_mode}, ${pack.budget_tokens}, ${JSON.stringify(pack.question)}, ${JSON.stringify(pack.pack)},
      ${pack.trace_id})
    on conflict (claim_id) do nothing
    returning *`;
}
