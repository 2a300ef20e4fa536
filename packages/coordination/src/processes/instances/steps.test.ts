import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from '@baton/values/ids';
import { done, refused } from '../../testing/leases.ts';
import { humanStep, setStep, startProcesses } from '../../testing/processes/process-instances.ts';
import { claimCall, makeCallable } from '../../testing/results/invocations.ts';
import { observe } from '../../testing/rules/rules.ts';

// Tests the effects of each kind of step on the rest of the service, and their events.

const { baton, worker, agent, get, start, told, complete } = await startProcesses();

test('a skill with external effects is called once on behalf of the agent, and its result continues the process', async () => {
  const executor = await baton.actor();
  const skill = await makeCallable(baton.admin, { name: `s-${newId()}`, sideEffects: 'external_write' });
  const call = { skill: `${skill.name}@${skill.version}`, input: { change: 'data.change' } };
  const made = await start([{ id: 'release', call, export: { as: 'released' } }], {}, { change: 'CHG-1' });
  const { invocation } = await done(claimCall(executor, skill));
  assert.deepEqual(
    [
      invocation.inputs,
      invocation.requestedBy,
      invocation.authorityPrincipalId,
      invocation.authorizationBasis,
    ],
    [
      { change: 'CHG-1' },
      { kind: 'process', ref: made.id },
      agent.principalId,
      { kind: 'process_step', instanceId: made.id, element: 'release' },
    ],
  );
  const { id, fencingToken } = invocation;
  assert.equal((await told(made.id, 'step_entered'))[0]?.['skillInvocationId'], id);
  await done(executor.post(`/skill-invocations/${id}:complete`, { fencingToken, output: { ok: true } }));
  await worker.run();
  const after = await get(made.id);
  assert.deepEqual([after.status, after.data.released], ['completed', { ok: true }]);
});

test('a failed skill is an error with its code, which is caught or ends the instance', async () => {
  const executor = await baton.actor();
  const skill = await makeCallable(baton.admin, { name: `s-${newId()}` });
  const step = { id: 'check', call: { skill: `${skill.name}@${skill.version}` } };
  const caught = await start([
    {
      id: 't',
      try: { do: [step], catch: [{ on: ['broken'], do: [setStep('note', { why: 'step.error.detail' })] }] },
    },
  ]);
  const uncaught = await start([step]);
  for (const _ of [1, 2]) {
    const { id, fencingToken } = (await done(claimCall(executor, skill))).invocation;
    const error = { code: 'broken', message: 'it broke' };
    await done(executor.post(`/skill-invocations/${id}:fail`, { fencingToken, error }));
  }
  await worker.run();
  assert.deepEqual((await get(caught.id)).data, { why: 'it broke' });
  assert.equal((await get(uncaught.id)).status, 'failed');
  assert.deepEqual((await told(uncaught.id, 'failed'))[0]?.['error'], {
    type: 'broken',
    status: null,
    detail: 'it broke',
  });
  assert.equal((await told(uncaught.id, 'failed'))[0]?.['element'], 'check');
});

test('an ended step closes the objects that it opened', async () => {
  const skill = await makeCallable(baton.admin, { name: `s-${newId()}` });
  const person = await baton.actor({ kind: 'human' });
  const branches = [
    { id: 'one', do: [humanStep('work')] },
    { id: 'two', do: [{ id: 'call', call: { skill: `${skill.name}@${skill.version}` } }] },
    { id: 'three', do: [{ id: 'vote', approve: { approvers: [{ principal: person.principalId }] } }] },
  ];
  const made = await start([{ id: 'race', fork: { mode: 'compete', branches } }]);
  const [work, vote] = ['work', 'vote'].map((id) => made.openElements.find((open: any) => open.id === id));
  const calls = (await told(made.id, 'step_entered')).flatMap(
    (payload) => payload['skillInvocationId'] ?? [],
  );
  await complete(work.taskId);
  await worker.run();
  assert.equal((await get(made.id)).status, 'completed');
  assert.equal((await done(baton.admin.get(`/approvals/${vote.approvalIds[0]}`))).status, 'cancelled');
  assert.equal((await done(baton.admin.get(`/skill-invocations/${calls[0]}`))).status, 'cancelled');
  const left = (await told(made.id, 'step_exited')).map(({ element, outcome }) => [element, outcome]);
  assert.ok(left.some(([element, outcome]) => element === 'vote' && outcome === 'withdrawn'));
});

test('a cancelled task is an error; a task of a workspace is created there, with its assignee', async () => {
  const worked = await baton.actor({ kind: 'human' });
  const chain = [{ expr: "'nobody'" }, { principal: newId() }, { expr: 'data.who' }];
  const made = await start(
    [humanStep('ask', { assign: chain, form: { type: 'object' } })],
    {},
    { who: worked.principalId },
  );
  const [{ taskId }] = made.openElements;
  const task = await done(baton.admin.get(`/tasks/${taskId}`));
  assert.equal(task.assigneeId, worked.principalId);
  await done(baton.admin.patch(`/tasks/${taskId}`, { status: 'cancelled' }, { 'if-match': 'task-1' }));
  await worker.run();
  const after = await get(made.id);
  assert.equal(after.status, 'failed');
  assert.deepEqual((await told(made.id, 'failed'))[0]?.['error'], {
    type: 'task_cancelled',
    status: 409,
    detail: null,
  });
});

