import { globSync } from 'node:fs';
import { join } from 'node:path';
import type { Db } from '@baton/kernel/database/db';
import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { EventDeclaration } from '@baton/kernel/http/service';
import { eventCatalog } from '../../app/event-types/event-catalog.ts';
import type { Tables } from '../../service/schema.ts';

const source = join(import.meta.dirname, '../..');

/** Every declaration of an event in the files of the features, including ones missing from the catalog. */
export async function readEventDeclarations(): Promise<EventDeclaration[]> {
  const files = globSync('**/*.events.ts', { cwd: source });
  const modules = await Promise.all(files.map((file) => import(join(source, file)) as Promise<object>));
  // A file may export its declarations one by one, as a table, or in both forms.
  const values = modules.flatMap((module) => Object.values(module));
  const found = values.flatMap((value) => (isEvent(value) ? [value] : Object.values(value ?? {})));
  return [...new Set(found.filter(isEvent))];
}

function isEvent(value: unknown): value is EventDeclaration {
  return typeof value === 'object' && value !== null && 'type' in value && 'payload' in value;
}

type StoredRow = Pick<RowOf<Tables['events']>, 'type' | 'schema_version' | 'entity_type' | 'payload'>;

/** The number of stored events of each type that are compared with the catalog, newest first. */
const perTypeMax = 500;

/**
 * Events in the journal that differ from the catalog: an unknown type, or a different version, entity or payload.
 * Some statements write their events themselves, in SQL that no compiler compares with the declaration.
 */
export async function findUndeclaredEvents(db: Db): Promise<string[]> {
  const stored = await db.rows<StoredRow>(sql`
    select type, schema_version, entity_type, payload from (
      select e.*, row_number() over (partition by type order by sequence desc) as n
      from events e where request_id <> 'test'
    ) newest where n <= ${perTypeMax}`);
  return stored.flatMap((row) => {
    const event = eventCatalog.get(row.type);
    if (event === undefined) return [`${row.type} is not declared`];
    if (event.version !== row.schema_version || event.entity !== row.entity_type)
      return [
        `${row.type} is declared as version ${event.version} of ${event.entity}, written as ${row.schema_version} of ${row.entity_type}`,
      ];
    const { success, error } = event.payload.safeParse(row.payload);
    return success ? [] : [`${row.type} was written with another payload: ${error.message}`];
  });
}
