import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { ElementMap } from '@baton/process-engine/engine/inputs';
import type { Tables } from '../../service/schema.ts';

type MigrationRow = RowOf<Tables['process_migrations'], { map: ElementMap }>;

type NewMigration = Pick<
  MigrationRow,
  'id' | 'tenant_id' | 'definition_key' | 'from_version' | 'to_version' | 'map'
>;

/** Instances of a version migrate to the newest version that lists it. */
export function upsertMigration(made: NewMigration) {
  return sql`
    insert into process_migrations as m (id, tenant_id, definition_key, from_version, to_version, map)
    values (${made.id}, ${made.tenant_id}, ${made.definition_key}, ${made.from_version}, ${made.to_version},
      ${JSON.stringify(made.map)})
    on conflict (tenant_id, definition_key, from_version) do update
    set id = excluded.id, to_version = excluded.to_version, map = excluded.map, published_at = clock_timestamp(),
      migrated = 0, refused = 0, next_at = clock_timestamp()`;
}
