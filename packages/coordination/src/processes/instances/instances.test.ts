import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { corePrincipalOf, done, eventsOf, refused } from '../../testing/leases.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import {
  humanStep,
  makeProcessAgent,
  publishProcess,
  setStep,
  specOf,
  startProcesses,
  startProcessInstance,
} from '../../testing/processes/process-instances.ts';
import { publishAgent } from '../../testing/registry/agents.ts';
import { observe } from '../../testing/rules/rules.ts';

const { baton, worker, agent, get, act, publish, start, complete } = await startProcesses();

const refuseAct = (
  id: string,
  verb: string,
  body: object,
  status = 409,
  code = 'invalid_process_instance_state',
) => refused(baton.admin.post(`/process-instances/${id}:${verb}`, body), status, code);
const typesOf = async (id: string) =>
  (await eventsOf(baton, id)).map(({ type }) => type.replace('process.', ''));

test('an instance runs through its steps, and its record, events and journal show them', async () => {
  const key = await publish([
    setStep('begin', { n: 'data.n + 1' }),
    { ...humanStep('ask'), when: 'data.n == 2' },
    { ...humanStep('never'), when: 'data.n == 3' },
    { id: 'end', complete: { outcome: 'asked' } },
  ]);
  const made = await startProcessInstance(baton.admin, key, { n: 1 }, 'k-1');
  const [open] = made.openElements;
  assert.deepEqual(
    [made.status, made.definitionKey, made.definitionVersion, made.instanceKey, made.data, made.slaState],
    ['running', key, 1, 'k-1', { n: 2 }, 'none'],
  );
  assert.deepEqual(
    [open.id, open.kind, open.attempt, open.due, made.openElements.length],
    ['ask', 'human', 1, null, 1],
  );
  const task = await done(baton.admin.get(`/tasks/${open.taskId}`));
  assert.deepEqual(
    [task.title, task.createdBy, task.origin],
    ['Do ask', agent.principalId, { kind: 'process', ref: `process/${made.id}/ask`, evidence: [] }],
  );
  const query = `externalSystem=control-plane&externalType=process_step&externalId=process/${made.id}/ask`;
  const references = await done(baton.admin.get(`/external-references?${query}`));
  assert.deepEqual(
    references.items.map((item: any) => item.entityId),
    [task.id],
  );
  await complete(task.id);
  await worker.run();
  const after = await get(made.id);
  assert.deepEqual([after.status, after.outcome, after.openElements], ['completed', 'asked', []]);
  assert.ok(after.completedAt);
  assert.deepEqual(after.stages, [{ id: 'main', state: 'completed' }]);
  const events = await eventsOf(baton, made.id);
  const head = { instanceId: made.id, definitionKey: key, version: 1, instanceKey: 'k-1', workspaceId: null };
  const rows = await baton.pool.rows<{ correlation_id: string; entity_type: string }>(sql`
    select distinct correlation_id, entity_type from events where entity_id = ${made.id}`);
  assert.deepEqual(rows, [{ correlation_id: `process:${made.id}`, entity_type: 'process_instance' }]);
  for (const event of events) {
    for (const [name, value] of Object.entries(head)) assert.deepEqual(event.payload[name], value);
  }
  assert.deepEqual(
    events.map(({ type }) => type.replace('process.', '')),
    [
      'started',
      'stage_entered',
      'step_entered',
      'data_changed',
      'step_exited',
      'step_entered',
      'step_exited',
      'step_entered',
      'step_exited',
      'stage_exited',
      'completed',
    ],
  );
  assert.equal(events[0]?.actor_id, baton.admin.principalId);
  assert.equal(events.at(-1)?.actor_id, null);
  const journal = await done(baton.admin.get(`/process-instances/${made.id}/journal?limit=200`));
  assert.deepEqual(
    journal.items.map(({ seq }: any) => seq),
    journal.items.map((_: unknown, n: number) => n + 1),
  );
  const [first] = journal.items;
  assert.deepEqual(
    [first.kind, first.reason, first.actorId, journal.nextCursor],
    ['input', 'start', baton.admin.principalId, null],
  );
  const intents = await done(baton.admin.get(`/process-instances/${made.id}/journal?kind=intent`));
  assert.deepEqual(
    intents.items.map(({ element, reason }: any) => [element, reason]),
    [['ask', 'open_task']],
  );
  await assert.rejects(
    baton.pool.run(sql`update process_instance_journal set reason = 'x' where instance_id = ${made.id}`),
    /never changed/,
  );
});

