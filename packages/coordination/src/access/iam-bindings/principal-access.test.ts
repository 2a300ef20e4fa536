import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { setAccess as setAccessBy } from '../../testing/access/set-access.ts';
import {
  type Actor,
  type Answer,
  startCoordination,
  type TestCoordination,
} from '../../testing/coordination.ts';
import { makeNarrowPerson } from '../../testing/organisation/workspaces.ts';
import { linkAgent, publishAgent } from '../../testing/registry/agents.ts';
import { openStream } from '../../testing/stream/stream-client.ts';
import { until } from '../../testing/wait-until.ts';

let baton: TestCoordination;
let admin: Actor;
before(async () => {
  // Longer than the test, so only the announcement removes what a process has cached.
  baton = await startCoordination({ CP_IAM_BINDING_CACHE_TTL_SECONDS: '3600' });
  admin = baton.admin;
});
after(() => baton.close());

function refused(answer: Answer, status: number, code: string, details?: object): void {
  assert.deepEqual([answer.status, answer.body.error?.code], [status, code], JSON.stringify(answer.body));
  if (details !== undefined) assert.deepEqual(answer.body.error.details, details);
}

const setAccess = (principalId: string, body: object, actor = admin) => setAccessBy(actor, principalId, body);

const bindAnother = (principalId: string, body: object, actor = admin) =>
  actor.post(`/principals/${principalId}/iam-bindings`, {
    ...{ issuer: baton.issuer.issuer, iamTenantId: newId(), iamPrincipalId: newId() },
    ...body,
  });

test('a caller that sees only its own workspaces adds nothing to those who see the whole tenant', async () => {
  const permissions = ['principals.read', 'principals.write', 'tasks.read', 'tasks.write'] as const;
  const { person: narrow } = await makeNarrowPerson(baton, permissions);
  const { person: alsoNarrow } = await makeNarrowPerson(baton, ['tasks.read']);
  const more = { permissions: ['tasks.read', 'tasks.write'] };
  for (const kind of ['human', 'agent'] as const) {
    const wide = await baton.actor({ kind, permissions: ['tasks.read'] });
    refused(await setAccess(wide.principalId, more, narrow), 403, 'visibility_escalation');
    await setAccess(wide.principalId, more);
    assert.equal((await setAccess(wide.principalId, { permissions: ['tasks.read'] }, narrow)).status, 200);
  }
  assert.equal((await setAccess(alsoNarrow.principalId, more, narrow)).status, 200);
});

test('a caller that sees only its own workspaces adds nothing to a wide binding by adding and revoking a narrow one', async () => {
  const permissions = ['principals.read', 'principals.write', 'tasks.read', 'tasks.write'] as const;
  const { person: narrow } = await makeNarrowPerson(baton, permissions);
  const { principalId: id } = await baton.actor({ kind: 'human', permissions: ['tasks.read'] });
  const given = { permissions: ['tasks.read'], visibility: 'members' };
  const { status, body: second } = await bindAnother(id, given, narrow);
  assert.equal(status, 201);
  const more = { permissions: ['tasks.read', 'tasks.write'] };
  refused(await setAccess(id, more, narrow), 403, 'visibility_escalation');
  refused(await narrow.post(`/iam-bindings/${second.id}:revoke`), 403, 'visibility_escalation');
  const { body } = await admin.get(`/principals/${id}/access`);
  assert.deepEqual([body.permissions, body.bindings.length], [['tasks.read'], 2]);
});

