import { newId } from '@baton/values/ids';
import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';

const artifactType = defineObject({
  path: '/artifact-types/{ref}',
  make: ({ actor }) =>
    done(
      actor.post('/artifact-types', { key: `t${newId()}`, displayName: 'Report', mediaTypes: ['*/*'] }),
      201,
    ),
});

export default defineFixtures({ objects: [artifactType] });
