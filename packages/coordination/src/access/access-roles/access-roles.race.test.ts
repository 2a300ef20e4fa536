import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { raceRounds } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { setAccess } from '../../testing/access/set-access.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { newRoleKey } from './access-roles.fixtures.ts';

const rivals = 6;
let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

/** The roles that are granted remain, and a tenant has at most 100. */
const grantRounds = Math.min(raceRounds, 45);

async function makeRole(): Promise<string> {
  const key = newRoleKey();
  await baton.admin.post('/access-roles', { key, name: 'Role', permissions: ['tasks.read'] });
  return key;
}

async function makePrincipals(): Promise<string[]> {
  const made = await Promise.all(
    Array.from({ length: rivals }, () =>
      baton.admin.post('/principals', { kind: 'agent', displayName: 'agent' }),
    ),
  );
  return made.map(({ body }) => body.id);
}

const bind = (principalId: string, accessRole: string) =>
  baton.admin.post(`/principals/${principalId}/iam-bindings`, {
    ...{ issuer: baton.issuer.issuer, iamTenantId: newId(), iamPrincipalId: newId() },
    accessRole,
  });

const bindingsOf = (key: string) =>
  baton.pool.rows<{ permissions: string[] }>(
    sql`select permissions from iam_bindings where access_role = ${key}`,
  );

test('a role that changes while it is granted: every binding has its new permissions', async () => {
  const [granted = '', ...principals] = await makePrincipals();
  await bind(granted, 'viewer');
  for (let round = 0; round < grantRounds; round += 1) {
    const key = await makeRole();
    // Nothing else changes this access, so its version remains current.
    const { version } = (await setAccess(baton.admin, granted, { permissions: ['tasks.read'] })).body;
    const change = { permissions: ['goals.read', 'tasks.read'] };
    const [changed, ...bound] = await Promise.all([
      baton.admin.patch(`/access-roles/${key}`, change, { 'if-match': '"access_role-1"' }),
      ...principals.map((id) => bind(id, key)),
      baton.admin.put(
        `/principals/${granted}/access`,
        { accessRole: key },
        { 'if-match': `principal_access-${version}` },
      ),
    ]);
    assert.deepEqual([changed.status, ...new Set(bound.map(({ status }) => status))].sort(), [200, 200, 201]);
    for (const { permissions } of await bindingsOf(key)) assert.deepEqual(permissions, change.permissions);
  }
});

test('a role that is deleted while it is granted: either it stays, or nobody has it', async () => {
  const principals = await makePrincipals();
  for (let round = 0; round < grantRounds; round += 1) {
    const key = await makeRole();
    const [deleted, ...bound] = await Promise.all([
      baton.admin.delete(`/access-roles/${key}`),
      ...principals.map((id) => bind(id, key)),
    ]);
    const granted = bound.filter(({ status }) => status === 201).length;
    assert.equal((await bindingsOf(key)).length, granted);
    assert.equal((await baton.admin.get(`/access-roles/${key}`)).status, deleted.status === 204 ? 404 : 200);
    if (deleted.status === 204) assert.equal(granted, 0);
    else assert.deepEqual([deleted.status, deleted.body.error.code], [409, 'access_role_in_use']);
    for (const { status } of bound) assert.ok(status === 201 || status === 404, String(status));
  }
});

test('a role that is deleted while an admission rule names it: either it stays, or there is no rule', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const key = await makeRole();
    const provider = newId();
    const [deleted, set] = await Promise.all([
      baton.admin.delete(`/access-roles/${key}`),
      baton.admin.put(`/admission-rules/${provider}`, { accessRole: key }),
    ]);
    assert.deepEqual([deleted.status, set.status], deleted.status === 204 ? [204, 404] : [409, 201]);
    await baton.admin.delete(`/admission-rules/${provider}`);
    await baton.admin.delete(`/access-roles/${key}`);
  }
});

test('of two last administrators who give up their rights at once one stays', async () => {
  const first = baton.otherAdmin;
  for (let round = 0; round < raceRounds; round += 1) {
    const second = await baton.actor({ kind: 'human', permissions: ['admin'], tenantId: first.tenantId });
    const answers = await Promise.all(
      [first, second].map((one) => setAccess(one, one.principalId, { permissions: ['principals.read'] })),
    );
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [200, 409]);
    const refusedAnswer = answers.find(({ status }) => status === 409);
    assert.equal(refusedAnswer?.body.error.code, 'last_administrator');
    const left = answers[0]?.status === 409 ? first : second;
    const lost = left === first ? second : first;
    const back = await setAccess(left, lost.principalId, { accessRole: 'administrator' });
    assert.equal(back.status, 200, JSON.stringify(back.body));
    const { body } = await first.get(`/principals/${second.principalId}/iam-bindings`);
    await first.post(`/iam-bindings/${body.items[0].id}:revoke`);
  }
});