test('all live bindings get the role in one transaction, revoked ones keep theirs', async () => {
  const person = await baton.actor({ kind: 'human', permissions: ['tasks.read'] });
  const { principalId: id } = person;
  const { body: second } = await bindAnother(id, { permissions: ['goals.read'] });
  const { body: gone } = await bindAnother(id, { permissions: ['goals.read'] });
  await admin.post(`/iam-bindings/${gone.id}:revoke`);
  const { body: viewer } = await admin.get('/access-roles/viewer');
  const { status, body, headers } = await setAccess(id, { accessRole: 'viewer' });
  assert.equal(status, 200);
  assert.equal(headers.get('etag'), `"principal_access-${body.version}"`);
  assert.deepEqual(
    [body.principalId, body.accessRole, body.permissions, body.allows],
    [id, 'viewer', viewer.permissions, viewer.allows],
  );
  assert.deepEqual(
    body.bindings.map((one: { accessRole: string; permissions: string[] }) => [
      one.accessRole,
      one.permissions,
    ]),
    [
      ['viewer', viewer.permissions],
      ['viewer', viewer.permissions],
    ],
  );
  assert.deepEqual((await admin.get(`/principals/${id}/access`)).body, body);
  const { items } = (await admin.get(`/principals/${id}/iam-bindings`)).body;
  const revoked = items.find((one: { id: string }) => one.id === gone.id);
  assert.deepEqual([revoked.accessRole, revoked.permissions], [null, ['goals.read']]);
  const written = await baton.pool.rows(sql`
    select payload ->> 'accessRole' as role from events where entity_id = ${second.id} and type = 'iam_binding.updated'`);
  assert.deepEqual(written, [{ role: 'viewer' }]);
  // Repeating the call changes nothing.
  await setAccess(id, { accessRole: 'viewer' });
  const again = await baton.pool.rows(sql`
    select id from events where entity_id = ${second.id} and type = 'iam_binding.updated'`);
  assert.equal(again.length, 1);
});

test('a change applies at once, in every process and to open streams', async () => {
  const other = await baton.another();
  const person = await baton.actor({ kind: 'human', permissions: ['principals.read', 'events.read'] });
  const there = async () =>
    (await fetch(`${other.url}/api/v1/principals`, { headers: { authorization: `Bearer ${person.token}` } }))
      .status;
  assert.deepEqual([(await person.get('/principals')).status, await there()], [200, 200]);
  const streams = [baton.url, other.url].map((url) => openStream(url, { token: person.token }));
  assert.equal((await setAccess(person.principalId, { permissions: ['tasks.read'] })).status, 200);
  refused(await person.get('/principals'), 403, 'permission_denied');
  await until(async () => (await there()) === 403);
  for (const stream of streams) assert.equal((await stream.ended).code, 4403);
});

test('bindings with different rights show no common role, and all permissions', async () => {
  const person = await baton.actor({ kind: 'human', permissions: ['tasks.read'] });
  await setAccess(person.principalId, { accessRole: 'viewer' });
  await bindAnother(person.principalId, { permissions: ['tasks.write'] });
  const { body } = await admin.get(`/principals/${person.principalId}/access`);
  assert.equal(body.accessRole, null);
  assert.ok(['tasks.read', 'tasks.write'].every((name) => body.permissions.includes(name)));
});

test('refusals come in the documented order', async () => {
  const writer = await baton.actor({
    kind: 'human',
    permissions: ['principals.read', 'principals.write', 'tasks.read'],
  });
  const { body: unbound } = await admin.post('/principals', { kind: 'agent', displayName: 'Unbound' });
  const agent = await baton.actor({ kind: 'agent', permissions: ['tasks.read', 'goals.read'] });
  refused(await setAccess(newId(), { permissions: ['zebra'] }), 404, 'not_found');
  refused(await setAccess(baton.otherAdmin.principalId, { accessRole: 'viewer' }), 404, 'not_found');
  refused(await setAccess(agent.principalId, {}), 400, 'invalid_request');
  const both = { accessRole: 'viewer', permissions: ['tasks.read'] };
  refused(await setAccess(agent.principalId, both), 400, 'invalid_request');
  refused(await setAccess(unbound.id, { accessRole: 'nobody' }), 404, 'not_found', { accessRole: 'nobody' });
  refused(await setAccess(unbound.id, { permissions: ['zebra'] }, writer), 422, 'invalid_permissions');
  refused(await setAccess(unbound.id, { permissions: ['admin'] }, writer), 403, 'permission_escalation', {
    missing: ['admin'],
  });
  refused(
    await setAccess(unbound.id, { accessRole: 'administrator' }),
    422,
    'permissions_not_allowed_for_kind',
    {
      kind: 'agent',
      forbidden: ['admin'],
    },
  );
  refused(await setAccess(unbound.id, { accessRole: 'viewer' }), 409, 'principal_not_bound', {
    principalId: unbound.id,
  });
  // Nobody can remove rights from somebody who has more.
  refused(
    await setAccess(agent.principalId, { permissions: ['tasks.read'] }, writer),
    403,
    'permission_escalation',
    {
      missing: ['goals.read'],
    },
  );
  refused(
    await setAccess(admin.principalId, { permissions: ['tasks.read'] }, writer),
    403,
    'permission_escalation',
  );
  const reader = await baton.actor({ permissions: ['principals.read'] });
  refused(await setAccess(agent.principalId, { accessRole: 'viewer' }, reader), 403, 'permission_denied');
  refused(await admin.get(`/principals/${newId()}/access`), 404, 'not_found');
});

