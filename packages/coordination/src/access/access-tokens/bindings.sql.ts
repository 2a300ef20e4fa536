import { sql } from '@baton/kernel/database/sql';
import type { EntryRow } from './entry.ts';

/**
 * Reads an entry and records its use. Since cached entries cause no query, the use is recorded once per cache period.
 * If a command is changing the binding, the use isn't recorded, so that nothing waits for the command.
 */
export function findEntry(issuer: string, iamPrincipalId: string) {
  return sql<EntryRow>`
    with used as (
      update iam_bindings set last_used_at = now()
      where id = (
        select id from iam_bindings
        where issuer = ${issuer} and iam_principal_id = ${iamPrincipalId} and status = 'active'
        for no key update skip locked)
    )
    select b.id as binding_id, b.tenant_id, b.principal_id, b.iam_tenant_id, b.permissions, b.status as binding_status,
      p.kind, p.agent_id, p.status as principal_status
    from iam_bindings b join principals p on p.id = b.principal_id
    where b.issuer = ${issuer} and b.iam_principal_id = ${iamPrincipalId}`;
}
