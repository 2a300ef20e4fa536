import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { done, refused } from '../../testing/leases.ts';
import { humanStep, setStep, specOf, startProcesses } from '../../testing/processes/process-instances.ts';
import { observe } from '../../testing/rules/rules.ts';

// Tests event handlers outside stages (`onEvent`), and optional steps of a stage.

const { baton, worker, agent, get, start, told, complete } = await startProcesses();
const change = async (taskId: string, body: object) => {
  const { version } = await done(baton.admin.get(`/tasks/${taskId}`));
  return done(baton.admin.patch(`/tasks/${taskId}`, body, { 'if-match': `task-${version}` }));
};

test('an event with the key of an instance suspends it, and another resumes it', async () => {
  const [stop, go] = [`stop-${newId()}`, `go-${newId()}`];
  const key = 'string(event.payload.data.change)';
  const onEvent = [
    { on: { observation: stop }, key, do: [{ id: 'halt', suspend: { reason: 'incident' } }] },
    { on: { observation: go }, key, do: [{ id: 'on', resume: {} }, setStep('note', { resumed: 'true' })] },
  ];
  const made = await start([humanStep('work')], { onEvent });
  const other = await start([humanStep('work')], { onEvent });
  const { instanceKey: mine } = made;
  await observe(baton.admin, stop, { change: mine });
  await worker.run();
  assert.equal((await get(made.id)).status, 'suspended');
  assert.equal((await get(other.id)).status, 'running');
  assert.equal((await told(made.id, 'suspended'))[0]?.['reason'], 'incident');
  await observe(baton.admin, go, { change: 'another' });
  await worker.run();
  assert.equal((await get(made.id)).status, 'suspended');
  await observe(baton.admin, go, { change: mine });
  await worker.run();
  const after = await get(made.id);
  assert.deepEqual([after.status, after.data], ['running', { resumed: true }]);
  await complete(after.openElements[0].taskId);
  await worker.run();
  assert.equal((await get(made.id)).status, 'completed');
});

test('without a key an event goes to its own instance, or to the one whose open task it concerns', async () => {
  const onEvent = [
    {
      on: { event: 'task.updated', where: "event.entityType == 'task'" },
      do: [setStep('seen', { seen: 'event.entityId' })],
    },
    {
      on: { event: 'process.milestone_reached' },
      do: [setStep('reached', { reached: 'event.payload.milestone' })],
    },
  ];
  const stages = [
    { id: 'main', steps: [humanStep('work')], milestones: [{ id: 'half', when: 'has(data.seen)' }] },
  ];
  const [made, other] = [await start([], { stages, onEvent }), await start([], { stages, onEvent })];
  const [{ taskId }] = made.openElements;
  await change(taskId, { priority: 'high' });
  await worker.run();
  assert.deepEqual((await get(made.id)).data, { seen: taskId, reached: 'half' });
  assert.deepEqual((await get(other.id)).data, {});
  const stranger = await done(baton.admin.post('/tasks', { title: 'Not of a process' }), 201);
  await change(stranger.id, { priority: 'high' });
  await complete(taskId);
  await worker.run();
  assert.deepEqual((await get(made.id)).data, { seen: taskId, reached: 'half' });
  assert.equal((await get(made.id)).status, 'completed');
  assert.deepEqual((await get(other.id)).data, {});
});

test('events for a running handler are handled one after the other, in order', async () => {
  const kind = `k-${newId()}`;
  const steps = [humanStep('look'), setStep('count', { n: 'data.n + 1' })];
  const onEvent = [{ on: { observation: kind }, key: 'string(event.payload.data.key)', do: steps }];
  const made = await start([humanStep('work')], { onEvent }, { n: 0 });
  for (const _ of [1, 2]) await observe(baton.admin, kind, { key: made.instanceKey });
  await worker.run();
  for (const n of [1, 2]) {
    const open = (await get(made.id)).openElements.filter(({ id }: { id: string }) => id === 'look');
    assert.equal(open.length, 1);
    assert.equal(open[0].attempt, n);
    await complete(open[0].taskId);
    await worker.run();
  }
  const after = await get(made.id);
  assert.deepEqual([after.status, after.data], ['running', { n: 2 }]);
  assert.deepEqual(
    after.openElements.map(({ id }: { id: string }) => id),
    ['work'],
  );
});

