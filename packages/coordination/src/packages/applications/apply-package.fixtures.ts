import { newId } from '@baton/values/ids';
import { defineFixtures } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';
import { sourceOf } from '../../testing/packages/package-sources.ts';

export default defineFixtures({
  objects: [],
  operations: {
    async applyPackage({ actor }) {
      const spec = { displayName: 'Desk', timezone: 'Europe/Berlin', years: [{ year: 2027 }] };
      const source = sourceOf({ key: `p${newId()}` }, [{ kind: 'Calendar', key: `c${newId()}`, spec }]);
      const { planHash } = await done(actor.post('/packages:plan', { package: source }));
      return { body: { package: source, planHash } };
    },
  },
});
