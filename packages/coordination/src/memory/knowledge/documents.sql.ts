import { sql } from '@baton/kernel/database/sql';

/** Moves a document that was stored for another workspace of the tree to this one. */
export function putDocument(
  tenantId: string,
  naturalKey: string,
  place: { readonly rootWorkspaceId: string; readonly workspaceId: string },
) {
  return sql`
    insert into knowledge_documents (tenant_id, natural_key, root_workspace_id, workspace_id)
    values (${tenantId}, ${naturalKey}, ${place.rootWorkspaceId}, ${place.workspaceId})
    on conflict (tenant_id, natural_key, root_workspace_id) do update set workspace_id = excluded.workspace_id
      where knowledge_documents.workspace_id <> excluded.workspace_id`;
}

/**
 * Returns those of the given natural keys whose documents were stored for a workspace visible to the viewer; a null
 * viewer sees all.
 */
export function findSeenDocuments(tenantId: string, viewerId: string | null, naturalKeys: readonly string[]) {
  return sql<{ natural_key: string }>`
    select distinct natural_key from knowledge_documents
    where tenant_id = ${tenantId} and natural_key = any (${naturalKeys})
      and (${viewerId}::uuid is null or sees_workspace(${viewerId}, workspace_id))`;
}
