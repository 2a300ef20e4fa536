import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { writeEvaluation } from '../../testing/rules/rules.ts';
import { rule } from '../catalog/rules.fixtures.ts';

export const evaluation = defineObject({
  path: '/rule-evaluations/{id}',
  async make(tenant) {
    return { id: await writeEvaluation(tenant.baton, await rule.make(tenant)) };
  },
});

export default defineFixtures({ objects: [evaluation] });
