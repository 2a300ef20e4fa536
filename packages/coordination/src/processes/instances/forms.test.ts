import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from '@baton/values/ids';
import type { Actor } from '../../testing/coordination.ts';
import { done, openSession, refused } from '../../testing/leases.ts';
import { humanStep, startProcesses } from '../../testing/processes/process-instances.ts';
import { agentSpec, linkAgent, publishAgent } from '../../testing/registry/agents.ts';
import { makeRule, makeRuleWorker, observe, observed } from '../../testing/rules/rules.ts';

// Tests the form of a human step: its addressee reads it, and the task is completed only with a valid result.

const { baton, worker, get, start, complete } = await startProcesses();

const form = {
  type: 'object',
  required: ['weight'],
  additionalProperties: false,
  properties: {
    weight: { type: 'number', minimum: 0.1, title: 'Weight in kg' },
    box: { type: 'string', enum: ['small', 'large'] },
  },
};
const missing = { path: '', message: 'must have the property weight' };

const read = (taskId: string) => done(baton.admin.get(`/tasks/${taskId}`));
const change = async (actor: Actor, taskId: string, body: object) =>
  actor.patch(`/tasks/${taskId}`, body, { 'if-match': `task-${(await read(taskId)).version}` });
const fill = (actor: Actor, taskId: string, customFields: object, claim: object = {}) =>
  change(actor, taskId, { customFields, ...claim });
const finish = async (actor: Actor, taskId: string, body: object = {}) =>
  actor.post(`/tasks/${taskId}:complete`, body, { 'if-match': `task-${(await read(taskId)).version}` });
const formOf = (actor: Actor, taskId: string) => done(actor.get(`/tasks/${taskId}/form`));

/** An instance that waits for a parcel's weight. */
async function startPacking(human: object = {}, more: object = {}) {
  const pack = { ...humanStep('pack', { form, ...human }), export: { as: 'parcel' }, ...more };
  const made = await start([pack, humanStep('look')], {}, { customer: 'Ada' });
  return { made, taskId: made.openElements[0].taskId as string };
}

test('the addressee, with permissions for tasks only, reads the form, its context and the missing fields', async () => {
  const packer = await baton.actor({ kind: 'human', permissions: ['tasks.read', 'tasks.write'] });
  const { made, taskId } = await startPacking({
    assign: [{ principal: packer.principalId }],
    context: { customer: 'data.customer' },
  });
  const before = await formOf(packer, taskId);
  assert.deepEqual(before, {
    taskId,
    publicId: (await read(taskId)).publicId,
    process: { instanceId: made.id, element: 'pack' },
    form,
    context: { customer: 'Ada' },
    values: {},
    errors: [missing],
  });
  await done(fill(packer, taskId, { weight: 0, colour: 'red' }));
  const { values, errors } = await formOf(packer, taskId);
  assert.deepEqual(values, { weight: 0 });
  assert.deepEqual(
    errors.map(({ path }: { path: string }) => path),
    ['/weight'],
  );
  const reader = await baton.actor({ permissions: ['events.read'] });
  await refused(reader.get(`/tasks/${taskId}/form`), 403, 'permission_denied');
});

test('a completion whose result does not match the form is refused and writes nothing; a valid one continues the process', async () => {
  const { made, taskId } = await startPacking();
  for (const [fields, error] of [
    [{}, missing],
    [{ weight: 'heavy' }, { path: '/weight', message: 'must be number' }],
    [
      { weight: 1, box: 'huge' },
      { path: '/box', message: 'must be one of the allowed values' },
    ],
  ] as const) {
    await done(fill(baton.admin, taskId, fields));
    const before = await read(taskId);
    const details = await refused(finish(baton.admin, taskId), 422, 'custom_fields_invalid');
    assert.deepEqual(details, { taskId, errors: [error] });
    assert.deepEqual(await read(taskId), before);
  }
  await done(fill(baton.admin, taskId, { weight: 2.5, box: 'small', other: true }));
  assert.deepEqual((await formOf(baton.admin, taskId)).errors, []);
  await complete(taskId);
  await refused(fill(baton.admin, taskId, { weight: -1 }), 422, 'custom_fields_invalid');
  await worker.run();
  const after = await get(made.id);
  assert.deepEqual([after.status, after.data.parcel], ['running', { weight: 2.5, box: 'small' }]);
  assert.equal(after.openElements[0].id, 'look');
});

