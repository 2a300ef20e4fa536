import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  claimTask,
  corePrincipalOf,
  done,
  eventsOf,
  makeTask,
  makeWorker,
  refused,
} from '../../testing/leases.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { evaluationsOf, makeRule, makeRuleWorker, observe, observed } from '../../testing/rules/rules.ts';

let baton: TestCoordination;
let worker: ReturnType<typeof makeRuleWorker>;
before(async () => {
  baton = await startCoordination();
  worker = makeRuleWorker(baton);
});
after(async () => {
  await worker.close();
  await baton.close();
});

const kind = () => `k-${newId()}`;
const task = (id: string) => done(baton.admin.get(`/tasks/${id}`));
const complete = (id: string, version = 1) =>
  done(baton.admin.post(`/tasks/${id}:complete`, {}, { 'if-match': `task-${version}` }));
const only = async (ruleId: string) => {
  const [evaluation, ...others] = await evaluationsOf(baton.admin, ruleId);
  assert.equal(others.length, 0);
  return evaluation;
};

test('ensure_work creates a task with its origin, once per cause, and emits its event', async () => {
  const type = kind();
  const rule = await makeRule(baton.admin, {
    trigger: observed(type),
    condition: { eq: [{ var: 'payload.data.severity' }, 'high'] },
    action: {
      dedupKeyTemplate: `${type}-{{ payload.data.host }}`,
      fields: {
        title: 'Review {{ payload.data.host }}',
        description: 'Load {{payload.data.load}} by {{ trigger.actorId }}.',
        priority: '{{ payload.data.severity }}',
      },
    },
  });
  const { id: observationId, eventId } = await observe(baton.admin, type, {
    host: 'db1',
    severity: 'high',
    load: 7,
  });
  await worker.run();
  await worker.run();
  const evaluation = await only(rule.id);
  const [taskId] = evaluation.createdTaskIds;
  const filed = await task(taskId);
  assert.deepEqual(
    [filed.title, filed.description, filed.priority, filed.createdBy],
    ['Review db1', `Load 7 by ${baton.admin.principalId}.`, 'high', baton.admin.principalId],
  );
  const evidence = [{ kind: 'observation', observationId }];
  assert.deepEqual(filed.origin, { kind: 'rule', ruleId: rule.id, ref: `event:${eventId}`, evidence });
  const item = { dedupKey: `${type}-db1`, taskId, created: true, skipped: false, failed: false };
  const work = [{ ...item, reason: null, refused: null }];
  const { id, createdAt, updatedAt, ...rest } = evaluation;
  assert.ok(createdAt && updatedAt);
  assert.deepEqual(rest, {
    ruleId: rule.id,
    ruleVersion: 1,
    triggerRef: `event:${eventId}`,
    triggerEventId: eventId,
    status: 'matched',
    result: { conditionMatched: true, work },
    evidence,
    skillInvocationId: null,
    createdTaskIds: [taskId],
    error: null,
    nextCheckAt: null,
  });
  assert.deepEqual(await done(baton.admin.get(`/rule-evaluations/${id}`)), evaluation);
  const events = await eventsOf(baton, taskId, rule.id);
  const names = ['ruleId', 'ruleKey', 'ruleVersion', 'evaluationId'];
  const head = { ruleId: rule.id, ruleKey: rule.key, ruleVersion: 1, evaluationId: id };
  const derived = events.find((event) => event.type === 'work.derived');
  assert.deepEqual(derived?.payload, {
    ...head,
    taskId,
    publicId: filed.publicId,
    evidence,
    action: 'ensure_work',
    dedupKey: `${type}-db1`,
    created: true,
  });
  const evaluated = events.filter((event) => event.type === 'rule.evaluated');
  assert.equal(evaluated.length, 1);
  assert.deepEqual(evaluated[0]?.payload, {
    ...head,
    triggerRef: `event:${eventId}`,
    trigger: { kind: 'observation', type },
    result: 'matched',
    conditionMatched: true,
    evidence,
    skillInvocationId: null,
    work,
  });
  assert.ok(names.every((name) => name in (evaluated[0]?.payload ?? {})));
  const caused = await baton.pool.rows(sql`
    select type from events where causation_id = ${eventId} and correlation_id = ${`work-rule:${rule.id}`}
      and actor_id = ${baton.admin.principalId} order by sequence`);
  assert.deepEqual(
    caused.map((row: any) => row.type),
    ['task.created', 'work.derived', 'rule.evaluated'],
  );
});

