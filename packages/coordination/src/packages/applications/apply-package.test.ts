import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { takePackageLock } from '../../organisation/version-lock.sql.ts';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { launch } from '../../testing/execution/children.ts';
import {
  claimTask,
  done,
  makeRun,
  makeTask,
  makeWorker,
  openSession,
  refused,
} from '../../testing/leases.ts';
import { makeNarrowPerson } from '../../testing/organisation/workspaces.ts';
import {
  applyDocuments,
  newKey,
  planDocuments,
  sourceOf,
  type TestDocument,
} from '../../testing/packages/package-sources.ts';
import {
  humanStep,
  makeProcessAgent,
  setStep,
  specOf,
  startProcessInstance,
} from '../../testing/processes/process-instances.ts';
import { startProcess } from '../../testing/programs/service-processes.ts';
import {
  agentKey,
  agentPermissions,
  agentSpec,
  linkAgent,
  putAgentSecret,
} from '../../testing/registry/agents.ts';
import { invoke, makeCallable } from '../../testing/results/invocations.ts';
import { ruleBody } from '../../testing/rules/rules.ts';
import { untilBlockedBy } from '../../testing/wait-until.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination({ CP_LEGACY_API_KEYS_ENABLED: 'true', CP_RULES_ENABLED_MAX: '2' });
});
after(() => baton.close());

const calendar = (key: string, displayName = 'Desk', more: object = {}) => ({
  kind: 'Calendar',
  key,
  spec: { displayName, timezone: 'Europe/Berlin', years: [{ year: 2027 }], ...more },
});
const taskType = (key: string, displayName = 'T') => ({ kind: 'TaskType', key, spec: { displayName } });
const agent = (key: string, sections: object = {}) => ({ kind: 'Agent', key, spec: agentSpec(sections) });
function rule(more: object = {}): TestDocument {
  const { key, ...spec } = ruleBody({ status: 'disabled', ...more }) as { key: string };
  return { kind: 'WorkRule', key, spec };
}

const someHash = `sha256:${'0'.repeat(64)}`;

/** The body of a request that applies the current plan of these documents. */
async function fresh(
  named: Parameters<typeof sourceOf>[0],
  documents: TestDocument[],
  by: Actor = baton.admin,
) {
  const { planHash } = await planDocuments(by, named, documents);
  return { package: sourceOf(named, documents), planHash };
}

