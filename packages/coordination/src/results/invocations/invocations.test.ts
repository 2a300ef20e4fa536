import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  done,
  endSessionLease,
  eventsOf,
  makeRun,
  makeTask,
  makeWorker,
  openSession,
  refused,
  type Worker,
} from '../../testing/leases.ts';
import { configure, makeProject } from '../../testing/organisation/projects.ts';
import {
  claimCall,
  endCallLease,
  invoke,
  makeCallable,
  makeCallWorker,
  runningCall,
} from '../../testing/results/invocations.ts';

let baton: TestCoordination;
let worker: ReturnType<typeof makeCallWorker>;
let executor: Actor;
before(async () => {
  baton = await startCoordination();
  worker = makeCallWorker(baton);
  executor = await baton.actor({ permissions: ['skills.execute', 'sessions.open'] });
});
after(async () => {
  await worker.close();
  await baton.close();
});

const read = (id: string) => done(baton.admin.get(`/skill-invocations/${id}`));
const act = (actor: Actor, id: string, verb: string, body: object) =>
  actor.post(`/skill-invocations/${id}:${verb}`, body);
const lastEvent = async (id: string) => (await eventsOf(baton, id)).at(-1);

async function metric(name: string): Promise<number> {
  const lines = (await (await fetch(`${baton.url}/metrics`)).text()).split('\n');
  return Number(lines.find((line) => line.startsWith(`${name} `))?.split(' ')[1] ?? 0);
}
const deniedTools = () => metric('tool_invocation_denied_total');