test('a false condition is recorded as not_matched, and one that compares values without an order as failed', async () => {
  const type = kind();
  const condition = { gt: [{ var: 'payload.data.n' }, 5] };
  const rule = await makeRule(baton.admin, { trigger: observed(type), condition });
  for (const n of [1, 'x', 9]) await observe(baton.admin, type, { n });
  await worker.run();
  const found = await evaluationsOf(baton.admin, rule.id);
  assert.deepEqual(
    found.map(({ status }) => status),
    ['matched', 'failed', 'not_matched'],
  );
  assert.equal(found[1].error.code, 'rule_condition_error');
  assert.deepEqual(found[2].result, { conditionMatched: false, work: [] });
  for (const status of ['matched', 'failed', 'not_matched'])
    assert.equal((await evaluationsOf(baton.admin, rule.id, `&status=${status}`)).length, 1);
  const answer = baton.admin.get(`/rules/${rule.id}/evaluations?status=odd`);
  await refused(answer, 422, 'invalid_status');
});

test('one open task per key, regardless of the rule that created it; after it is closed, a new one is created', async () => {
  const type = kind();
  const action = { dedupKeyTemplate: `${type}-{{ payload.data.host }}` };
  const rules = [
    await makeRule(baton.admin, { trigger: observed(type), action }),
    await makeRule(baton.admin, { trigger: observed(type), action }),
  ];
  await observe(baton.admin, type, { host: 'a' });
  await observe(baton.admin, type, { host: 'a' });
  await worker.run();
  const all = (await Promise.all(rules.map(({ id }) => evaluationsOf(baton.admin, id)))).flat();
  const ids = all.map(({ result }) => result.work[0].taskId);
  assert.equal(new Set(ids).size, 1);
  assert.equal(all.filter(({ result }) => result.work[0].created).length, 1);
  await complete(ids[0]);
  await observe(baton.admin, type, { host: 'a' });
  await worker.run();
  const [newest] = await evaluationsOf(baton.admin, rules[0].id);
  assert.notEqual(newest.result.work[0].taskId, ids[0]);
  const derived = (await eventsOf(baton, ids[0])).filter((event) => event.type === 'work.derived');
  assert.deepEqual(
    derived.map((event) => event.payload['created']),
    [true, false, false, false],
  );
});

test('forEach and where run the action once per item; more than 50 items fail the evaluation', async () => {
  const type = kind();
  const rule = await makeRule(baton.admin, {
    trigger: observed(type),
    action: {
      dedupKeyTemplate: `${type}-{{ item.host }}`,
      forEach: 'payload.data.hosts',
      where: { ne: [{ var: 'item.host' }, 'b'] },
      fields: { title: 'Review {{ item.host }}', customFields: {} },
    },
  });
  const before1 = (await worker.tools.counters.ruleEvaluations.get()).values;
  const counts = Object.fromEntries(before1.map(({ labels, value }) => [labels.result, value]));
  await observe(baton.admin, type, { hosts: [{ host: 'a' }, { host: 'b' }, { host: 'c' }] });
  await observe(baton.admin, type, { hosts: [{ host: 'b' }] });
  await observe(baton.admin, type, { hosts: 7 });
  await observe(baton.admin, type, { hosts: Array.from({ length: 51 }, (_, n) => ({ host: `h${n}` })) });
  await worker.run();
  const { values } = await worker.tools.counters.ruleEvaluations.get();
  const counted = Object.fromEntries(values.map(({ labels, value }) => [labels.result, value]));
  assert.deepEqual(
    ['matched', 'not_matched', 'failed'].map((result) => (counted[result] ?? 0) - (counts[result] ?? 0)),
    [1, 1, 2],
  );
  const [many, wrong, none, two] = await evaluationsOf(baton.admin, rule.id);
  assert.deepEqual([many.error.code, many.createdTaskIds], ['rule_condition_error', []]);
  assert.equal(wrong.error.code, 'rule_condition_error');
  assert.equal(none.status, 'not_matched');
  const titles = await Promise.all(two.createdTaskIds.map(async (id: string) => (await task(id)).title));
  assert.deepEqual(titles, ['Review a', 'Review c']);
});