describe('POST /packages:apply refuses', () => {
  test('in this order: a missing permission for a kind, problems, a stale plan, a missing migration, a calendar that others retired', async () => {
    const named = { key: newKey('p') };
    const process = newKey('q');
    const { key: actor } = await makeProcessAgent(baton);
    const flow = (version: number, ...steps: object[]) => ({
      kind: 'Process',
      key: process,
      spec: specOf(actor, steps, {
        version,
        start: { on: { observation: 'never-at-all' }, key: 'event.id' },
      }),
    });
    const desk = calendar(newKey('c'));
    const first = [flow(1, humanStep('look'), humanStep('sign')), desk];
    await applyDocuments(baton.admin, named, first);
    await startProcessInstance(baton.admin, process);
    await done(baton.admin.post(`/calendars/${desk.key}:retire`, { reason: 'by hand' }));
    const second = [flow(2, humanStep('look')), desk];
    const wrong = { kind: 'Calendar', key: newKey('c'), spec: {} };

    const planner = await baton.actor({ permissions: ['packages.plan', 'processes.write'] });
    const faulty = { package: sourceOf(named, [...second, wrong]), planHash: someHash };
    const { required } = await refused(planner.post('/packages:apply', faulty), 403, 'permission_denied');
    assert.deepEqual(required, ['calendars.write']);
    const { problems } = await refused(baton.admin.post('/packages:apply', faulty), 422, 'invalid_package');
    assert.equal(problems[0].file, 'Calendar-2.yaml');

    const body = { package: sourceOf({ ...named, version: '2' }, second), planHash: someHash };
    const stale = await refused(baton.admin.post('/packages:apply', body), 409, 'plan_stale');
    const plan = await planDocuments(baton.admin, { ...named, version: '2' }, second);
    assert.deepEqual(stale, { currentPlanHash: plan.planHash, catalogEtag: plan.catalogEtag });
    assert.deepEqual(plan.processes, [
      {
        key: process,
        fromVersion: 1,
        toVersion: 2,
        behaviour: plan.processes[0].behaviour,
        instances: [{ version: 1, open: 1, fate: 'pin', migrationRequired: true }],
        deadlines: [],
        deadlinesTotal: 0,
      },
    ]);
    const { planHash } = plan;
    assert.deepEqual(
      await refused(baton.admin.post('/packages:apply', { ...body, planHash }), 422, 'migration_required'),
      { migrations: [{ process, from: 1, to: 2, open: 1 }] },
    );

    const pinned = flow(2, humanStep('look'));
    const spec = { ...pinned.spec, migrations: [{ from: 1, to: 2, policy: 'pin' }] };
    const third = await fresh({ ...named, version: '2' }, [{ ...pinned, spec }, desk]);
    assert.deepEqual(await refused(baton.admin.post('/packages:apply', third), 409, 'calendar_retired'), {
      calendar: desk.key,
    });
    await applyDocuments(baton.admin, { ...named, version: '2' }, [{ ...pinned, spec }]);
  });

  test('a missing permission for a kind whose object it would only retire', async () => {
    const named = { key: newKey('p') };
    await applyDocuments(baton.admin, named, [calendar(newKey('c'))]);
    const planner = await baton.actor({ permissions: ['packages.plan'] });
    const { required } = await refused(
      planner.post('/packages:apply', await fresh(named, [])),
      403,
      'permission_denied',
    );
    assert.deepEqual(required, ['calendars.write']);
  });

  test('permissions that it adds to a linked agent, if the caller sees only its own workspaces', async () => {
    const named = { key: newKey('p') };
    const key = agentKey();
    await applyDocuments(baton.admin, named, [agent(key)]);
    await linkAgent(baton, key);
    const { person } = await makeNarrowPerson(baton);
    const more = agent(key, { identity: { permissions: [...agentPermissions, 'tasks.write'] } });
    const body = await fresh({ ...named, version: '2' }, [more], person);
    await refused(person.post('/packages:apply', body), 403, 'visibility_escalation');
  });

  test('refusals of the writers unchanged, and writes nothing', async () => {
    const named = { key: newKey('p') };
    const [desk, type] = [calendar(newKey('c')), taskType(newKey('t'))];
    const weak = await baton.actor({
      permissions: ['packages.plan', 'agents.manage', 'task_types.manage', 'calendars.write'],
    });
    const body = await fresh(named, [desk, type, agent(agentKey())], weak);
    await refused(weak.post('/packages:apply', body), 403, 'permission_escalation');
    await refused(baton.admin.get(`/calendars/${desk.key}`), 404, 'not_found');

    await applyDocuments(baton.admin, named, [desk]);
    const { key } = await makeProcessAgent(baton);
    const leaning = specOf(key, [setStep('a', { x: '1' })], { calendar: desk.key });
    await done(baton.admin.post('/process-definitions', { key: newKey('q'), spec: leaning }), 201);
    const { total } = await refused(
      baton.admin.post('/packages:apply', await fresh(named, [])),
      409,
      'calendar_in_use',
    );
    assert.equal(total, 1);

    const system = { key: newKey('p') };
    await applyDocuments(baton.admin, system, [taskType('task', 'Task')], { overwriteConsole: true });
    const without = await fresh(system, []);
    await refused(baton.admin.post('/packages:apply', without), 422, 'system_task_type_required');

    const rules = [1, 2, 3].map(() => rule({ status: 'enabled' }));
    const many = await fresh({ key: newKey('p') }, rules);
    await refused(baton.admin.post('/packages:apply', many), 422, 'invalid_rule');
  });

  test('an agent that would retire itself', async () => {
    const named = { key: newKey('p') };
    const key = agentKey();
    const permissions = ['packages.plan', 'agents.manage', 'calendars.write'];
    await applyDocuments(baton.admin, named, [agent(key, { identity: { permissions } })]);
    const itself = await linkAgent(baton, key);
    const body = await fresh(named, [], itself);
    await refused(itself.post('/packages:apply', body), 409, 'cannot_disable_self');
  });

  test('refusals that only the writer finds, as a problem of the document', async () => {
    const role = await done(baton.admin.post('/roles', { slug: newKey('r'), name: 'R' }), 201);
    const [desk, maker] = [calendar(newKey('c')), agent(agentKey(), { identity: { roles: [role.slug] } })];
    const body = await fresh({ key: newKey('p') }, [desk, maker]);
    // The role is renamed between the validation and the writes.
    const { sent } = await baton.pool.transaction(async (tx) => {
      await tx.run(takePackageLock(baton.tenantId));
      const applying = baton.admin.post('/packages:apply', body);
      await untilBlockedBy(tx, baton, applying);
      await tx.run(sql`update roles set slug = 'other' where id = ${role.id}`);
      return { sent: applying };
    });
    const { problems } = await refused(sent, 422, 'invalid_package');
    assert.deepEqual(
      problems.map(({ code, path, file }: any) => [code, path, file]),
      [['unknown_reference', '/spec/identity/roles/0', 'Agent-1.yaml']],
    );
    await refused(baton.admin.get(`/calendars/${desk.key}`), 404, 'not_found');
  });
});

