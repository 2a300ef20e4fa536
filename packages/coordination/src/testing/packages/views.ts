import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import type { Actor, TestCoordination } from '../coordination.ts';

/** A view with one block, of tasks by default. */
export const blockOf = (more: object = {}) => ({
  title: 'Tasks',
  source: 'tasks',
  columns: [{ field: 'id' }, { field: 'title' }],
  filters: [],
  sorts: [],
  params: [],
  ...more,
});

/** A view of a tenant, without the package that would publish it. @returns its key */
export async function insertTestView(
  { pool }: TestCoordination,
  { tenantId, principalId }: Pick<Actor, 'tenantId' | 'principalId'>,
  blocks: readonly object[],
  more: { title?: string; titles?: object } = {},
): Promise<string> {
  const key = `v-${newId()}`;
  const spec = { title: 'View', titles: {}, ...more, blocks };
  await pool.run(sql`
    insert into views (id, tenant_id, key, spec, spec_hash, created_by)
    values (${newId()}, ${tenantId}, ${key}, ${JSON.stringify(spec)}, 'sha256:x', ${principalId})`);
  return key;
}
