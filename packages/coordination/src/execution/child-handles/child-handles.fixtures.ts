import type { FixtureScope } from '@baton/kernel/testing/matrix/matrix-fixtures';
import { defineFixtures, defineObject, type FixtureTenant } from '../../testing/app/fixtures.ts';
import { done } from '../../testing/leases.ts';
import { run } from '../runs/runs.fixtures.ts';

async function launch({ actor, get }: FixtureScope<FixtureTenant>): Promise<{ id: string }> {
  const { id: runId } = await get(run);
  const key = { 'idempotency-key': `child of ${runId}` };
  const body = { correlationId: 'a', title: 'a part of the work' };
  return (await done(actor.post(`/runs/${runId}/child-handles`, body, key), 201)).childHandle;
}

export default defineFixtures({
  objects: [
    defineObject({ path: '/child-handles/{id}', make: launch }),
    defineObject({ path: '/child-handles/{idOrToken}', make: launch }),
    defineObject({ path: '/runs/{id}/child-handles/{handleId}', make: launch }),
  ],
});
