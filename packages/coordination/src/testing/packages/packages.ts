import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import type { Actor, TestCoordination } from '../coordination.ts';

/** An installed package of a tenant that declares these settings; null for no settings. */
export async function installSettings(
  { pool }: TestCoordination,
  { tenantId }: Pick<Actor, 'tenantId'>,
  schema: object | null = {},
): Promise<{ key: string }> {
  const key = `p${newId()}`;
  const title = schema === null ? null : 'Settings';
  await pool.run(sql`
    insert into packages (id, tenant_id, key, version, title, settings_title, settings_schema, settings_schema_hash,
      settings_schema_revision)
    values (${newId()}, ${tenantId}, ${key}, '1.0', ${key}, ${title}, ${schema === null ? null : JSON.stringify(schema)},
      ${schema === null ? null : 'sha256:x'}, ${schema === null ? 0 : 1})`);
  return { key };
}
