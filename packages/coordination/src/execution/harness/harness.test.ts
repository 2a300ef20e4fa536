import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { permissionNames } from '../../service/permissions.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  claimTask,
  done,
  endClaimLease,
  endSessionLease,
  makeTask,
  makeWorker,
  openSession,
  refused,
  type Worker,
} from '../../testing/leases.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const startRun = (worker: { actor: { post: any } }, claim: any) =>
  done(
    worker.actor.post(`/tasks/${claim.taskId}:start-run`, {
      claimId: claim.id,
      fencingToken: claim.fencingToken,
    }),
    201,
  );

test('an actor without claims gets itself, its tenant and empty lists', async () => {
  const actor = await baton.actor({ permissions: ['tasks.read', 'events.read', 'sessions.open'] });
  const { eventCursor, principal, tenant, ...rest } = await done(actor.get('/harness/context'));
  assert.match(eventCursor, /^ec1_[A-Za-z0-9_-]+$/);
  assert.deepEqual(tenant, { id: baton.tenantId, slug: 'first', name: 'first' });
  assert.equal(principal.id, actor.principalId);
  assert.equal(principal.kind, 'agent');
  assert.equal(principal.status, 'active');
  assert.deepEqual(rest, {
    protocol: { name: 'control-harness', supportedVersions: ['1', '2'] },
    session: null,
    activeSessions: [],
    activeClaims: [],
    activeRuns: [],
    suspendedRuns: [],
    roles: [],
    capabilities: [],
    skills: [],
    pendingApprovals: [],
    permissions: ['events.read', 'sessions.open', 'tasks.read'],
  });
});

test('needs no permission, and lists the permissions within the scopes of the token', async () => {
  const none = await baton.actor({ permissions: [] });
  assert.deepEqual((await done(none.get('/harness/context'))).permissions, []);
  const reader = await baton.actor({
    permissions: ['tasks.read', 'tasks.write'],
    scopes: ['control-plane:read'],
  });
  assert.deepEqual((await done(reader.get('/harness/context'))).permissions, ['tasks.read']);
});

test('has live sessions newest first, live claims, and every running run with its claim', async () => {
  const worker = await makeWorker(baton);
  const second = await openSession(worker.actor, {
    harness: { type: 'acme', version: '3', protocolVersion: '2', capabilities: ['resume'] },
  });
  const over = await openSession(worker.actor);
  await endSessionLease(baton, over);
  const closed = await openSession(worker.actor);
  await done(worker.actor.post(`/sessions/${closed}:close`));
  const task = await makeTask(baton, { title: 'find me again' });
  const claim = await claimTask(worker, task.id);
  const run = await startRun(worker, claim);
  const context = await done(worker.actor.get(`/harness/context?sessionId=${second}`));
  assert.deepEqual(
    context.activeSessions.map(({ id }: { id: string }) => id),
    [second, worker.sessionId],
  );
  const session = await done(worker.actor.get(`/sessions/${second}`));
  assert.deepEqual(context.session, context.activeSessions[0]);
  for (const [name, value] of Object.entries(context.session)) assert.deepEqual(value, session[name], name);
  assert.equal(Object.keys(context.session).length, 11);
  assert.deepEqual(context.activeClaims, [
    {
      id: claim.id,
      taskId: task.id,
      taskPublicId: task.publicId,
      taskTitle: 'find me again',
      taskStatus: 'in_progress',
      sessionId: worker.sessionId,
      fencingToken: 1,
      expiresAt: claim.expiresAt,
    },
  ]);
  assert.deepEqual(context.activeRuns, [
    {
      id: run.id,
      taskId: task.id,
      claimId: claim.id,
      sessionId: worker.sessionId,
      status: 'running',
      attempt: 1,
      fencingToken: 1,
      startedAt: run.startedAt,
      finishedAt: null,
      cancelRequestedAt: null,
    },
  ]);
  // An ended session of the caller is still returned if it is requested.
  assert.equal(
    (await done(worker.actor.get(`/harness/context?sessionId=${closed}`))).session.status,
    'closed',
  );
});

test('a foreign or unknown session is not found', async () => {
  const [worker, other] = [await makeWorker(baton), await makeWorker(baton)];
  await refused(worker.actor.get(`/harness/context?sessionId=${other.sessionId}`), 404, 'not_found');
  await refused(worker.actor.get(`/harness/context?sessionId=${newId()}`), 404, 'not_found');
  await refused(baton.otherAdmin.get(`/harness/context?sessionId=${worker.sessionId}`), 404, 'not_found');
});