test('without a template each item of a forEach has its own key, equal ones too', async () => {
  const type = kind();
  const action = { forEach: 'payload.data.hosts', fields: { title: 'Review {{ item }}', customFields: {} } };
  const rule = await makeRule(baton.admin, { trigger: observed(type), action });
  const { eventId } = await observe(baton.admin, type, { hosts: ['a', 'b', 'a'] });
  await worker.run();
  const [evaluation] = await evaluationsOf(baton.admin, rule.id);
  const titles = await Promise.all(
    evaluation.createdTaskIds.map(async (id: string) => (await task(id)).title),
  );
  assert.deepEqual(titles, ['Review a', 'Review b', 'Review a']);
  const keys = [1, 2, 3].map((n) => `rule:${rule.key}:event:${eventId}:${n}`);
  assert.deepEqual(
    evaluation.result.work.map(({ dedupKey }: any) => dedupKey),
    keys,
  );
  const { results } = await done(
    baton.admin.post('/rules:dry-run', {
      key: rule.key,
      trigger: observed(type),
      action: { kind: 'ensure_work', taskType: 'task', ...action },
    }),
  );
  assert.deepEqual(
    results[0].would.work.map(({ dedupKey }: any) => dedupKey),
    keys,
  );
});

test('relations: spawned by and dependent on the tasks in templates; a missing task refuses its item', async () => {
  const type = kind();
  const [origin, first, second] = [await makeTask(baton), await makeTask(baton), await makeTask(baton)];
  const rule = await makeRule(baton.admin, {
    trigger: observed(type),
    action: {
      fields: {
        title: 'Next',
        relations: { spawnedBy: '{{ payload.data.origin }}', dependsOn: '{{ payload.data.needs }}' },
      },
    },
  });
  await observe(baton.admin, type, { origin: origin.publicId, needs: [first.id, second.publicId] });
  await observe(baton.admin, type, { origin: newId() });
  await observe(baton.admin, type, { needs: [newId()] });
  await observe(baton.admin, type, { needs: [7] });
  await worker.run();
  const found = await evaluationsOf(baton.admin, rule.id);
  assert.deepEqual(
    found.map(({ status, error, result }) => [status, error?.code, result.work[0].refused]),
    [
      ['failed', 'work_items_refused', 'invalid_relations'],
      ['failed', 'work_items_refused', 'dependency_not_found'],
      ['failed', 'work_items_refused', 'relation_target_not_found'],
      ['matched', undefined, null],
    ],
  );
  const relations = await done(baton.admin.get(`/tasks/${found[3].createdTaskIds[0]}/relations`));
  assert.deepEqual(
    new Set(relations.items.map((one: any) => `${one.type} ${one.toTaskId}`)),
    new Set([`spawned_by ${origin.id}`, `depends_on ${first.id}`, `depends_on ${second.id}`]),
  );
});

