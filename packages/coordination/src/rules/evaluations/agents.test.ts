import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import type { Permission } from '../../service/permissions.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { claimTask, done, eventsOf, makeTask, makeWorker } from '../../testing/leases.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import { makeNarrowPerson } from '../../testing/organisation/workspaces.ts';
import { actorOf, agentSpec, linkAgent, newIdentity, publishAgent } from '../../testing/registry/agents.ts';
import {
  evaluationsOf,
  makeRule,
  makeRuleWorker,
  observe,
  observed,
  ruleBody,
} from '../../testing/rules/rules.ts';

/**
 * Tests rules that act as a registry agent, filter by its observations, or assign tasks to it
 * (docs/reference/rules.md#authority).
 */

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
const rights: readonly Permission[] = ['tasks.write', 'tasks.read', 'events.read', 'observations.write'];
const makeAgent = (permissions = rights, more: object = {}): Promise<{ key: string }> =>
  publishAgent(baton.admin, agentSpec({ identity: { permissions, ...more } }));
const newest = async (ruleId: string) => (await evaluationsOf(baton.admin, ruleId))[0];
const retire = (key: string) => done(baton.admin.post(`/agents/${key}:retire`, { reason: 'over' }));

test('a rule with an identity acts as that agent, also after its enabler has become inactive', async () => {
  const type = kind();
  const { key } = await makeAgent();
  const { principalId } = await linkAgent(baton, key);
  const author = await baton.actor({ permissions: ['rules.write', ...rights] });
  const rule = await makeRule(author, { trigger: observed(type), identity: { agent: key } });
  assert.deepEqual([rule.identity, rule.authorityPrincipalId], [{ agent: key }, author.principalId]);
  await done(baton.admin.post(`/principals/${author.principalId}:disable`, { reason: 'left' }));
  await observe(baton.admin, type);
  await worker.run();
  const evaluation = await newest(rule.id);
  assert.equal(evaluation.status, 'matched');
  const [taskId] = evaluation.createdTaskIds;
  assert.equal((await task(taskId)).createdBy, principalId);
  const caused = await baton.pool.rows<{ type: string; actor_id: string }>(sql`
    select type, actor_id from events where correlation_id = ${`work-rule:${rule.id}`} order by sequence`);
  assert.deepEqual(
    caused.map(({ type: name, actor_id: actor }) => [name, actor]),
    ['task.created', 'work.derived', 'rule.evaluated'].map((name) => [name, principalId]),
  );
});

test('it has only the current permissions of the agent, even if its writer has more', async () => {
  const type = kind();
  const { key } = await makeAgent(['tasks.read']);
  await linkAgent(baton, key);
  const rule = await makeRule(baton.admin, { trigger: observed(type), identity: { agent: key } });
  const look = async () => {
    await observe(baton.admin, type);
    await worker.run();
    const { status, result } = await newest(rule.id);
    return `${status} ${result.work[0]?.refused}`;
  };
  assert.equal(await look(), 'failed permission_denied');
  await done(
    baton.admin.post('/agents', { key, spec: agentSpec({ identity: { permissions: rights } }) }),
    201,
  );
  assert.equal(await look(), 'matched null');
});

test('while its agent cannot act the rule fails visibly, and never acts as another principal', async () => {
  const type = kind();
  const { key } = await makeAgent(rights, { kind: 'service' });
  const rule = await makeRule(baton.admin, { trigger: observed(type), identity: { agent: key } });
  const look = async () => {
    await observe(baton.admin, type);
    await worker.run();
    const { status, error, createdTaskIds } = await newest(rule.id);
    assert.equal(createdTaskIds.length, status === 'matched' ? 1 : 0);
    return error === null ? status : [status, error.code, error.details.agent];
  };
  const fails = ['failed', 'credential_inactive', key];
  assert.deepEqual(await look(), fails, 'not linked yet');
  const identity = newIdentity(baton);
  const { principalId } = await done(baton.admin.put(`/agents/${key}/identity`, identity));
  assert.equal(await look(), 'matched');
  const [binding] = (await done(baton.admin.get(`/principals/${principalId}/iam-bindings`))).items;
  await done(baton.admin.post(`/iam-bindings/${binding.id}:revoke`));
  assert.deepEqual(await look(), fails, 'its binding is revoked');
  await done(baton.admin.put(`/agents/${key}/identity`, identity));
  assert.equal(await look(), 'matched');
  const other = { ...newIdentity(baton), reason: 'rotated' };
  await done(baton.admin.post(`/agents/${key}/identity:replace`, other));
  assert.equal(await look(), 'matched', 'another identity');
  await retire(key);
  assert.deepEqual(await look(), fails, 'retired');
});

