import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { isLongProof } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { policyModeOfFile } from '../../testing/access/policy-mode.ts';
import type { ReceivedQuestion, TestPolicy } from '../../testing/access/policy-service.ts';
import type { Actor, TestCoordination } from '../../testing/coordination.ts';
import { claimTask, done, makeRun, makeTask, openSession, refused } from '../../testing/leases.ts';
import { makeProject } from '../../testing/organisation/projects.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { openStream } from '../../testing/stream/stream-client.ts';
import { until } from '../../testing/wait-until.ts';

/** CP_AUTHZ_MODE policy: a decision point authorizes the bearers of tokens. */

let baton: TestCoordination;
let policy: TestPolicy;
let admin: Actor;
const { grant, grantActions, askedOf } = policyModeOfFile((mode) => {
  ({ baton, policy } = mode);
  admin = baton.admin;
});
const last = () => [policy.asked.at(-1)?.action, policy.asked.at(-1)?.resource];
const followUp = {
  key: 'follow-up',
  trigger: { kind: 'event', type: 'task.completed' },
  action: { kind: 'ensure_work', taskType: 'task', fields: { title: 'follow up' } },
};
/** The decision point is unavailable: it responds with 503. */
const away = () => policy.behave((_path, _body, res) => (res.writeHead(503).end(), 'answered'));

test('the point decides, whatever permissions the binding has', async () => {
  const task = await makeTask(baton);
  const poor = await baton.actor({ permissions: ['org.read'] });
  const rich = await baton.actor();
  grant(({ who, action }) => who === poor.iamPrincipalId && action === 'tasks.read');
  await done(poor.get(`/tasks/${task.id}`));
  const details = await refused(rich.get(`/tasks/${task.id}`), 403, 'permission_denied');
  assert.deepEqual(details.required, ['tasks.read']);
  assert.equal(details.resource, `task:${task.id}`);
  assert.equal(details.reasonCode, 'denied_no_binding');
  assert.match(details.decisionId, /^decision-\d+$/);
  await refused(
    poor.patch(`/tasks/${task.id}`, { title: 'x' }, { 'if-match': 'task-1' }),
    403,
    'permission_denied',
  );
});

test('the scopes of the token are applied first, and excluded permissions are not queried', async () => {
  const task = await makeTask(baton);
  grant(() => true);
  const reader = await baton.actor({ scopes: ['control-plane:read'] });
  await done(reader.get(`/tasks/${task.id}`));
  policy.asked.length = 0;
  const details = await refused(reader.post('/tasks', { title: 'no' }), 403, 'permission_denied');
  assert.deepEqual(details, { required: ['tasks.write'] });
  assert.deepEqual(askedOf(reader), []);
  const scopeless = await baton.actor({ scopes: ['other:read'] });
  await refused(scopeless.get('/tasks'), 403, 'scope_not_granted');
});

test('a task is sent by its id with its relations, even if the request uses its public id', async () => {
  const [root, below] = [await makeWorkspace(baton), await makeWorkspace(baton)];
  await done(admin.post(`/workspaces/${below.id}:move`, { newParentId: root.id }));
  const [owner, assignee] = [await baton.actor({ kind: 'human' }), await baton.actor()];
  const task = await makeTask(baton, {
    workspaceId: below.id,
    ownerId: owner.principalId,
    assigneeId: assignee.principalId,
  });
  grantActions('tasks.read');
  for (const ref of [task.id, task.publicId, task.publicId.toLowerCase()]) {
    policy.asked.length = 0;
    await done(assignee.get(`/tasks/${ref}`));
    const [question] = askedOf(assignee);
    assert.equal(question?.resource, `task:${task.id}`);
    assert.equal(question?.kind, 'agent');
    assert.deepEqual(question?.tuples, [
      { object: `task:${task.id}`, relation: 'workspace', subject: `workspace:${below.id}` },
      { object: `task:${task.id}`, relation: 'owner', subject: `principal:${owner.iamPrincipalId}` },
      { object: `task:${task.id}`, relation: 'requested_by', subject: `principal:${admin.iamPrincipalId}` },
      { object: `task:${task.id}`, relation: 'assignee', subject: `principal:${assignee.iamPrincipalId}` },
      { object: `workspace:${below.id}`, relation: 'parent', subject: `workspace:${root.id}` },
      { object: `workspace:${root.id}`, relation: 'parent', subject: `tenant:${baton.tenantId}` },
    ]);
  }
  // A missing object is decided on the tenant, so callers who may read everything learn that it is missing.
  const tenantWide = ({ action, resource }: ReceivedQuestion) =>
    action === 'tasks.read' && resource === `tenant:${baton.tenantId}`;
  grant(tenantWide);
  for (const ref of [newId(), 'TASK-999999']) await refused(owner.get(`/tasks/${ref}`), 404, 'not_found');
  grant((question) => question.action === 'tasks.read' && !tenantWide(question));
  await refused(owner.get(`/tasks/${newId()}`), 403, 'permission_denied');
});