describe('POST /skills/{ref}:invoke', () => {
  test('returns 201 with the call and writes skill.invocation_requested', async () => {
    const skill = await makeCallable(baton.admin, {
      contract: { timeoutSeconds: 20, retryPolicy: { maxAttempts: 3, backoffSeconds: 7 } },
    });
    const inputs = { branch: 'main', deep: [{ a: null }] };
    const call = await done(invoke(baton.admin, skill, { inputs, idempotencyKey: newId() }), 201);
    const { id, createdAt, updatedAt, availableAt, idempotencyKey, ...rest } = call;
    assert.ok(createdAt && updatedAt && availableAt && idempotencyKey);
    const none = {
      authorizationBasis: null,
      output: null,
      error: null,
      cost: null,
      taskId: null,
      runId: null,
    };
    const unheld = {
      executorPrincipalId: null,
      executorSessionId: null,
      leaseExpiresAt: null,
      heartbeatAt: null,
    };
    const { principalId } = baton.admin;
    assert.deepEqual(rest, {
      ...{ tenantId: baton.tenantId, skillId: skill.id, inputs, authorityPrincipalId: principalId },
      ...{ status: 'pending', attempt: 0, maxAttempts: 3, fencingToken: 0, artifactId: null },
      ...{ startedAt: null, finishedAt: null, requestedBy: { kind: 'principal', ref: principalId } },
      ...none,
      ...unheld,
    });
    assert.deepEqual(await read(id), call);
    const [event] = await eventsOf(baton, id);
    assert.deepEqual(event && [event.type, event.actor_id, event.payload], [
      'skill.invocation_requested',
      principalId,
      {
        ...{ skillId: skill.id, skill: skill.name, version: '1.0.0', sideEffects: 'none', riskLevel: 'low' },
        ...{ requestedBy: rest.requestedBy, taskId: null, runId: null, authorizationBasis: null },
      },
    ]);
  });

  test('a name selects its newest active version, or the newest deprecated one; a pinned version is used regardless of its status', async () => {
    const first = await makeCallable(baton.admin, { version: '1' });
    const second = await makeCallable(baton.admin, { name: first.name, version: '2' });
    const call = async (ref: string) => (await done(invoke(baton.admin, { id: ref }), 201)).skillId;
    const move = (skill: any, status: string, version = 1) =>
      done(baton.admin.patch(`/skills/${skill.id}`, { status }, { 'if-match': `skill-${version}` }));
    assert.deepEqual([await call(first.name), await call(`${first.name}@1`)], [second.id, first.id]);
    await move(second, 'deprecated');
    assert.deepEqual([await call(first.name), await call(`${first.name}@2`)], [first.id, second.id]);
    await move(first, 'disabled');
    assert.equal(await call(first.name), second.id);
    const details = await refused(invoke(baton.admin, { id: `${first.name}@1` }), 409, 'skill_not_invocable');
    assert.deepEqual(details, { reason: 'disabled' });
    await move(second, 'disabled', 2);
    await refused(invoke(baton.admin, { id: first.name }), 404, 'not_found');
    await refused(baton.otherAdmin.post(`/skills/${first.id}:invoke`, {}), 404, 'not_found');
  });

  test('a key identifies one call of its principal, even after the skill was disabled', async () => {
    const skill = await makeCallable(baton.admin);
    const idempotencyKey = newId();
    const body = { inputs: { a: 1, b: [2] }, idempotencyKey };
    const first = await done(invoke(baton.admin, skill, body), 201);
    const again = { ...body, inputs: { b: [2], a: 1 } };
    assert.deepEqual(await done(invoke(baton.admin, skill, again)), first);
    assert.deepEqual(await done(invoke(baton.admin, { id: skill.name }, again)), first);
    const other = { inputs: { a: 2 }, idempotencyKey };
    const details = await refused(invoke(baton.admin, skill, other), 409, 'idempotency_key_reuse');
    assert.deepEqual(details, { idempotencyKey });
    await refused(invoke(baton.admin, await makeCallable(baton.admin), body), 409, 'idempotency_key_reuse');
    assert.notEqual((await done(invoke(await baton.actor(), skill, body), 201)).id, first.id);
    await done(baton.admin.patch(`/skills/${skill.id}`, { status: 'disabled' }, { 'if-match': 'skill-1' }));
    for (const ref of [skill.id, skill.name, `${skill.name}@1.0.0`])
      assert.equal((await done(invoke(baton.admin, { id: ref }, body))).id, first.id);
    await refused(invoke(baton.admin, skill, other), 409, 'idempotency_key_reuse');
  });

  test('a skill that cannot be called is refused with the reason', async () => {
    const reasonOf = async (more: object) => {
      const skill = await done(baton.admin.post('/skills', { name: newId(), ...more }), 201);
      return (await refused(invoke(baton.admin, skill), 409, 'skill_not_invocable')).reason;
    };
    assert.equal(await reasonOf({ protocol: 'http' }), 'no_contract');
    assert.equal(await reasonOf({ protocol: 'opencode' }), 'protocol_not_invocable');
  });

  test('a contract may require a key in the body: 400 without it', async () => {
    const skill = await makeCallable(baton.admin, { contract: { idempotency: 'required' } });
    const header = { 'idempotency-key': newId() };
    await refused(
      baton.admin.post(`/skills/${skill.id}:invoke`, {}, header),
      400,
      'idempotency_key_required',
    );
    await done(invoke(baton.admin, skill, { idempotencyKey: 'k' }), 201);
  });

  test('inputs are validated against the schema, formats included, then for their size', async () => {
    const inputs = {
      type: 'object',
      properties: { at: { type: 'string', format: 'date-time' }, n: { type: 'integer' } },
      required: ['n'],
    };
    const skill = await makeCallable(baton.admin, { contract: { inputs } });
    const call = (sent: unknown) => invoke(baton.admin, skill, { inputs: sent });
    const { errors } = await refused(call({ n: 1, at: 'yesterday' }), 400, 'invalid_skill_inputs');
    assert.deepEqual(errors, [{ path: '/at', message: 'must have the format date-time' }]);
    const missing = await refused(call({ at: '2026-11-22T10:00:00Z' }), 400, 'invalid_skill_inputs');
    assert.equal(missing.errors.length, 1);
    await done(call({ n: 1, at: '2026-11-22T10:00:00+01:00' }), 201);
    await refused(call('text'), 422, 'invalid_document');
    await refused(call({ n: 1, text: 'x'.repeat(262_144) }), 422, 'payload_too_large');
    await refused(call({ n: 'x', text: 'x'.repeat(262_144) }), 400, 'invalid_skill_inputs');
    await done(call({ n: 1, text: 'x'.repeat(262_144 - 20) }), 201);
    let deep: object = {};
    for (let level = 0; level < 21; level += 1) deep = { deep };
    await refused(call({ n: 1, deep }), 422, 'payload_too_deep');
    await refused(call({ n: 1, list: Array.from({ length: 5000 }, () => 1) }), 422, 'payload_too_large');
  });

  test('a body is optional, and its fields have limits', async () => {
    const skill = await makeCallable(baton.admin);
    assert.deepEqual((await done(baton.admin.post(`/skills/${skill.id}:invoke`), 201)).inputs, {});
    for (const body of [
      { idempotencyKey: '' },
      { idempotencyKey: 'x'.repeat(201) },
      { taskId: 'TASK-000001' },
    ])
      await refused(invoke(baton.admin, skill, body), 400, 'invalid_request');
  });

  test('for a task it needs tasks.write, and the contract may require more', async () => {
    const skill = await makeCallable(baton.admin, { contract: { requiredPermissions: ['goals.write'] } });
    const task = await makeTask(baton);
    const invoker = await baton.actor({ permissions: ['skills.invoke', 'goals.write'] });
    const details = await refused(invoke(invoker, skill, { taskId: task.id }), 403, 'permission_denied');
    assert.deepEqual(details.required, ['tasks.write']);
    await refused(invoke(baton.admin, skill, { taskId: newId() }), 404, 'not_found');
    const poor = await baton.actor({ permissions: ['skills.invoke', 'tasks.write'] });
    assert.deepEqual(
      await refused(invoke(poor, skill, { taskId: task.id }), 403, 'skill_permission_denied'),
      {
        missing: ['goals.write'],
        resource: `task:${task.id}`,
      },
    );
    const { resource } = await refused(invoke(poor, skill), 403, 'skill_permission_denied');
    assert.equal(resource, `tenant:${baton.tenantId}`);
    const call = await done(invoke(baton.admin, skill, { taskId: task.id }), 201);
    assert.deepEqual([call.taskId, call.requestedBy.kind], [task.id, 'principal']);
  });
});

