import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  claimTask,
  done,
  endClaimLease,
  eventsOf,
  makeTask,
  makeWorker,
  refused,
  type Worker,
} from '../../testing/leases.ts';

let baton: TestCoordination;
let person: Actor;
let worker: Worker;
before(async () => {
  baton = await startCoordination();
  person = await baton.actor({ kind: 'human', permissions: ['approvals.read', 'approvals.decide'] });
  worker = await makeWorker(baton);
});
after(() => baton.close());

const ask = (body: object, actor = baton.admin) => actor.post('/approvals', body);
const request = (body: object = {}) => done(ask({ assignedPrincipalId: person.principalId, ...body }), 201);
const gateOn = (taskId: string, body: object = {}) => request({ task: taskId, gate: true, ...body });
const act = (id: string, verb: string, actor = person, body?: object) =>
  actor.post(`/approvals/${id}:${verb}`, body);
const claim = (taskId: string) =>
  worker.actor.post(`/tasks/${taskId}:claim`, { sessionId: worker.sessionId });
const complete = (taskId: string) =>
  baton.admin.post(`/tasks/${taskId}:complete`, {}, { 'if-match': 'task-1' });

test('POST returns the whole record, and the event contains the request and its addressee', async () => {
  const task = await makeTask(baton, { title: 'Deploy with password=abcdefghijklmnopqrst' });
  const other = await baton.actor({ kind: 'human' });
  const comment = 'May this go to production?';
  const approval = await request({
    task: task.publicId,
    comment,
    gate: true,
    excludedPrincipals: [other.principalId],
  });
  const { id, createdAt, updatedAt, subject, ...rest } = approval;
  assert.deepEqual(rest, {
    tenantId: baton.tenantId,
    workspaceId: null,
    taskId: task.id,
    artifactId: null,
    requestedByPrincipalId: baton.admin.principalId,
    status: 'pending',
    gate: true,
    verificationId: null,
    checkKey: null,
    requiredRoleId: null,
    assignedPrincipalId: person.principalId,
    excludedPrincipals: [other.principalId],
    decisionByPrincipalId: null,
    decisionAt: null,
    comment,
    decisionComment: null,
    outcomeStatus: null,
    supersedesApprovalId: null,
    requestedSubject: null,
    subjectChanged: false,
    changedFields: [],
    current: null,
    version: 1,
  });
  assert.equal(createdAt, updatedAt);
  assert.deepEqual(await done(person.get(`/approvals/${id}`)), approval);
  const [event] = await eventsOf(baton, id);
  assert.deepEqual(
    [event?.type, event?.schema_version, event?.actor_id, event?.payload],
    [
      'approval.requested',
      2,
      baton.admin.principalId,
      {
        taskId: task.id,
        artifactId: null,
        requiredRoleId: null,
        assignedPrincipalId: person.principalId,
        gate: true,
        workspaceId: null,
        taskPublicId: task.publicId,
        taskTitle: 'Deploy with [redacted]',
        requestedBy: baton.admin.principalId,
        comment,
        subjectDigest: subject.digest,
        supersedesApprovalId: null,
      },
    ],
  );
});

test('a contradictory request is refused with the defect', async () => {
  const { principalId } = person;
  const why = async (body: object) => (await refused(ask(body), 422, 'invalid_approval')).reason;
  assert.equal(await why({}), 'exactly_one');
  assert.equal(await why({ requiredRoleId: newId(), assignedPrincipalId: principalId }), 'exactly_one');
  assert.equal(
    await why({ assignedPrincipalId: principalId, excludedPrincipals: [principalId] }),
    'excluded',
  );
  assert.equal(await why({ assignedPrincipalId: principalId, gate: true }), 'gate_without_task');
  const task = await makeTask(baton);
  await done(complete(task.id));
  assert.equal(await why({ assignedPrincipalId: principalId, gate: true, task: task.id }), 'task_terminal');
  await request({ task: task.id });
});