test('parts of a task are decided on the object that the catalog specifies for them', async () => {
  grant(() => true);
  const actor = await baton.actor();
  const worker = { actor, sessionId: await openSession(actor) };
  const { task, claim, run } = await makeRun(baton, worker);
  const approval = await done(
    admin.post('/approvals', { task: task.id, assignedPrincipalId: admin.principalId }),
    201,
  );
  const artifact = await done(actor.post('/artifacts', { task: task.id, type: 'note', name: 'n' }), 201);
  const workspace = await makeWorkspace(baton);
  const goal = await done(actor.post('/goals', { title: 'g', workspaceId: workspace.id }), 201);
  const project = await makeProject(baton, { ownerPrincipalId: actor.principalId });
  const rule = await done(actor.post('/rules', { ...followUp, workspaceId: workspace.id }), 201);
  const name = { externalSystem: 's', externalType: 't', externalId: newId() };
  const refer = (entityType: string, entityId: string) =>
    done(actor.post('/external-references', { ...name, externalId: newId(), entityType, entityId }), 201);
  await refer('task', task.id);
  assert.deepEqual(last(), ['tasks.write', `task:${task.id}`]);
  const ofProject = await refer('project', project.id);
  assert.deepEqual(last(), ['projects.manage', `project_profile:${project.id}`]);
  policy.asked.length = 0;
  await actor.delete(`/external-references/${ofProject.id}`);
  assert.deepEqual(last(), ['projects.manage', `project_profile:${project.id}`]);
  const asked: Record<string, [action: string, resource: string]> = {
    [`/claims/${claim.id}`]: ['tasks.read', `task:${task.id}`],
    [`/runs/${run.id}`]: ['tasks.read', `run:${run.id}`],
    [`/approvals/${approval.id}`]: ['approvals.read', `approval:${approval.id}`],
    [`/artifacts/${artifact.id}`]: ['artifacts.read', `artifact:${artifact.id}`],
    [`/goals/${goal.id}`]: ['goals.read', `workspace:${workspace.id}`],
    [`/projects/${project.id}`]: ['projects.read', `project_profile:${project.id}`],
    [`/rules/${rule.id}`]: ['rules.read', `workspace:${workspace.id}`],
    [`/workspaces/${workspace.id}`]: ['workspaces.read', `workspace:${workspace.id}`],
    [`/events?workspaceId=${workspace.id}`]: ['events.read', `workspace:${workspace.id}`],
    '/events': ['events.read', `tenant:${baton.tenantId}`],
    '/principals': ['principals.read', `tenant:${baton.tenantId}`],
  };
  for (const [path, [action, resource]] of Object.entries(asked)) {
    policy.asked.length = 0;
    await done(actor.get(path));
    assert.deepEqual([policy.asked[0]?.action, policy.asked[0]?.resource], [action, resource], path);
  }
  policy.asked.length = 0;
  await done(actor.get(`/projects/${project.id}`));
  assert.deepEqual(policy.asked[0]?.tuples.slice(0, 2), [
    {
      object: `project_profile:${project.id}`,
      relation: 'workspace',
      subject: `workspace:${project.workspaceId}`,
    },
    {
      object: `project_profile:${project.id}`,
      relation: 'owner',
      subject: `principal:${actor.iamPrincipalId}`,
    },
  ]);
  policy.asked.length = 0;
  await done(actor.get(`/runs/${run.id}`));
  assert.deepEqual(policy.asked[0]?.tuples.slice(0, 2), [
    { object: `run:${run.id}`, relation: 'task', subject: `task:${task.id}` },
    { object: `run:${run.id}`, relation: 'holder', subject: `principal:${actor.iamPrincipalId}` },
  ]);
});

