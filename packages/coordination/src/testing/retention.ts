import type { Db } from '@baton/kernel/db';
import { newId } from '@baton/kernel/ids';
import { sql } from '@baton/kernel/sql';
import { foundTenant } from '../app/bootstrap/founding.ts';
import { journalIsStable } from './journal-writer.ts';

/** Everything of a tenant is delivered and confirmed by all consumers up to now, as the context adapter leaves it. */
export async function confirmJournal(db: Db, tenantId: string): Promise<void> {
  await journalIsStable(db);
  await db.run(sql`delete from outbox where tenant_id = ${tenantId}`);
  await db.run(sql`
    insert into event_consumers (tenant_id, consumer, position)
    select ${tenantId}, 'context-adapter', journal_horizon()
    on conflict (tenant_id, consumer) do update set position = excluded.position, sequence = 0`);
}

/** How many events of a tenant lie in each of both tables. */
export async function storedEvents(db: Db, tenantId: string): Promise<{ hot: number; archived: number }> {
  return (await db.row<{ hot: number; archived: number }>(sql`
    select (select count(*) from events where tenant_id = ${tenantId}) as hot,
      (select count(*) from archived_events where tenant_id = ${tenantId}) as archived`)) as {
    hot: number;
    archived: number;
  };
}

/** @returns the id of a tenant of its own, with an empty journal */
export async function makeTenant(db: Db): Promise<string> {
  const name = `tenant-${newId()}`;
  const { tenantId } = await foundTenant(db, {
    tenantSlug: name,
    tenantName: name,
    adminDisplayName: 'Administrator',
  });
  return tenantId;
}