test('POST refuses an unknown process, a retired one, invalid data, a key in use and an agent that cannot act', async () => {
  const schema = { type: 'object', properties: { n: { type: 'integer' } }, additionalProperties: false };
  const key = await publish([humanStep('a')], { data: schema });
  const post = (body: object) => baton.admin.post('/process-instances', { process: key, key: 'x', ...body });
  await refused(post({ process: 'no-such-process' }), 404, 'not_found');
  const wrong = await refused(post({ data: { n: 'one' } }), 422, 'invalid_process_data');
  assert.equal(wrong.errors[0].path, '/n');
  await refused(post({ data: [] }), 422, 'invalid_document');
  await refused(post({ data: { password: 'x' } }), 422, 'secret_material_rejected');
  await refused(post({ workspaceId: newId() }), 404, 'not_found');
  const made = await done(post({ data: { n: 1 } }), 201);
  const taken = await refused(post({}), 409, 'process_instance_exists');
  assert.equal(taken.instanceId, made.id);
  await act(made.id, 'cancel', { reason: 'over' });
  await done(post({}), 201);
  const { key: alone } = await publishAgent(baton.admin);
  const unlinked = await publishProcess(baton.admin, specOf(alone, [humanStep('a')]));
  await refused(post({ process: unlinked }), 409, 'process_definition_unusable');
  await done(baton.admin.post(`/process-definitions/${key}:retire`, { reason: 'old' }));
  await refused(post({ key: 'y' }), 409, 'process_retired');
});

test('POST refuses data too deep or too large and an archived workspace; lists refuse foreign cursors', async () => {
  const process = await publish([{ ...humanStep('ask') }]);
  const begin = (more: object) =>
    baton.admin.post('/process-instances', { process, key: `k-${newId()}`, ...more });
  const deep = Array.from({ length: 100 }).reduce<unknown>((inner) => ({ inner }), 1);
  await refused(begin({ data: { deep } }), 422, 'payload_too_deep');
  await refused(begin({ data: { text: 'x'.repeat(900_000) } }), 422, 'payload_too_large');
  const { id: workspaceId } = await makeWorkspace(baton);
  await done(baton.admin.post(`/workspaces/${workspaceId}:archive`));
  await refused(begin({ workspaceId }), 422, 'workspace_archived');
  const { id } = await startProcessInstance(baton.admin, process, {});
  for (const path of [
    '/process-instances',
    `/process-instances/${id}/journal`,
    `/process-definitions/${process}/versions`,
  ])
    await refused(baton.admin.get(`${path}?cursor=foreign`), 422, 'invalid_cursor');
});

test('of two concurrent starts with the same key, one succeeds', async () => {
  const key = await publish([humanStep('a')]);
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => baton.admin.post('/process-instances', { process: key, key: 'same' })),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409, 409, 409]);
});

test('a start waits at most two seconds for a concurrent start with its key, and then returns that the key is busy', async () => {
  const key = await publish([humanStep('a')]);
  const begin = () => baton.admin.post('/process-instances', { process: key, key: 'same' });
  await baton.pool.transaction(async (tx) => {
    await tx.run(sql`
      insert into process_instances (id, tenant_id, definition_key, definition_version, instance_key, identity_agent, status, state, started_at)
      values (${newId()}, ${baton.tenantId}, ${key}, 1, 'same', ${agent.key}, 'running', '{}', now())`);
    const startedMs = performance.now();
    await refused(begin(), 503, 'catalog_key_busy');
    assertTookLess(startedMs, 8000);
    await tx.run(sql`delete from process_instances where instance_key = 'same' and definition_key = ${key}`);
  });
  await done(begin(), 201);
});

test('an operator suspends, resumes and cancels; inputs are stored meanwhile', async () => {
  const made = await start([humanStep('a'), setStep('b', { n: '1' })]);
  const suspended = await act(made.id, 'suspend', { reason: 'holiday' });
  assert.equal(suspended.status, 'suspended');
  await refuseAct(made.id, 'suspend', { reason: 'again' });
  await complete(made.openElements[0].taskId);
  await worker.run();
  assert.equal((await get(made.id)).status, 'suspended');
  assert.equal((await act(made.id, 'resume', { reason: 'back' })).status, 'running');
  await worker.run();
  const resumed = await get(made.id);
  assert.deepEqual([resumed.status, resumed.data], ['completed', { n: 1 }]);
  await refuseAct(made.id, 'resume', {});
  await refuseAct(made.id, 'cancel', { reason: 'x' });
  const types = await typesOf(made.id);
  assert.ok(types.indexOf('suspended') < types.indexOf('resumed'));
  const other = await start([
    { ...setStep('a', { n: '1' }), onCompensate: [setStep('undo', { n: '0' })] },
    humanStep('b'),
  ]);
  const [{ taskId }] = other.openElements;
  const cancelled = await act(other.id, 'cancel', { reason: 'no more' });
  assert.deepEqual([cancelled.status, cancelled.data], ['cancelled', { n: 0 }]);
  assert.equal((await done(baton.admin.get(`/tasks/${taskId}`))).systemStatusCategory, 'terminal_cancelled');
  assert.ok((await typesOf(other.id)).includes('compensated'));
  for (const verb of ['suspend', 'resume', 'cancel', 'skip'])
    await refuseAct(
      newId(),
      verb,
      { reason: 'x', ...(verb === 'skip' && { element: 'a' }) },
      404,
      'not_found',
    );
});

