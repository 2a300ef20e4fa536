import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, beforeEach, test } from 'node:test';
import { Registry } from 'prom-client';
import { createLog } from '@baton/kernel/process/log';
import { assertTookLess, byDepth, isLongProof } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import type { Decision, Question } from '../../access/policy/decision.ts';
import { Differences } from '../../access/policy/differences.ts';
import { policyCounters } from '../../access/policy/policy-counters.ts';
import { openShadow } from '../../access/policy/shadow.ts';
import { startPolicyService, type TestPolicy } from '../../testing/access/policy-service.ts';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { claimTask, done, makeTask, openSession, refused } from '../../testing/leases.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { until } from '../../testing/wait-until.ts';

/** CP_AUTHZ_MODE shadow: local permissions decide, and a decision point's decisions are compared. */

let baton: TestCoordination;
let policy: TestPolicy;
before(async () => {
  policy = await startPolicyService();
  baton = await startCoordination({
    ...policy.env,
    CP_AUTHZ_MODE: 'shadow',
    CP_POLICY_CACHE_TTL_SECONDS: '0',
    // Longer than a response takes on a busy machine.
    CP_POLICY_TIMEOUT_SECONDS: byDepth('30', '1'),
    CP_LEGACY_API_KEYS_ENABLED: 'true',
  });
});
after(async () => {
  await baton.close();
  await policy.close();
});
beforeEach(async () => {
  policy.behave(undefined);
  policy.decide(() => true);
  policy.asked.length = 0;
});

const askedOf = (actor: Actor) => policy.asked.filter(({ who }) => who === actor.iamPrincipalId);

async function figures(): Promise<Record<string, number>> {
  const text = await (await fetch(`${baton.url}/metrics`)).text();
  const named = text.matchAll(/^authz_(\w+)_total (\d+)/gm);
  return Object.fromEntries([...named].map(([, name, value]) => [name as string, Number(value)]));
}

const differences = (actor = baton.admin) => done(actor.get('/operations/authz-differences'));

test('local permissions decide; each difference is counted and listed, the newest first', async () => {
  const before = await figures();
  const reader = await baton.actor({ kind: 'human', permissions: ['tasks.read'] });
  const task = await makeTask(baton);
  policy.decide(({ who, action }) => (who === reader.iamPrincipalId ? action === 'tasks.write' : true));
  await done(reader.get(`/tasks/${task.id}`));
  await until(async () => (await differences()).total === 1);
  await refused(reader.post('/tasks', { title: 'no' }), 403, 'permission_denied');
  await until(async () => (await differences()).total === 2);
  const { items, total, nextCursor, mode } = await differences();
  assert.deepEqual([total, nextCursor, mode], [2, null, 'shadow']);
  const [{ at, decisionId, ...newest }, { resource, local, point, reasonCode }] = items;
  assert.deepEqual(newest, {
    endpoint: 'createTask',
    principalId: reader.principalId,
    action: 'tasks.write',
    resource: `tenant:${baton.tenantId}`,
    local: false,
    point: true,
    reasonCode: 'allowed',
  });
  assert.ok(Math.abs(Date.parse(at) - Date.now()) < 60_000);
  assert.match(decisionId, /^decision-/);
  assert.deepEqual(
    [resource, local, point, reasonCode],
    [`task:${task.id}`, true, false, 'denied_no_binding'],
  );
  const after = await figures();
  assert.equal((after['shadow_divergence'] ?? 0) - (before['shadow_divergence'] ?? 0), 2);
  assert.ok((after['shadow_checks'] ?? 0) >= (before['shadow_checks'] ?? 0) + 2);
});

test('a caller with permission to see operations can list the differences of its own tenant', async () => {
  assert.deepEqual((await differences(baton.otherAdmin)).items, []);
  await refused(
    (await baton.actor({ permissions: [] })).get('/operations/authz-differences'),
    403,
    'permission_denied',
  );
  for (const permission of ['operations.read', 'operations.manage'] as const)
    assert.equal((await differences(await baton.actor({ permissions: [permission] }))).mode, 'shadow');
});

test('an unavailable, slow or broken point is counted, and changes or delays no response', async () => {
  const task = await makeTask(baton);
  const reader = await baton.actor({ permissions: ['tasks.read'] });
  await done(reader.get(`/tasks/${task.id}`));
  await until(() => askedOf(reader).length === 1);
  const { shadow_unavailable: before = 0 } = await figures();
  const held: ServerResponse[] = [];
  policy.behave((_path, _body, res) => (held.push(res), 'answered'));
  const startedAt = performance.now();
  for (let n = 0; n < 5; n += 1) await done(reader.get(`/tasks/${task.id}`));
  // A comparison's query times out after 1 s: if the requests waited for it, five of them would take 5 s.
  assertTookLess(startedAt, 3000);
  if (!isLongProof) {
    policy.behave((_path, _body, res) => (res.destroy(), 'answered'));
    for (const res of held) res.destroy();
  }
  await until(async () => ((await figures())['shadow_unavailable'] ?? 0) >= before + 5);
  const total = (await differences()).total;
  policy.behave((_path, _body, res) => (res.writeHead(500).end(), 'answered'));
  await done(reader.get(`/tasks/${task.id}`));
  await until(async () => ((await figures())['shadow_unavailable'] ?? 0) >= before + 6);
  assert.equal((await differences()).total, total, 'a missing decision is not a difference');
});

