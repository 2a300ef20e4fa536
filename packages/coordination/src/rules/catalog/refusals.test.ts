import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { makeFamily } from '../../testing/execution/children.ts';
import { done, makeWorker, openSession, refused } from '../../testing/leases.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { agentSpec, publishAgent } from '../../testing/registry/agents.ts';
import { makeCallable } from '../../testing/results/invocations.ts';
import { makeRule, observed, ruleBody } from '../../testing/rules/rules.ts';

let baton: TestCoordination;
let ruleId: string;
before(async () => {
  baton = await startCoordination();
  ({ id: ruleId } = await makeRule(baton.admin));
});
after(() => baton.close());

const action = (fields: object, more: object = {}) => ({
  action: { kind: 'ensure_work', taskType: 'task', fields: { title: 'x', ...fields }, ...more },
});

/** The fields of a rule that PATCH accepts; the others are set once. */
const changeable = ['description', 'trigger', 'condition', 'interpretation', 'action', 'goalId', 'identity'];

/** Sends the documents to every operation that accepts them: create, validate, dry-run and change. */
async function refusedEverywhere(
  status: number,
  code: string,
  wrong: Record<string, unknown>,
  actor: Actor = baton.admin,
): Promise<any[]> {
  const details = [];
  for (const path of ['/rules', '/rules:validate', '/rules:dry-run'])
    details.push(await refused(actor.post(path, { ...ruleBody(), ...wrong }), status, code));
  if (Object.keys(wrong).every((name) => changeable.includes(name)))
    details.push(
      await refused(actor.patch(`/rules/${ruleId}`, wrong, { 'if-match': 'rule-1' }), status, code),
    );
  return details;
}

const agentNamedIn: readonly [string, (agent: string) => Record<string, unknown>][] = [
  ['trigger.agent', (agent) => ({ trigger: observed('x', { agent }) })],
  ['action.fields.assignee', (agent) => action({ assignee: `agent:${agent}` })],
  ['identity.agent', (agent) => ({ identity: { agent } })],
];

test('a retired or hidden agent is unknown', async () => {
  const { person, mine, other } = await makeNarrowPerson(baton);
  const at = (place: { id: string }) =>
    publishAgent(baton.admin, agentSpec({ work: { workspace: place.id } }));
  const [retired, hidden, shown] = [await publishAgent(baton.admin), await at(other), await at(mine)];
  await done(baton.admin.post(`/agents/${retired.key}:retire`, { reason: 'over' }));
  for (const [field, naming] of agentNamedIn) {
    for (const details of await refusedEverywhere(422, 'unknown_agent', naming(retired.key)))
      assert.deepEqual(details, { field, agentKey: retired.key });
    const absent = await refusedEverywhere(422, 'unknown_agent', naming('nobody'), person);
    const unseen = await refusedEverywhere(422, 'unknown_agent', naming(hidden.key), person);
    assert.deepEqual(
      unseen,
      absent.map((details) => ({ ...details, agentKey: hidden.key })),
    );
    await makeRule(person, naming(shown.key));
  }
});

test('permission_escalation: a rule cannot give an author the permissions of an agent', async () => {
  const permissions = ['tasks.write', 'tasks.read'] as const;
  const { key } = await publishAgent(baton.admin, agentSpec({ identity: { permissions } }));
  const identity = { agent: key };
  const author = await baton.actor({ permissions: ['rules.write', 'rules.read', 'tasks.read'] });
  const missing = { missing: ['tasks.write'] };
  for (const details of await refusedEverywhere(403, 'permission_escalation', { identity }, author))
    assert.deepEqual(details, missing);
  // The same applies if another principal set the rule's identity and the author changes or enables the rule.
  const rule = await makeRule(baton.admin, { identity, status: 'disabled' });
  const change = (body: object, actor: Actor, version = 1) =>
    actor.patch(`/rules/${rule.id}`, body, { 'if-match': `rule-${version}` });
  assert.deepEqual(
    await refused(change({ description: 'x' }, author), 403, 'permission_escalation'),
    missing,
  );
  assert.deepEqual(
    await refused(author.post(`/rules/${rule.id}:enable`), 403, 'permission_escalation'),
    missing,
  );
  await done(change({ identity: null }, author));
  await done(author.post(`/rules/${rule.id}:enable`));
  const strong = await baton.actor({ permissions: ['rules.write', ...permissions] });
  assert.deepEqual((await done(change({ identity }, strong, 2))).identity, identity);
});