test('referenced objects of a request must exist: task, artifact, workspace, role, principals, in this order', async () => {
  const order = ['task', 'artifactId', 'workspaceId', 'assignedPrincipalId'];
  const unknown: Record<string, unknown> = { excludedPrincipals: [newId()] };
  for (const name of order) unknown[name] = newId();
  const foreign = await done(baton.otherAdmin.post('/tasks', { title: 'foreign' }), 201);
  await refused(ask({ ...unknown, task: foreign.id }), 404, 'not_found');
  assert.deepEqual(await refused(ask(unknown), 404, 'not_found'), {});
  const { task: _, ...withoutTask } = unknown;
  assert.deepEqual(await refused(ask(withoutTask), 404, 'not_found'), { artifactId: unknown['artifactId'] });
  const { artifactId: __, ...withoutArtifact } = withoutTask;
  assert.deepEqual(await refused(ask(withoutArtifact), 404, 'not_found'), {
    workspaceId: unknown['workspaceId'],
  });
  await refused(ask({ requiredRoleId: newId() }), 404, 'not_found');
  const principalId = baton.otherAdmin.principalId;
  for (const body of [
    { assignedPrincipalId: principalId },
    { assignedPrincipalId: person.principalId, excludedPrincipals: [principalId] },
  ])
    assert.deepEqual(await refused(ask(body), 404, 'not_found'), { principalId });
});

test('texts and lists have limits: 4000 characters, 100 principals', async () => {
  const excluded = Array(101).fill(baton.admin.principalId);
  await refused(ask({ assignedPrincipalId: newId(), comment: 'x'.repeat(4001) }), 400, 'invalid_request');
  await refused(ask({ assignedPrincipalId: newId(), excludedPrincipals: excluded }), 400, 'invalid_request');
  const { id } = await request({ comment: 'x'.repeat(4000), excludedPrincipals: excluded.slice(1) });
  await refused(act(id, 'approve', person, { comment: 'x'.repeat(4001) }), 400, 'invalid_request');
  await done(act(id, 'approve', person, { comment: 'x'.repeat(4000) }));
});

test('GET lists newest first, by status and by task', async () => {
  const task = await makeTask(baton);
  const [first, second] = [await request({ task: task.id }), await request({ task: task.id })];
  const rejected = await done(act(second.id, 'reject'));
  const list = async (query: string) => (await done(person.get(`/approvals?${query}`))).items;
  const listed = ({ subject, ...approval }: any) => {
    const { requestedSubject: _, changedFields: __, current: ___, ...common } = approval;
    return { ...common, subject: { digest: subject.digest } };
  };
  const both = [listed(rejected), listed(first)];
  assert.deepEqual(await list(`taskId=${task.id}`), both);
  assert.deepEqual(await list(`taskId=${task.id}&status=rejected`), [both[0]]);
  assert.deepEqual((await list('status=pending'))[0], both[1]);
  assert.deepEqual((await list('limit=2')).slice(0, 2), both);
  await refused(person.get('/approvals?status=open'), 422, 'invalid_status');
  assert.deepEqual((await done(baton.otherAdmin.get(`/approvals?taskId=${task.id}`))).items, []);
});

test('another tenant sees no approval, and decides none', async () => {
  const { id } = await request();
  await refused(baton.otherAdmin.get(`/approvals/${id}`), 404, 'not_found');
  for (const verb of ['approve', 'reject', 'cancel'])
    await refused(act(id, verb, baton.otherAdmin), 404, 'not_found');
});

test('approve and reject record the decider, time and reason; the decision counts once', async () => {
  for (const [verb, status] of [
    ['approve', 'approved'],
    ['reject', 'rejected'],
  ] as const) {
    const { id } = await request({ comment: 'may I?' });
    const decided = await done(act(id, verb, person, { comment: 'because' }));
    assert.deepEqual(
      [
        decided.status,
        decided.decisionByPrincipalId,
        decided.comment,
        decided.decisionComment,
        decided.version,
      ],
      [status, person.principalId, 'may I?', 'because', 2],
    );
    assert.equal(decided.decisionAt, decided.updatedAt);
    const [, event] = await eventsOf(baton, id);
    assert.deepEqual(
      [event?.type, event?.schema_version, event?.payload],
      [
        `approval.${status}`,
        2,
        {
          taskId: null,
          artifactId: null,
          outcomeStatus: null,
          decisionBy: person.principalId,
          comment: 'because',
          channel: null,
          subjectDigest: decided.subject.digest,
        },
      ],
    );
    for (const again of ['approve', 'reject'])
      assert.deepEqual(await refused(act(id, again), 409, 'approval_already_decided'), {
        approvalId: id,
        status,
      });
    await refused(act(id, 'cancel', baton.admin), 409, 'approval_already_decided');
  }
});

