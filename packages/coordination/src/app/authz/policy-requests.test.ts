import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type PolicyMode, startPolicyMode } from '../../testing/access/policy-mode.ts';
import type { TestPolicy } from '../../testing/access/policy-service.ts';
import type { Actor, TestCoordination } from '../../testing/coordination.ts';
import { done, makeRun, makeTask, openSession, refused } from '../../testing/leases.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { outcomeTester } from '../../testing/results/outcomes.ts';

/** CP_AUTHZ_MODE policy: AuthZEN 1.0, a decision point without a search, /authz:check, and tokens for decisions. */

let mode: PolicyMode;
let baton: TestCoordination;
let policy: TestPolicy;
let admin: Actor;
before(async () => {
  mode = await startPolicyMode({ CP_POLICY_WIRE: 'authzen' });
  ({ baton, policy } = mode);
  admin = baton.admin;
});
after(() => mode.close());
beforeEach(() => {
  mode.reset();
  policy.behave((path, _body, res) => {
    if (!path.includes('search')) return undefined;
    res.writeHead(404).end();
    return 'answered';
  });
});
const askedOf = (actor: Actor) => policy.asked.filter(({ who }) => who === actor.iamPrincipalId);

test('an object is sent with its relations as attributes, and as tuples in the context', async () => {
  const reader = await baton.actor({ kind: 'human' });
  const workspace = await makeWorkspace(baton);
  const task = await makeTask(baton, { workspaceId: workspace.id, ownerId: reader.principalId });
  mode.grant(({ properties, who }) => properties?.['owner'] === who);
  await done(reader.get(`/tasks/${task.id}`));
  assert.deepEqual(askedOf(reader)[0]?.properties, {
    tenantId: baton.tenantId,
    workspace: workspace.id,
    owner: reader.iamPrincipalId,
    requested_by: admin.iamPrincipalId,
  });
  const body = policy.requests.at(-1)?.body as { subject: object; context: { tenantId: string } };
  assert.deepEqual(body.subject, {
    type: 'human',
    id: reader.iamPrincipalId,
    properties: { tenantId: baton.tenantId },
  });
  assert.equal(body.context.tenantId, baton.tenantId);
  const other = await makeTask(baton, { workspaceId: workspace.id });
  const details = await refused(reader.get(`/tasks/${other.id}`), 403, 'permission_denied');
  assert.equal(details.reasonCode, 'not_in_team');
});

test('lists are authorized row by row, in batches, and pages are full', async () => {
  const reader = await baton.actor({ permissions: [] });
  const mine = new Set<string>();
  for (let n = 0; n < 130; n += 1) {
    const { id } = await makeTask(baton);
    if (n % 13 === 0) mine.add(`task:${id}`);
  }
  mode.grant(({ action, resource }) => action === 'tasks.read' && mine.has(resource));
  for (const limit of [1, 4, 50, 200]) {
    policy.requests.length = 0;
    const pages: string[][] = [];
    let cursor: string | null = null;
    do {
      const from: string = cursor === null ? '' : `&cursor=${cursor}`;
      const page = await done(reader.get(`/tasks?limit=${limit}${from}`));
      pages.push(page.items.map(({ id }: { id: string }) => `task:${id}`));
      cursor = page.nextCursor;
    } while (cursor !== null);
    assert.deepEqual(pages.flat(), [...mine].reverse());
    for (const page of pages.slice(0, -2)) assert.equal(page.length, limit);
    const batches = policy.requests.filter(({ path }) => path === '/access/v1/evaluations');
    for (const { body } of batches) assert.ok((body as { evaluations: [] }).evaluations.length <= 100);
  }
  policy.behave((path, _body, res) => {
    res.writeHead(path.includes('search') ? 404 : 500).end();
    return 'answered';
  });
  await refused(reader.get('/tasks'), 503, 'policy_unavailable');
});

test('work is taken from tasks that are authorized one by one', async () => {
  const actor = await baton.actor();
  const workspace = await makeWorkspace(baton);
  const place = { workspaceId: workspace.id };
  const tasks = [await makeTask(baton, place), await makeTask(baton, place), await makeTask(baton, place)];
  const mine = `task:${tasks[1]?.id}`;
  mode.grant(({ action, resource }) => action === 'sessions.open' || resource === mine);
  const sessionId = await openSession(actor);
  const { items } = await done(actor.post('/work:claim-next', { sessionId, count: 3, ...place }));
  assert.deepEqual(
    items.map(({ task }: { task: { id: string } }) => task.id),
    [tasks[1]?.id],
  );
  const claims = await baton.pool.rows(sql`select from claims where session_id = ${sessionId}`);
  assert.equal(claims.length, 1);
});

