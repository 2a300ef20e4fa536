import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Actor, migrationsDirectory } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import { done, openSession, refused } from '../../testing/leases.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { humanStep, setStep, startProcesses } from '../../testing/processes/process-instances.ts';
import { agentSpec, linkAgent, publishAgent } from '../../testing/registry/agents.ts';
import { makeRule, makeRuleWorker, observe, observed } from '../../testing/rules/rules.ts';

// Tests the addressee of a step's task: no other principal may claim it, change the fields that the step reads, or
// complete it.

const { baton, worker, get, start } = await startProcesses();

const read = (taskId: string) => done(baton.admin.get(`/tasks/${taskId}`));
const change = async (actor: Actor, taskId: string, body: object) =>
  actor.patch(`/tasks/${taskId}`, body, { 'if-match': `task-${(await read(taskId)).version}` });
const finish = async (actor: Actor, taskId: string, body: object = {}) =>
  actor.post(`/tasks/${taskId}:complete`, body, { 'if-match': `task-${(await read(taskId)).version}` });
const claim = async (actor: Actor, taskId: string, sessionId?: string) =>
  actor.post(`/tasks/${taskId}:claim`, { sessionId: sessionId ?? (await openSession(actor)) });
const isNotEligible = async (answer: Promise<any>, addressee?: unknown) => {
  const details = await refused(answer, 403, 'not_eligible');
  if (addressee !== undefined) assert.deepEqual(details.addressee, addressee);
};
const offered = async (actor: Actor) =>
  (await done(actor.get('/work/available?limit=200'))).items.map(({ id }: { id: string }) => id);

const isOffered = (taskId: string) => async (actor: Actor) => (await offered(actor)).includes(taskId);

/** An instance whose first step is an agent's work; the output of the agent's run determines payments. */
async function startPayment() {
  const { key, revision } = await publishAgent(baton.admin, agentSpec());
  const payer = await linkAgent(baton, key);
  const typeKey = `t-${newId()}`;
  const typeId = await insertTestType(baton, { key: typeKey });
  const pay = {
    id: 'pay',
    call: { agent: key, taskType: typeKey, title: 'Pay', input: { to: 'data.to' } },
    export: { as: 'paid' },
  };
  const made = await start([pay, humanStep('look')], {}, { to: 'ACME Ltd' });
  const taskId = made.openElements[0].taskId as string;
  return { key, payer, revision, typeKey, typeId, made, taskId };
}

test("an agent with every permission cannot claim, change or complete the task of another agent's step", async () => {
  const { key, payer, revision, typeKey, typeId, made, taskId } = await startPayment();
  await insertTestType(baton, { key: typeKey, version: 2 });
  const mallory = await baton.actor();
  const [task, addressee] = [await read(taskId), { agentKey: key }];
  const sessionId = await openSession(mallory);

  await isNotEligible(claim(mallory, taskId, sessionId), addressee);
  assert.ok(!(await offered(mallory)).includes(taskId));
  const next = await done(mallory.post('/work:claim-next', { sessionId, count: 100 }));
  assert.deepEqual(next.items, []);
  const { claimable, reasons } = await done(mallory.get(`/tasks/${taskId}/claimability`));
  assert.deepEqual(
    [claimable, reasons.map(({ code, addressee: named }: any) => [code, named])],
    [false, [['not_eligible', addressee]]],
  );
  const place = await makeWorkspace(baton);
  for (const body of [
    { title: 'Pay Mallory' },
    { status: 'cancelled' },
    { priority: 'critical' },
    { customFields: { image: 'mallory' } },
    { assigneeId: mallory.principalId },
    { workspaceId: place.id },
  ])
    await isNotEligible(change(mallory, taskId, body), addressee);
  await isNotEligible(finish(mallory, taskId), addressee);
  const migrate = { typeVersion: 2 };
  const tag = { 'if-match': `task-${task.version}` };
  await isNotEligible(mallory.post(`/tasks/${taskId}:migrate-type`, migrate, tag), addressee);
  const bulk = await done(mallory.post(`/task-types/${typeId}:migrate-tasks`, { toVersion: 2 }));
  assert.deepEqual(
    [bulk.migrated, bulk.skipped.map(({ taskId: id, code }: any) => [id, code])],
    [[], [[taskId, 'not_eligible']]],
  );
  const externalId = `process/${made.id}/pay`;
  const name = { externalSystem: 'control-plane', externalType: 'process_step', externalId };
  const { items } = await done(baton.admin.get(`/external-references?${new URLSearchParams(name)}`));
  await isNotEligible(mallory.delete(`/external-references/${items[0].id}`));
  const forged = { entityType: 'task', entityId: taskId, ...name, metadata: { context: { to: 'Mallory' } } };
  await isNotEligible(mallory.post('/external-references', forged));

  const stranger = await baton.actor({ kind: 'human', permissions: ['tasks.read', 'tasks.write'] });
  await isNotEligible(finish(stranger, taskId), addressee);
  await worker.run();
  const still = await get(made.id);
  assert.deepEqual(
    [still.status, still.data, still.openElements[0].id],
    ['running', { to: 'ACME Ltd' }, 'pay'],
  );
  const untouched = await read(taskId);
  assert.deepEqual(
    [untouched.version, untouched.title, untouched.typeVersion, untouched.assigneeId],
    [task.version, 'Pay', 1, payer.principalId],
  );

  assert.ok((await offered(payer)).includes(taskId));
  const own = await openSession(payer);
  const [{ claim: lease }] = (await done(payer.post('/work:claim-next', { sessionId: own }))).items;
  assert.equal(lease.taskId, taskId);
  const keys = { claimId: lease.id, fencingToken: lease.fencingToken, agentRevisionId: revision.id };
  const run = await done(payer.post(`/tasks/${taskId}:start-run`, keys), 201);
  await done(payer.post(`/runs/${run.id}:succeed`, { output: { paid: 10 } }));
  await worker.run();
  const after = await get(made.id);
  assert.deepEqual([after.data.paid, after.openElements[0].id], [{ paid: 10 }, 'look']);
});

