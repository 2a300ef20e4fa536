import { sql } from '@baton/kernel/database/sql';

export interface MentionsOf {
  readonly tenantId: string;
  readonly taskId: string;
  /** The comment, or the task itself for its description. */
  readonly sourceId: string;
  readonly authorId: string;
  /** The principals that the text mentions now. */
  readonly principalIds: readonly string[];
  /** How many principals one text may mention over all of its edits. */
  readonly rowsMax: number;
}

/**
 * Replaces the mentions of a text whose comment or task is locked, or was just inserted. Unknown principals are left
 * out. A mention of the author is recorded, so that the next author's edit doesn't notify them of it.
 * @returns the others that this text has never mentioned before, in the order of the text
 */
export function replaceMentions(mentions: MentionsOf) {
  const { tenantId, taskId, sourceId, authorId, principalIds, rowsMax } = mentions;
  return sql<{ principal_id: string }>`
    with held as materialized (
      select principal_id from mentions where source_id = ${sourceId} and tenant_id = ${tenantId}
    ), changed as (
      update mentions set is_present = principal_id = any (${principalIds}::uuid[])
      where source_id = ${sourceId} and tenant_id = ${tenantId}
        and is_present <> (principal_id = any (${principalIds}::uuid[]))
    ), added as (
      insert into mentions (source_id, principal_id, tenant_id, task_id, author_id)
      select ${sourceId}::uuid, p.id, p.tenant_id, ${taskId}::uuid, ${authorId}::uuid
      from principals p
      where p.id = any (${principalIds}::uuid[]) and p.tenant_id = ${tenantId}
        and not exists (select from held h where h.principal_id = p.id)
      order by array_position(${principalIds}::uuid[], p.id)
      limit greatest(0, ${rowsMax}::integer - (select count(*) from held))
      returning principal_id
    )
    select principal_id from added where principal_id <> ${authorId} order by array_position(${principalIds}::uuid[], principal_id)`;
}
