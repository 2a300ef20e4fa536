import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { raceRounds } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';

const rivals = 12;
let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

async function principal(): Promise<string> {
  const { body } = await baton.admin.post('/principals', { kind: 'agent', displayName: 'agent' });
  return body.id;
}

const bind = (principalId: string, iamPrincipalId: string, actor = baton.admin) =>
  actor.post(`/principals/${principalId}/iam-bindings`, {
    issuer: baton.issuer.issuer,
    iamTenantId: newId(),
    iamPrincipalId,
    permissions: ['tasks.read'],
  });

test('of parallel first upserts for one principal, one returns 201 and the others return 200', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const [id, who] = [await principal(), newId()];
    const answers = await Promise.all(Array.from({ length: rivals }, () => bind(id, who)));
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [...Array(rivals - 1).fill(200), 201]);
  }
});

test('of parallel first upserts through two tenants, one tenant gets the identity', async () => {
  const other = await baton.otherAdmin.post('/principals', { kind: 'agent', displayName: 'agent' });
  for (let round = 0; round < raceRounds; round += 1) {
    const [id, who] = [await principal(), newId()];
    const answers = await Promise.all(
      Array.from({ length: rivals }, (_, n) =>
        n % 2 === 0 ? bind(id, who) : bind(other.body.id, who, baton.otherAdmin),
      ),
    );
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
    const tenants = new Set(answers.filter(({ status }) => status < 300).map(({ body }) => body.tenantId));
    assert.equal(tenants.size, 1);
    for (const { status, body } of answers.filter(({ status }) => status >= 300))
      assert.deepEqual([status, body.error.code], [409, 'iam_identity_bound_elsewhere']);
  }
});

test('a concurrent binding and disable never leave an active binding of a disabled principal', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const id = await principal();
    const [bound, disabled] = await Promise.all([
      bind(id, newId()),
      baton.admin.post(`/principals/${id}:disable`),
    ]);
    assert.equal(disabled.status, 200);
    // 503 is possible: disabling a principal closes the connection of a command for which it has waited 600 ms.
    assert.ok([201, 422, 503].includes(bound.status), JSON.stringify(bound.body));
    const live = await baton.pool.row<{ live: number }>(sql`
      select count(*) as live from iam_bindings where principal_id = ${id} and status = 'active'`);
    assert.deepEqual(live, { live: 0 });
  }
});