test('linked agents follow: names, permissions, roles, capabilities and skills, and finally retirement', async () => {
  const named = { key: newKey('p') };
  const key = agentKey();
  const role = await done(baton.admin.post('/roles', { slug: newKey('r'), name: 'R' }), 201);
  const capability = await done(baton.admin.post('/capabilities', { name: newKey('c') }), 201);
  const skill = await makeCallable(baton.admin);
  const permissions = [...agentPermissions, 'skills.invoke'];
  await applyDocuments(baton.admin, named, [agent(key, { identity: { permissions: agentPermissions } })]);
  const actor = await linkAgent(baton, key);
  const holding = agent(key, {
    displayName: 'Mason',
    state: 'stopped',
    identity: { permissions, roles: [role.slug], capabilities: [capability.name] },
    skills: { invoke: [`${skill.name}@${skill.version}`] },
  });
  await applyDocuments(baton.admin, named, [holding]);
  const roles = await done(baton.admin.get(`/principals/${actor.principalId}/roles`));
  assert.equal(roles.items.length, 1);
  await applyDocuments(baton.admin, named, [agent(key, { identity: { permissions } })]);

  const session = await openSession(actor);
  const worker = { actor, sessionId: session };
  const human = await baton.actor({ kind: 'human' });
  const parties = { humanPrincipalId: human.principalId, agentPrincipalId: actor.principalId };
  await done(baton.admin.post('/delegations', parties), 201);
  await done(invoke(actor, await makeCallable(baton.admin)), 201);
  const parent = await makeWorker(baton);
  const { run } = await makeRun(baton, parent);
  const { childTask } = await done(launch(parent, run.id), 201);
  const claim = await claimTask(worker, childTask.id);
  const { revision } = await done(baton.admin.get(`/agents/${key}`));
  const start = { claimId: claim.id, fencingToken: claim.fencingToken, agentRevisionId: revision.id };
  await done(actor.post(`/tasks/${claim.taskId}:start-run`, start), 201);
  await claimTask(worker, (await makeTask(baton)).id);
  await putAgentSecret(baton.admin, key);
  await applyDocuments(baton.admin, { ...named, version: '2' }, []);
  assert.equal((await done(baton.admin.get(`/agents/${key}`))).status, 'retired');
  assert.equal((await done(baton.admin.get(`/principals/${actor.principalId}`))).status, 'disabled');
  assert.equal((await done(baton.admin.get(`/claims/${claim.id}`))).status, 'released');
});