test('a type from a template must be one of those listed; an assignee may be a person or a role', async () => {
  const type = kind();
  const role = await done(baton.admin.post('/roles', { slug: `r${newId().slice(-8)}`, name: 'r' }), 201);
  const rule = await makeRule(baton.admin, {
    trigger: observed(type),
    action: {
      taskType: '{{ payload.data.type }}',
      taskTypes: ['task'],
      fields: { title: 'x', assignee: '{{ payload.data.to }}' },
      acceptance: [{ key: 'seen', kind: 'human', description: 'Somebody saw it.' }],
    },
  });
  const { principalId } = baton.admin;
  await observe(baton.admin, type, { type: 'task', to: principalId });
  await observe(baton.admin, type, { type: 'task', to: `role:${role.slug}` });
  await observe(baton.admin, type, { type: 'other' });
  await observe(baton.admin, type, { type: 'task', to: newId() });
  await worker.run();
  const [absent, other, byRole, byId] = await evaluationsOf(baton.admin, rule.id);
  assert.equal(absent.result.work[0].refused, 'not_found');
  assert.equal(other.result.work[0].refused, 'task_type_not_allowed');
  const filed = await task(byId.createdTaskIds[0]);
  assert.deepEqual([filed.assigneeId, filed.acceptanceChecks], [principalId, 1]);
  const requirements = await done(baton.admin.get(`/tasks/${byRole.createdTaskIds[0]}/requirements`));
  assert.match(JSON.stringify(requirements), new RegExp(role.slug));
});

test('update_work changes the open task of its key, and leaves a claimed one unchanged', async () => {
  const type = kind();
  const key = `${type}-{{ payload.data.host }}`;
  const [opens, changes] = [`${type}.open`, `${type}.change`];
  await makeRule(baton.admin, {
    trigger: observed(opens),
    action: { dedupKeyTemplate: key, fields: { title: 'Look', priority: 'low' } },
  });
  const rule = await makeRule(baton.admin, {
    trigger: observed(changes),
    action: {
      kind: 'update_work',
      taskType: undefined,
      dedupKeyTemplate: key,
      fields: { priority: '{{ payload.data.priority }}' },
    },
  });
  await observe(baton.admin, changes, { host: 'a', priority: 'high' });
  await observe(baton.admin, opens, { host: 'a' });
  await observe(baton.admin, changes, { host: 'a', priority: 'high' });
  await observe(baton.admin, changes, { host: 'a', priority: 'high' });
  await worker.run();
  const [again, changed, before] = await evaluationsOf(baton.admin, rule.id);
  const reasons = [again, changed, before].map(({ result }) => result.work[0].reason);
  assert.deepEqual(reasons, ['unchanged', null, 'no_open_work']);
  const { taskId } = changed.result.work[0];
  assert.equal((await task(taskId)).priority, 'high');
  const reconciled = (await eventsOf(baton, taskId)).filter((event) => event.type === 'work.reconciled');
  assert.deepEqual(
    reconciled.map((event) => [event.payload['action'], event.payload['changes'], event.payload['dedupKey']]),
    [['update_work', ['priority'], `${type}-a`]],
  );
  await claimTask(await makeWorker(baton), taskId);
  await observe(baton.admin, changes, { host: 'a', priority: 'critical' });
  await worker.run();
  const [held] = await evaluationsOf(baton.admin, rule.id);
  assert.deepEqual([held.status, held.result.work[0].reason], ['matched', 'task_claimed']);
  assert.equal((await task(taskId)).priority, 'high');
});

