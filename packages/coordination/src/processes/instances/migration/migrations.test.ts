import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../../testing/coordination.ts';
import { done, refused } from '../../../testing/leases.ts';
import {
  humanStep,
  makeProcessAgent,
  makeProcessWorker,
  publishProcess,
  setStep,
  specOf,
  startProcessInstance,
} from '../../../testing/processes/process-instances.ts';
import { observe } from '../../../testing/rules/rules.ts';

// Tests instances that migrate to a later version, which lists their version in `migrations`
// (docs/reference/processes.md#migration).

let baton: TestCoordination;
let worker: ReturnType<typeof makeProcessWorker>;
let agent: Awaited<ReturnType<typeof makeProcessAgent>>;
before(async () => {
  baton = await startCoordination();
  worker = makeProcessWorker(baton);
  agent = await makeProcessAgent(baton);
});
after(async () => {
  await worker.close();
  await baton.close();
});

const from = (version: number, to: number, map?: object) => ({
  migrations: [{ from: version, to, policy: 'migrate', ...(map && { map }) }],
});
const versionOf = (version: number, steps: object[], more: object = {}) =>
  specOf(agent.key, steps, { version, ...more });
const read = (id: string) => done(baton.admin.get(`/process-instances/${id}`));
const openIds = async (id: string) => (await read(id)).openElements.map((one: { id: string }) => one.id);
const publish = (key: string, spec: object) => publishProcess(baton.admin, spec, key);
const migrate = async () => {
  while ((await worker.migrations()) > 0);
  await worker.run();
};
const complete = async (taskId: string) => {
  const { version } = await done(baton.admin.get(`/tasks/${taskId}`));
  await done(baton.admin.post(`/tasks/${taskId}:complete`, {}, { 'if-match': `task-${version}` }));
  await worker.run();
};
const completeStep = async (id: string, element: string) => {
  const { openElements } = await read(id);
  await complete(openElements.find((one: { id: string }) => one.id === element).taskId);
};
const told = async (id: string, type: string): Promise<any[]> =>
  (
    await baton.pool.rows<{ payload: object }>(sql`
      select payload from events where entity_id = ${id} and type = ${type} order by position, sequence`)
  ).map(({ payload }) => payload);
const resume = (id: string) => done(baton.admin.post(`/process-instances/${id}:resume`, {}));

test('an instance continues with the new version, from its current step', async () => {
  const key = await publishProcess(
    baton.admin,
    versionOf(1, [humanStep('look'), setStep('end', { n: '1' })]),
  );
  const { id, openElements } = await startProcessInstance(baton.admin, key);
  const second = [
    setStep('before', { m: '1' }),
    humanStep('look'),
    setStep('end', { n: '2' }),
    humanStep('new'),
  ];
  await publish(key, versionOf(2, second, from(1, 2)));
  assert.equal((await read(id)).definitionVersion, 1);
  await migrate();
  const now = await read(id);
  assert.deepEqual([now.definitionVersion, now.status], [2, 'running']);
  assert.equal(now.openElements[0].taskId, openElements[0].taskId);
  assert.deepEqual(await told(id, 'process.migrated'), [
    {
      instanceId: id,
      definitionKey: key,
      version: 2,
      instanceKey: now.instanceKey,
      workspaceId: null,
      fromVersion: 1,
      map: {},
      policy: 'migrate',
    },
  ]);
  await completeStep(id, 'look');
  assert.deepEqual(await openIds(id), ['new']);
  assert.deepEqual((await read(id)).data, { n: 2 });
  await completeStep(id, 'new');
  assert.equal((await read(id)).status, 'completed');
});

test('a version without migrate, or with pin, leaves instances as they are', async () => {
  const key = await publishProcess(baton.admin, versionOf(1, [humanStep('look')]));
  const { id } = await startProcessInstance(baton.admin, key);
  await publish(key, versionOf(2, [humanStep('look')]));
  await publish(key, versionOf(3, [humanStep('look')], { migrations: [{ from: 1, to: 3, policy: 'pin' }] }));
  await migrate();
  assert.equal((await read(id)).definitionVersion, 1);
});

