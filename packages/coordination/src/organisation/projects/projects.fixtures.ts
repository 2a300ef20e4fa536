import { newId } from '@baton/values/ids';
import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';
import { projectTemplate } from '../project-templates/project-templates.fixtures.ts';

export const project = defineObject({
  path: '/projects/{id}',
  make: async ({ actor, get }) => {
    const { id: templateId } = await get(projectTemplate);
    return done(actor.post('/projects', { workspaceSlug: `p${newId()}`, templateId }), 201);
  },
});

const revision = defineObject({
  path: '/projects/{id}/config-revisions/{n}',
  // A revision number is unique only within its project, and no tenant owns the number itself.
  shared: true,
  make: async ({ actor, get }) => {
    const { id } = await get(project);
    const { revision: n } = await done(actor.post(`/projects/${id}/config-revisions`, {}), 201);
    return { n: String(n) };
  },
});

export default defineFixtures({
  objects: [project, revision],
  operations: {
    createProject: async ({ get }) => ({
      body: {
        workspaceSlug: `p${newId()}`,
        templateKey: null,
        templateId: (await get(projectTemplate)).id,
      },
    }),
  },
});
