import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { endpointName } from '@baton/kernel/http/service';
import { newId } from '@baton/values/ids';
import { endpoints } from '../../app/endpoints.ts';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';

let baton: TestCoordination;
let person: Actor;
before(async () => {
  baton = await startCoordination();
  person = await baton.actor({ kind: 'human' });
});
after(() => baton.close());

const scope = ['control-plane:decide', 'control-plane:admin', 'control-plane:read', 'control-plane:write'];

const request = async (assigned = person): Promise<string> =>
  (await done(baton.admin.post('/approvals', { assignedPrincipalId: assigned.principalId }), 201)).id;

const tokenFor = (claims: object, { iamPrincipalId } = person) =>
  baton.issuer.sign({ sub: iamPrincipalId, tenant_id: baton.tenantId, scope, ...claims });

const purposeOf = (approvalId: string) => ({ purpose_ref: `approval:${approvalId}` });

async function decide(token: string, path: string, headers: object = { 'idempotency-key': newId() }) {
  return baton.request('POST', `/api/v1/approvals/${path}`, { token, headers: { ...headers } });
}

test('it decides the approval that its purpose specifies, and the event contains the channel', async () => {
  for (const [verb, acr, channel] of [
    ['approve', 'channel:telegram', 'telegram'],
    ['reject', 'channel:e-mail.2', 'e-mail.2'],
    ['reject', 'channel:with space', null],
    ['approve', undefined, null],
  ] as const) {
    const id = await request();
    const token = await tokenFor({ ...purposeOf(id), ...(acr && { acr }) });
    await done(decide(token, `${id.toUpperCase()}:${verb}`));
    const [, event] = await eventsOf(baton, id);
    assert.deepEqual([event?.actor_id, event?.payload['channel']], [person.principalId, channel]);
  }
});

test('the channel of another kind of token is not recorded', async () => {
  const id = await request();
  const token = await tokenFor({ scope: ['control-plane:write'], acr: 'channel:telegram' });
  await done(decide(token, `${id}:approve`));
  assert.equal((await eventsOf(baton, id))[1]?.payload['channel'], null);
});

test('without a purpose or with an invalid one, every endpoint returns 403 purpose_ref_required', async () => {
  const id = await request();
  for (const purpose of [
    undefined,
    '',
    id,
    `task:${id}`,
    `approval:${id}x`,
    `approval:${id.toUpperCase()}`,
    7,
  ]) {
    const token = await tokenFor(purpose === undefined ? {} : { purpose_ref: purpose });
    await refused(decide(token, `${id}:approve`), 403, 'purpose_ref_required');
    await refused(baton.request('GET', '/api/v1/harness/context', { token }), 403, 'purpose_ref_required');
  }
});

test('every other endpoint returns 403 outside_purpose, whatever other scopes the token has', async () => {
  const id = await request();
  const token = await tokenFor(purposeOf(id));
  for (const endpoint of endpoints.filter(({ auth, root }) => auth === undefined && !root)) {
    const path = endpoint.path.replaceAll(/\{[^}]+\}/g, newId());
    const answer = baton.request(endpoint.method, `/api/v1${path}`, { token });
    const { code } = (await answer).body.error;
    assert.equal(code, 'outside_purpose', endpointName(endpoint));
  }
  await refused(decide(token, `${await request()}:approve`), 403, 'outside_purpose');
  await refused(decide(token, `${id}:cancel`), 403, 'outside_purpose');
  await refused(baton.request('GET', `/api/v1/approvals/${id}`, { token }), 403, 'outside_purpose');
  await done(decide(token, `${id}%3Aapprove`));
});

test('the idempotency key is mandatory, and its response is repeated', async () => {
  const id = await request();
  const token = await tokenFor(purposeOf(id));
  await refused(decide(token, `${id}:approve`, {}), 422, 'idempotency_key_required');
  const headers = { 'idempotency-key': newId() };
  const first = await done(decide(token, `${id}:approve`, headers));
  const again = await decide(token, `${id}:approve`, headers);
  assert.deepEqual([again.body, again.headers.get('idempotency-replayed')], [first, 'true']);
  await refused(decide(token, `${id}:approve`), 409, 'approval_already_decided');
});

test('it grants no permission that the person lacks, and admin is sufficient', async () => {
  const [powerless, admin] = await Promise.all([
    baton.actor({ kind: 'human', permissions: ['approvals.read'] }),
    baton.actor({ kind: 'human', permissions: ['admin'] }),
  ]);
  const [denied, allowed] = [await request(powerless), await request(admin)];
  const token = await tokenFor(purposeOf(denied), powerless);
  await refused(decide(token, `${denied}:approve`), 403, 'permission_denied');
  await done(decide(await tokenFor(purposeOf(allowed), admin), `${allowed}:approve`));
  const [foreign, stranger] = [await request(), await baton.actor({ kind: 'human' })];
  const other = await tokenFor(purposeOf(foreign), stranger);
  await refused(decide(other, `${foreign}:approve`), 403, 'not_eligible');
});