test('a restarted executor finds its orphaned run, fails it and claims the task again', async () => {
  const worker = await makeWorker(baton);
  const task = await makeTask(baton);
  const orphan = await startRun(worker, await claimTask(worker, task.id));
  await endClaimLease(baton, task.id);
  const context = await done(worker.actor.get('/harness/context'));
  assert.deepEqual(context.activeClaims, []);
  assert.deepEqual(
    context.activeRuns.map(({ id }: { id: string }) => id),
    [orphan.id],
  );
  // Reading the context changed no state.
  assert.equal((await done(worker.actor.get(`/claims/${orphan.claimId}`))).status, 'active');
  await done(worker.actor.post(`/runs/${orphan.id}:fail`, { failureReason: 'restart_recovery' }));
  assert.deepEqual((await done(worker.actor.get('/harness/context'))).activeRuns, []);
  const next = await startRun(worker, await claimTask(worker, task.id));
  assert.deepEqual([next.attempt, next.fencingToken], [2, 2]);
});

test('a claim under an ended session is not listed, because it no longer protects its task', async () => {
  const worker = await makeWorker(baton);
  const claim = await claimTask(worker, (await makeTask(baton)).id);
  await endSessionLease(baton, worker.sessionId);
  const context = await done(worker.actor.get('/harness/context'));
  assert.deepEqual([context.activeSessions, context.activeClaims], [[], []]);
  assert.equal((await done(worker.actor.get(`/claims/${claim.id}`))).status, 'active');
});

test("has the caller's roles, capabilities and skills", async () => {
  const actor = await baton.actor();
  const [role, capability, skill] = [
    await done(baton.admin.post('/roles', { slug: 'reviewer', name: 'R' }), 201),
    await done(baton.admin.post('/capabilities', { name: 'german' }), 201),
    await done(baton.admin.post('/skills', { name: 'deploy', protocol: 'mcp' }), 201),
  ];
  const give = (path: string, body: object) =>
    done(baton.admin.post(`/principals/${actor.principalId}/${path}`, body), 201);
  await give('roles', { roleId: role.id });
  await give('capabilities', { capabilityId: capability.id });
  await give('skills', { skillId: skill.id });
  const { roles, capabilities, skills } = await done(actor.get('/harness/context'));
  assert.deepEqual(roles, [{ id: role.id, slug: 'reviewer', name: 'R', workspaceId: null }]);
  assert.deepEqual(capabilities, [{ id: capability.id, name: 'german', description: '' }]);
  const facts = { name: 'deploy', version: '1.0.0', protocol: 'mcp', status: 'active', executable: false };
  assert.deepEqual(skills, [{ id: skill.id, ...facts }]);
});