describe('a call in a run', () => {
  let agent: Worker;
  let skill: any;
  before(async () => {
    agent = await makeWorker(baton);
    skill = await makeCallable(baton.admin);
    await done(baton.admin.post(`/principals/${agent.actor.principalId}/skills`, { skillId: skill.id }), 201);
  });

  test('belongs to the run and to its task', async () => {
    const { task, run } = await makeRun(baton, agent);
    const call = await done(invoke(agent.actor, skill, { runId: run.id }), 201);
    assert.deepEqual(
      [call.runId, call.taskId, call.requestedBy],
      [run.id, task.id, { kind: 'run', ref: run.id }],
    );
  });

  test('refuses an unknown run, one of another principal, one that has ended, and one of another task', async () => {
    await refused(invoke(agent.actor, skill, { runId: newId() }), 404, 'not_found');
    const { run } = await makeRun(baton, agent);
    const stranger = await refused(invoke(baton.admin, skill, { runId: run.id }), 403, 'run_owner_mismatch');
    assert.deepEqual(stranger, { runId: run.id });
    const task = await makeTask(baton);
    const mismatch = { runId: run.id, taskId: task.id };
    assert.deepEqual(
      await refused(invoke(agent.actor, skill, mismatch), 422, 'invocation_mismatch'),
      mismatch,
    );
    await done(agent.actor.post(`/runs/${run.id}:cancel`));
    const over = await refused(invoke(agent.actor, skill, { runId: run.id }), 409, 'run_not_active');
    assert.equal(over.status, 'cancelled');
  });

  test('uses only the skills of its principal, and the refusal is counted', async () => {
    const { run } = await makeRun(baton, agent);
    const before = await deniedTools();
    const other = await makeCallable(baton.admin);
    await refused(invoke(agent.actor, other, { runId: run.id }), 403, 'tool_not_authorized');
    assert.equal(await deniedTools(), before + 1);
  });

  test('uses the protocols that the projects above its task allow', async () => {
    const project = await makeProject(baton);
    const { run } = await makeRun(baton, agent, { task: { workspaceId: project.workspaceId } });
    await done(invoke(agent.actor, skill, { runId: run.id }), 201);
    const before = await deniedTools();
    await configure(baton, project.id, { governance: { allowedSkillProtocols: ['http', 'mcp'] } });
    assert.deepEqual(
      await refused(invoke(agent.actor, skill, { runId: run.id }), 403, 'tool_not_authorized'),
      {
        skill: `${skill.name}@1.0.0`,
        reason: 'protocol_not_allowed_by_governance',
      },
    );
    assert.equal(await deniedTools(), before + 1);
  });

  test('inside of a launched run it must specify the run, and its handle is the upper limit', async () => {
    const parent = await makeWorker(baton);
    const given = await makeCallable(baton.admin);
    const give = (actor: Actor, { id: skillId }: any) =>
      done(baton.admin.post(`/principals/${actor.principalId}/skills`, { skillId }), 201);
    await give(parent.actor, given);
    const { run } = await makeRun(baton, parent);
    const launch = async (correlationId: string, grant: object) => {
      const body = { correlationId, title: 'part', grant };
      const key = { 'idempotency-key': newId() };
      const { childTask } = await done(parent.actor.post(`/runs/${run.id}/child-handles`, body, key), 201);
      const child = await makeWorker(baton);
      for (const one of [given, skill]) await give(child.actor, one);
      const claim = await done(
        child.actor.post(`/tasks/${childTask.id}:claim`, { sessionId: child.sessionId }),
      );
      const keys = { claimId: claim.id, fencingToken: claim.fencingToken };
      const started = await done(child.actor.post(`/tasks/${childTask.id}:start-run`, keys), 201);
      return { actor: child.actor, run: started };
    };
    const rights = ['tasks.claim', 'skills.invoke'];
    const child = await launch('a', { permissions: rights, skills: [`${given.name}@1.0.0`] });
    const before = await deniedTools();
    const unnamed = await refused(invoke(child.actor, given), 403, 'run_id_required');
    assert.deepEqual(unnamed, { runId: child.run.id });
    await refused(invoke(child.actor, skill, { runId: child.run.id }), 403, 'child_grant_exceeded');
    await done(invoke(child.actor, given, { runId: child.run.id }), 201);
    const mute = await launch('b', { permissions: ['tasks.claim'], skills: [`${given.name}@1.0.0`] });
    const ceiling = await refused(
      invoke(mute.actor, given, { runId: mute.run.id }),
      403,
      'child_grant_exceeded',
    );
    assert.deepEqual(ceiling.required, ['skills.invoke']);
    assert.equal(await deniedTools(), before + 2);
  });
});

