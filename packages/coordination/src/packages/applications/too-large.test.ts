import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import { newKey, sourceOf } from '../../testing/packages/package-sources.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

/**
 * Task types with schemas of 60 kB. Each is filled with one long string, because compile time grows with the number of
 * properties.
 */
const largeTypes = (count: number) =>
  Array.from({ length: count }, () => ({
    kind: 'TaskType',
    key: newKey('t'),
    spec: {
      displayName: 'T',
      fieldSchema: {
        type: 'object',
        properties: { one: { type: 'string', description: 'x'.repeat(60_000) } },
      },
    },
  }));

test('a package too large for a later plan is not applied', async () => {
  const named = { key: newKey('p') };
  const source = sourceOf(named, largeTypes(70));
  const planned = await done(baton.admin.post('/packages:plan', { package: source }));
  const { status, body } = await baton.admin.post('/packages:apply', {
    package: source,
    planHash: planned.planHash,
  });
  assert.deepEqual(
    [status, body.error.code, body.error.details.problems[0].code],
    [422, 'invalid_package', 'payload_too_large'],
  );
  assert.deepEqual((await done(baton.admin.get(`/task-types?package=${named.key}`))).items, []);
});