describe('POST /authz:check', () => {
  const check = (actor: Actor, checks: object[]) => actor.post('/authz:check', { checks });
  const disable = (resourceId: string) => ({ action: 'disable', resourceType: 'principal', resourceId });
  const cancel = (resourceId: string) => ({ action: 'cancel', resourceType: 'run', resourceId });

  test('queries all objects together, and explains the decisions of the point', async () => {
    const holder = await baton.actor();
    mode.grant(({ who }) => who === holder.iamPrincipalId);
    const worker = { actor: holder, sessionId: await openSession(holder) };
    const runs = [await makeRun(baton, worker), await makeRun(baton, worker)];
    const [mine, other] = runs.map(({ run }) => run.id as string) as [string, string];
    const manager = await baton.actor({ permissions: ['tasks.read'] });
    mode.grant(({ action, resource }) => `${action} ${resource}` === `claims.manage run:${mine}`);
    policy.requests.length = 0;
    const checks = [
      ...Array.from({ length: 48 }, () => cancel(mine)),
      cancel(other),
      disable(holder.principalId),
    ];
    const { results } = await done(check(manager, checks));
    assert.equal(policy.requests.length, 1);
    assert.equal(results[0].allowed, true);
    const { credentialId: _, ...explanation } = results[0].explanation;
    assert.deepEqual(explanation, {
      permission: 'claims.manage',
      source: 'decision_point',
      byAdmin: false,
      roleId: null,
      narrowedBy: [],
      decision: { resource: `run:${mine}`, reasonCode: 'allowed', decisionId: null },
    });
    assert.equal(results[48].reason.code, 'permission_denied');
    assert.deepEqual(results[48].explanation.narrowedBy, ['decision_point']);
    assert.equal(results[48].explanation.source, null);
    assert.equal(results[48].explanation.decision.reasonCode, 'not_in_team');
    assert.equal(results[49].explanation.decision.resource, `tenant:${baton.tenantId}`);
    const reader = await baton.actor({ scopes: ['control-plane:read'] });
    const [narrowed] = (await done(check(reader, [cancel(mine)]))).results;
    assert.deepEqual([narrowed.allowed, narrowed.explanation.narrowedBy], [false, ['token_scope']]);
    assert.equal(narrowed.explanation.decision, null);
  });

  test('checks a rule on its workspace', async () => {
    const workspace = await makeWorkspace(baton);
    const rule = await done(
      admin.post('/rules', {
        key: 'checked',
        workspaceId: workspace.id,
        trigger: { kind: 'event', type: 'task.completed' },
        action: { kind: 'ensure_work', taskType: 'task', fields: { title: 'follow up' } },
      }),
      201,
    );
    const actor = await baton.actor();
    mode.grant(({ action, resource }) => `${action} ${resource}` === `rules.write workspace:${workspace.id}`);
    const enable = { action: 'enable', resourceType: 'rule', resourceId: rule.id };
    const { results } = await done(check(actor, [enable, { ...enable, resourceId: newId() }]));
    assert.deepEqual(
      results.map(({ allowed }: { allowed: boolean }) => allowed),
      [true, false],
    );
  });

  test('is refused as a whole while the point returns no decision', async () => {
    const actor = await baton.actor();
    policy.behave((_path, _body, res) => (res.writeHead(502).end(), 'answered'));
    await refused(check(actor, [cancel(newId()), disable(newId())]), 503, 'policy_unavailable');
    await refused(check(actor, [{ ...cancel(newId()), action: 'enable' }]), 422, 'unknown_action');
  });
});

describe('a token for one decision', () => {
  const tokenFor = (person: Actor, approvalId: string) =>
    baton.issuer.sign({
      sub: person.iamPrincipalId,
      tenant_id: baton.tenantId,
      scope: ['control-plane:decide'],
      purpose_ref: `approval:${approvalId}`,
      acr: 'channel:mail',
    });
  const send = (token: string, path: string, body: object = {}) =>
    baton.request('POST', `/api/v1${path}`, { token, body, headers: { 'idempotency-key': newId() } });

  test('is decided on that approval each time', async () => {
    const person = await baton.actor({ kind: 'human', permissions: [] });
    const task = await makeTask(baton);
    const ask = () =>
      done(admin.post('/approvals', { task: task.id, assignedPrincipalId: person.principalId }), 201);
    const [approval, another] = [await ask(), await ask()];
    const token = await tokenFor(person, approval.id);
    const details = await refused(send(token, `/approvals/${approval.id}:approve`), 403, 'permission_denied');
    assert.equal(details.resource, `approval:${approval.id}`);
    await refused(send(token, `/approvals/${another.id}:approve`), 403, 'outside_purpose');
    await refused(send(token, '/authz:check', { checks: [] }), 403, 'outside_purpose');
    mode.grant(({ action }) => action === 'approvals.decide');
    policy.asked.length = 0;
    assert.equal((await done(send(token, `/approvals/${approval.id}:approve`))).status, 'approved');
    assert.deepEqual(
      askedOf(person).map(({ action, resource }) => `${action} ${resource}`),
      [`approvals.decide approval:${approval.id}`],
    );
    policy.behave((_path, _body, res) => (res.writeHead(500).end(), 'answered'));
    const second = await tokenFor(person, another.id);
    await refused(send(second, `/approvals/${another.id}:reject`), 503, 'policy_unavailable');
  });

  test('the consequences of a decision use the permissions that the point grants to the decider at the time', async () => {
    const person = await baton.actor({ kind: 'human', permissions: [] });
    const outcomes = outcomeTester(baton, person);
    for (const grantsWriting of [true, false]) {
      const { id, task } = await outcomes.gate({ approved: [{ transition: { status: 'in_progress' } }] });
      mode.grant(
        ({ action }) => action === 'approvals.decide' || (grantsWriting && action === 'tasks.write'),
      );
      policy.asked.length = 0;
      await done(send(await tokenFor(person, id), `/approvals/${id}:approve`));
      assert.deepEqual(
        askedOf(person).map(({ action, resource }) => `${action} ${resource}`),
        [`approvals.decide approval:${id}`, `tasks.write task:${task.id}`],
      );
      await outcomes.work();
      const { outcomeStatus, lastError } = await outcomes.outcome(id);
      assert.equal(outcomeStatus, grantsWriting ? 'executed' : 'failed', JSON.stringify(lastError));
      assert.equal(lastError?.code, grantsWriting ? undefined : 'permission_denied');
    }
    await outcomes.close();
  });
});