test('a rule whose agent was retired can be disabled, but not enabled', async () => {
  const { key } = await publishAgent(baton.admin);
  const rule = await makeRule(baton.admin, { identity: { agent: key } });
  await done(baton.admin.post(`/agents/${key}:retire`, { reason: 'over' }));
  await done(baton.admin.post(`/rules/${rule.id}:disable`));
  const details = await refused(baton.admin.post(`/rules/${rule.id}:enable`), 422, 'unknown_agent');
  assert.deepEqual(details, { field: 'identity.agent', agentKey: key });
});

const customFields = (fields: object) => action({ customFields: fields });
let nested: object = {};
for (let level = 0; level < 21; level += 1) nested = { nested };
const human = { key: 'seen', kind: 'human', description: 'Somebody saw it.' };
const artifact = { ...human, kind: 'deterministic', spec: { artifact: { type: 'nothing' } } };

const documents: [string, Record<string, unknown>][] = [
  ['invalid_rule_trigger', { trigger: { kind: 'odd', type: 'x' } }],
  ['invalid_rule_condition', { condition: { odd: [1, 2] } }],
  ['invalid_rule_interpretation', { interpretation: { skill: 'bare' } }],
  ['invalid_rule_action', action({}, { kind: 'odd' })],
  ['invalid_document', customFields({ rounded: 2 ** 60 })],
  ['payload_too_large', customFields({ long: 'x'.repeat(70_000) })],
  ['payload_too_deep', customFields({ nested })],
  ['secret_material_rejected', customFields({ api_key: 'y' })],
  ['unknown_agent', { trigger: observed('x', { agent: 'ada' }) }],
  ['unknown_task_type', action({}, { taskType: 'nothing' })],
  ['unknown_role', action({ assignee: 'role:none' })],
  ['unknown_skill', { interpretation: { skill: 'none@1' } }],
  ['invalid_acceptance_spec', action({}, { acceptance: [artifact] })],
  ['unknown_agent', action({ assignee: 'agent:ada' })],
  ['unknown_agent', { identity: { agent: 'ada' } }],
  ['invalid_rule', { identity: 'ada' }],
  ['invalid_rule', { identity: { agent: 'Not A Key' } }],
  ['invalid_rule', { identity: { agent: 'ada', replicas: 2 } }],
];

for (const [code, wrong] of documents)
  test(`${code}: returned by every operation with the documents of a rule`, async () => {
    await refusedEverywhere(422, code, wrong);
  });

test('the references of a rule must be usable: its workspace, its goal, a skill without side effects', async () => {
  await refusedEverywhere(422, 'invalid_status', { status: 'archived' });
  const workspace = await makeWorkspace(baton);
  await done(baton.admin.post(`/workspaces/${workspace.id}:archive`));
  await refusedEverywhere(422, 'workspace_archived', { workspaceId: workspace.id });
  const goal = await done(baton.admin.post('/goals', { title: 'g' }), 201);
  await done(baton.admin.patch(`/goals/${goal.id}`, { status: 'abandoned' }, { 'if-match': 'goal-1' }));
  await refusedEverywhere(422, 'goal_abandoned', { goalId: goal.id });
  const writes = await makeCallable(baton.admin, { sideEffects: 'external_write' });
  await refusedEverywhere(422, 'rule_skill_side_effects', {
    interpretation: { skill: `${writes.name}@${writes.version}` },
  });
  await refusedEverywhere(404, 'not_found', { goalId: newId() });
});

