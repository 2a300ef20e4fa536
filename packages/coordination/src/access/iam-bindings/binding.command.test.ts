import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Operator, startOperator } from '../../testing/access/operator.ts';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { bindingCommand } from './binding.command.ts';

let baton: TestCoordination;
let operator: Operator;
before(async () => {
  baton = await startCoordination({ CP_IAM_BINDING_CACHE_TTL_SECONDS: '0' });
  operator = startOperator(baton);
});
after(async () => {
  await operator.close();
  await baton.close();
});

const run = (...args: string[]) => bindingCommand(operator.tools, args);
const refusesWith = (code: string) => (error: { code?: string }) => error.code === code;

async function bindingOf({ principalId }: Actor): Promise<string> {
  return (await baton.admin.get(`/principals/${principalId}/iam-bindings`)).body.items[0].id;
}

test('a disabled binding gets the same 401 as a missing one, and is admitted again once it is enabled', async () => {
  const agent = await baton.actor();
  const id = await bindingOf(agent);
  assert.match(await run('disable', id), /is disabled/);
  const { status, body } = await agent.get('/principals');
  assert.deepEqual([status, body.error.code], [401, 'invalid_credentials']);
  assert.match(await run('disable', id), /was already disabled/);
  assert.match(await run('enable', id), /is enabled/);
  assert.equal((await agent.get('/principals')).status, 200);

  const events = await baton.pool.rows<{ type: string; actor_id: null; request_id: string }>(sql`
    select type, actor_id, request_id from events where entity_id = ${id} order by sequence`);
  const expected = { type: 'iam_binding.updated', actor_id: null, request_id: `binding:${id}` };
  assert.deepEqual(events, [expected, expected]);
  assert.equal(operator.forgotten.filter((name) => name.endsWith(agent.iamPrincipalId)).length, 2);
});

test('a disabled binding is admitted again after its identity is bound again', async () => {
  const agent = await baton.actor();
  await run('disable', await bindingOf(agent));
  const again = await baton.admin.post(`/principals/${agent.principalId}/iam-bindings`, {
    issuer: baton.issuer.issuer,
    iamTenantId: agent.tenantId,
    iamPrincipalId: agent.iamPrincipalId,
    permissions: ['principals.read'],
  });
  assert.deepEqual([again.status, again.body.status], [200, 'active']);
  assert.equal((await agent.get('/principals')).status, 200);
});

test('a revoked binding, an unknown one and invalid arguments are refused', async () => {
  const id = await bindingOf(await baton.actor());
  await baton.admin.post(`/iam-bindings/${id}:revoke`);
  await assert.rejects(run('enable', id), refusesWith('binding_revoked'));
  await assert.rejects(run('disable', id), refusesWith('binding_revoked'));
  for (const unknown of [newId(), 'zebra'])
    await assert.rejects(run('enable', unknown), refusesWith('not_found'));
  for (const args of [[], ['disable'], ['revoke', id], ['enable', id, id]])
    await assert.rejects(run(...args), refusesWith('usage'));
});
