import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';

export const rule = defineObject({
  path: '/rules/{id}',
  make: ({ actor }) =>
    done(
      actor.post('/rules', {
        key: `r-${crypto.randomUUID()}`,
        trigger: { kind: 'event', type: 'task.completed' },
        action: { kind: 'ensure_work', taskType: 'task', fields: { title: 'follow up' } },
      }),
      201,
    ),
});

export default defineFixtures({ objects: [rule] });