describe('a skill with external effects', () => {
  const external = (more: object = {}) =>
    makeCallable(baton.admin, { sideEffects: 'external_write', ...more });
  const gateOf = async (task: { id: string }, how?: string) => {
    const body = { task: task.id, gate: true, assignedPrincipalId: baton.admin.principalId };
    const { id } = await done(baton.admin.post('/approvals', body), 201);
    if (how !== undefined) await done(baton.admin.post(`/approvals/${id}:${how}`, {}));
    return id;
  };

  test('is called with an approved gate of the same task, once for each version', async () => {
    const [skill, task, other] = [await external(), await makeTask(baton), await makeTask(baton)];
    const call = (approvalId: string | undefined, of: { id: string } | undefined = task, which = skill) =>
      invoke(baton.admin, which, { taskId: of?.id, approvalId });
    const code = 'skill_side_effect_not_authorized';
    await refused(call(undefined), 403, code);
    await refused(call(newId()), 403, code);
    await refused(call(await gateOf(task)), 403, code);
    await refused(call(await gateOf(task, 'reject')), 403, code);
    const approvalId = await gateOf(task, 'approve');
    await refused(call(approvalId, other), 403, code);
    await refused(invoke(baton.admin, skill, { approvalId }), 403, code);
    const made = await done(call(approvalId), 201);
    const basis = { kind: 'approval', approvalId };
    assert.deepEqual([made.authorizationBasis, made.requestedBy.kind], [basis, 'principal']);
    assert.deepEqual((await eventsOf(baton, made.id))[0]?.payload['authorizationBasis'], basis);
    assert.deepEqual(await refused(call(approvalId), 409, 'approval_already_used'), { approvalId });
    await done(call(approvalId, task, await external({ name: skill.name, version: '2' })), 201);
  });

  test('is not called for a closed task', async () => {
    const [skill, task] = [await external(), await makeTask(baton)];
    const approvalId = await gateOf(task, 'approve');
    const { version } = await done(baton.admin.get(`/tasks/${task.id}`));
    const end = { 'if-match': `task-${version}` };
    await done(baton.admin.patch(`/tasks/${task.id}`, { status: 'cancelled' }, end));
    const refusal = invoke(baton.admin, skill, { taskId: task.id, approvalId });
    assert.deepEqual(await refused(refusal, 409, 'task_terminal'), { taskId: task.id });
  });

  test("is called once by a run of a task whose type's execution pins this very version, unless a gate is pending", async () => {
    const agent = await makeWorker(baton);
    const [skill, unpinned] = [await external(), await external()];
    for (const { id: skillId } of [skill, unpinned])
      await done(baton.admin.post(`/principals/${agent.actor.principalId}/skills`, { skillId }), 201);
    const execution = { skill: skill.name, version: '1.0.0' };
    const type = { key: `e${Date.now()}`, displayName: 'Executed', execution };
    const stored = (await done(baton.admin.post('/task-types', type), 201)).execution;
    assert.deepEqual([stored.skill, stored.version], [execution.skill, execution.version]);
    const { task, run } = await makeRun(baton, agent, { task: { typeKey: type.key } });
    await refused(invoke(agent.actor, unpinned, { runId: run.id }), 403, 'skill_side_effect_not_authorized');
    const pending = await gateOf(task);
    const held = await refused(invoke(agent.actor, skill, { runId: run.id }), 409, 'approval_required');
    assert.deepEqual(held, { taskId: task.id, pendingApprovals: [pending] });
    await done(baton.admin.post(`/approvals/${pending}:approve`, {}));
    const call = await done(invoke(agent.actor, skill, { runId: run.id }), 201);
    assert.deepEqual(call.authorizationBasis, { kind: 'execution', runId: run.id });
    const second = await refused(
      invoke(agent.actor, skill, { runId: run.id }),
      409,
      'execution_already_invoked',
    );
    assert.deepEqual(second, { runId: run.id });
    await done(agent.actor.post(`/runs/${run.id}:suspend`, {}));
    await worker.withdraw();
    assert.deepEqual((await read(call.id)).error.message, 'run_over');
  });
});

