import type { FixtureTenant } from '../../testing/app/fixtures.ts';
import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { storeArtifact } from '../../testing/results/contents.ts';

/** An artifact with bytes. */
export const artifact = defineObject({
  path: '/artifacts/{id}',
  make: ({ baton, actor }: FixtureTenant) => storeArtifact(baton, Buffer.from('Findings'), { actor }),
});

export default defineFixtures({ objects: [artifact] });