test('a rule may be installed with the agents that it refers to; a rule without an agent acts as none', async () => {
  const named = { key: newKey('p') };
  const [one, maker] = [rule(), agentKey()];
  const spec = {
    ...one.spec,
    trigger: { kind: 'observation', type: 'never', agent: maker },
    action: { kind: 'ensure_work', taskType: 'task', fields: { title: 'x', assignee: `agent:${maker}` } },
    identity: { agent: maker },
  };
  const withRole = { ...spec.action, fields: { title: 'x', assignee: 'role:absent' } };
  const wrong: [string, string, object][] = [
    ['unknown_role', '/spec/action/fields/assignee', { ...spec, action: withRole }],
    ['unknown_agent', '/spec/identity/agent', { ...spec, identity: { agent: 'absent' } }],
    ['invalid_rule', '/spec/identity/agent', { ...spec, identity: { agent: 7 } }],
  ];
  for (const [code, path, sent] of wrong) {
    const { problems } = await planDocuments(baton.admin, named, [{ ...one, spec: sent }, agent(maker)]);
    assert.deepEqual(
      problems.map((found: { code: string; path: string }) => [found.code, found.path]),
      [[code, path]],
    );
  }
  const identityOf = async () => (await done(baton.admin.get(`/rules?key=${one.key}`))).items[0].identity;
  await applyDocuments(baton.admin, named, [{ ...one, spec }, agent(maker)]);
  assert.deepEqual(await identityOf(), { agent: maker });
  const { plan } = await applyDocuments(baton.admin, named, [{ ...one, spec }, agent(maker)]);
  assert.deepEqual(
    plan.changes.map(({ action }: { action: string }) => action),
    ['unchanged', 'unchanged'],
  );
  const { identity: _, ...without } = spec;
  await applyDocuments(baton.admin, named, [{ ...one, spec: without }, agent(maker)]);
  assert.equal(await identityOf(), null);
});

test('rules are enabled and disabled, and a retired process is restored with the package in its event', async () => {
  const named = { key: newKey('p') };
  const one = rule();
  const { key: actor } = await makeProcessAgent(baton);
  const process = (version: number) => ({
    kind: 'Process',
    key: newKeyOnce,
    spec: specOf(actor, [setStep('a', { x: '1' })], {
      version,
      start: { on: { observation: 'never' }, key: 'event.id' },
    }),
  });
  const newKeyOnce = newKey('q');
  const withStatus = (status: string) => ({ ...one, spec: { ...one.spec, status } });
  await applyDocuments(baton.admin, named, [withStatus('enabled'), process(1)]);
  await applyDocuments(baton.admin, named, [withStatus('disabled')]);
  const [found] = (await done(baton.admin.get(`/rules?key=${one.key}`))).items;
  assert.equal(found.status, 'disabled');
  await applyDocuments(baton.admin, { ...named, version: '7' }, [withStatus('enabled'), process(2)]);
  const event = await baton.pool.row<{ payload: { packageKey: string; packageVersion: string } }>(sql`
    select payload from events where type = 'process.definition_restored' and payload ->> 'key' = ${newKeyOnce}`);
  assert.deepEqual([event?.payload.packageKey, event?.payload.packageVersion], [named.key, '7']);
  await applyDocuments(baton.admin, { ...named, version: '8' }, []);
});