describe('POST /skill-invocations:claim', () => {
  test('returns the oldest call with its skill, and writes only a journal event', async () => {
    const skill = await makeCallable(baton.admin, { contract: { timeoutSeconds: 40 } });
    const first = await done(invoke(baton.admin, skill), 201);
    await done(invoke(baton.admin, skill), 201);
    const { invocation, skill: given } = await done(claimCall(executor, skill));
    assert.deepEqual(
      [invocation.id, invocation.status, invocation.attempt, invocation.fencingToken],
      [first.id, 'running', 1, 1],
    );
    assert.equal(invocation.executorPrincipalId, executor.principalId);
    assert.equal(Date.parse(invocation.leaseExpiresAt) - Date.parse(invocation.startedAt), 70_000);
    const { id, name, version, protocol, sideEffects, riskLevel, contract } = skill;
    assert.deepEqual(given, { id, name, version, protocol, sideEffects, riskLevel, contract });
    const event = await lastEvent(first.id);
    const { leaseExpiresAt } = invocation;
    assert.deepEqual(event && [event.type, event.payload], [
      'skill.invocation_claimed',
      { skillId: id, attempt: 1, fencingToken: 1, leaseExpiresAt },
    ]);
    const outbox = await baton.pool.rows<{ type: string }>(sql`
      select e.type from outbox o join events e on e.sequence = o.event_sequence where e.entity_id = ${first.id}`);
    assert.deepEqual(
      outbox.map(({ type }) => type),
      ['skill.invocation_requested'],
    );
  });

  test('returns 204 if no pending call matches the executor', async () => {
    const endpoint = 'https://tools.example.com:8443/deploy';
    const http = {
      protocol: 'http',
      endpoint,
      entrypoint: null,
      auth: { audience: 'tools', scopes: ['run'] },
    };
    const skill = await makeCallable(baton.admin, { implementation: http });
    const { id } = await done(invoke(baton.admin, skill), 201);
    const claim = (more: object) =>
      executor.post('/skill-invocations:claim', { protocols: ['http'], ...more });
    const misses = [
      { protocols: ['mcp'] },
      { httpOrigins: ['https://tools.example.com'] },
      { httpOrigins: [] },
      { audiences: ['others'] },
      { invocationId: newId() },
      { invocationId: id, httpOrigins: ['https://other.example.com'] },
    ];
    for (const more of misses) assert.equal((await claim(more)).status, 204, JSON.stringify(more));
    const fitting = { httpOrigins: ['HTTPS://tools.example.com:8443'], audiences: ['others', 'tools'] };
    assert.equal((await done(claim({ ...fitting, invocationId: id }))).invocation.id, id);
  });

  test('a call for an MCP server matches executors by origin; one without an origin matches all', async () => {
    const mcp = { protocol: 'mcp', entrypoint: 'search', endpoint: 'https://mcp.example.com/sse' };
    const [there, here] = [
      await makeCallable(baton.admin, { implementation: mcp }),
      await makeCallable(baton.admin, { implementation: { ...mcp, endpoint: null } }),
    ];
    const claim = (more: object) =>
      executor.post('/skill-invocations:claim', { protocols: ['mcp'], ...more });
    const [remote, own] = [
      await done(invoke(baton.admin, there), 201),
      await done(invoke(baton.admin, here), 201),
    ];
    const of = async (more: object) => (await done(claim(more))).invocation.id;
    assert.equal(await of({ mcpEndpoints: ['https://mcp.example.com'] }), remote.id);
    assert.equal((await claim({ mcpEndpoints: ['https://mcp.example.com'] })).status, 204);
    assert.equal(await of({}), own.id);
  });

  test('refuses an unknown protocol, an invalid origin, and the session of another principal', async () => {
    const claim = (more: object) =>
      executor.post('/skill-invocations:claim', { protocols: ['http'], ...more });
    const known = await refused(claim({ protocols: ['soap'] }), 422, 'invalid_protocol');
    assert.deepEqual(known, { allowed: ['mcp', 'http', 'local', 'opencode', 'custom'] });
    for (const origin of [
      'https://a.example.com/path',
      'a.example.com',
      'https://user@a.example.com',
      'ftp://a',
      'https://',
    ])
      assert.deepEqual(
        await refused(claim({ httpOrigins: ['https://b', origin] }), 422, 'invalid_executor_endpoint'),
        {
          field: 'httpOrigins[1]',
        },
      );
    await refused(claim({ mcpEndpoints: ['https://a/b'] }), 422, 'invalid_executor_endpoint');
    await refused(claim({ sessionId: newId() }), 404, 'not_found');
    await refused(claim({ sessionId: await openSession(baton.admin) }), 403, 'session_owner_mismatch');
    const closed = await openSession(executor);
    await done(executor.post(`/sessions/${closed}:close`));
    await refused(claim({ sessionId: closed }), 409, 'session_not_active');
    for (const body of [
      { protocols: [] },
      { leaseSeconds: 0 },
      { httpOrigins: Array(101).fill('https://a') },
    ])
      await refused(claim(body), 400, 'invalid_request');
  });

  test('clamps the lease: at least 10 s, at most 3600 s and twice the timeout of the contract', async () => {
    const skill = await makeCallable(baton.admin, { contract: { timeoutSeconds: 3600 } });
    const short = await makeCallable(baton.admin, { contract: { timeoutSeconds: 1 } });
    const leased = async (which: any, more: object) => {
      await done(invoke(baton.admin, which), 201);
      const { invocation } = await done(claimCall(executor, which, more));
      return (Date.parse(invocation.leaseExpiresAt) - Date.parse(invocation.startedAt)) / 1000;
    };
    const near = (actual: number, wanted: number) => assert.ok(Math.abs(actual - wanted) <= 3, `${actual}`);
    near(await leased(skill, {}), 3600);
    near(await leased(skill, { leaseSeconds: 1 }), 10);
    near(await leased(skill, { leaseSeconds: 100_000 }), 3600);
    near(await leased(short, {}), 31);
    near(await leased(short, { leaseSeconds: 3000 }), 32);
  });
});

