import type { Db } from '@baton/kernel/database/db';
import { findFirstTenant, findTenantAfter } from './seals.sql.ts';

/**
 * Every tenant that has audit records or links, by id; each is read from the database when the iteration reaches it.
 */
export async function* auditedTenants(db: Db): AsyncGenerator<string> {
  let next = await db.row(findFirstTenant());
  while (next !== undefined) {
    yield next.tenant_id;
    next = await db.row(findTenantAfter(next.tenant_id));
  }
}