test('keys, local-only permissions and the rows of lists are not compared', async () => {
  const agent = await baton.actor({ permissions: ['tasks.read', 'delegations.manage'] });
  const path = `/principals/${agent.principalId}/api-keys`;
  const { key } = await done(baton.admin.post(path, { permissions: ['tasks.read'] }), 201);
  policy.decide(() => false);
  await done(baton.request('GET', '/api/v1/tasks', { token: key }));
  await done(agent.get('/delegations'));
  await done(agent.get('/tasks'));
  await refused(agent.get(`/tasks/${newId()}`), 404, 'not_found');
  await until(() => askedOf(agent).length > 0);
  assert.deepEqual(
    askedOf(agent).map(({ action, resource }) => `${action} ${resource}`),
    [`tasks.read tenant:${baton.tenantId}`],
  );
});

test('claims and heartbeats are unaffected, and are compared too', async () => {
  policy.decide(({ action }) => action !== 'tasks.claim');
  const actor = await baton.actor();
  const worker = { actor, sessionId: await openSession(actor) };
  const task = await makeTask(baton);
  const claim = await claimTask(worker, task.id);
  const asked = () =>
    askedOf(actor).filter(
      ({ action, resource }) => `${action} ${resource}` === `tasks.claim task:${task.id}`,
    );
  await until(() => asked().length === 1);
  // While a query to the decision point is in progress it isn't sent again, so the request is repeated.
  await until(async () => {
    await done(actor.post(`/claims/${claim.id}:heartbeat`, {}));
    return asked().length > 1;
  });
});

test('a moved object is also compared in its new workspace, and only once', async () => {
  const [from, to] = [await makeWorkspace(baton), await makeWorkspace(baton)];
  const task = await makeTask(baton, { workspaceId: from.id });
  const agent = await baton.actor({ permissions: ['tasks.write'] });
  policy.decide(({ resource }) => resource !== `workspace:${to.id}`);
  const before = (await differences()).total;
  await done(agent.patch(`/tasks/${task.id}`, { workspaceId: to.id }, { 'if-match': 'task-1' }));
  await until(async () => (await differences()).total === before + 1);
  await done(agent.post('/tasks', { title: 'x', workspaceId: from.id }), 201);
  await until(() => askedOf(agent).length === 4);
  assert.deepEqual(
    new Set(askedOf(agent).map(({ action, resource }) => `${action} ${resource}`)),
    new Set(
      [`task:${task.id}`, `workspace:${from.id}`, `workspace:${to.id}`].map((name) => `tasks.write ${name}`),
    ),
  );
  const [{ resource, local, point }] = (await differences()).items;
  assert.deepEqual([resource, local, point], [`workspace:${to.id}`, true, false]);
});

test('the queue for the point is bounded: further comparisons are counted as skipped', async () => {
  const registry = new Registry();
  const counters = policyCounters(registry);
  let answer: (() => void) | undefined;
  const held = new Promise<void>((done) => {
    answer = done;
  });
  let asked = 0;
  const shadow = openShadow({
    counters,
    differences: new Differences(),
    log: createLog({ name: 'test', level: 'silent' }),
    point: {
      async decide(questions: readonly Question[]): Promise<Decision[]> {
        asked += 1;
        await held;
        return questions.map(() => ({
          allowed: true,
          reasonCode: 'allowed',
          decisionId: null,
          version: null,
        }));
      },
      objectsOf: () => Promise.resolve(undefined),
      forget: () => undefined,
    },
  });
  const caller = {
    tenantId: newId(),
    principalId: newId(),
    kind: 'agent',
    iamPrincipalId: newId(),
    permissions: new Set<string>(),
  } as const;
  const places = {
    ofRequest: () => Promise.resolve([]),
    ofType: () => Promise.resolve([]),
    ofKind: () => Promise.resolve(new Map()),
  };
  const answers = new Map([['tasks.read', true]] as const);
  const placed = new Map();
  for (let n = 0; n < 1500; n += 1)
    shadow.observe({ caller, endpoint: 'getTask', answers, placed, places, db: baton.pool });
  await until(() => asked === 8, 'eight at once');
  const skipped = (await counters.shadowSkipped.get()).values[0]?.value;
  assert.equal(skipped, 1500 - 8 - 1000);
  answer?.();
  await until(() => asked === 1008, 'the queued ones');
  await shadow.close();
  shadow.observe({ caller, endpoint: 'getTask', answers, placed, places, db: baton.pool });
  assert.equal(asked, 1008);
});

test('a thousand differences per tenant are kept, for fifty tenants', () => {
  const kept = new Differences();
  const one = { endpoint: 'getTask', principalId: newId(), action: 'tasks.read', resource: 'task:1' };
  const difference = (n: number) => ({
    ...one,
    at: new Date(n).toISOString(),
    local: true,
    point: false,
    reasonCode: String(n),
    decisionId: null,
  });
  for (let n = 0; n < 1003; n += 1) kept.add('busy', difference(n));
  const { items, total } = kept.of('busy');
  assert.deepEqual([items.length, total], [1000, 1003]);
  assert.deepEqual([items[0]?.reasonCode, items[999]?.reasonCode], ['1002', '3']);
  for (let n = 0; n < 50; n += 1) kept.add(`tenant ${n}`, difference(n));
  assert.deepEqual(kept.of('busy'), { items: [], total: 0 });
  assert.equal(kept.of('tenant 0').total, 1);
});