describe('under the lease', () => {
  test('a heartbeat extends it, at most to twice the timeout of the contract plus 30 s', async () => {
    const skill = await makeCallable(baton.admin, { contract: { timeoutSeconds: 100 } });
    const { id, fencingToken, startedAt } = await runningCall(executor, baton.admin, skill);
    const beaten = await done(act(executor, id, 'heartbeat', { fencingToken, leaseSeconds: 200 }));
    assert.ok(beaten.heartbeatAt !== null);
    // The statement reads the clock twice, and both values are rounded to milliseconds, so the difference may be off by
    // one.
    const leaseMs = Date.parse(beaten.leaseExpiresAt) - Date.parse(beaten.heartbeatAt);
    assert.ok(Math.abs(leaseMs - 200_000) <= 1, `${leaseMs}`);
    const capped = await done(act(executor, id, 'heartbeat', { fencingToken, leaseSeconds: 3000 }));
    assert.equal(Date.parse(capped.leaseExpiresAt) - Date.parse(startedAt), 230_000);
  });

  test('a stranger, an old token, an expired lease, another session and an ended call are refused', async () => {
    const skill = await makeCallable(baton.admin);
    const sessionId = await openSession(executor);
    await done(invoke(baton.admin, skill), 201);
    const { invocation } = await done(claimCall(executor, skill, { sessionId }));
    const { id, fencingToken, executorSessionId } = invocation;
    assert.equal(executorSessionId, sessionId);
    const error = { code: 'x', message: 'm' };
    const bodies = { heartbeat: {}, complete: { output: {} }, fail: { error } };
    const stale = async (actor: Actor, more: object, status: string) => {
      for (const [verb, body] of Object.entries(bodies)) {
        const details = await refused(
          act(actor, id, verb, { fencingToken, ...body, ...more }),
          409,
          'stale_invocation_lease',
        );
        assert.deepEqual(details, { invocationId: id, status });
      }
    };
    await stale(await baton.actor(), {}, 'running');
    await stale(executor, { fencingToken: 2 }, 'running');
    for (const token of [0, -1, Number.MAX_SAFE_INTEGER])
      await stale(executor, { fencingToken: token }, 'running');
    await stale(executor, { sessionId: await openSession(executor) }, 'running');
    await done(act(executor, id, 'heartbeat', { fencingToken, sessionId }));
    await endCallLease(baton, id);
    await stale(executor, { sessionId }, 'running');
    await worker.lapse();
    await stale(executor, { sessionId }, 'failed');
    for (const [verb, body] of Object.entries(bodies))
      await refused(act(executor, newId(), verb, { fencingToken, ...body }), 404, 'not_found');
  });

  test('a success stores output and cost, records the result for the task, and writes its events in this order', async () => {
    const skill = await makeCallable(baton.admin);
    const task = await makeTask(baton);
    const { id, fencingToken } = await runningCall(executor, baton.admin, skill, { taskId: task.id });
    const cost = { unit: 'seconds', amount: 1.5 };
    const ended = await done(act(executor, id, 'complete', { fencingToken, output: { ok: true }, cost }));
    assert.deepEqual(
      [ended.status, ended.output, ended.cost, ended.error, ended.leaseExpiresAt],
      ['succeeded', { ok: true }, cost, null, null],
    );
    assert.ok(ended.finishedAt !== null);
    const artifact = await done(baton.admin.get(`/artifacts/${ended.artifactId}`));
    assert.deepEqual(
      [artifact.type, artifact.taskId, artifact.createdByPrincipalId, artifact.content],
      [
        'skill_result',
        task.id,
        executor.principalId,
        { invocationId: id, skill: skill.name, version: '1.0.0', output: { ok: true } },
      ],
    );
    const events = (await eventsOf(baton, id, artifact.id)).slice(-2);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['artifact.created', 'skill.invocation_succeeded'],
    );
    assert.equal(events[0]?.payload['skillInvocationId'], id);
    assert.deepEqual(events[1]?.payload, {
      ...{ skillId: skill.id, skill: skill.name, version: '1.0.0', attempt: 1 },
      ...{ taskId: task.id, runId: null, artifactId: artifact.id, cost },
    });
  });

  test('the metrics count ended calls by result', async () => {
    const results = ['succeeded', 'failed', 'retried', 'cancelled'];
    const counts = () =>
      Promise.all(results.map((result) => metric(`skill_invocation_attempts_total{result="${result}"}`)));
    const before = await counts();
    const skill = await makeCallable(baton.admin, { contract: { retryPolicy: { maxAttempts: 2 } } });
    const error = { code: 'x', message: 'm' };
    const endings: [string, object][] = [
      ['complete', { output: {} }],
      ['fail', { error }],
      ['fail', { error: { ...error, retryable: true } }],
    ];
    for (const [verb, body] of endings) {
      const { id, fencingToken } = await runningCall(executor, baton.admin, skill);
      const ended = await done(act(executor, id, verb, { fencingToken, ...body }));
      if (ended.status === 'pending') await done(act(baton.admin, id, 'cancel', {}));
    }
    const after = await counts();
    assert.deepEqual(
      after.map((count, index) => count - (before[index] as number)),
      [1, 1, 1, 1],
    );
  });

  test('an output of more than 64 KiB is stored with the call, and the artifact contains its size', async () => {
    const skill = await makeCallable(baton.admin);
    const task = await makeTask(baton);
    const { id, fencingToken } = await runningCall(executor, baton.admin, skill, { taskId: task.id });
    const output = { text: 'x'.repeat(200_000) };
    const ended = await done(act(executor, id, 'complete', { fencingToken, output }));
    assert.deepEqual(ended.output, output);
    const { content } = await done(baton.admin.get(`/artifacts/${ended.artifactId}`));
    assert.deepEqual(content, {
      invocationId: id,
      skill: skill.name,
      version: '1.0.0',
      outputBytes: 200_011,
    });
  });

  test('an invalid output fails the call: a small one is stored, otherwise its size', async () => {
    const skill = await makeCallable(baton.admin, { contract: { outputs: { required: ['passed'] } } });
    const end = async (output: unknown) => {
      const { id, fencingToken } = await runningCall(executor, baton.admin, skill);
      return done(act(executor, id, 'complete', { fencingToken, output, cost: { unit: 'x', amount: 0 } }));
    };
    const small = await end({ a: 1 });
    assert.deepEqual([small.status, small.output, small.artifactId], ['failed', null, null]);
    const { code, details } = small.error;
    assert.deepEqual(
      [code, details.rejectedOutput, details.errors.length],
      ['output_contract_violation', { a: 1 }, 1],
    );
    const event = await lastEvent(small.id);
    assert.equal(event?.type, 'skill.invocation_failed');
    assert.deepEqual(event?.payload['error'], { code, message: 'The output does not match the contract.' });
    const large = await end({ text: 'x'.repeat(66_000) });
    assert.deepEqual(large.error.details.rejectedOutputBytes, 66_011);
    assert.equal('rejectedOutput' in large.error.details, false);
    const huge = await end({ passed: true, text: 'x'.repeat(300_000) });
    assert.deepEqual([huge.status, huge.error.details.maxBytes], ['failed', 262_144]);
    let deep: object = {};
    for (let level = 0; level < 21; level += 1) deep = { deep };
    const nested = await end({ passed: true, deep });
    assert.deepEqual([nested.status, nested.error.details.maxDepth], ['failed', 20]);
    const { id, fencingToken } = await runningCall(executor, baton.admin, skill);
    await refused(act(executor, id, 'complete', { fencingToken, output: 'text' }), 422, 'invalid_document');
  });

  test('a retryable failure is requeued after the delay, up to the number of attempts in the contract', async () => {
    const retryPolicy = { maxAttempts: 2, backoffSeconds: 90 };
    const skill = await makeCallable(baton.admin, { contract: { retryPolicy } });
    const { id, fencingToken } = await runningCall(executor, baton.admin, skill);
    const error = { code: 'unreachable', message: 'No answer.', retryable: true, details: { host: 'a' } };
    const again = await done(act(executor, id, 'fail', { fencingToken, error }));
    const kept = { code: 'unreachable', message: 'No answer.', details: { host: 'a' } };
    assert.deepEqual([again.status, again.error, again.attempt], ['pending', kept, 1]);
    const pauseMs = Date.parse(again.availableAt) - Date.parse(again.updatedAt);
    assert.ok(Math.abs(pauseMs - 90_000) < 3000, `${pauseMs} ms`);
    const event = await lastEvent(id);
    const { availableAt } = again;
    assert.deepEqual(event && [event.type, event.payload], [
      'skill.invocation_retry_scheduled',
      {
        ...{ skillId: skill.id, attempt: 1, maxAttempts: 2, availableAt },
        error: { code: 'unreachable', message: 'No answer.' },
      },
    ]);
    assert.equal((await claimCall(executor, skill)).status, 204);
    await baton.pool.run(
      sql`update skill_invocations set available_at = now() - interval '1 s' where id = ${id}`,
    );
    const { invocation } = await done(claimCall(executor, skill));
    assert.deepEqual([invocation.attempt, invocation.fencingToken], [2, 2]);
    await refused(act(executor, id, 'fail', { fencingToken, error }), 409, 'stale_invocation_lease');
    const failed = await done(act(executor, id, 'fail', { fencingToken: 2, error }));
    assert.deepEqual([failed.status, failed.error], ['failed', kept]);
    const last = await lastEvent(id);
    assert.deepEqual(last && [last.type, last.payload], [
      'skill.invocation_failed',
      {
        ...{ skillId: skill.id, skill: skill.name, version: '1.0.0', attempt: 2, maxAttempts: 2 },
        ...{ taskId: null, runId: null, error: { code: 'unreachable', message: 'No answer.' } },
      },
    ]);
  });

  test('a failure that is not retryable ends the call; secrets in its text are not stored', async () => {
    const skill = await makeCallable(baton.admin, { contract: { retryPolicy: { maxAttempts: 5 } } });
    const { id, fencingToken } = await runningCall(executor, baton.admin, skill);
    const fail = (error: object) =>
      act(executor, id, 'fail', { fencingToken, error: { code: 'x', message: 'm', ...error } });
    await refused(fail({ code: 'X Y' }), 400, 'invalid_request');
    await refused(fail({ message: 'x'.repeat(4001) }), 400, 'invalid_request');
    await refused(fail({ details: 'text' }), 422, 'invalid_document');
    await refused(fail({ details: { text: 'x'.repeat(70_000) } }), 422, 'payload_too_large');
    await refused(
      fail({ details: JSON.parse(`${'{"a":'.repeat(21)}1${'}'.repeat(21)}`) }),
      422,
      'payload_too_deep',
    );
    await refused(fail({ details: { apiKey: 'x' } }), 422, 'secret_material_rejected');
    const ended = await done(fail({ message: `refused ghp_${'a'.repeat(36)}` }));
    assert.deepEqual([ended.status, ended.error.message], ['failed', 'refused [redacted]']);
  });
});