test('a step keeps its work under a new id, and a removed step is closed and skipped', async () => {
  const steps = [
    {
      id: 'both',
      fork: {
        branches: [
          { id: 'one', do: [humanStep('draft'), setStep('drafted', { d: '1' })] },
          { id: 'two', do: [setStep('prepared', { p: '1' }), humanStep('check'), humanStep('sign')] },
        ],
      },
    },
  ];
  const key = await publishProcess(baton.admin, versionOf(1, steps));
  const { id, openElements } = await startProcessInstance(baton.admin, key);
  const taskOf = (element: string) =>
    openElements.find((one: { id: string }) => one.id === element).taskId as string;
  const later = [
    {
      id: 'both',
      fork: {
        branches: [
          { id: 'two', do: [setStep('prepared', { p: '2' }), humanStep('sign')] },
          { id: 'first', do: [humanStep('write'), setStep('drafted', { d: '2' })] },
        ],
      },
    },
  ];
  await publish(key, versionOf(2, later, from(1, 2, { one: 'first', draft: 'write', check: null })));
  await migrate();
  assert.deepEqual((await openIds(id)).sort(), ['both', 'sign', 'write']);
  const [{ map }] = await told(id, 'process.migrated');
  assert.deepEqual(map, { draft: 'write', check: null });
  const exits = await told(id, 'process.step_exited');
  assert.deepEqual(
    exits.map(({ element, outcome }) => [element, outcome]),
    [
      ['prepared', 'completed'],
      ['check', 'migrated'],
    ],
  );
  assert.equal((await done(baton.admin.get(`/tasks/${taskOf('check')}`))).status, 'cancelled');
  await complete(taskOf('draft'));
  await completeStep(id, 'sign');
  const now = await read(id);
  assert.deepEqual([now.status, now.data], ['completed', { p: 1, d: 2 }]);
});

test('an open task has the form of the later version, and the names of two steps may be exchanged', async () => {
  const formOf = (name: string) => ({
    type: 'object',
    required: [name],
    properties: { [name]: { type: 'number' } },
  });
  const step = (id: string, name: string) => ({
    ...humanStep(id, { form: formOf(name), context: { part: `'${id}'` } }),
    export: { as: name },
  });
  const fork = (...steps: object[]) => [
    { id: 'both', fork: { branches: steps.map((one, n) => ({ id: `branch-${n}`, do: [one] })) } },
    humanStep('look'),
  ];
  const key = await publishProcess(
    baton.admin,
    versionOf(1, fork(step('left', 'old'), step('right', 'same'))),
  );
  const { id, openElements } = await startProcessInstance(baton.admin, key);
  const taskOf = (element: string) =>
    openElements.find((one: { id: string }) => one.id === element).taskId as string;
  const later = fork(step('right', 'fresh'), step('left', 'same'));
  await publish(key, versionOf(2, later, from(1, 2, { left: 'right', right: 'left' })));
  // The migration must work however many external references others have added to the task.
  await baton.pool.run(sql`
    insert into external_references (id, tenant_id, entity_type, entity_id, external_system, external_type, external_id,
      reference_key, metadata, created_by)
    select gen_random_uuid(), tenant_id, 'task', entity_id, 'elsewhere', 'issue', n::text, 'elsewhere/' || n, '{}', created_by
    from external_references, generate_series(1, 200) n
    where entity_id = ${taskOf('left')} and external_type = 'process_step'`);
  await migrate();
  const read = (taskId: string) => done(baton.admin.get(`/tasks/${taskId}/form`));
  const [first, second] = [await read(taskOf('left')), await read(taskOf('right'))];
  assert.deepEqual(
    [first.process, first.form, first.context, second.process.element, second.form],
    [{ instanceId: id, element: 'right' }, formOf('fresh'), { part: 'left' }, 'left', formOf('same')],
  );
  const fill = async (taskId: string, customFields: object) => {
    const { version } = await done(baton.admin.get(`/tasks/${taskId}`));
    await done(baton.admin.patch(`/tasks/${taskId}`, { customFields }, { 'if-match': `task-${version}` }));
    return baton.admin.post(`/tasks/${taskId}:complete`, {}, { 'if-match': `task-${version + 1}` });
  };
  await refused(fill(taskOf('left'), { old: 1 }), 422, 'custom_fields_invalid');
  await done(fill(taskOf('left'), { fresh: 1 }));
  await done(fill(taskOf('right'), { same: 2 }));
  await worker.run();
  const { data } = await done(baton.admin.get(`/process-instances/${id}`));
  assert.deepEqual([data.fresh, data.same], [{ fresh: 1 }, { same: 2 }]);
});

