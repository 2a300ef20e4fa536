import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';

export type WorkspacePacksRow = RowOf<Tables['workspace_knowledge_packs']>;

export function findWorkspacePacks(tenantId: string, rootWorkspaceId: string) {
  return sql<WorkspacePacksRow>`
    select * from workspace_knowledge_packs where workspace_id = ${rootWorkspaceId} and tenant_id = ${tenantId}`;
}

/** Returns no row if the packs are already set to these. */
export function putWorkspacePacks(
  tenantId: string,
  rootWorkspaceId: string,
  packs: readonly string[],
  strict: boolean,
) {
  return sql<WorkspacePacksRow>`
    insert into workspace_knowledge_packs as w (workspace_id, tenant_id, packs, strict)
    values (${rootWorkspaceId}, ${tenantId}, ${packs}, ${strict})
    on conflict (workspace_id) do update
      set packs = excluded.packs, strict = excluded.strict, updated_at = clock_timestamp()
      where (w.packs, w.strict) is distinct from (excluded.packs, excluded.strict)
    returning w.*`;
}