test("without a comment of the decider only the requester's is returned", async () => {
  const { id } = await request({ comment: 'may I?' });
  const { comment, decisionComment } = await done(act(id, 'approve'));
  assert.deepEqual([comment, decisionComment], ['may I?', null]);
});

test('only the assigned person decides: an excluded one gets that refusal first', async () => {
  const excluded = await baton.actor({ kind: 'human' });
  const { id } = await request({ excludedPrincipals: [excluded.principalId] });
  await refused(act(id, 'approve', excluded), 403, 'separation_of_duties_violation');
  await refused(act(id, 'reject', excluded), 403, 'separation_of_duties_violation');
  // The requester has all permissions, but is not the addressee.
  await refused(act(id, 'approve', baton.admin), 403, 'not_eligible');
  const powerless = await baton.actor({ kind: 'human', permissions: ['approvals.manage'] });
  await refused(act(id, 'approve', powerless), 403, 'permission_denied');
  await done(act(id, 'approve'));
  await refused(act(id, 'approve', excluded), 409, 'approval_already_decided');
});

test('an agent or a service decides nothing, even with the permission in its binding', async () => {
  for (const kind of ['agent', 'service'] as const) {
    const machine = await baton.actor({ kind, permissions: ['approvals.decide', 'approvals.manage'] });
    const { id } = await request({ assignedPrincipalId: machine.principalId });
    for (const verb of ['approve', 'reject']) await refused(act(id, verb, machine), 403, 'permission_denied');
    await refused(act(newId(), 'approve', machine), 403, 'permission_denied');
  }
});

test('a role is held in the whole tenant, in the workspace of the approval, or above it', async () => {
  const post = (path: string, body: object) => done(baton.admin.post(path, body), 201);
  const types = (await done(baton.admin.get('/workspace-types'))).items;
  const make = (slug: string, parentId?: string) =>
    post('/workspaces', { slug, name: slug, typeKey: types[0].key, ...(parentId && { parentId }) });
  const [root, aside] = [await make('root'), await make('aside')];
  const child = await make('child', root.id);
  const below = await make('below', child.id);
  const { id: roleId } = await post('/roles', { slug: 'approver', name: 'Approver' });
  const { id: otherRoleId } = await post('/roles', { slug: 'other', name: 'Other' });
  const task = await makeTask(baton, { workspaceId: child.id });
  const requestBy = (body: object) => done(ask({ requiredRoleId: roleId, ...body }), 201);
  const holder = await baton.actor({ kind: 'human', permissions: ['approvals.decide'] });
  const rolesPath = `/principals/${holder.principalId}/roles`;
  const place = (workspaceId?: string) => (workspaceId === undefined ? {} : { workspaceId });
  const assign = (id: string, workspaceId?: string) => post(rolesPath, { roleId: id, ...place(workspaceId) });
  const revoke = (workspaceId?: string) =>
    done(baton.admin.post(`${rolesPath}/${roleId}:revoke`, place(workspaceId)), 204);
  await assign(otherRoleId);
  for (const [heldIn, mayDecide] of [
    [undefined, true],
    [root.id, true],
    [child.id, true],
    [below.id, false],
    [aside.id, false],
  ] as const) {
    const { id, workspaceId } = await requestBy({ task: task.id });
    assert.equal(workspaceId, child.id, "the task's, if none is specified");
    await refused(act(id, 'approve', holder), 403, 'not_eligible');
    await assign(roleId, heldIn);
    if (mayDecide) await done(act(id, 'approve', holder));
    else await refused(act(id, 'approve', holder), 403, 'not_eligible');
    await revoke(heldIn);
  }
  // An ancestor of the task's workspace can be specified; the role must then be held there or above.
  const { id } = await requestBy({ task: task.id, workspaceId: root.id });
  await assign(roleId, child.id);
  await refused(act(id, 'approve', holder), 403, 'not_eligible');
  const excluded = await requestBy({ task: task.id, excludedPrincipals: [holder.principalId] });
  await refused(act(excluded.id, 'approve', holder), 403, 'separation_of_duties_violation');
  const why = async (body: object) =>
    (await refused(ask({ requiredRoleId: roleId, task: task.id, ...body }), 422, 'invalid_approval')).reason;
  for (const workspaceId of [below.id, aside.id])
    assert.equal(await why({ workspaceId }), 'not_above_the_task');
  assert.equal(await why({ workspaceId: root.id, task: (await makeTask(baton)).id }), 'not_above_the_task');
  // Without a task, any workspace can be specified; without a workspace, only a tenant-wide role counts.
  assert.equal((await requestBy({ workspaceId: aside.id })).workspaceId, aside.id);
  const nowhere = await requestBy({});
  await refused(act(nowhere.id, 'approve', holder), 403, 'not_eligible');
  await assign(roleId);
  await done(act(nowhere.id, 'approve', holder));
});