test('stages are matched by their ids, and a new one before an active one is skipped', async () => {
  const stages = (...ids: string[]) => ids.map((id) => ({ id, steps: [humanStep(`do-${id}`)] }));
  const key = await publishProcess(baton.admin, { ...versionOf(1, []), stages: stages('a', 'b', 'c') });
  const { id } = await startProcessInstance(baton.admin, key);
  await completeStep(id, 'do-a');
  const map = { a: 'start', 'do-a': 'do-start' };
  await publish(key, { ...versionOf(2, [], from(1, 2, map)), stages: stages('start', 'x', 'b', 'y') });
  await migrate();
  const statesOf = async () =>
    (await read(id)).stages.map(({ id: stage, state }: any) => `${stage} ${state}`).sort();
  assert.deepEqual(await statesOf(), ['b active', 'start completed', 'x terminated', 'y available']);
  await completeStep(id, 'do-b');
  assert.deepEqual(await openIds(id), ['do-y']);
  await publish(key, { ...versionOf(3, [], from(2, 3)), stages: stages('start', 'b', 'z') });
  await migrate();
  assert.deepEqual(await openIds(id), ['do-z']);
  assert.deepEqual(await statesOf(), ['b completed', 'start completed', 'z active']);
});

test('timers are computed again from the start of the step, and an overdue step is reported at once', async () => {
  const steps = (due: string, wait: string) => [
    {
      id: 'both',
      fork: {
        branches: [
          { id: 'one', do: [humanStep('look', { due })] },
          { id: 'two', do: [{ id: 'pause', wait }] },
          { id: 'three', do: [humanStep('same', { due: 'P9D' })] },
        ],
      },
    },
  ];
  const key = await publishProcess(baton.admin, versionOf(1, steps('P1D', 'P2D'), { due: 'P3D' }));
  const { id, openElements } = await startProcessInstance(baton.admin, key);
  const since = Date.parse(openElements.find((one: any) => one.id === 'pause').since);
  const at = (days: number) => new Date(since + days * 86_400_000).toISOString();
  await publish(key, versionOf(2, steps('PT0.001S', 'P5D'), { due: 'P4D', ...from(1, 2) }));
  await migrate();
  const moved = await told(id, 'process.timer_rescheduled');
  assert.deepEqual(
    moved.map(({ element, dueAt, cause }) => [element === id ? 'all' : element, dueAt, cause]),
    [
      ['all', at(4), 'migrated'],
      ['look', new Date(since + 1).toISOString(), 'migrated'],
      ['pause', at(5), 'migrated'],
    ],
  );
  const breaches = await told(id, 'process.sla_breached');
  assert.deepEqual(
    breaches.map(({ element, detectedBy, dueAt }) => [element, detectedBy, dueAt]),
    [['look', 'migration', new Date(since + 1).toISOString()]],
  );
  const now = await read(id);
  assert.deepEqual([now.slaState, now.sla.dueAt], ['breached', at(4)]);
  const rows = await baton.pool.rows<{ due_at: string }>(sql`
    select due_at from process_timers where instance_id = ${id} order by due_at`);
  assert.deepEqual(
    rows.map(({ due_at }) => due_at),
    [at(4), at(5), at(9)],
  );
});

test('a suspended instance migrates and stays suspended, with its deadlines frozen', async () => {
  const key = await publishProcess(baton.admin, versionOf(1, [humanStep('look', { due: 'P1D' })]));
  const { id } = await startProcessInstance(baton.admin, key);
  await done(baton.admin.post(`/process-instances/${id}:suspend`, { reason: 'for the test' }));
  await publish(key, versionOf(2, [humanStep('look', { due: 'P4D' })], from(1, 2)));
  await migrate();
  const now = await read(id);
  assert.deepEqual([now.definitionVersion, now.status, now.slaState], [2, 'suspended', 'paused']);
  assert.ok(now.openElements[0].due.remainingSeconds > 3.9 * 86_400);
  await resume(id);
  const again = await read(id);
  assert.ok(Date.parse(again.openElements[0].due.dueAt) > Date.now() + 3.9 * 86_400_000);
  await completeStep(id, 'look');
  assert.equal((await read(id)).status, 'completed');
});

