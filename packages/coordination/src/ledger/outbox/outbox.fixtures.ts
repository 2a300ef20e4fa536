import { sql } from '@baton/kernel/database/sql';
import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { writeEvents } from '../../testing/ledger/journal-writer.ts';
import { deliveryIdOf } from './undelivered-event.ts';

/** A dead letter. */
const undelivered = defineObject({
  path: '/operations/outbox/{id}',
  async make({ baton, actor: { tenantId } }) {
    const [eventId] = await writeEvents(baton.pool, tenantId, [{}]);
    const row = await baton.pool.row<{ place: number; sequence: number }>(sql`
      with gone as (
        delete from outbox using events e
        where event_sequence = e.sequence and e.id = ${eventId} returning e.sequence, e.position
      )
      insert into outbox_deliveries (lead, sink, tenant_id, event_sequences, oldest_position, is_new, attempts,
        available_at, dead_at, last_error)
      select sequence, 'gone', ${tenantId}, array[sequence], position, false, 8, 'infinity', now(), 'answered 500' from gone
      returning place, lead as sequence`);
    if (row === undefined) throw new Error('no delivery was created');
    return { id: deliveryIdOf(row), eventId };
  },
});

export default defineFixtures({ objects: [undelivered] });
