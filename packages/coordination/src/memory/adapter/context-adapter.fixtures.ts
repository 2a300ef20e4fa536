import { sql } from '@baton/kernel/database/sql';
import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';

/** A tenant's cursor, as the adapter creates it in its first cycle. */
const cursor = defineObject({
  path: '/operations/context-adapter/{tenantId}',
  async make({ baton, actor: { tenantId } }) {
    await baton.pool.run(sql`
      insert into event_consumers (tenant_id, consumer) values (${tenantId}, 'context-adapter')
      on conflict do nothing`);
    return { tenantId };
  },
});

export default defineFixtures({ objects: [cursor] });