describe('a lease that expires', () => {
  test('is detected by the worker: requeued, then failed with lease_expired', async () => {
    const retryPolicy = { maxAttempts: 2 };
    const skill = await makeCallable(baton.admin, { contract: { retryPolicy } });
    const { id, fencingToken } = await runningCall(executor, baton.admin, skill);
    await worker.lapse();
    assert.equal((await read(id)).status, 'running');
    await endCallLease(baton, id);
    await worker.lapse();
    const back = await read(id);
    assert.deepEqual(
      [back.status, back.error.code, back.executorPrincipalId],
      ['pending', 'lease_expired', executor.principalId],
    );
    const event = await lastEvent(id);
    assert.deepEqual([event?.type, event?.actor_id], ['skill.invocation_retry_scheduled', null]);
    const next = (await done(claimCall(executor, skill))).invocation;
    assert.equal(next.fencingToken, fencingToken + 1);
    await endCallLease(baton, id);
    await worker.lapse();
    const failed = await read(id);
    assert.deepEqual([failed.status, failed.error.code, failed.attempt], ['failed', 'lease_expired', 2]);
  });

  test('is taken over by the next executor without any worker, with a higher token', async () => {
    const skill = await makeCallable(baton.admin, { contract: { retryPolicy: { maxAttempts: 2 } } });
    const { id, fencingToken } = await runningCall(executor, baton.admin, skill);
    await endCallLease(baton, id);
    const rival = await baton.actor();
    const { invocation } = await done(claimCall(rival, skill));
    assert.deepEqual([invocation.id, invocation.fencingToken], [id, fencingToken + 1]);
    const late = act(executor, id, 'complete', { fencingToken, output: {} });
    await refused(late, 409, 'stale_invocation_lease');
  });
});