test('a changed rule updates the tasks that its older version created', async () => {
  const type = kind();
  const action = { kind: 'ensure_work', taskType: 'task', dedupKeyTemplate: type, fields: { title: 'Old' } };
  const rule = await makeRule(baton.admin, { trigger: observed(type), action });
  await observe(baton.admin, type);
  await worker.run();
  const [{ createdTaskIds }] = await evaluationsOf(baton.admin, rule.id);
  const changed = { action: { ...action, fields: { title: 'New' } } };
  await done(baton.admin.patch(`/rules/${rule.id}`, changed, { 'if-match': 'rule-1' }));
  await observe(baton.admin, type);
  await observe(baton.admin, type);
  await worker.run();
  const filed = await task(createdTaskIds[0]);
  assert.deepEqual([filed.title, filed.version], ['New', 2]);
  const reconciled = (await eventsOf(baton, filed.id)).filter((event) => event.type === 'work.reconciled');
  assert.deepEqual(
    reconciled.map((event) => [event.payload['ruleVersion'], event.payload['changes']]),
    [[2, ['title']]],
  );
});

test('request_decision creates a task with a gate for a person', async () => {
  const type = kind();
  const rule = await makeRule(baton.admin, {
    trigger: observed(type),
    action: {
      kind: 'request_decision',
      fields: { title: 'May {{ payload.data.who }} deploy?', approver: '{{ trigger.actorId }}' },
    },
  });
  await observe(baton.admin, type, { who: 'ada' });
  await worker.run();
  const { createdTaskIds } = await only(rule.id);
  const { items } = await done(baton.admin.get(`/approvals?taskId=${createdTaskIds[0]}`));
  assert.equal(items.length, 1);
  const { gate, assignedPrincipalId, requestedByPrincipalId, comment } = items[0];
  const { principalId } = baton.admin;
  assert.deepEqual(
    [gate, assignedPrincipalId, requestedByPrincipalId, comment],
    [true, principalId, await corePrincipalOf(baton), 'May ada deploy?'],
  );
  const derived = (await eventsOf(baton, createdTaskIds[0])).find((event) => event.type === 'work.derived');
  assert.equal(derived?.payload['approvalId'], items[0].id);
  // Principals that work on the task can't withdraw the request.
  const agent = await baton.actor({ permissions: ['approvals.manage', 'claims.manage'] });
  await refused(agent.post(`/approvals/${items[0].id}:cancel`), 403, 'permission_denied');
  await done(baton.admin.post(`/approvals/${items[0].id}:cancel`));
});

test('cancel_work and complete_work close the task of a key; a closed task stays unchanged', async () => {
  const type = kind();
  const key = `${type}-{{ payload.data.host }}`;
  await makeRule(baton.admin, { trigger: observed(`${type}.open`), action: { dedupKeyTemplate: key } });
  const closing = (action: string) =>
    makeRule(baton.admin, {
      trigger: observed(`${type}.${action}`),
      action: { kind: `${action}_work`, taskType: undefined, fields: undefined, dedupKeyTemplate: key },
    });
  const [cancels, completes] = [await closing('cancel'), await closing('complete')];
  for (const host of ['a', 'b']) await observe(baton.admin, `${type}.open`, { host });
  await observe(baton.admin, `${type}.cancel`, { host: 'a' });
  await observe(baton.admin, `${type}.complete`, { host: 'b' });
  await observe(baton.admin, `${type}.complete`, { host: 'b' });
  await observe(baton.admin, `${type}.complete`, { host: 'a' });
  await observe(baton.admin, `${type}.complete`, { host: 'c' });
  await worker.run();
  const done1 = await only(cancels.id);
  const [c, a, again, b] = await evaluationsOf(baton.admin, completes.id);
  assert.deepEqual(
    [c, a, again, b, done1].map(({ status, result }) => [status, result.work[0].reason]),
    [
      ['matched', 'no_open_work'],
      ['matched', 'already_closed'],
      ['matched', 'already_done'],
      ['matched', null],
      ['matched', null],
    ],
  );
  const [one, other] = [await task(done1.result.work[0].taskId), await task(b.result.work[0].taskId)];
  assert.deepEqual(
    [one.systemStatusCategory, other.systemStatusCategory],
    ['terminal_cancelled', 'terminal_success'],
  );
  const reconciled = (await eventsOf(baton, other.id)).find((event) => event.type === 'work.reconciled');
  const { action, check, target, changes } = reconciled?.payload ?? {};
  assert.deepEqual([action, check, target, changes], ['complete_work', 'rule-evidence', 'dedup', ['status']]);
});