test('a change requires the version of the access, which every change of its bindings replaces', async () => {
  const { principalId: id } = await baton.actor({ kind: 'human', permissions: ['tasks.read'] });
  const path = `/principals/${id}/access`;
  const read = async () => {
    const { headers, body } = await admin.get(path);
    assert.equal(headers.get('etag'), `"principal_access-${body.version}"`);
    return body.version as number;
  };
  const put = (version: string) =>
    admin.put(path, { accessRole: 'viewer' }, { 'if-match': `"principal_access-${version}"` });
  const first = await read();
  refused(await admin.put(path, { accessRole: 'viewer' }), 428, 'if_match_required');
  refused(await put('x'), 400, 'invalid_if_match');

  const { body: role } = await admin.post('/access-roles', {
    key: 'changing',
    name: 'Changing',
    permissions: ['tasks.read'],
  });
  const { body: binding } = await bindAnother(id, { accessRole: 'changing' });
  const versions = [first, await read()];
  await admin.patch(
    '/access-roles/changing',
    { permissions: ['goals.read'] },
    { 'if-match': `"access_role-${role.version}"` },
  );
  versions.push(await read());
  await baton.pool.run(sql`update iam_bindings set status = 'disabled' where id = ${binding.id}`);
  versions.push(await read());
  for (const [at, version] of versions.slice(0, -1).entries()) {
    assert.ok(!versions.slice(at + 1).includes(version), `version ${at} does not return`);
    refused(await put(String(version)), 409, 'version_conflict', {
      ...{ entity: 'principal_access', id, principalAccessId: id },
      ...{ expectedVersion: version, currentVersion: versions.at(-1) },
    });
  }
  await admin.post(`/iam-bindings/${binding.id}:revoke`);
  assert.equal(await read(), first, 'what an administrator has seen is what there is');
  const { status, body } = await put(String(first));
  assert.equal(status, 200);
  assert.notEqual(body.version, first);
  // Repeating the change keeps the version.
  assert.equal((await put(String(body.version))).body.version, body.version);
});

test('of two changes of the same access at the same time one is refused', async () => {
  const { principalId: id } = await baton.actor({ kind: 'human', permissions: ['tasks.read'] });
  const { version } = (await admin.get(`/principals/${id}/access`)).body;
  const answers = await Promise.all(
    ['viewer', 'member'].map((accessRole) =>
      admin.put(`/principals/${id}/access`, { accessRole }, { 'if-match': `"principal_access-${version}"` }),
    ),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
});

test('the access of a registered agent comes from its configuration', async () => {
  const { key } = await publishAgent(admin);
  const agent = await linkAgent(baton, key);
  refused(await setAccess(agent.principalId, { accessRole: 'viewer' }), 409, 'principal_managed_by_registry');
});

test('the last administrator keeps admin, and may leave once another person has it', async () => {
  const last = baton.otherAdmin;
  const lower = { accessRole: 'member' };
  refused(await setAccess(last.principalId, lower, last), 409, 'last_administrator');
  assert.equal((await last.get('/principals')).status, 200);
  const second = await baton.actor({ kind: 'human', permissions: ['tasks.read'], tenantId: last.tenantId });
  assert.equal((await setAccess(second.principalId, { accessRole: 'administrator' }, last)).status, 200);
  // Nobody knows whether an invited person, or one with a lost device, will ever sign in.
  refused(await setAccess(last.principalId, lower, last), 409, 'last_administrator');
  assert.equal((await second.get('/principals')).status, 200);
  // A person with a disabled binding can't sign in, so the binding doesn't count.
  const set = (status: string) =>
    baton.pool.run(
      sql`update iam_bindings set status = ${status} where principal_id = ${second.principalId}`,
    );
  await set('disabled');
  refused(await setAccess(last.principalId, lower, last), 409, 'last_administrator');
  await set('active');
  assert.equal((await setAccess(last.principalId, lower, last)).status, 200);
  assert.equal((await setAccess(last.principalId, { accessRole: 'administrator' }, second)).status, 200);
});
