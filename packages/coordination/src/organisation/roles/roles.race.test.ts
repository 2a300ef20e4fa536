import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { raceRounds } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf } from '../../testing/leases.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

test('of concurrent roles created with or renamed to one slug, exactly one gets it and the others are conflicts', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const slug = `wanted-${round}`;
    const makers = await Promise.all(
      [0, 1].map((n) => done(baton.admin.post('/roles', { slug: `${slug}-${n}`, name: 'x' }), 201)),
    );
    const answers = await Promise.all([
      baton.admin.post('/roles', { slug, name: 'x' }),
      ...makers.map(({ id }) => baton.admin.patch(`/roles/${id}`, { slug }, { 'if-match': 'role-1' })),
    ]);
    const codes = answers.map(({ body }) => body.error?.code ?? 'has it').sort();
    assert.deepEqual(codes, ['has it', 'role_slug_conflict', 'role_slug_conflict'], `round ${round}`);
  }
});

test('a role assigned concurrently is one assignment with one event', async () => {
  const role = await done(baton.admin.post('/roles', { slug: 'given', name: 'x' }), 201);
  for (let round = 0; round < raceRounds; round += 1) {
    const { principalId } = await baton.actor();
    const answers = await Promise.all(
      [0, 1, 2, 3].map(() =>
        done(baton.admin.post(`/principals/${principalId}/roles`, { roleId: role.id }), 201),
      ),
    );
    assert.equal(new Set(answers.map(({ id }) => id)).size, 1, `round ${round}`);
    const types = (await eventsOf(baton, principalId)).map(({ type }) => type);
    assert.deepEqual(types, ['role.assigned'], `round ${round}`);
  }
});
