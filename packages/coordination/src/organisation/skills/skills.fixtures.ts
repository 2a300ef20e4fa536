import { defineFixtures, defineObject } from '../../testing/fixtures.ts';
import { makeCallable } from '../../testing/invocations.ts';

/** A callable skill. */
export const skill = defineObject({
  path: '/skills/{ref}',
  make: ({ actor }) => makeCallable(actor),
});

export default defineFixtures({ objects: [skill] });