test('complete_work of a task with checks opens an attempt, with the cause as evidence', async () => {
  const type = kind();
  const acceptance = [{ key: 'deployed', kind: 'external_state', description: 'It runs.' }];
  const target = await makeTask(baton, { acceptance });
  const rule = await makeRule(baton.admin, {
    trigger: observed(type, { actorId: baton.admin.principalId }),
    action: {
      kind: 'complete_work',
      taskType: undefined,
      fields: undefined,
      target: 'task',
      check: 'deployed',
    },
  });
  const { id: observationId } = await observe(baton.admin, type, {}, { task: target.id });
  const other = await baton.actor();
  await observe(other, type, {}, { task: target.id });
  await worker.run();
  const evaluation = await only(rule.id);
  assert.equal(evaluation.status, 'matched');
  const proven = await task(target.id);
  assert.deepEqual(proven.evidence, [{ kind: 'observation', observationId, check: 'deployed' }]);
  assert.equal(proven.verification.attempt, 1);
  const events = await eventsOf(baton, target.id);
  const reconciled = events.find((event) => event.type === 'work.reconciled');
  assert.equal(reconciled?.payload['verificationId'], proven.verification.id);
  const { items } = await done(baton.admin.get(`/tasks/${target.id}/verifications`));
  assert.deepEqual([items[0].trigger, items[0].triggerRef], ['rule', evaluation.id]);
  await observe(baton.admin, type, {}, { task: target.id });
  await worker.run();
  const [pending] = await evaluationsOf(baton.admin, rule.id);
  assert.equal(pending.result.work[0].reason, 'verification_pending');
});

test('events before a rule was enabled, or while it was disabled, are never evaluated', async () => {
  const type = kind();
  await observe(baton.admin, type, { n: 1 });
  const rule = await makeRule(baton.admin, { trigger: observed(type), status: 'disabled' });
  await observe(baton.admin, type, { n: 2 });
  await done(baton.admin.post(`/rules/${rule.id}:enable`));
  const seen = await observe(baton.admin, type, { n: 3 });
  await worker.run();
  await done(baton.admin.post(`/rules/${rule.id}:disable`));
  await observe(baton.admin, type, { n: 4 });
  await done(baton.admin.post(`/rules/${rule.id}:enable`));
  await worker.run();
  assert.equal((await only(rule.id)).triggerRef, `event:${seen.eventId}`);
});

test('filters on source and author; events of a workspace reach its rules and those of the tenant', async () => {
  const type = kind();
  const [here, there] = [await makeWorkspace(baton), await makeWorkspace(baton)];
  const other = await baton.actor();
  const ofTenant = await makeRule(baton.admin, { trigger: observed(type) });
  const ofHere = await makeRule(baton.admin, { trigger: observed(type), workspaceId: here.id });
  const ofSource = await makeRule(baton.admin, { trigger: observed(type, { source: 'ci' }) });
  const ofAuthor = await makeRule(baton.admin, {
    trigger: observed(type, { actorId: other.principalId }),
  });
  await observe(baton.admin, type, {}, { workspaceId: here.id, source: 'ci' });
  await observe(baton.admin, type, {}, { workspaceId: there.id, source: 'cd' });
  await observe(other, type);
  await worker.run();
  const counts = [];
  for (const { id } of [ofTenant, ofHere, ofSource, ofAuthor])
    counts.push((await evaluationsOf(baton.admin, id)).length);
  assert.deepEqual(counts, [3, 2, 1, 1]);
  const [, filed] = await evaluationsOf(baton.admin, ofTenant.id);
  assert.equal((await task(filed.createdTaskIds[0])).workspaceId, there.id);
});

