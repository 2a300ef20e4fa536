import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity } from '../../../testing/identity.ts';
import { made } from '../../../testing/objects.ts';
import { makeProvisioning, type Provisioning } from '../../../testing/provisioning.ts';
import { auditOf, journalTypes } from '../../../testing/records.ts';
import { filtered, type ScimClient, scimClient } from '../../../testing/scim-client.ts';

let identity: TestIdentity;
let fixture: Provisioning;
let client: ScimClient;
before(async () => {
  identity = await startIdentity();
  fixture = await makeProvisioning(identity);
  client = scimClient(identity, fixture.token);
});
after(() => identity.close());

const warning = 'warning:disabled_by_administrator';

async function makeUser(more: object = {}) {
  const content = { userName: randomUUID(), externalId: randomUUID(), ...more };
  const { id } = await made(client.post('/Users', content));
  return { id: id as string, content, principalId: await principalOf(id) };
}

async function principalOf(userId: string): Promise<string> {
  const row = await identity.pool.row<{ principal_id: string }>(
    sql`select principal_id from scim_users where id = ${userId}`,
  );
  return (row as { principal_id: string }).principal_id;
}

const act = (principalId: string, verb: 'disable' | 'enable') =>
  identity.post(`/tenants/${fixture.tenantId}/principals/${principalId}:${verb}`);
const statusOf = async (principalId: string): Promise<string> =>
  (await identity.get(`/tenants/${fixture.tenantId}/principals/${principalId}`)).body.status;
const switchTo = (id: string, value: boolean) =>
  client.patch(`/Users/${id}`, [{ op: 'replace', path: 'active', value }]);
const reasonOfLast = async () => (await auditOf(identity, fixture.tenantId)).at(-1)?.reason;

test("an administrator's disable shows in the user, its version and its lists", async () => {
  const { id, principalId } = await makeUser();
  const before = await client.get(`/Users/${id}`);
  const tag = before.headers.get('etag') ?? '';
  await made(act(principalId, 'disable'));
  const known = await client.get(`/Users/${id}`, { 'if-none-match': tag });
  assert.deepEqual([known.status, known.body.active], [200, false]);
  assert.ok(known.body.meta.lastModified >= before.body.meta.lastModified);
  const found = await client.get(`/Users${filtered(`active eq false and id eq "${id}"`)}`);
  assert.equal(found.body.totalResults, 1);
  const counts = await identity.pool.row<{ counted: number; real: number }>(sql`
    select active_users_count as counted,
      (select count(*) from scim_users where provisioning_source_id = s.id and active) as real
    from provisioning_sources s where id = ${fixture.sourceId}`);
  assert.equal(counts?.counted, counts?.real);
  const repeated = await act(principalId, 'disable');
  assert.equal(repeated.status, 200);
  assert.equal((await client.get(`/Users/${id}`)).headers.get('etag'), known.headers.get('etag'));

  await made(act(principalId, 'enable'));
  const enabled = await client.get(`/Users/${id}`);
  assert.deepEqual([enabled.body.active, await statusOf(principalId)], [true, 'active']);
  assert.notEqual(enabled.headers.get('etag'), known.headers.get('etag'));
});

test('a PATCH or PUT of the directory re-enables nobody whom an administrator disabled, and is audited', async () => {
  const { id, content, principalId } = await makeUser();
  await made(act(principalId, 'disable'));
  const events = (await journalTypes(identity, fixture.tenantId)).length;
  for (const write of [
    () => switchTo(id, true),
    () => client.patch(`/Users/${id}`, [{ op: 'replace', value: { active: 'True' } }]),
    () => client.put(`/Users/${id}`, { ...content, active: true }),
    () => client.put(`/Users/${id}`, content),
  ]) {
    const { status, body } = await write();
    assert.deepEqual([status, body.active], [200, false]);
    assert.equal(await statusOf(principalId), 'disabled');
    assert.equal(await reasonOfLast(), `principal:${principalId} ${warning}`);
  }
  assert.equal((await journalTypes(identity, fixture.tenantId)).length, events, 'nothing changed');
  const titled = await client.patch(`/Users/${id}`, [{ op: 'add', path: 'title', value: 'Countess' }]);
  assert.deepEqual([titled.body.active, titled.body.title], [false, 'Countess']);
  await made(act(principalId, 'enable'));
  const { body } = await client.get(`/Users/${id}`);
  assert.deepEqual([body.active, body.title], [true, 'Countess']);
  await switchTo(id, true);
  assert.equal(await reasonOfLast(), `principal:${principalId}`);
});

test('a re-POST after DELETE answers 201 with active false; the administrator enables', async () => {
  const { id, content, principalId } = await makeUser();
  await made(act(principalId, 'disable'));
  assert.equal((await client.delete(`/Users/${id}`)).status, 204);
  const again = await client.post('/Users', content);
  assert.deepEqual([again.status, again.body.active], [201, false]);
  assert.equal(await principalOf(again.body.id), principalId);
  assert.equal(await statusOf(principalId), 'disabled');
  assert.equal(await reasonOfLast(), `principal:${principalId} ${warning}`);
  await made(act(principalId, 'enable'));
  assert.equal((await client.get(`/Users/${again.body.id}`)).body.active, true);
});

test('both the directory and the administrator must want a person active', async () => {
  const { id, principalId } = await makeUser();
  await switchTo(id, false);
  await made(act(principalId, 'disable'));
  const blocked = await switchTo(id, true);
  assert.deepEqual([blocked.body.active, await statusOf(principalId)], [false, 'disabled']);
  await switchTo(id, false);
  const { status, body } = await act(principalId, 'enable');
  assert.deepEqual([status, body], [409, { detail: 'principal_provisioned' }]);
  assert.equal((await switchTo(id, true)).body.active, false);
  await made(act(principalId, 'enable'));
  assert.equal((await client.get(`/Users/${id}`)).body.active, true);
  assert.equal((await switchTo(id, false)).body.active, false);
  const rehired = await switchTo(id, true);
  assert.deepEqual([rehired.body.active, await statusOf(principalId)], [true, 'active']);
});