test('the first granted permission of several suffices; otherwise the last denial is returned', async () => {
  const reader = await baton.actor();
  grantActions('operations.manage');
  await done(reader.get('/operations/authz-differences'));
  assert.deepEqual(
    askedOf(reader).map(({ action }) => action),
    ['operations.read', 'operations.manage'],
  );
  grantActions('operations.read');
  policy.asked.length = 0;
  await done(reader.get('/operations/authz-differences'));
  assert.equal(askedOf(reader).length, 1);
  grant(() => false);
  policy.asked.length = 0;
  const details = await refused(reader.get('/operations/authz-differences'), 403, 'permission_denied');
  assert.equal(details.decisionId, `decision-${policy.asked.length}`);
});

test('a decision that a command lacks is requested outside of it, and the command is repeated', async () => {
  grant(() => true);
  const holder = await baton.actor();
  const worker = { actor: holder, sessionId: await openSession(holder) };
  const { run } = await makeRun(baton, worker);
  const other = await baton.actor();
  grantActions('tasks.claim');
  await refused(other.post(`/runs/${run.id}:cancel`), 403, 'run_holder_mismatch');
  assert.deepEqual(
    askedOf(other).map(({ action, resource }) => `${action} ${resource}`),
    [`tasks.claim run:${run.id}`, `claims.manage run:${run.id}`],
  );
  policy.asked.length = 0;
  grantActions('tasks.claim', 'claims.manage');
  assert.equal((await done(other.post(`/runs/${run.id}:cancel`))).status, 'cancelled');
  assert.deepEqual(
    askedOf(other).map(({ action }) => action),
    ['tasks.claim', 'claims.manage'],
  );
});

test('a stored response is repeated only for callers that are still allowed', async () => {
  const writer = await baton.actor();
  grantActions('tasks.write');
  const post = (key: string) => writer.post('/tasks', { title: 'once' }, { 'idempotency-key': key });
  const key = newId();
  const { id } = await done(post(key), 201);
  const again = await post(key);
  assert.deepEqual([again.status, again.body.id], [201, id]);
  assert.equal(again.headers.get('idempotency-replayed'), 'true');
  grant(() => false);
  await refused(post(key), 403, 'permission_denied');
  away();
  await refused(post(key), 503, 'policy_unavailable');
});

test('if the permission is checked before If-Match, so is the decision point', async () => {
  const person = await baton.actor({ kind: 'human', permissions: [] });
  const rename = (headers = {}) =>
    person.patch(`/principals/${person.principalId}`, { displayName: 'New' }, headers);
  await refused(rename(), 403, 'permission_denied');
  grantActions('principals.write');
  await refused(rename(), 428, 'if_match_required');
  assert.equal((await done(rename({ 'if-match': 'principal-1' }))).displayName, 'New');
});

test('admin covers nothing that the point decides, and local decisions are not queried', async () => {
  const person = await baton.actor({ kind: 'human' });
  await refused(person.get('/tasks/TASK-000001'), 403, 'permission_denied');
  const observation = { kind: 'k', content: 'seen' };
  const { resource } = await refused(person.post('/observations', observation), 403, 'permission_denied');
  assert.equal(resource, `tenant:${baton.tenantId}`);
  policy.asked.length = 0;
  await done(person.get('/delegations'));
  assert.deepEqual(askedOf(person), []);
  const poor = await baton.actor({ kind: 'human', permissions: ['tasks.read'] });
  grant(() => true);
  await refused(poor.get('/delegations'), 403, 'permission_denied');
});

test('callers cannot grant permissions that their own binding lacks, whatever the point decides', async () => {
  grant(() => true);
  const person = await baton.actor({ kind: 'human', permissions: ['principals.write', 'tasks.read'] });
  const agent = await baton.actor();
  const key = (permissions: string[]) =>
    person.post(`/principals/${agent.principalId}/api-keys`, { permissions });
  await done(key(['tasks.read']), 201);
  const details = await refused(key(['tasks.write']), 403, 'permission_escalation');
  assert.deepEqual(details.missing, ['tasks.write']);
});