test('an event starts an instance once; with a taken key it is recorded, and correlations write data', async () => {
  const kind = `k-${newId()}`;
  const [begin, change] = [`${kind}-begin`, `${kind}-change`];
  const key = await publish([humanStep('a')], {
    start: {
      on: { observation: begin, where: 'event.payload.kind != "x"' },
      key: 'event.payload.data.key',
      set: { n: 'event.payload.data.n' },
    },
    correlate: [
      { on: { observation: change }, key: 'event.payload.data.key', set: { n: 'event.payload.data.n' } },
    ],
  });
  await observe(baton.admin, begin, { key: 'one', n: 1 });
  await worker.run();
  await worker.run();
  const { items } = await done(baton.admin.get(`/process-instances?definitionKey=${key}`));
  assert.equal(items.length, 1);
  assert.deepEqual([items[0].instanceKey, items[0].data, items[0].status], ['one', { n: 1 }, 'running']);
  await observe(baton.admin, begin, { key: 'one', n: 5 });
  await observe(baton.admin, change, { key: 'one', n: 2 });
  await observe(baton.admin, change, { key: 'other', n: 3 });
  await worker.run();
  const [instance] = (await done(baton.admin.get(`/process-instances?definitionKey=${key}&instanceKey=one`)))
    .items;
  assert.deepEqual(instance.data, { n: 2 });
  const correlated = (await eventsOf(baton, instance.id)).filter(({ type }) => type === 'process.correlated');
  assert.deepEqual(
    correlated.map(({ payload }) => payload['changedFields']),
    [[], ['n']],
  );
});

test('a step that cannot be done suspends the instance, which is resumed or skipped', async () => {
  const made = await start(
    [humanStep('a', { taskType: 'task' }), setStep('bad', { n: 'data.text + 1' }), setStep('c', { m: '1' })],
    {
      data: { type: 'object', additionalProperties: true },
    },
    { text: 'x' },
  );
  await complete(made.openElements[0].taskId);
  await worker.run();
  const parked = await get(made.id);
  assert.deepEqual(
    [parked.status, parked.suspension.element, parked.suspension.code],
    ['suspended', 'bad', 'expression_error'],
  );
  const [told] = (await eventsOf(baton, made.id)).filter(({ type }) => type === 'process.suspended');
  assert.equal(told?.payload['cause'], 'input_failed');
  await refuseAct(made.id, 'skip', { element: 'c', reason: 'x' });
  assert.equal((await act(made.id, 'resume', {})).status, 'running');
  await worker.run();
  assert.equal((await get(made.id)).status, 'suspended');
  await act(made.id, 'skip', { element: 'bad', reason: 'by hand' });
  await worker.run();
  const skipped = await get(made.id);
  assert.deepEqual([skipped.status, skipped.data], ['completed', { text: 'x', m: 1 }]);
  const resumed = (await eventsOf(baton, made.id)).filter(({ type }) => type === 'process.resumed').at(-1);
  assert.deepEqual(
    [resumed?.payload['cause'], resumed?.payload['element'], resumed?.payload['reason']],
    ['skipped', 'bad', 'by hand'],
  );
});

test('an effect without permission is refused: the instance waits until its agent has the permission', async () => {
  const weak = await makeProcessAgent(baton, { permissions: ['tasks.read'] });
  const key = await publishProcess(baton.admin, specOf(weak.key, [humanStep('a')]));
  const made = await startProcessInstance(baton.admin, key);
  assert.deepEqual(
    [made.status, made.suspension.element, made.suspension.code],
    ['suspended', 'a', 'permission_denied'],
  );
  await baton.pool.run(sql`
    update iam_bindings set permissions = array['tasks.read', 'tasks.write'] where principal_id = ${weak.principalId}`);
  const resumed = await act(made.id, 'resume', {});
  assert.deepEqual([resumed.status, resumed.openElements[0].id], ['running', 'a']);
});