test('people who did the work of the instance may not vote, and a disabled person no longer counts', async () => {
  const [doer, voter, other] = await Promise.all([1, 2, 3].map(() => baton.actor({ kind: 'human' })));
  assert.ok(doer && voter && other);
  const approvers = [doer, voter, other].map(({ principalId }) => ({ principal: principalId }));
  const made = await start([
    humanStep('do', { assign: [{ principal: doer.principalId }] }),
    { id: 'vote', approve: { approvers, separationOfDuties: true }, export: { as: 'vote' } },
  ]);
  await complete(made.openElements[0].taskId);
  await worker.run();
  const [open] = (await get(made.id)).openElements;
  const asked = await Promise.all(
    open.approvalIds.map((id: string) => done(baton.admin.get(`/approvals/${id}`))),
  );
  assert.deepEqual(
    asked.map((approval) => approval.assignedPrincipalId).sort(),
    [voter.principalId, other.principalId].sort(),
  );
  assert.ok(asked.every(({ excludedPrincipals }) => excludedPrincipals.includes(doer.principalId)));
  const own = asked.find(({ assignedPrincipalId }) => assignedPrincipalId === voter.principalId);
  await done(voter.post(`/approvals/${own.id}:approve`, {}));
  await done(baton.admin.post(`/principals/${other.principalId}:disable`, { reason: 'left' }));
  await worker.run();
  const after = await get(made.id);
  assert.deepEqual(
    [after.status, after.data.vote.outcome, after.data.vote.reason],
    ['completed', 'approved', 'all_voted'],
  );
});

test('milestones, moved timers, warnings and deadlines that cannot be computed are reported', async () => {
  const later = (hours: number) => `'${new Date(Date.now() + hours * 3_600_000).toISOString()}'`;
  const stages = [
    {
      id: 'main',
      steps: [
        setStep('a', { m: '1' }),
        humanStep('b', { due: { at: 'timestamp(data.when)' } }),
        setStep('c', { m: '0' }),
        setStep('d', { at: later(2) }),
        humanStep('e'),
      ],
      milestones: [{ id: 'half', when: 'data.m == 1' }],
      timers: [
        {
          id: 'tick',
          at: `timestamp(has(data.at) ? data.at : ${later(1)})`,
          do: [setStep('ticked', { t: '1' })],
        },
      ],
    },
  ];
  const data = {
    type: 'object',
    properties: { m: {}, when: { type: 'string' }, at: { type: 'string' }, t: {} },
  };
  const made = await start([], { stages, data }, { when: 'never' });
  assert.equal(made.openElements[0].slaState, 'unknown');
  const [failed] = (await told(made.id, 'sla_failed')) as any[];
  assert.equal(failed.error.code, 'expression_error');
  await complete(made.openElements[0].taskId);
  await worker.run();
  assert.deepEqual((await told(made.id, 'milestone_reached'))[0]?.['milestone'], 'half');
  assert.equal((await told(made.id, 'milestone_lost')).length, 1);
  const [moved] = await told(made.id, 'timer_rescheduled');
  assert.deepEqual(
    [moved?.['element'], moved?.['cause'], moved?.['changedFields']],
    ['tick', 'data_changed', ['m', 'at']],
  );
  const soon = await start([humanStep('x', { due: { duration: 'PT1H', warnBefore: 'PT1H' } })]);
  await worker.timers();
  const warned = await get(soon.id);
  assert.equal(warned.slaState, 'warning');
  assert.equal((await told(soon.id, 'sla_warning')).length, 1);
});

test('a step waits for a matching event, and other events do not continue the instance', async () => {
  const kind = `k-${newId()}`;
  const listen = { any: [{ observation: kind, where: 'event.payload.data.n == data.n' }] };
  const [one, two] = [
    await start([{ id: 'l', listen }], {}, { n: 1 }),
    await start([{ id: 'l', listen }], {}, { n: 2 }),
  ];
  await observe(baton.admin, kind, { n: 2 });
  await worker.run();
  assert.deepEqual([(await get(one.id)).status, (await get(two.id)).status], ['running', 'completed']);
});

test('an event of another tenant reaches no instance, and lists show no instance of another tenant', async () => {
  const other = await baton.actor({ tenantId: baton.otherTenantId });
  const made = await start([humanStep('a')]);
  const answer = await other.get(`/process-instances/${made.id}`);
  assert.equal(answer.status, 404);
  assert.deepEqual((await done(other.get('/process-instances'))).items, []);
});

test('the steps after a skipped step or a suspend step run within the operator’s call', async () => {
  const missing = { id: 'call', call: { process: `p-${newId()}` } };
  const stages = [
    { id: 'one', steps: [missing, setStep('note', { noted: 'true' })] },
    { id: 'two', steps: [setStep('end', { ended: 'true' })] },
  ];
  const parked = await start([], { stages });
  assert.deepEqual([parked.status, parked.suspension.code], ['suspended', 'not_found']);
  const skip = { element: 'call', reason: 'done by hand' };
  const gone = await done(baton.admin.post(`/process-instances/${parked.id}:skip`, skip));
  assert.deepEqual([gone.status, gone.data], ['completed', { noted: true, ended: true }]);
  const held = await start([
    { id: 'first', suspend: { reason: 'look' } },
    setStep('seen', { seen: 'true' }),
    { id: 'second', suspend: {} },
  ]);
  assert.equal(held.status, 'suspended');
  const resume = () => done(baton.admin.post(`/process-instances/${held.id}:resume`, {}));
  const again = await resume();
  assert.deepEqual([again.status, again.data], ['suspended', { seen: true }]);
  assert.equal((await resume()).status, 'completed');
  assert.deepEqual(
    (await told(held.id, 'suspended')).map(({ cause, reason }) => [cause, reason]),
    [
      ['event', 'look'],
      ['event', null],
    ],
  );
  await refused(baton.admin.get(`/process-instances/${newId()}/journal`), 404, 'not_found');
});