test('replacing an identity while rules are evaluated loses none of their actions', async () => {
  const { key } = await makeAgent(rights, { kind: 'service' });
  await linkAgent(baton, key);
  const type = kind();
  const rule = await makeRule(baton.admin, { trigger: observed(type), identity: { agent: key } });
  for (let round = 0; round < 15; round += 1) {
    await observe(baton.admin, type);
    const replacement = { ...newIdentity(baton), reason: 'rotated' };
    await Promise.all([worker.run(), done(baton.admin.post(`/agents/${key}/identity:replace`, replacement))]);
  }
  await worker.run();
  const all = await evaluationsOf(baton.admin, rule.id);
  assert.deepEqual(
    all.map(({ status }) => status),
    Array.from({ length: 15 }, () => 'matched'),
  );
});

test('a retirement waits for the running turn, or takes effect in it', async () => {
  for (let round = 0; round < 5; round += 1) {
    const { key } = await makeAgent();
    const { principalId } = await linkAgent(baton, key);
    const type = kind();
    const rule = await makeRule(baton.admin, { trigger: observed(type), identity: { agent: key } });
    await observe(baton.admin, type);
    await Promise.all([worker.run(), retire(key)]);
    await worker.run();
    const { status, error, createdTaskIds } = await newest(rule.id);
    if (status === 'failed') assert.equal(error.code, 'credential_inactive');
    else {
      const found = await baton.pool.rows<{ type: string }>(sql`
        select type from events where entity_id = any (${[createdTaskIds[0], newId()]}::uuid[])
          or (type = 'principal.disabled' and entity_id = ${principalId}) order by position, sequence`);
      assert.equal(found.at(-1)?.type, 'principal.disabled');
    }
  }
});

test('trigger.agent matches observations of that agent, also with a later identity; agent and actorId must both match', async () => {
  const type = kind();
  const { key } = await makeAgent(rights, { kind: 'service' });
  const first = await linkAgent(baton, key);
  const another = await linkAgent(baton, (await makeAgent()).key);
  const ofAgent = await makeRule(baton.admin, { trigger: observed(type, { agent: key }) });
  const ofBoth = await makeRule(baton.admin, {
    trigger: observed(type, { agent: key, actorId: first.principalId }),
  });
  const ofNobody = await makeRule(baton.admin, {
    trigger: observed(type, { agent: key, actorId: another.principalId }),
  });
  await observe(first, type);
  await observe(another, type);
  await observe(baton.admin, type);
  const identity = newIdentity(baton);
  await done(baton.admin.post(`/agents/${key}/identity:replace`, { ...identity, reason: 'rotated' }));
  await observe(await actorOf(baton, { ...identity, principalId: first.principalId }), type);
  await worker.run();
  const counts = [];
  for (const { id } of [ofAgent, ofBoth, ofNobody])
    counts.push((await evaluationsOf(baton.admin, id)).length);
  assert.deepEqual(counts, [2, 2, 0]);
  const { results } = await done(
    baton.admin.post('/rules:dry-run', ruleBody({ trigger: observed(type, { agent: key }) })),
  );
  assert.equal(results.length, 2);
});

test('an observation of its own agent closes its task, and observations of others do not', async () => {
  const type = kind();
  const { key } = await makeAgent();
  const agent = await linkAgent(baton, key);
  await makeRule(baton.admin, {
    trigger: observed(type, { agent: key }),
    identity: { agent: key },
    action: { kind: 'complete_work', target: 'task', taskType: undefined, fields: undefined },
  });
  const [mine, other] = [await makeTask(baton), await makeTask(baton)];
  await observe(agent, type, {}, { task: mine.id });
  await observe(baton.admin, type, {}, { task: other.id });
  await worker.run();
  const ended = [await task(mine.id), await task(other.id)].map((one) => one.systemStatusCategory);
  assert.deepEqual(ended, ['terminal_success', mine.systemStatusCategory]);
});

test('agent:<key> assigns to the agent, literally or by a template; an agent that accepts no tasks is refused per item', async () => {
  const type = kind();
  const { key } = await makeAgent();
  const literal = await makeRule(baton.admin, {
    trigger: observed(type),
    action: { fields: { title: 'x', assignee: `agent:${key}` } },
  });
  const rendered = await makeRule(baton.admin, {
    trigger: observed(type),
    action: { fields: { title: 'x', assignee: 'agent:{{ payload.data.agent }}' } },
  });
  const look = async () => {
    await observe(baton.admin, type, { agent: key });
    await worker.run();
    const found = [await newest(literal.id), await newest(rendered.id)];
    return Promise.all(
      found.map(async ({ createdTaskIds: [id], result }) =>
        id === undefined ? result.work[0].refused : (await task(id)).assigneeId,
      ),
    );
  };
  assert.deepEqual(await look(), ['unknown_agent', 'unknown_agent'], 'not linked yet');
  const { principalId } = await linkAgent(baton, key);
  assert.deepEqual(await look(), [principalId, principalId]);
  await retire(key);
  assert.deepEqual(await look(), ['unknown_agent', 'unknown_agent'], 'retired');
});