test('a rule completes the task of a step only on behalf of its addressee', async () => {
  const { taskId } = await startPayment();
  const rules = makeRuleWorker(baton);
  const { key: otherKey } = await publishAgent(
    baton.admin,
    agentSpec({ identity: { permissions: ['tasks.read', 'tasks.write', 'observations.write'] } }),
  );
  const other = await linkAgent(baton, otherKey);
  const type = `paid-${newId()}`;
  const action = { kind: 'complete_work', target: 'task', taskType: undefined, fields: undefined };
  const rule = await makeRule(baton.admin, {
    trigger: observed(type, { agent: otherKey }),
    identity: { agent: otherKey },
    action,
  });
  await observe(other, type, {}, { task: taskId });
  await rules.run();
  await rules.close();
  const { items } = await done(baton.admin.get(`/rules/${rule.id}/evaluations`));
  assert.deepEqual(
    [items[0].status, items[0].error.code, (await read(taskId)).systemStatusCategory],
    ['failed', 'work_items_refused', 'active'],
  );
});

test('a step for a person is done by that person, or by a person with processes.operate, but not by an agent with it', async () => {
  const [person, operator] = [
    await baton.actor({ kind: 'human' }),
    await baton.actor({
      kind: 'human',
      permissions: ['tasks.read', 'tasks.write', 'tasks.claim', 'sessions.open', 'processes.operate'],
    }),
  ];
  const machine = await baton.actor({ permissions: ['tasks.read', 'tasks.write', 'processes.operate'] });
  const form = { type: 'object', properties: { ok: { type: 'boolean' } } };
  const step = (id: string) => humanStep(id, { form, assign: [{ principal: person.principalId }] });
  const made = await start([
    { ...step('one'), export: { as: 'first' } },
    { ...step('two'), export: { as: 'second' } },
  ]);
  const first = made.openElements[0].taskId;
  const addressee = { principalId: person.principalId };
  await isNotEligible(finish(machine, first), addressee);
  await isNotEligible(change(machine, first, { customFields: { ok: true } }), addressee);
  // Fields that no step reads can be changed by every principal who may change tasks.
  await done(change(machine, first, { description: 'Check the invoice.' }));
  await done(change(person, first, { customFields: { ok: false } }));
  await done(finish(person, first));
  await worker.run();
  const second = (await get(made.id)).openElements[0].taskId;
  assert.deepEqual(await Promise.all([operator, person].map(isOffered(second))), [false, true]);
  const lease = await done(claim(operator, second));
  const keys = { claimId: lease.id, fencingToken: lease.fencingToken };
  const run = await done(operator.post(`/tasks/${second}:start-run`, keys), 201);
  await done(operator.post(`/runs/${run.id}:cancel`, {}));
  await done(change(operator, second, { customFields: { ok: true }, ...keys }));
  await done(finish(operator, second, keys));
  await worker.run();
  const after = await get(made.id);
  assert.deepEqual([after.status, after.data], ['completed', { first: { ok: false }, second: { ok: true } }]);
});

test('a step for a role is done by its holders in that workspace, regardless of further requirements of the task', async () => {
  const workspace = await makeWorkspace(baton);
  const [holder, other] = [await baton.actor(), await baton.actor()];
  const slug = `r-${newId()}`;
  const role = await done(baton.admin.post('/roles', { slug, name: 'Payers' }), 201);
  const elsewhere = await makeWorkspace(baton);
  const assign = (actor: Actor, workspaceId: string) =>
    done(baton.admin.post(`/principals/${actor.principalId}/roles`, { roleId: role.id, workspaceId }), 201);
  await assign(holder, workspace.id);
  await assign(other, elsewhere.id);
  const made = await start([humanStep('pay', { assign: [{ role: slug }] })], { workspaceId: workspace.id });
  const { taskId } = made.openElements[0];
  const addressee = { roleId: role.id };
  await done(change(baton.admin, taskId, { requirements: {} }));
  await isNotEligible(claim(other, taskId), addressee);
  await isNotEligible(finish(other, taskId), addressee);
  await isNotEligible(change(other, taskId, { workspaceId: elsewhere.id }), addressee);
  assert.ok(!(await offered(other)).includes(taskId));
  assert.ok((await offered(holder)).includes(taskId));
  await done(finish(holder, taskId));
  await worker.run();
  assert.equal((await get(made.id)).status, 'completed');
});

