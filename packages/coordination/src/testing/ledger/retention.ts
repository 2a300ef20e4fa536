import type { Db } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { foundTenant } from '../../app/bootstrap/found-tenant.ts';
import { journalIsStable } from './journal-writer.ts';

/** Marks all events of a tenant as delivered and confirmed for all consumers, as the context adapter does. */
export async function confirmJournal(db: Db, tenantId: string): Promise<void> {
  await journalIsStable(db);
  await db.run(sql`delete from outbox where tenant_id = ${tenantId}`);
  await db.run(sql`
    insert into event_consumers (tenant_id, consumer, position)
    select ${tenantId}, 'context-adapter', journal_horizon()
    on conflict (tenant_id, consumer) do update set position = excluded.position, sequence = 0`);
}

/** The number of a tenant's events in each of the two tables. */
export async function storedEvents(db: Db, tenantId: string): Promise<{ hot: number; archived: number }> {
  return (await db.row<{ hot: number; archived: number }>(sql`
    select (select count(*) from events where tenant_id = ${tenantId}) as hot,
      (select count(*) from archived_events where tenant_id = ${tenantId}) as archived`)) as {
    hot: number;
    archived: number;
  };
}

/** @returns the id of a new tenant with an empty journal */
export async function makeTenant(db: Db): Promise<string> {
  const name = `tenant-${newId()}`;
  const { tenantId } = await foundTenant(db, {
    tenantSlug: name,
    tenantName: name,
    adminDisplayName: 'Administrator',
  });
  return tenantId;
}

/** Archives up to an event, like the endpoint, and moves a number of events, but writes no events. */
export async function archiveThrough(
  db: Db,
  tenantId: string,
  eventId: string | undefined,
  movedMax: number,
): Promise<void> {
  await db.run(sql`
    update journal_floors f set archive_position = e.position, archive_sequence = e.sequence
    from events e where f.tenant_id = ${tenantId} and e.id = ${eventId}`);
  if (movedMax > 0) await db.row(sql`select move_to_archive(${tenantId}, ${movedMax})`);
}

/** Prunes up to an event of the archive, and deletes a number of events. */
export async function pruneThrough(
  db: Db,
  tenantId: string,
  eventId: string | undefined,
  deletedMax: number,
): Promise<void> {
  await db.run(sql`
    update journal_floors f set floor_position = e.position, floor_sequence = e.sequence
    from archived_events e where f.tenant_id = ${tenantId} and e.id = ${eventId}`);
  if (deletedMax > 0) await db.row(sql`select delete_from_archive(${tenantId}, ${deletedMax})`);
}
