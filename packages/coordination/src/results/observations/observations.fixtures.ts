import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';

/** Observations have no path of their own; evidence refers to them. */
export const observation = defineObject({
  path: '/observations/{id}',
  make: ({ actor }) =>
    done(actor.post('/observations', { kind: 'build', content: 'All tests pass.' }), 201) as Promise<{
      id: string;
      eventId: string;
    }>,
});

/** The id of the event that published an observation, for an observation that supersedes it. */
export const observationEvent = defineObject({
  path: '/observation-events/{id}',
  async make(tenant) {
    const { eventId } = await observation.make(tenant);
    return { id: eventId };
  },
});

export default defineFixtures({ objects: [observation, observationEvent] });