test('keys use the permissions stored here, also while the point is unavailable', async () => {
  grant(() => true);
  const agent = await baton.actor({ permissions: [] });
  const { key } = await done(
    admin.post(`/principals/${agent.principalId}/api-keys`, { permissions: ['tasks.read'] }),
    201,
  );
  away();
  const call = (method: string, path: string, body?: object) =>
    baton.request(method, `/api/v1${path}`, { token: key, ...(body && { body }) });
  policy.requests.length = 0;
  await done(call('GET', '/tasks'));
  const details = await refused(call('POST', '/tasks', { title: 'no' }), 403, 'permission_denied');
  assert.deepEqual(details, { required: ['tasks.write'] });
  assert.equal(policy.requests.length, 0);
});

describe('if the point returns no decision', () => {
  test('every request of an identity is refused with 503, and nothing is written', async () => {
    const person = await baton.actor({ kind: 'human' });
    const task = await makeTask(baton);
    const before = await eventCount();
    const unavailableBefore = await metric('authz_policy_unavailable_total');
    const failures: (() => void)[] = [
      away,
      () => policy.behave((_path, _body, res) => (res.writeHead(403).end('{}'), 'answered')),
      () => policy.behave((_path, _body, res) => (res.destroy(), 'answered')),
    ];
    for (const fails of failures) {
      fails();
      const answers = await Promise.all([
        person.get(`/tasks/${task.id}`),
        person.get('/tasks'),
        person.post('/tasks', { title: 'no' }),
        person.post('/tasks', { title: 'no' }, { 'idempotency-key': newId() }),
        person.patch(
          `/principals/${person.principalId}`,
          { displayName: 'x' },
          { 'if-match': 'principal-1' },
        ),
        person.post(`/tasks/${task.id}:claim`, { sessionId: newId() }),
        person.post('/work:claim-next', { sessionId: newId() }),
      ]);
      for (const { status, body, headers } of answers) {
        assert.deepEqual([status, body.error.code], [503, 'policy_unavailable']);
        assert.equal(headers.get('retry-after'), '1');
        assert.deepEqual(body.error.details, {});
      }
    }
    assert.equal(await eventCount(), before);
    assert.ok((await metric('authz_policy_unavailable_total')) >= unavailableBefore + 21);
  });

  test('faults in the request and of the caller are reported first, in the documented order', async () => {
    const person = await baton.actor({ kind: 'human' });
    away();
    await refused(person.post('/tasks', { title: 'x', zebra: 1 }), 400, 'invalid_request');
    await refused(person.patch(`/tasks/${newId()}`, { title: 'x' }), 428, 'if_match_required');
    const long = { 'idempotency-key': 'k'.repeat(201) };
    await refused(person.post('/tasks', { title: 'x' }, long), 422, 'invalid_idempotency_key');
    const gone = await baton.actor();
    await baton.pool.run(sql`update principals set status = 'disabled' where id = ${gone.principalId}`);
    await refused(gone.post('/tasks', { title: 'x' }), 403, 'principal_not_active');
  });

  test('a slow point holds no connection: other requests, with keys, continue', async () => {
    const agent = await baton.actor();
    grant(() => true);
    const { key } = await done(
      admin.post(`/principals/${agent.principalId}/api-keys`, { permissions: ['tasks.read', 'tasks.write'] }),
      201,
    );
    const tasks = await Promise.all(Array.from({ length: 30 }, () => makeTask(baton)));
    const held: ServerResponse[] = [];
    policy.behave((_path, _body, res) => (held.push(res), 'answered'));
    policy.requests.length = 0;
    const slow = tasks.map(({ id }, n) =>
      n % 2 === 0 ? agent.get(`/tasks/${id}`) : agent.patch(`/tasks/${id}`, {}, { 'if-match': 'task-1' }),
    );
    await until(() => policy.requests.length > 20);
    const busy = sql<{ n: number }>`
      select count(*)::int as n from pg_stat_activity
      where datname = current_database() and application_name = 'baton-coordination' and state <> 'idle'`;
    await until(async () => (await baton.pool.row(busy))?.n === 0);
    for (let n = 0; n < 5; n += 1)
      await done(baton.request('POST', '/api/v1/tasks', { token: key, body: { title: 'quick' } }), 201);
    // Only the long proof waits until all policy requests time out.
    if (!isLongProof) {
      away();
      for (const res of held) res.destroy();
    }
    for (const { status } of await Promise.all(slow)) assert.equal(status, 503);
  });
});