test('an instance that cannot continue is suspended with the reason, and a resume retries the migration', async () => {
  const key = await publishProcess(baton.admin, versionOf(1, [humanStep('look')]));
  const { id, openElements } = await startProcessInstance(baton.admin, key, { n: 'text' });
  const data = { type: 'object', properties: { n: { type: 'integer' } } };
  await publish(key, versionOf(2, [humanStep('look')], { data, ...from(1, 2) }));
  await migrate();
  const held = await read(id);
  assert.deepEqual([held.status, held.definitionVersion], ['suspended', 1]);
  assert.equal(held.suspension.code, 'migration_failed');
  assert.match(held.suspension.reason, /^version 2: data_invalid: /);
  const skip = { element: 'look', reason: 'no' };
  await refused(
    baton.admin.post(`/process-instances/${id}:skip`, skip),
    409,
    'invalid_process_instance_state',
  );
  const again = await resume(id);
  assert.deepEqual([again.status, again.suspension.code], ['suspended', 'migration_failed']);
  // Events that arrive in the meantime are stored.
  await complete(openElements[0].taskId);
  assert.ok((await read(id)).kept.inputs > 0);
  await baton.pool.run(sql`
    update process_instances set state = jsonb_set(state, '{data,n}', '5') where id = ${id}`);
  const resumed = await resume(id);
  assert.deepEqual([resumed.status, resumed.definitionVersion, resumed.suspension], ['running', 2, null]);
  await worker.run();
  assert.equal((await read(id)).status, 'completed');
});

test('no event continues an instance with the version that it should leave', async () => {
  const kind = `go-${newId()}`;
  const correlate = [
    { on: { observation: kind }, key: 'event.payload.data.key', do: [{ id: 'on', resume: {} }] },
  ];
  const key = await publishProcess(baton.admin, versionOf(1, [humanStep('look')], { correlate }));
  const name = newId();
  const { id } = await startProcessInstance(baton.admin, key, { n: 'text' }, name);
  const data = { type: 'object', properties: { n: { type: 'integer' } } };
  await publish(key, versionOf(2, [humanStep('look')], { data, correlate, ...from(1, 2) }));
  await migrate();
  await observe(baton.admin, kind, { key: name });
  await worker.run();
  const now = await read(id);
  assert.deepEqual([now.status, now.definitionVersion], ['suspended', 1]);
  assert.ok(now.kept.inputs > 0);
  // The instance can be cancelled while it keeps its own version.
  await done(baton.admin.post(`/process-instances/${id}:cancel`, { reason: 'for the test' }));
  assert.equal((await read(id)).status, 'cancelled');
});

test('a later version migrates the instances that could not migrate to the previous one', async () => {
  const key = await publishProcess(baton.admin, versionOf(1, [humanStep('look')]));
  const { id } = await startProcessInstance(baton.admin, key, { n: 'text' });
  const data = { type: 'object', properties: { n: { type: 'integer' } } };
  await publish(key, versionOf(2, [humanStep('look')], { data, ...from(1, 2) }));
  await migrate();
  await publish(key, versionOf(3, [humanStep('look')], from(1, 3)));
  await migrate();
  const now = await read(id);
  assert.deepEqual([now.status, now.definitionVersion], ['suspended', 3]);
  assert.equal((await resume(id)).status, 'running');
});

test('an event from before the migration is processed once, by the current version of the instance', async () => {
  const kind = `note-${newId()}`;
  const hearing = (field: string) => ({
    correlate: [
      { on: { observation: `other-${kind}` }, key: 'event.payload.data.key', set: { other: 'true' } },
      { on: { observation: kind }, key: 'event.payload.data.key', set: { [field]: 'true' } },
    ].slice(field === 'one' ? 1 : 0),
  });
  const key = await publishProcess(baton.admin, versionOf(1, [humanStep('look')], hearing('one')));
  const ids: { id: string; key: string }[] = [];
  for (let n = 0; n < 2; n += 1) {
    const name = newId();
    ids.push({ id: (await startProcessInstance(baton.admin, key, {}, name)).id, key: name });
  }
  const [first, second] = ids as [(typeof ids)[0], (typeof ids)[0]];
  // A suspended instance has an event that was matched against the first version.
  await done(baton.admin.post(`/process-instances/${second.id}:suspend`, { reason: 'for the test' }));
  await observe(baton.admin, kind, { key: second.key });
  await worker.run();
  assert.ok((await read(second.id)).kept.inputs > 0);
  await observe(baton.admin, kind, { key: first.key });
  await publish(key, versionOf(2, [humanStep('look')], { ...hearing('two'), ...from(1, 2) }));
  while ((await worker.migrations()) > 0);
  await worker.run();
  assert.deepEqual((await read(first.id)).data, { two: true });
  await resume(second.id);
  await worker.run();
  assert.deepEqual((await read(second.id)).data, { two: true });
  await observe(baton.admin, `other-${kind}`, { key: first.key });
  await worker.run();
  assert.deepEqual((await read(first.id)).data, { two: true, other: true });
});