test('an agent gives a person with partial visibility no additional causes, tasks or workspaces', async () => {
  const type = kind();
  const { key } = await makeAgent();
  await linkAgent(baton, key);
  const { person, mine, other } = await makeNarrowPerson(baton);
  const body = {
    trigger: observed(type),
    condition: { exists: 'task.title' },
    identity: { agent: key },
    action: { fields: { title: '{{ task.title }}', workspaceId: '{{ payload.data.place }}' } },
  };
  const rule = await makeRule(person, body);
  const hidden = await makeTask(baton, { workspaceId: other.id });
  const shown = await makeTask(baton, { workspaceId: mine.id });
  await observe(baton.admin, type, { place: mine.id }, { task: hidden.id, workspaceId: mine.id });
  await observe(baton.admin, type, { place: other.id }, { task: shown.id });
  await observe(baton.admin, type, { place: mine.id }, { task: hidden.id });
  await observe(baton.admin, type, { place: mine.id }, { task: shown.id });
  await worker.run();
  const said = (await evaluationsOf(baton.admin, rule.id)).map(({ status, result }) => [
    status,
    result.work[0]?.refused,
  ]);
  assert.deepEqual(said, [
    ['matched', null],
    ['failed', 'not_found'],
    ['not_matched', undefined],
  ]);
  const { results } = await done(person.post('/rules:dry-run', ruleBody(body)));
  assert.deepEqual(
    results.map(({ status }: { status: string }) => status),
    ['matched', 'matched', 'not_matched'],
  );
  // The same agent, in a rule of a person who sees everything, sees the hidden task.
  const wide = await makeRule(baton.admin, body);
  await observe(baton.admin, type, { place: mine.id }, { task: hidden.id });
  await worker.run();
  assert.equal((await newest(wide.id)).status, 'matched');
  assert.equal((await evaluationsOf(baton.admin, rule.id)).length, 3);
});

test('a rule that fails without an active authority reveals no objects that its author may not see', async () => {
  const type = kind();
  const { key } = await makeAgent();
  const { person, mine, other } = await makeNarrowPerson(baton);
  const unlinked = await makeRule(person, { trigger: observed(type), identity: { agent: key } });
  const own = await makeRule(person, { trigger: observed(type) });
  await baton.pool.run(sql`update principals set status = 'disabled' where id = ${person.principalId}`);
  const shown = await observe(baton.admin, type, {}, { workspaceId: mine.id });
  await observe(baton.admin, type, {}, { workspaceId: other.id });
  await worker.run();
  for (const { id } of [unlinked, own]) {
    const found = await evaluationsOf(baton.admin, id);
    assert.deepEqual(
      found.map(({ triggerEventId, error }) => [triggerEventId, error.code]),
      [[shown.eventId, 'credential_inactive']],
    );
  }
});

test('a dry run uses the permissions of the agent, not of the caller', async () => {
  const type = kind();
  const reading = { trigger: observed(type), condition: { exists: 'payload.data.n' } };
  const [weak, unlinked] = [await makeAgent(['tasks.read']), await makeAgent()];
  await linkAgent(baton, weak.key);
  await observe(baton.admin, type, { n: 1 });
  await journalIsStable(baton.pool);
  const tried = async (agent: string) =>
    (await done(baton.admin.post('/rules:dry-run', ruleBody({ ...reading, identity: { agent } })))).results;
  const said = (results: any[]) => results.map(({ status, reason }) => [status, reason]);
  assert.deepEqual(said(await tried(weak.key)), [['failed', 'permission_denied']]);
  assert.deepEqual(said(await tried(unlinked.key)), [['failed', 'credential_inactive']]);
  await linkAgent(baton, unlinked.key);
  assert.deepEqual(said(await tried(unlinked.key)), [['matched', undefined]]);
});

test('pending evaluations continue as the agent, and end when it is retired', async () => {
  const type = kind();
  const { key } = await makeAgent();
  await linkAgent(baton, key);
  const open = await makeTask(baton);
  await claimTask(await makeWorker(baton), open.id);
  const rule = await makeRule(baton.admin, {
    trigger: observed(type, { actorId: baton.admin.principalId }),
    identity: { agent: key },
    action: { kind: 'cancel_work', target: 'task', taskType: undefined, fields: undefined },
  });
  await observe(baton.admin, type, {}, { task: open.id });
  await worker.run();
  assert.equal((await newest(rule.id)).status, 'waiting');
  await retire(key);
  await baton.pool.run(sql`
    update rule_evaluations set next_check_at = now() - interval '1 s' where rule_id = ${rule.id}`);
  await worker.waiting();
  const { status, error } = await newest(rule.id);
  assert.deepEqual([status, error.code, error.details], ['failed', 'credential_inactive', { agent: key }]);
  assert.equal(
    (await eventsOf(baton, open.id)).filter(({ type: name }) => name === 'work.reconciled').length,
    0,
  );
});
