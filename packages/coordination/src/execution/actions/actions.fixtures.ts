import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';
import { run } from '../runs/runs.fixtures.ts';

/** A started action of the requested run. */
const action = defineObject({
  path: '/runs/{id}/actions/{aid}',
  make: async ({ actor, get }) =>
    done(actor.post(`/runs/${(await get(run)).id}/actions`, { action: 'deploy', status: 'started' }), 201),
});

export default defineFixtures({ objects: [action] });
