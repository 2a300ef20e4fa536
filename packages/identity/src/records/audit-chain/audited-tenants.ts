import type { Db } from '@baton/kernel/db';
import { firstTenant, tenantAfter } from './seals.sql.ts';

/** Every tenant that has audit records or links, in the order of their ids; each is looked for when it is asked for. */
export async function* auditedTenants(db: Db): AsyncGenerator<string> {
  let next = await db.row(firstTenant());
  while (next !== undefined) {
    yield next.tenant_id;
    next = await db.row(tenantAfter(next.tenant_id));
  }
}
