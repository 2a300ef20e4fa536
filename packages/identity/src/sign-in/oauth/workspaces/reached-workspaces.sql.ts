import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../../service/schema.ts';

export function findAudienceAlgorithm(tenantId: string, audience: string) {
  return sql<Pick<RowOf<Tables['audiences']>, 'signing_algorithm'>>`
    select signing_algorithm from audiences
    where tenant_id = ${tenantId} and key = ${audience} and status = 'active'`;
}