describe('pendingApprovals', () => {
  const pendingOf = async (actor: Worker['actor']): Promise<string[]> =>
    (await done(actor.get('/harness/context'))).pendingApprovals.map(({ id }: { id: string }) => id);
  const ask = (body: object) => done(baton.admin.post('/approvals', { comment: 'well?', ...body }), 201);
  async function askRole(
    roleId: string,
    at: { workspaceId?: string; taskId?: string },
    excluded: string[] = [],
  ) {
    const id = newId();
    const { workspaceId = null, taskId = null } = at;
    await baton.pool.run(sql`
      insert into approvals (id, tenant_id, workspace_id, task_id, requested_by_principal_id, gate, required_role_id,
        excluded_principals, comment, created_at)
      values (${id}, ${baton.tenantId}, ${workspaceId}, ${taskId}, ${baton.admin.principalId}, false, ${roleId}, ${excluded},
        'well?', clock_timestamp())`);
    return id;
  }

  test('are those that the caller can decide now: assigned, or by a role in their workspace', async () => {
    const person = await baton.actor({ kind: 'human', permissions: [...permissionNames] });
    const { principalId } = person;
    const [top, aside] = [await makeWorkspace(baton), await makeWorkspace(baton)];
    const inner = await makeWorkspace(baton, { parentId: top.id });
    const role = async (workspaceId?: string) => {
      const made = await done(baton.admin.post('/roles', { slug: `r${newId()}`, name: 'R' }), 201);
      const body = { roleId: made.id, ...(workspaceId !== undefined && { workspaceId }) };
      await done(baton.admin.post(`/principals/${principalId}/roles`, body), 201);
      return made.id;
    };
    const [everywhere, local] = [await role(), await role(top.id)];
    const task = await makeTask(baton);
    const mine = await ask({ task: task.id, assignedPrincipalId: principalId, gate: true });
    const byRole = await askRole(everywhere, { workspaceId: aside.id });
    const byLocalRole = await askRole(local, { workspaceId: inner.id });
    await askRole(local, { workspaceId: aside.id });
    await askRole(local, { taskId: task.id });
    await askRole(everywhere, { taskId: task.id }, [principalId]);
    await ask({ task: task.id, assignedPrincipalId: baton.admin.principalId });
    const decided = await ask({ task: task.id, assignedPrincipalId: principalId });
    await done(person.post(`/approvals/${decided.id}:approve`));
    assert.deepEqual(await pendingOf(person), [byLocalRole, byRole, mine.id]);
    const shown = (await done(person.get('/harness/context'))).pendingApprovals.at(-1);
    assert.deepEqual(shown, {
      id: mine.id,
      taskId: task.id,
      artifactId: null,
      requestedBy: baton.admin.principalId,
      gate: true,
      comment: 'well?',
      createdAt: mine.createdAt,
    });
    // A second assignment of the role causes no duplicates.
    await done(
      baton.admin.post(`/principals/${principalId}/roles`, { roleId: everywhere, workspaceId: aside.id }),
      201,
    );
    assert.equal((await pendingOf(person)).length, 3);
  });

  test("are not displaced by newer ones that the person can't decide or see", async () => {
    const { person, mine, other } = await makeNarrowPerson(baton);
    const { principalId } = person;
    const role = await done(baton.admin.post('/roles', { slug: `r${newId()}`, name: 'R' }), 201);
    await done(baton.admin.post(`/principals/${principalId}/roles`, { roleId: role.id }), 201);
    const [seen, hidden] = [
      await makeTask(baton, { workspaceId: mine.id }),
      await makeTask(baton, { workspaceId: other.id }),
    ];
    const byRole = await ask({ task: seen.id, requiredRoleId: role.id });
    const own = await ask({ task: seen.id, assignedPrincipalId: principalId });
    for (let n = 0; n < 50; n += 1) {
      await ask({ task: seen.id, requiredRoleId: role.id, excludedPrincipals: [principalId] });
      await ask({ task: hidden.id, assignedPrincipalId: principalId });
    }
    assert.deepEqual(await pendingOf(person), [own.id, byRole.id]);
  });

  test('are empty for callers who may not decide: without the permission, or not a person', async () => {
    const task = await makeTask(baton);
    const reader = await baton.actor({ kind: 'human', permissions: ['approvals.read'] });
    await ask({ task: task.id, assignedPrincipalId: reader.principalId });
    assert.deepEqual(await pendingOf(reader), []);
    const agent = await baton.actor();
    const role = await done(baton.admin.post('/roles', { slug: `r${newId()}`, name: 'R' }), 201);
    await done(baton.admin.post(`/principals/${agent.principalId}/roles`, { roleId: role.id }), 201);
    await askRole(role.id, { taskId: task.id });
    assert.deepEqual(await pendingOf(agent), []);
  });

  test("has the newest 50, and none that the caller can't see", async () => {
    const person = await baton.actor({ kind: 'human' });
    const workspace = await makeWorkspace(baton);
    const hidden = await makeTask(baton, { workspaceId: workspace.id });
    const first = await ask({ task: hidden.id, assignedPrincipalId: person.principalId });
    assert.deepEqual(await pendingOf(person), [first.id]);
    await baton.pool.run(
      sql`update iam_bindings set visibility = 'members' where principal_id = ${person.principalId}`,
    );
    assert.deepEqual(await pendingOf(person), []);
    const task = await makeTask(baton);
    for (let n = 0; n < 51; n += 1) await ask({ task: task.id, assignedPrincipalId: person.principalId });
    assert.equal((await pendingOf(person)).length, 50);
  });
});

test('has the newest 20 suspended runs', async () => {
  const worker = await makeWorker(baton);
  const runs: string[] = [];
  for (let count = 0; count < 22; count += 1) {
    const { id } = await startRun(worker, await claimTask(worker, (await makeTask(baton)).id));
    runs.push(id);
  }
  // Written directly, because this test is only about the list.
  await baton.pool.run(sql`update runs set status = 'suspended' where id = any (${runs}::uuid[])`);
  const { suspendedRuns } = await done(worker.actor.get('/harness/context'));
  assert.deepEqual(
    suspendedRuns.map(({ id }: { id: string }) => id),
    runs.reverse().slice(0, 20),
  );
});

test('the journal from its cursor contains every later event', async () => {
  const worker = await makeWorker(baton);
  const { eventCursor } = await done(worker.actor.get('/harness/context'));
  const claim = await claimTask(worker, (await makeTask(baton)).id);
  // Events above the horizon arrive a moment later.
  const types: string[] = [];
  for (let [cursor, waitedMs] = [eventCursor, 0]; types.length < 2 && waitedMs < 60_000; waitedMs += 50) {
    const page = await done(worker.actor.get(`/events?cursor=${cursor}&entityId=${claim.taskId}`));
    types.push(...page.items.map(({ type }: { type: string }) => type));
    cursor = page.nextCursor;
    await new Promise((next) => setTimeout(next, 50));
  }
  assert.deepEqual(types, ['task.created', 'task.claimed']);
});
