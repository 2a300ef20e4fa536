import { newId } from '@baton/values/ids';
import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';

export const projectTemplate = defineObject({
  path: '/project-templates/{id}',
  make: ({ actor }) =>
    done(actor.post('/project-templates', { key: `t${newId()}`, displayName: 'Launch' }), 201),
});

export default defineFixtures({ objects: [projectTemplate] });
