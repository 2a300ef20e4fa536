import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { makeCallable } from '../../testing/results/invocations.ts';

/** A callable skill. */
export const skill = defineObject({
  path: '/skills/{ref}',
  make: ({ actor }) => makeCallable(actor),
});

export default defineFixtures({ objects: [skill] });