test('people vote, and the quorum decides; the people who did the work do not vote', async () => {
  const people = await Promise.all([1, 2, 3].map(() => baton.actor({ kind: 'human' })));
  const approvers = people.map(({ principalId }) => ({ principal: principalId }));
  const made = await start([
    {
      id: 'vote',
      approve: { approvers, quorum: { atLeast: 2 }, title: 'May it go?' },
      export: { as: 'vote' },
    },
  ]);
  const [open] = made.openElements;
  assert.equal(open.approvalIds.length, 3);
  const approvals = await Promise.all(
    open.approvalIds.map((id: string) => done(baton.admin.get(`/approvals/${id}`))),
  );
  const core = await corePrincipalOf(baton);
  assert.ok(
    approvals.every(
      ({ comment, requestedByPrincipalId }) => comment === 'May it go?' && requestedByPrincipalId === core,
    ),
  );
  // The approval is the system's own: no agent can withdraw it, regardless of its permissions.
  const bot = await baton.actor({ permissions: ['approvals.manage', 'claims.manage'] });
  await refused(bot.post(`/approvals/${open.approvalIds[0]}:cancel`), 403, 'permission_denied');
  for (const person of people.slice(0, 2)) {
    const own = approvals.find(({ assignedPrincipalId }) => assignedPrincipalId === person.principalId);
    await done(person.post(`/approvals/${own.id}:approve`, {}));
  }
  await worker.run();
  const after = await get(made.id);
  assert.deepEqual([after.status, after.data.vote.outcome], ['completed', 'approved']);
  const last = await Promise.all(
    open.approvalIds.map((id: string) => done(baton.admin.get(`/approvals/${id}`))),
  );
  assert.deepEqual(last.map(({ status }) => status).sort(), ['approved', 'approved', 'cancelled']);
});

test('timers are stored in rows and fire once, and a missed deadline is reported', async () => {
  const made = await start([
    { id: 'w', wait: 'PT1H' },
    humanStep('late', {
      due: { duration: 'PT2H', warnBefore: 'PT1H' },
      escalations: [{ after: 'due', action: 'remind' }],
    }),
  ]);
  assert.deepEqual(
    made.timers.map(({ element, state }: any) => [element, state]),
    [['w', 'pending']],
  );
  // The due times are stored in rows and in the state, so the test moves both.
  const makeDue = async () => {
    await baton.pool.run(sql`
      update process_instances set state = jsonb_set(state, '{timers}', (
        select jsonb_object_agg(key, case when value ->> 'state' = 'pending'
          then value || jsonb_build_object('dueAt', to_char(now() at time zone 'utc' - interval '1 s', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) else value end)
        from jsonb_each(state -> 'timers'))) where id = ${made.id}`);
    await worker.fire(made.id);
  };
  await makeDue();
  const waiting = await get(made.id);
  assert.deepEqual(
    waiting.openElements.map(({ id }: any) => id),
    ['late'],
  );
  assert.equal(waiting.openElements[0].slaState, 'ok');
  await makeDue();
  const late = await get(made.id);
  assert.deepEqual([late.slaState, late.openElements[0].slaState], ['breached', 'breached']);
  const breached = (await done(baton.admin.get('/process-instances?slaState=breached'))).items;
  assert.ok(breached.some(({ id }: any) => id === made.id));
  const types = await typesOf(made.id);
  assert.equal(types.filter((type) => type === 'sla_breached').length, 1);
  assert.equal(types.filter((type) => type === 'escalated').length, 1);
  await worker.timers();
  assert.deepEqual(await typesOf(made.id), types);
  await refused(baton.admin.get('/process-instances?slaState=ok'), 400, 'invalid_request');
  await refused(baton.admin.get('/process-instances?status=odd'), 422, 'invalid_status');
});

test('stages and open steps are listed in the order of the process, regardless of their names', async () => {
  const branch = (id: string) => ({ id: `${id}-branch`, do: [humanStep(id)] });
  const stages = [
    {
      id: 'preparation',
      steps: [{ id: 'both', fork: { branches: [branch('one-of-them'), branch('two')] } }],
    },
    { id: 'work', steps: [humanStep('do')] },
  ];
  const made = await start([], { stages });
  assert.deepEqual(
    made.stages.map(({ id }: { id: string }) => id),
    ['preparation', 'work'],
  );
  assert.deepEqual(
    made.openElements.map(({ id }: { id: string }) => id),
    ['both', 'one-of-them', 'two'],
  );
});