test('a decision is requested before the transaction, and again if the object has been moved meanwhile', async () => {
  const [allowed, forbidden] = [await makeWorkspace(baton), await makeWorkspace(baton)];
  const writer = await baton.actor();
  grant(
    ({ action, tuples }) =>
      action === 'tasks.write' && tuples.some(({ subject }) => subject === `workspace:${allowed.id}`),
  );
  for (const movesAway of [true, false]) {
    const task = await makeTask(baton, { workspaceId: allowed.id });
    let change: Promise<unknown> | undefined;
    // Moves the row before the decision point's response arrives.
    policy.behave((_path, body: { principalId: string }, res) => {
      if (body.principalId !== writer.iamPrincipalId || change !== undefined) return undefined;
      const to = movesAway ? forbidden.id : allowed.id;
      change = baton.pool.run(sql`update tasks set workspace_id = ${to} where id = ${task.id}`).then(() => {
        res.end(
          JSON.stringify({
            allowed: true,
            reasonCode: 'allowed',
            decisionId: 'stale',
            action: 'tasks.write',
            resource: { type: 'task', id: task.id },
          }),
        );
      });
      return 'answered';
    });
    const answer = writer.patch(`/tasks/${task.id}`, { title: 'changed' }, { 'if-match': 'task-1' });
    if (movesAway) {
      const details = await refused(answer, 403, 'permission_denied');
      assert.equal(details.resource, `task:${task.id}`);
    } else await done(answer);
    policy.behave(undefined);
  }
});

test('a principal that is disabled during the query of the point writes nothing', async () => {
  const writer = await baton.actor();
  grant(() => true);
  let asked = 0;
  policy.behave((_path, body: { principalId: string; action: string }, res) => {
    if (body.principalId !== writer.iamPrincipalId) return undefined;
    asked += 1;
    void done(admin.post(`/principals/${writer.principalId}:disable`)).then(() => {
      const about = { action: body.action, resource: { type: 'tenant', id: baton.tenantId } };
      res.end(JSON.stringify({ allowed: true, reasonCode: 'allowed', decisionId: 'd', ...about }));
    });
    return 'answered';
  });
  await refused(writer.post('/tasks', { title: 'too late' }), 403, 'principal_not_active');
  assert.equal(asked, 1);
});

test('claims, heartbeats and runs are decided by the point like everything else', async () => {
  const task = await makeTask(baton);
  const actor = await baton.actor({ permissions: [] });
  grantActions('sessions.open');
  const worker = { actor, sessionId: await openSession(actor) };
  const claiming = () => actor.post(`/tasks/${task.id}:claim`, { sessionId: worker.sessionId });
  assert.equal((await refused(claiming(), 403, 'permission_denied')).resource, `task:${task.id}`);
  grantActions('tasks.claim', 'sessions.open');
  const claim = await claimTask(worker, task.id);
  const keys = { claimId: claim.id, fencingToken: claim.fencingToken };
  await done(actor.post(`/claims/${claim.id}:heartbeat`, {}));
  await done(actor.post(`/sessions/${worker.sessionId}:heartbeat`, {}));
  await done(actor.post(`/tasks/${task.id}:start-run`, keys), 201);
  grant(() => false);
  await refused(actor.post(`/claims/${claim.id}:heartbeat`, {}), 403, 'permission_denied');
});

test('a stream of the journal ends when the point revokes the right, and when it returns no decision', async () => {
  const reader = await baton.actor({ permissions: [] });
  const open = () => openStream(baton.url, { token: reader.token });
  grant(() => false);
  assert.equal((await open().ended).code, 4403);
  grantActions('events.read');
  const stream = open();
  await stream.received(1);
  grant(() => false);
  assert.equal((await stream.ended).code, 4403);
  grantActions('events.read');
  const second = open();
  away();
  assert.equal((await second.ended).code, 4503);
});

async function eventCount(): Promise<number> {
  return (await baton.pool.row(sql<{ n: number }>`select count(*)::int as n from events`))?.n ?? 0;
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${baton.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1] ?? 0);
}