test('a run that succeeds without the form fields stays running, with a live claim', async () => {
  const identity = { permissions: ['sessions.open', 'tasks.claim', 'tasks.read', 'tasks.write'] };
  const { key, revision } = await publishAgent(baton.admin, agentSpec({ identity }));
  const packer = await linkAgent(baton, key);
  const { made, taskId } = await startPacking({ assign: [{ agent: key }] });
  const sessionId = await openSession(packer);
  const lease = await done(packer.post(`/tasks/${taskId}:claim`, { sessionId }));
  const keys = { claimId: lease.id, fencingToken: lease.fencingToken };
  const body = { ...keys, agentRevisionId: revision.id };
  const run = await done(packer.post(`/tasks/${taskId}:start-run`, body), 201);
  const output = { weight: 2 };
  const details = await refused(
    packer.post(`/runs/${run.id}:succeed`, { output }),
    422,
    'custom_fields_invalid',
  );
  assert.deepEqual(details.errors, [missing]);
  assert.equal((await done(packer.get(`/runs/${run.id}`))).status, 'running');
  assert.equal((await read(taskId)).activeClaimId, lease.id);
  await done(fill(packer, taskId, { weight: 2 }, keys));
  await done(packer.post(`/runs/${run.id}:succeed`, { output }));
  await worker.run();
  assert.deepEqual((await get(made.id)).data.parcel, { weight: 2 });
});

test('a rule completes the task of a step only with a valid result', async () => {
  const { taskId } = await startPacking();
  const permissions = ['tasks.read', 'tasks.write', 'observations.write'];
  const { key } = await publishAgent(baton.admin, agentSpec({ identity: { permissions } }));
  const agent = await linkAgent(baton, key);
  const rules = makeRuleWorker(baton);
  const type = `packed-${newId()}`;
  const rule = await makeRule(baton.admin, {
    trigger: observed(type, { agent: key }),
    identity: { agent: key },
    action: { kind: 'complete_work', target: 'task', taskType: undefined, fields: undefined },
  });
  const outcome = async () => {
    await observe(agent, type, {}, { task: taskId });
    await rules.run();
    const { items } = await done(baton.admin.get(`/rules/${rule.id}/evaluations`));
    return [items[0].status, (await read(taskId)).systemStatusCategory];
  };
  assert.deepEqual(await outcome(), ['failed', 'active']);
  await done(fill(baton.admin, taskId, { weight: 1 }));
  assert.deepEqual(await outcome(), ['matched', 'terminal_success']);
  await rules.close();
});

test('while a result is verified it can only be changed to another valid one', async () => {
  const { taskId } = await startPacking();
  const acceptance = [{ key: 'seen', kind: 'human', description: 'Somebody has seen it.', spec: {} }];
  await done(change(baton.admin, taskId, { acceptance, customFields: { weight: 1 } }));
  const { systemStatusCategory, verification } = await done(finish(baton.admin, taskId));
  assert.notEqual(verification, null);
  assert.notEqual(systemStatusCategory, 'terminal_success');
  const details = await refused(fill(baton.admin, taskId, {}), 422, 'custom_fields_invalid');
  assert.deepEqual(details, { taskId, errors: [missing] });
  await done(fill(baton.admin, taskId, { weight: 3 }));
});

test('only the process writes the field with the form, also for a step that is open to all', async () => {
  const { made, taskId } = await startPacking();
  const externalId = `process/${made.id}/pack`;
  const name = { externalSystem: 'control-plane', externalType: 'process_step', externalId };
  const { items } = await done(baton.admin.get(`/external-references?${new URLSearchParams(name)}`));
  await refused(baton.admin.delete(`/external-references/${items[0].id}`), 403, 'not_eligible');
  const forged = { entityType: 'task', entityId: taskId, ...name, metadata: { form: {} } };
  await refused(baton.admin.post('/external-references', forged), 403, 'not_eligible');
  assert.deepEqual((await formOf(baton.admin, taskId)).form, form);
});

test('a task that only claims to come from a process has neither a process nor a form', async () => {
  const { made } = await startPacking();
  const origin = { kind: 'process', ref: `process/${made.id}/pack` };
  const task = await done(baton.admin.post('/tasks', { title: 'Forged', origin }), 201);
  const { process, form: none, errors } = await formOf(baton.admin, task.id);
  assert.deepEqual([process, none, errors], [null, null, []]);
  const plain = await done(baton.admin.post('/tasks', { title: 'Plain' }), 201);
  assert.equal((await formOf(baton.admin, plain.publicId)).process, null);
});