test('an approval contains its artifact', async () => {
  const task = await makeTask(baton);
  const body = { type: 'report', name: 'Findings', task: task.id };
  const { id: artifactId } = await done(baton.admin.post('/artifacts', body), 201);
  const approval = await request({ artifactId });
  assert.equal(approval.artifactId, artifactId);
  assert.equal((await eventsOf(baton, approval.id))[0]?.payload['artifactId'], artifactId);
});

test('cancel: for requesters with the permission, once, with its event', async () => {
  const { id } = await request();
  const manager = await baton.actor({ permissions: ['approvals.manage'] });
  const cancelled = await done(act(id, 'cancel', manager, { comment: 'no longer' }));
  assert.deepEqual(
    [cancelled.status, cancelled.decisionByPrincipalId, cancelled.decisionAt, cancelled.decisionComment],
    ['cancelled', null, null, 'no longer'],
  );
  assert.deepEqual(await done(act(id, 'cancel', manager)), cancelled);
  const events = await eventsOf(baton, id);
  assert.deepEqual(
    events.map(({ type }) => type),
    ['approval.requested', 'approval.cancelled'],
  );
  assert.deepEqual(
    [events[1]?.schema_version, events[1]?.payload],
    [2, { taskId: null, cancelledBy: manager.principalId }],
  );
  await refused(act(id, 'approve'), 409, 'approval_already_decided');
});

test('the gate of another principal is cancelled only by a person who may decide it, the own one by its requester', async () => {
  const task = await makeTask(baton);
  const manages = ['approvals.manage', 'approvals.decide'] as const;
  const agent = await baton.actor({ permissions: ['approvals.manage'] });
  const stranger = await baton.actor({ kind: 'human', permissions: manages });
  const excluded = await baton.actor({ kind: 'human', permissions: manages });
  const eligible = await baton.actor({ kind: 'human', permissions: manages });
  const body = {
    task: task.id,
    gate: true,
    assignedPrincipalId: eligible.principalId,
    excludedPrincipals: [excluded.principalId],
  };
  const { id } = await request(body);
  await refused(act(id, 'cancel', agent), 403, 'permission_denied');
  await refused(act(id, 'cancel', stranger), 403, 'not_eligible');
  await refused(act(id, 'cancel', excluded), 403, 'separation_of_duties_violation');
  await refused(claim(task.id), 409, 'approval_required');
  await done(act(id, 'cancel', eligible));
  const own = await done(ask(body, agent), 201);
  await done(act(own.id, 'cancel', agent));
  await done(claim(task.id));
});

test('a pending gate refuses a reclaim of a dead claim', async () => {
  const task = await makeTask(baton);
  const dead = await claimTask(worker, task.id);
  const gate = await gateOn(task.id);
  await endClaimLease(baton, task.id);
  const reclaim = () => worker.actor.post(`/claims/${dead.id}:reclaim`, { sessionId: worker.sessionId });
  const { pendingApprovals } = await refused(reclaim(), 409, 'approval_required');
  assert.deepEqual(pendingApprovals, [gate.id]);
  await done(act(gate.id, 'approve'));
  await done(reclaim());
});

