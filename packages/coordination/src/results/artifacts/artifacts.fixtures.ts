import { storeArtifact } from '../../testing/contents.ts';
import type { FixtureTenant } from '../../testing/fixtures.ts';
import { defineFixtures, defineObject } from '../../testing/fixtures.ts';

/** An artifact with bytes. */
export const artifact = defineObject({
  path: '/artifacts/{id}',
  make: ({ baton, actor }: FixtureTenant) => storeArtifact(baton, Buffer.from('Findings'), { actor }),
});

export default defineFixtures({ objects: [artifact] });