describe('GET and :cancel', () => {
  test('a call is visible to its requester, its executor and all who execute skills', async () => {
    const [asker, stranger] = [
      await baton.actor({ permissions: ['skills.invoke'] }),
      await baton.actor({ permissions: ['skills.invoke'] }),
    ];
    const skill = await makeCallable(baton.admin);
    const { id } = await done(invoke(asker, skill), 201);
    const get = (actor: Actor) => actor.get(`/skill-invocations/${id}`);
    for (const actor of [asker, executor]) assert.equal((await done(get(actor))).id, id);
    await refused(get(stranger), 404, 'not_found');
    await refused(get(baton.otherAdmin), 404, 'not_found');
    await refused(get(await baton.actor({ permissions: ['tasks.read'] })), 403, 'permission_denied');
  });

  test('the requester can cancel it, and so can org.manage; for others it does not exist', async () => {
    const asker = await baton.actor({ permissions: ['skills.invoke'] });
    const manager = await baton.actor({ permissions: ['org.manage'] });
    const skill = await makeCallable(baton.admin);
    const { id } = await done(invoke(asker, skill), 201);
    await refused(act(executor, id, 'cancel', {}), 404, 'not_found');
    const cancelled = await done(act(asker, id, 'cancel', { reason: 'not needed' }));
    const details = { initiator: 'principal', wasRunning: false };
    assert.deepEqual(
      [cancelled.status, cancelled.error],
      ['cancelled', { code: 'cancelled', message: 'not needed', details }],
    );
    const event = await lastEvent(id);
    assert.deepEqual(event && [event.type, event.payload], [
      'skill.invocation_cancelled',
      {
        ...{ skillId: skill.id, skill: skill.name, version: '1.0.0', attempt: 0, taskId: null, runId: null },
        ...{ code: 'cancelled', reason: 'not needed', wasRunning: false },
        ...{ cancelledBy: asker.principalId, initiator: 'principal' },
      },
    ]);
    assert.deepEqual(await done(act(manager, id, 'cancel', {})), cancelled);
    assert.equal((await eventsOf(baton, id)).length, 2);
    const running = await runningCall(executor, asker, skill);
    const taken = await done(manager.post(`/skill-invocations/${running.id}:cancel`));
    assert.deepEqual([taken.error.message, taken.error.details.wasRunning], ['cancelled', true]);
    const { fencingToken } = running;
    const late = act(executor, running.id, 'complete', { fencingToken, output: {} });
    await refused(late, 409, 'stale_invocation_lease');
    const finished = await runningCall(executor, asker, skill);
    await done(act(executor, finished.id, 'complete', { fencingToken: 1, output: {} }));
    const over = await refused(act(asker, finished.id, 'cancel', {}), 409, 'invocation_terminal');
    assert.deepEqual(over, { invocationId: finished.id, status: 'succeeded' });
    for (const reason of ['', 'x'.repeat(501)])
      await refused(act(asker, id, 'cancel', { reason }), 400, 'invalid_request');
  });
});

test('a claim ends the expired lease of another call: without an attempt left, that call has failed', async () => {
  const skill = await makeCallable(baton.admin, { contract: { retryPolicy: { maxAttempts: 1 } } });
  const { id } = await runningCall(executor, baton.admin, skill);
  await endCallLease(baton, id);
  assert.equal((await claimCall(executor, skill)).status, 204);
  const { status, error } = await read(id);
  assert.deepEqual([status, error.code], ['failed', 'lease_expired']);
  assert.equal((await eventsOf(baton, id)).at(-1)?.type, 'skill.invocation_failed');
});

test('an executor with a session must have a live one', async () => {
  const skill = await makeCallable(baton.admin);
  const sessionId = await openSession(executor);
  await endSessionLease(baton, sessionId);
  await refused(claimCall(executor, skill, { sessionId }), 409, 'session_expired');
});
