import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';

/** An open task without a claim. */
export const task = defineObject({
  path: '/tasks/{ref}',
  make: ({ actor }) => done(actor.post('/tasks', { title: 'wanted' }), 201),
});

/** A second task in the same request. */
export const otherTask = defineObject({
  make: ({ actor }) => done(actor.post('/tasks', { title: 'next' }), 201),
});

export default defineFixtures({ objects: [task] });