test('cursors of other lists and malformed ones are refused', async () => {
  for (const path of ['/rules', `/rules/${ruleId}/versions`, `/rules/${ruleId}/evaluations`])
    await refused(baton.admin.get(`${path}?cursor=x`), 422, 'invalid_cursor');
});

test('inside of a launched run no rule can be created, changed or enabled; after the run, and for disabling, this is allowed', async () => {
  const [parent, child] = [await makeWorker(baton), await makeWorker(baton)];
  const rule = await makeRule(child.actor, { status: 'disabled' });
  const { child: launched } = await makeFamily(baton, { parent, child });
  const writes = () => [
    child.actor.post('/rules', ruleBody()),
    child.actor.patch(`/rules/${rule.id}`, { description: 'x' }, { 'if-match': 'rule-1' }),
    child.actor.post(`/rules/${rule.id}:enable`),
  ];
  for (const write of writes()) {
    const details = await refused(write, 403, 'child_grant_exceeded');
    assert.deepEqual(details, { runId: launched.run.id, required: ['rules.write'] });
  }
  await done(child.actor.post(`/rules/${rule.id}:disable`));
  await done(child.actor.post(`/runs/${launched.run.id}:fail`));
  for (const [index, write] of writes().entries()) await done(write, index === 0 ? 201 : 200);
});

test('a rule that is written under a delegation has only the permissions of the delegation', async () => {
  const narrow = await startCoordination({ CP_DELEGATION_NARROWS: 'true' });
  try {
    const [person, agent] = [await narrow.actor({ kind: 'human' }), await narrow.actor()];
    const rule = await makeRule(agent);
    const granted = () =>
      narrow.pool.row<{ permissions: string[] }>(sql`
        select authority -> 'permissions' as permissions from rules where id = ${rule.id}`);
    const under = async (permissions: string[]) => {
      await narrow.pool.run(sql`update delegations set revoked_at = now()`);
      await narrow.pool.run(sql`update sessions set status = 'stale' where status = 'active'`);
      const people = { humanPrincipalId: person.principalId, agentPrincipalId: agent.principalId };
      const { id } = await done(narrow.admin.post('/delegations', { ...people, permissions }), 201);
      await openSession(agent, { onBehalfOf: person.principalId });
      return id;
    };
    const without = await under(['tasks.write']);
    const change = (version: number) =>
      agent.patch(`/rules/${rule.id}`, { description: newId() }, { 'if-match': `rule-${version}` });
    for (const write of [agent.post('/rules', ruleBody()), change(1), agent.post(`/rules/${rule.id}:enable`)])
      assert.deepEqual(await refused(write, 403, 'permission_denied'), {
        required: ['rules.write'],
        delegationId: without,
      });
    await under(['rules.write', 'tasks.read']);
    await done(change(1));
    assert.deepEqual(new Set((await granted())?.permissions), new Set(['rules.write', 'tasks.read']));
    // The rule's own agent, which has more permissions, cannot extend the rule: the delegation also limits the identity
    // of the rule.
    const granting = ['rules.write', 'tasks.read', 'tasks.write'];
    const { key } = await publishAgent(
      narrow.admin,
      agentSpec({ identity: { permissions: ['tasks.write', 'tasks.read'] } }),
    );
    const identity = { agent: key };
    assert.deepEqual(
      await refused(agent.post('/rules', ruleBody({ identity })), 403, 'permission_escalation'),
      { missing: ['tasks.write'] },
    );
    await under(granting);
    await done(agent.post('/rules', ruleBody({ identity })), 201);
    await under([]);
    await done(change(2));
    assert.ok((await granted())?.permissions.includes('tasks.write'));
  } finally {
    await narrow.close();
  }
});