test('a task that an escalation reassigns cannot be finished by its former assignee, nor under their lease', async () => {
  const [first, second] = [await baton.actor(), await baton.actor()];
  const escalations = [{ after: 'PT1H', action: 'reassign', to: [{ principal: second.principalId }] }];
  const step = humanStep('a', { assign: [{ principal: first.principalId }], escalations });
  const made = await start([step, setStep('b', { n: '1' })]);
  const { taskId } = made.openElements[0];
  const lease = await done(claim(first, taskId));
  const keys = { claimId: lease.id, fencingToken: lease.fencingToken };
  const run = await done(first.post(`/tasks/${taskId}:start-run`, keys), 201);
  // A claimed task is not reassigned.
  await done(first.post(`/claims/${lease.id}:release`, {}));
  await baton.pool.run(sql`
    update process_instances set state = jsonb_set(state, '{timers}', (
      select jsonb_object_agg(key, value || '{"dueAt": "2026-01-01T00:00:00.000Z"}') from jsonb_each(state -> 'timers')))
    where id = ${made.id}`);
  await worker.fire(made.id);
  assert.equal((await read(taskId)).assigneeId, second.principalId);
  assert.deepEqual(await Promise.all([first, second].map(isOffered(taskId))), [false, true]);
  await refused(first.post(`/runs/${run.id}:succeed`, {}), 409, 'stale_claim');
  await isNotEligible(claim(first, taskId), { principalId: second.principalId });
  await isNotEligible(finish(first, taskId));
  await done(finish(second, taskId));
  await worker.run();
  assert.deepEqual((await get(made.id)).data, { n: 1 });
});

test('a lease that its holder may no longer use starts no run and completes none successfully', async () => {
  const workspace = await makeWorkspace(baton);
  const holder = await baton.actor();
  const slug = `r-${newId()}`;
  const role = await done(baton.admin.post('/roles', { slug, name: 'Payers' }), 201);
  await done(baton.admin.post(`/principals/${holder.principalId}/roles`, { roleId: role.id }), 201);
  const made = await start([humanStep('pay', { assign: [{ role: slug }] })], { workspaceId: workspace.id });
  const { taskId } = made.openElements[0];
  const lease = await done(claim(holder, taskId));
  const keys = { claimId: lease.id, fencingToken: lease.fencingToken };
  const run = await done(holder.post(`/tasks/${taskId}:start-run`, keys), 201);
  await done(baton.admin.post(`/principals/${holder.principalId}/roles/${role.id}:revoke`, {}), 204);
  const addressee = { roleId: role.id };
  await isNotEligible(
    holder.post(`/runs/${run.id}:succeed`, { output: { n: 1 }, completeTask: false }),
    addressee,
  );
  await done(holder.post(`/runs/${run.id}:fail`, {}));
  await isNotEligible(holder.post(`/tasks/${taskId}:start-run`, keys), addressee);
  await isNotEligible(finish(holder, taskId, keys), addressee);
});

test('the task of a step whose assignee does not exist is reserved for a person with processes.operate', async () => {
  const anyone = await baton.actor();
  const made = await start(
    [humanStep('a', { assign: [{ expr: 'data.who' }, { principal: newId() }] })],
    {},
    { who: '' },
  );
  const { taskId } = made.openElements[0];
  await isNotEligible(finish(anyone, taskId), null);
  await isNotEligible(claim(anyone, taskId), null);
  await done(finish(baton.admin, taskId));
  const open = await start([humanStep('a')]);
  await done(finish(anyone, open.openElements[0].taskId));
});

test('tasks of steps from versions before addressees belong to their assignee, or to the role that they require', async () => {
  const [person, other] = [await baton.actor(), await baton.actor()];
  const slug = `r-${newId()}`;
  const role = await done(baton.admin.post('/roles', { slug, name: 'Payers' }), 201);
  const branches = [{ principal: person.principalId }, { role: slug }].map((assignee, n) => ({
    id: `branch-${n}`,
    do: [humanStep(`step-${n}`, { assign: [assignee] })],
  }));
  const made = await start([{ id: 'both', fork: { mode: 'all', branches } }]);
  const taskOf = (id: string) => made.openElements.find((open: any) => open.id === id).taskId;
  const file = (await readdir(migrationsDirectory)).find((name) => name.endsWith('_task_addressees.sql'));
  const migration = await readFile(join(migrationsDirectory, file as string), 'utf8');
  await baton.pool.run(sql`delete from task_addressees`);
  await baton.pool.run(sql`update tasks set is_addressed = false`);
  await baton.pool.run({ text: migration.slice(migration.indexOf('with waiting')), values: [] });
  assert.deepEqual(await Promise.all([other, person].map(isOffered(taskOf('step-0')))), [false, true]);
  await isNotEligible(finish(other, taskOf('step-0')), { principalId: person.principalId });
  await isNotEligible(finish(other, taskOf('step-1')), { roleId: role.id });
});