test('a step waits for the events of the current version of its instance', async () => {
  const [one, two] = [`one-${newId()}`, `two-${newId()}`];
  const steps = (kind: string) => [{ id: 'hear', listen: { any: [{ observation: kind }] } }];
  const key = await publishProcess(baton.admin, versionOf(1, steps(one)));
  const { id } = await startProcessInstance(baton.admin, key);
  await publish(key, versionOf(2, steps(two), from(1, 2)));
  await migrate();
  await observe(baton.admin, one, {});
  await worker.run();
  assert.deepEqual(await openIds(id), ['hear']);
  await observe(baton.admin, two, {});
  await worker.run();
  assert.equal((await read(id)).status, 'completed');
});

test('instances of an old version migrate to the newest through the intermediate versions', async () => {
  const key = await publishProcess(baton.admin, versionOf(1, [humanStep('a')]));
  const { id } = await startProcessInstance(baton.admin, key);
  await publish(key, versionOf(2, [humanStep('b')], from(1, 2, { a: 'b' })));
  await publish(key, versionOf(3, [humanStep('c')], from(2, 3, { b: 'c' })));
  await migrate();
  await baton.pool.run(sql`
    update process_migrations set next_at = now() - interval '1 s' where definition_key = ${key}`);
  await migrate();
  assert.equal((await read(id)).definitionVersion, 3);
  const { items } = await done(baton.admin.get(`/process-instances/${id}/journal?kind=input`));
  assert.deepEqual(
    items.flatMap(({ reason, data }: any) => (reason === 'migrate' ? [data] : [])),
    [
      { fromVersion: 1, toVersion: 2 },
      { fromVersion: 2, toVersion: 3 },
    ],
  );
  // A replay with the last version, which goes through the versions before it, has the same result.
  const spec = versionOf(3, [humanStep('c')], from(2, 3, { b: 'c' }));
  const report = await done(baton.admin.post(`/process-definitions/${key}:replay`, { spec }));
  assert.deepEqual(
    report.instances.map(({ result, divergences }: any) => [result, divergences]),
    [['same', []]],
  );
  const other = versionOf(4, [humanStep('d')], from(2, 4, { b: 'd' }));
  const [diverged] = (await done(baton.admin.post(`/process-definitions/${key}:replay`, { spec: other })))
    .instances;
  assert.equal(diverged.result, 'diverged');
});

test('a call that specifies a version keeps it', async () => {
  const inner = await publishProcess(baton.admin, versionOf(1, [humanStep('look')]));
  const call = (process: string) => [{ id: 'go', call: { process, input: {} } }];
  const outer = async (process: string) => {
    const key = await publishProcess(baton.admin, versionOf(1, call(process)));
    await startProcessInstance(baton.admin, key);
  };
  await outer(inner);
  await outer(`${inner}@1`);
  await worker.run();
  await publish(inner, versionOf(2, [humanStep('look')], from(1, 2)));
  await migrate();
  const { items } = await done(baton.admin.get(`/process-instances?definitionKey=${inner}`));
  assert.deepEqual(items.map((one: any) => one.definitionVersion).sort(), [1, 2]);
});

test('a new version acts on behalf of its agent, within the agent’s permissions', async () => {
  const other = await makeProcessAgent(baton);
  const key = await publishProcess(baton.admin, versionOf(1, [humanStep('look')]));
  const { id, openElements } = await startProcessInstance(baton.admin, key);
  await publish(key, { ...versionOf(2, [humanStep('see')], from(1, 2)), identity: { agent: other.key } });
  await migrate();
  const { openElements: now } = await read(id);
  assert.deepEqual(
    now.map((one: any) => one.id),
    ['see'],
  );
  assert.equal((await done(baton.admin.get(`/tasks/${openElements[0].taskId}`))).status, 'cancelled');
  const { createdBy } = await done(baton.admin.get(`/tasks/${now[0].taskId}`));
  assert.equal(createdBy, other.principalId);
});