test('a pending gate holds its task back from claim, completion and available work, and every gate must open', async () => {
  const task = await makeTask(baton);
  const isAvailable = async () =>
    (await done(worker.actor.get('/work/available?limit=200'))).items.some(
      ({ id }: { id: string }) => id === task.id,
    );
  assert.equal(await isAvailable(), true);
  const [first, second] = [await gateOn(task.id), await gateOn(task.id)];
  const held = { taskId: task.id, pendingApprovals: [first.id, second.id] };
  assert.deepEqual(await refused(claim(task.id), 409, 'approval_required'), held);
  assert.deepEqual(await refused(complete(task.id), 409, 'approval_required'), held);
  assert.equal(await isAvailable(), false);
  const { claimable, reasons } = await done(worker.actor.get(`/tasks/${task.id}/claimability`));
  assert.equal(claimable, false);
  assert.equal(reasons.length, 1);
  const { code, pendingApprovals } = reasons[0];
  assert.deepEqual([code, pendingApprovals], ['approval_required', held.pendingApprovals]);
  await done(act(first.id, 'approve'));
  assert.deepEqual((await refused(claim(task.id), 409, 'approval_required')).pendingApprovals, [second.id]);
  await done(act(second.id, 'reject'));
  assert.equal(await isAvailable(), true);
  assert.equal(
    (await done(baton.admin.get(`/tasks/${task.id}`))).status,
    'todo',
    'a rejection does not close the task',
  );
  await done(claim(task.id));
});

test('a request that is not a gate does not hold its task back', async () => {
  const task = await makeTask(baton);
  await request({ task: task.id });
  await done(claim(task.id));
});

test('a claim from before the gate stays live, but its run cannot complete the task', async () => {
  const task = await makeTask(baton);
  const { claimId, fencingToken } = await claimTask(worker, task.id);
  const held = { claimId, fencingToken };
  const run = await done(worker.actor.post(`/tasks/${task.id}:start-run`, held), 201);
  const gate = await gateOn(task.id);
  const details = { taskId: task.id, pendingApprovals: [gate.id] };
  assert.deepEqual(
    await refused(worker.actor.post(`/runs/${run.id}:succeed`), 409, 'approval_required'),
    details,
  );
  await done(worker.actor.post(`/claims/${claimId}:heartbeat`));
  await done(act(gate.id, 'approve'));
  await done(worker.actor.post(`/runs/${run.id}:succeed`));
});

test('a claim is refused in this order: prerequisites, gates, another claim', async () => {
  const [task, prerequisite] = [await makeTask(baton), await makeTask(baton)];
  const other = await makeWorker(baton);
  await claimTask(other, task.id);
  await refused(claim(task.id), 409, 'task_already_claimed');
  const gate = await gateOn(task.id);
  await refused(claim(task.id), 409, 'approval_required');
  const relation = { toTask: prerequisite.id, type: 'depends_on' };
  await done(baton.admin.post(`/tasks/${task.id}/relations`, relation), 201);
  await refused(claim(task.id), 409, 'task_not_ready');
  const { reasons } = await done(baton.admin.get(`/tasks/${task.id}/claimability`));
  assert.deepEqual(
    reasons.map(({ code }: { code: string }) => code),
    ['task_not_ready', 'approval_required', 'task_already_claimed'],
  );
  await done(act(gate.id, 'cancel', baton.admin));
});

test('a refusal lists at most 50 gates, the oldest first', async () => {
  const task = await makeTask(baton);
  const ids: string[] = [];
  for (let count = 0; count < 52; count += 1) ids.push((await gateOn(task.id)).id);
  const { pendingApprovals } = await refused(claim(task.id), 409, 'approval_required');
  assert.deepEqual(pendingApprovals, ids.slice(0, 50));
});

test('each tenant has one principal for the core itself', async () => {
  const rows = await baton.pool.rows<{ kind: string; tenants: number }>(sql`
    select p.kind, count(distinct t.id)::integer as tenants from tenants t
    join principals p on p.id = t.core_principal_id and p.tenant_id = t.id group by p.kind`);
  assert.deepEqual(rows, [{ kind: 'service', tenants: 2 }]);
});