describe('at the same time', () => {
  test('of two versions applied concurrently, one succeeds and the plan of the other is stale', async () => {
    for (let round = 0; round < 10; round += 1) {
      const named = { key: newKey('p') };
      const [a, b] = [newKey('c'), newKey('t')];
      const bodies = [
        await fresh({ ...named, version: '1' }, [calendar(a, 'First'), taskType(b)]),
        await fresh({ ...named, version: '2' }, [calendar(a, 'Second'), taskType(b)]),
      ];
      const answers = await Promise.all(bodies.map((body) => baton.admin.post('/packages:apply', body)));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409], `round ${round}`);
      const loser = answers.find(({ status }) => status === 409);
      assert.equal(loser?.body.error.code, 'plan_stale');
      const won = answers[0]?.status === 200 ? 'First' : 'Second';
      assert.equal((await done(baton.admin.get(`/calendars/${a}`))).spec.displayName, won);
      assert.equal((await done(baton.admin.get(`/task-types?key=${b}`))).items.length, 1);
    }
  });

  test('an object that a person changes after the validation makes the plan stale, and the change is preserved', async () => {
    const named = { key: newKey('p') };
    const [key, maker] = [newKey('c'), agentKey()];
    await applyDocuments(baton.admin, named, [calendar(key), agent(maker)]);
    const changes: [TestDocument[], () => Promise<unknown>][] = [
      [
        [calendar(key, 'Package'), agent(maker)],
        () => done(baton.admin.post('/calendars', { key, spec: calendar(key, 'Person').spec }), 201),
      ],
      [
        [calendar(key), agent(maker, { displayName: 'Package' })],
        () => done(baton.admin.patch(`/agents/${maker}/state`, { state: 'stopped' })),
      ],
    ];
    for (const [documents, change] of changes) {
      const body = await fresh(named, documents);
      const applying = await baton.pool.transaction(async (tx) => {
        await tx.run(takePackageLock(baton.tenantId));
        const sent = baton.admin.post('/packages:apply', body);
        await untilBlockedBy(tx, baton, sent);
        await change();
        return { sent };
      });
      const details = await refused(applying.sent, 409, 'plan_stale');
      assert.deepEqual(Object.keys(details).sort(), ['catalogEtag', 'currentPlanHash']);
    }
    assert.equal((await done(baton.admin.get(`/calendars/${key}`))).spec.displayName, 'Person');
    const { displayName, state } = await done(baton.admin.get(`/agents/${maker}`));
    assert.deepEqual([displayName, state], ['Builder', 'stopped']);
  });

  test('a person creates the object that the package would create: never two versions, and never a lost one', async () => {
    for (let round = 0; round < 10; round += 1) {
      const key = newKey('c');
      const body = await fresh({ key: newKey('p') }, [calendar(key, 'Package')]);
      const [applied, made] = await Promise.all([
        baton.admin.post('/packages:apply', body),
        baton.admin.post('/calendars', { key, spec: calendar(key, 'Person').spec }),
      ]);
      assert.equal(made.status, 201);
      const { version, spec } = await done(baton.admin.get(`/calendars/${key}`));
      assert.equal(spec.displayName, 'Person');
      assert.deepEqual([applied.status, version], applied.status === 200 ? [200, 2] : [409, 1]);
    }
  });

  test('sent five times with the same Idempotency-Key, it is applied once', async () => {
    const named = { key: newKey('p') };
    const key = newKey('t');
    const body = await fresh(named, [taskType(key)]);
    const header = { 'idempotency-key': newId() };
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => done(baton.admin.post('/packages:apply', body, header))),
    );
    for (const answer of answers) assert.deepEqual(answer, answers[0]);
    assert.deepEqual(await done(baton.admin.post('/packages:apply', body, header)), answers[0]);
    assert.equal((await done(baton.admin.get(`/task-types?key=${key}`))).items.length, 1);
  });
});

test('an apply that is killed midway writes no part of the package, and can be repeated', async () => {
  const named = { key: newKey('p') };
  const held = rule();
  await applyDocuments(baton.admin, named, [held]);
  const [{ id }] = (await done(baton.admin.get(`/rules?key=${held.key}`))).items;
  const [desk, type, maker] = [calendar(newKey('c')), taskType(newKey('t')), agent(agentKey())];
  const changed = { ...held, spec: { ...held.spec, description: 'Changed' } };
  const body = await fresh({ ...named, version: '2' }, [desk, type, maker, changed]);
  const victim = await startProcess('serve', baton.env);
  await baton.pool.transaction(async (tx) => {
    await tx.run(sql`select from rules where id = ${id} for update`);
    const sent = fetch(`${victim.url}/api/v1/packages:apply`, {
      method: 'POST',
      headers: { authorization: `Bearer ${baton.admin.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }).then(
      ({ status }) => status,
      () => 'killed',
    );
    // By then the other objects have been written, and the transaction waits for the rule.
    await untilBlockedBy(tx, baton, sent);
    await victim.stop('SIGKILL');
    assert.equal(await sent, 'killed');
  });
  await refused(baton.admin.get(`/calendars/${desk.key}`), 404, 'not_found');
  await refused(baton.admin.get(`/agents/${maker.key}`), 404, 'not_found');
  assert.deepEqual((await done(baton.admin.get(`/task-types?key=${type.key}`))).items, []);
  assert.equal((await done(baton.admin.get(`/rules/${id}`))).description, '');
  const { applied } = await done(baton.admin.post('/packages:apply', body));
  assert.equal(applied.length, 4);
});