test('a handler that triggers itself is stopped, and waits for an operator', async () => {
  const onEvent = [{ on: { event: 'process.data_changed' }, do: [setStep('more', { n: 'data.n + 1' })] }];
  const made = await start([setStep('first', { n: '1' }), humanStep('work')], { onEvent }, { n: 0 });
  await worker.run();
  const after = await get(made.id);
  assert.deepEqual([after.status, after.suspension.code], ['suspended', 'process_loop']);
  assert.ok(after.data.n < 20);
});

test('a caller cannot forge an event of an instance', async () => {
  const onEvent = [{ on: { event: 'task.created' }, do: [setStep('s', { seen: 'event.entityId' })] }];
  const made = await start([{ id: 'wait', wait: 'PT1H' }], { onEvent });
  const task = { title: 'Not of a process' };
  await done(baton.admin.post('/tasks', task, { 'x-correlation-id': `process:${made.id}` }), 201);
  await worker.run();
  assert.deepEqual((await get(made.id)).data, {});
});

test('the events of an instance do not resume it repeatedly', async () => {
  const onEvent = [
    {
      on: { event: 'process.suspended' },
      do: [
        { id: 'on', resume: {} },
        { id: 'halt', suspend: {} },
      ],
    },
  ];
  const made = await start([{ id: 'first', suspend: {} }, humanStep('work')], { onEvent });
  await worker.run();
  const after = await get(made.id);
  assert.equal(after.status, 'suspended');
  assert.ok((await told(made.id, 'resumed')).length <= 12);
});

test('an event whose condition is false has no effect, and an instance without handlers does not receive it', async () => {
  const onEvent = [
    {
      on: { event: 'task.updated', where: "event.payload.priority == 'never'" },
      do: [setStep('s', { s: '1' })],
    },
  ];
  const plain = await start([humanStep('work')]);
  const made = await start([humanStep('work')], { onEvent });
  await change(made.openElements[0].taskId, { priority: 'high' });
  await worker.run();
  assert.deepEqual((await get(made.id)).data, {});
  assert.equal((await told(made.id, 'correlated')).length, 0);
  const waits = await baton.pool.rows<{ wait_key: string }>(sql`
    select wait_key from process_waits where instance_id = any (${[made.id, plain.id]}::uuid[]) and wait_key like 'own:%'`);
  assert.deepEqual(waits, [{ wait_key: `own:${made.id}/event:task.updated` }]);
});

test('a discretionary step starts when its condition is true, and its stage waits for it', async () => {
  const kind = `k-${newId()}`;
  const correlate = [
    { on: { observation: kind }, key: 'string(event.payload.data.key)', set: { audit: 'true' } },
  ];
  const data = { type: 'object', properties: { audit: { type: 'boolean' }, never: { type: 'boolean' } } };
  const stages = [
    {
      id: 'main',
      steps: [humanStep('work')],
      discretionary: [
        { ...humanStep('audit'), when: 'data.audit == true' },
        { ...humanStep('unwanted'), when: 'data.never == true' },
      ],
    },
    { id: 'next', steps: [humanStep('later')] },
  ];
  const open = async (id: string) => (await get(id)).openElements.map((one: { id: string }) => one.id);
  const made = await start([], { stages, correlate, data });
  assert.deepEqual(await open(made.id), ['work']);
  await observe(baton.admin, kind, { key: made.instanceKey });
  await worker.run();
  assert.deepEqual(await open(made.id), ['work', 'audit']);
  await complete(made.openElements[0].taskId);
  await worker.run();
  assert.deepEqual(await open(made.id), ['audit']);
  await complete((await get(made.id)).openElements[0].taskId);
  await worker.run();
  assert.deepEqual(await open(made.id), ['later']);
  const unwanted = await start([], { stages, correlate, data });
  await complete(unwanted.openElements[0].taskId);
  await worker.run();
  assert.deepEqual(await open(unwanted.id), ['later']);
});

test('a discretionary step that no event can start is refused', async () => {
  const stages = [{ id: 'main', steps: [humanStep('work')], discretionary: [humanStep('audit')] }];
  const sent = { key: `p-${newId()}`, spec: specOf(agent.key, [], { stages }) };
  const { problems } = await refused(baton.admin.post('/process-definitions', sent), 422, 'invalid_process');
  assert.deepEqual(
    problems.map(({ code, path }: { code: string; path: string }) => [code, path]),
    [
      ['schema_violation', '/stages/0/discretionary/0'],
      ['process_owner_missing', '/owner'],
    ],
  );
});