test('events of rules trigger no rule, and a client cannot disguise its events as those of a rule', async () => {
  const type = kind();
  const rule = await makeRule(baton.admin, { trigger: { kind: 'event', type: 'task.created' } });
  await makeRule(baton.admin, { trigger: observed(type) });
  await observe(baton.admin, type);
  await worker.run();
  assert.equal((await evaluationsOf(baton.admin, rule.id)).length, 0);
  await done(baton.admin.post('/tasks', { title: 'x' }, { 'x-correlation-id': `work-rule:${rule.id}` }), 201);
  await worker.run();
  assert.equal((await evaluationsOf(baton.admin, rule.id)).length, 1);
  await done(baton.admin.post(`/rules/${rule.id}:disable`));
});

test('a rule acts with the permissions that its enabler had and still has, and not at all once they are inactive', async () => {
  const type = kind();
  const author = await baton.actor({
    permissions: ['rules.write', 'tasks.write', 'tasks.read', 'observations.write'],
  });
  const weak = await baton.actor({ permissions: ['rules.write'] });
  const rule = await makeRule(author, { trigger: observed(type) });
  const poor = await makeRule(weak, { trigger: observed(type), condition: true });
  const reads = await makeRule(weak, {
    trigger: observed(type),
    condition: { exists: 'task.title' },
  });
  await observe(baton.admin, type);
  await worker.run();
  assert.equal((await only(rule.id)).status, 'matched');
  const refusedWork = await only(poor.id);
  assert.deepEqual(
    [refusedWork.error.code, refusedWork.result.work[0].refused],
    ['work_items_refused', 'permission_denied'],
  );
  assert.equal((await only(reads.id)).error.code, 'permission_denied');
  // Permissions granted in the meantime don't count, nor do revoked ones.
  const give = (principalId: string, permissions: string[]) =>
    baton.pool.run(
      sql`update iam_bindings set permissions = ${permissions} where principal_id = ${principalId}`,
    );
  await give(weak.principalId, ['rules.write', 'tasks.write', 'tasks.read']);
  await give(author.principalId, ['rules.write']);
  await observe(baton.admin, type);
  await worker.run();
  const codes = [];
  for (const { id } of [rule, poor]) codes.push((await evaluationsOf(baton.admin, id))[0].error.code);
  assert.deepEqual(codes, ['work_items_refused', 'work_items_refused']);
  await give(author.principalId, ['rules.write', 'tasks.write']);
  await done(baton.admin.post(`/principals/${author.principalId}:disable`, { reason: 'left' }));
  await observe(baton.admin, type);
  await worker.run();
  const [gone] = await evaluationsOf(baton.admin, rule.id);
  assert.deepEqual(
    [gone.status, gone.error.code, gone.createdTaskIds],
    ['failed', 'credential_inactive', []],
  );
});

test('a rule of a person with partial visibility neither reads nor changes objects that they do not see', async () => {
  const type = kind();
  const { person, mine, other } = await makeNarrowPerson(baton);
  const rule = await makeRule(person, {
    trigger: observed(type),
    condition: { exists: 'task.title' },
    action: { fields: { title: '{{ task.title }}', workspaceId: '{{ payload.data.place }}' } },
  });
  const hidden = await makeTask(baton, { workspaceId: other.id });
  const shown = await makeTask(baton, { workspaceId: mine.id });
  await observe(baton.admin, type, { place: mine.id }, { task: hidden.id, workspaceId: mine.id });
  await observe(baton.admin, type, { place: other.id }, { task: shown.id });
  await observe(baton.admin, type, { place: mine.id }, { task: hidden.id });
  await worker.run();
  const found = await evaluationsOf(baton.admin, rule.id);
  assert.deepEqual(
    found.map(({ status, result }) => [status, result.work[0]?.refused]),
    [
      ['failed', 'not_found'],
      ['not_matched', undefined],
    ],
  );
});
