import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import {
  claimTask,
  done,
  eventsOf,
  makeTask,
  makeWorker,
  refused,
  type Worker,
} from '../../testing/leases.ts';
import { changeWorkspace, makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { makeWorkerTools } from '../../testing/sweepers.ts';
import { until } from '../../testing/wait-until.ts';
import { failOnce, letComeDue } from '../../testing/work/availability.ts';
import { moveDueTasks, settleStarts } from './due-tasks.ts';

let baton: TestCoordination;
let worker: Worker;
let background: ReturnType<typeof makeWorkerTools>;
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
  background = makeWorkerTools(baton);
});
after(async () => {
  await background.close();
  await baton.close();
});

const dayMs = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * dayMs);
/** The date of an instant in UTC. */
const dateOf = (at: Date) => at.toISOString().slice(0, 10);
const tomorrow = inDays(1).toISOString();
const read = (id: string) => done(baton.admin.get(`/tasks/${id}`));
const change = async (id: string, body: object, by = baton.admin) => {
  const { version } = await read(id);
  return done(by.patch(`/tasks/${id}`, body, { 'if-match': `task-${version}` }));
};
const claim = (id: string) => worker.actor.post(`/tasks/${id}:claim`, { sessionId: worker.sessionId });
const offered = async (workspaceId: string): Promise<string[]> =>
  (await done(worker.actor.get(`/work/available?workspaceId=${workspaceId}`))).items.map(({ id }: any) => id);

async function publishCalendar(key: string, timezone: string): Promise<void> {
  const { status, body } = await baton.admin.post('/calendars', {
    key,
    spec: { displayName: key, timezone, years: [{ year: 2026 }] },
  });
  assert.ok(status === 201 || status === 200, JSON.stringify(body));
}

async function settle(): Promise<void> {
  const job = settleStarts(background.tools);
  const isNoted = () => baton.pool.row(sql`select from zone_changes limit 1`);
  // The job waits for transactions that started before the change, including those of other tests in the cluster.
  await until(async () => {
    if ((await isNoted()) === undefined) return true;
    await job.run();
    return false;
  }, 'the processing of all zone changes');
}

test('a task that starts tomorrow is neither available nor claimable today; claimability has the date', async () => {
  const { id: workspaceId } = await makeWorkspace(baton);
  const { id, availableAt } = await makeTask(baton, { startDate: tomorrow, workspaceId });
  assert.equal(availableAt, tomorrow);
  const today = await makeTask(baton, { startDate: inDays(-1).toISOString(), workspaceId, priority: 'low' });
  assert.equal(today.availableAt, today.startDate);
  assert.deepEqual(await offered(workspaceId), [today.id]);
  const details = await refused(claim(id), 409, 'task_not_due');
  assert.deepEqual(details, { taskId: id, availableAt });
  const next = { sessionId: worker.sessionId, workspaceId, count: 5 };
  const { items } = await done(worker.actor.post('/work:claim-next', next));
  assert.deepEqual(
    items.map(({ task }: any) => task.id),
    [today.id],
  );
  const { reasons } = await done(worker.actor.get(`/tasks/${id}/claimability`));
  assert.deepEqual(
    reasons.map(({ code, availableAt: at, remedies }: any) => [
      code,
      at,
      remedies.map(({ act }: any) => act),
    ]),
    [['not_before', availableAt, ['change_start_date']]],
  );
  await letComeDue(baton, id);
  assert.deepEqual(await offered(workspaceId), [id], 'without a worker');
  assert.equal((await done(worker.actor.get(`/tasks/${id}/claimability`))).claimable, true);
  await claimTask(worker, id);
});

test('a change of startDate applies immediately, and the holder of the task continues', async () => {
  const { id: workspaceId } = await makeWorkspace(baton);
  const { id } = await makeTask(baton, { startDate: tomorrow, workspaceId });
  assert.deepEqual(await offered(workspaceId), []);
  assert.equal((await change(id, { startDate: null })).availableAt, null);
  assert.deepEqual(await offered(workspaceId), [id]);
  const held = await claimTask(worker, id);
  const keys = { claimId: held.id, fencingToken: held.fencingToken };
  assert.equal((await change(id, { startDate: tomorrow, ...keys }, worker.actor)).availableAt, tomorrow);
  await done(worker.actor.post(`/tasks/${id}:start-run`, keys), 201);
  await done(worker.actor.post(`/claims/${held.id}:release`, {}));
  assert.deepEqual(await offered(workspaceId), []);
  await refused(claim(id), 409, 'task_not_due');
  const past = inDays(-2).toISOString();
  assert.equal((await change(id, { startDate: past })).availableAt, past);
  assert.deepEqual(await offered(workspaceId), [id]);
});

test('configurable per type: a version without startDateHolds makes the task available today', async () => {
  const [off, on] = [`t${newId()}`, `t${newId()}`];
  const publish = (key: string, execution?: object) =>
    done(baton.admin.post('/task-types', { key, displayName: key, ...(execution && { execution }) }), 201);
  await publish(off, { startDateHolds: false });
  const version = await publish(on);
  assert.equal(version.execution.startDateHolds, true);
  const free = await makeTask(baton, { typeKey: off, startDate: tomorrow });
  assert.equal(free.availableAt, null);
  await claimTask(worker, free.id);
  const held = await makeTask(baton, { typeKey: on, startDate: tomorrow });
  assert.equal(held.availableAt, tomorrow);
  await publish(on, { startDateHolds: false });
  const body = { typeVersion: 2 };
  const path = `/tasks/${held.id}:migrate-type`;
  const migrated = await done(baton.admin.post(path, body, { 'if-match': 'task-1' }));
  assert.equal(migrated.availableAt, null);
  await claimTask(worker, held.id);
  const old = `t${newId()}`;
  await insertTestType(baton, { key: old });
  assert.equal((await makeTask(baton, { typeKey: old, startDate: tomorrow })).availableAt, null);
});

test('a date begins at midnight in the zone of the nearest ancestor’s calendar, another instant at its own time', async () => {
  const date = dateOf(inDays(3));
  const [kiritimati, samoa] = [`c${newId()}`, `c${newId()}`];
  await publishCalendar(kiritimati, 'Pacific/Kiritimati');
  await publishCalendar(samoa, 'Pacific/Pago_Pago');
  const top = await makeWorkspace(baton, { calendarKey: kiritimati });
  assert.equal(top.calendarKey, kiritimati);
  const below = await makeWorkspace(baton, { parentId: top.id });
  const make = (workspaceId: string, startDate = date) => makeTask(baton, { workspaceId, startDate });
  const at = (hours: number) => new Date(Date.parse(date) + hours * 3_600_000).toISOString();
  const inTop = await make(top.id);
  const inBelow = await make(below.id);
  assert.deepEqual([inTop.availableAt, inBelow.availableAt], [at(-14), at(-14)]);
  assert.equal((await make(top.id, `${date}T09:30:00+02:00`)).availableAt, at(7.5));
  assert.equal((await makeTask(baton, { startDate: date })).availableAt, at(0));
  assert.equal((await change(inBelow.id, { workspaceId: null })).availableAt, at(0));

  await done(changeWorkspace(baton, below.id, 1, { calendarKey: samoa }));
  assert.equal((await change(inBelow.id, { workspaceId: below.id })).availableAt, at(11));
  await done(changeWorkspace(baton, top.id, 1, { calendarKey: null }));
  await settle();
  assert.deepEqual(
    [(await read(inTop.id)).availableAt, (await read(inBelow.id)).availableAt],
    [at(0), at(11)],
  );
  await publishCalendar(samoa, 'Asia/Kolkata');
  await settle();
  assert.equal((await read(inBelow.id)).availableAt, at(-5.5));
  await refused(
    baton.admin.post('/workspaces', { slug: `w${newId()}`, name: 'x', calendarKey: 'unknown' }),
    404,
    'not_found',
  );
});

test('a zone that is published while the first workspace of its calendar is created applies there too', async () => {
  const key = `c${newId()}`;
  await publishCalendar(key, 'Pacific/Kiritimati');
  await publishCalendar(key, 'Asia/Kolkata');
  await settle();
  const startDate = dateOf(inDays(3));
  const at = (hours: number) => new Date(Date.parse(startDate) + hours * 3_600_000).toISOString();
  // Simulates a publication in progress that doesn't see the workspace.
  const task = await baton.pool.transaction(async (tx) => {
    await tx.run(sql`
      update calendars set id = (select id from calendar_versions where key = ${key} and version = 1)
      where key = ${key}`);
    const { id: workspaceId } = await makeWorkspace(baton, { calendarKey: key });
    return makeTask(baton, { workspaceId, startDate });
  });
  assert.equal(task.availableAt, at(-5.5));
  await settle();
  assert.equal((await read(task.id)).availableAt, at(-14));
});

test('a zone that PostgreSQL does not know counts as UTC', async () => {
  const key = `c${newId()}`;
  await publishCalendar(key, 'Europe/Berlin');
  const { id: workspaceId } = await makeWorkspace(baton, { calendarKey: key });
  await baton.pool.run(sql`
    update calendar_versions set spec = spec || '{"timezone": "Middle/Earth"}' where key = ${key}`);
  const startDate = `${dateOf(inDays(3))}T00:00:00.000Z`;
  assert.equal((await makeTask(baton, { workspaceId, startDate })).availableAt, startDate);
});

test('the worker moves due tasks to the searched sets, batch by batch', async () => {
  const { id: workspaceId } = await makeWorkspace(baton);
  const ids: string[] = [];
  for (let n = 0; n < 3; n += 1)
    ids.push((await makeTask(baton, { startDate: tomorrow, workspaceId, title: `t${n}` })).id);
  const waiting = () =>
    baton.pool.rows<{ task_id: string }>(
      sql`select task_id from work_queue where due_at is not null and task_id = any (${ids}::uuid[])`,
    );
  assert.equal((await waiting()).length, 3);
  await letComeDue(baton, ids[0] as string);
  await letComeDue(baton, ids[1] as string);
  assert.ok((await moveDueTasks(background.tools).run()) >= 2);
  assert.deepEqual(
    (await waiting()).map(({ task_id: id }) => id),
    [ids[2]],
  );
  assert.equal(await moveDueTasks(background.tools).run(), 0);
  assert.deepEqual(await offered(workspaceId), ids.slice(0, 2));
});

test('make-available ends the pause and its count, emits one event, and changes nothing without a pause', async () => {
  const { id } = await makeTask(baton);
  const paused = await failOnce(baton, worker, id);
  const free = await done(worker.actor.post(`/tasks/${paused.publicId}:make-available`));
  assert.deepEqual([free.availableAt, free.version], [null, paused.version + 1]);
  const again = await worker.actor.post(`/tasks/${id}:make-available`);
  assert.equal(again.headers.get('etag'), `"task-${free.version}"`);
  assert.deepEqual(again.body, free);
  const events = (await eventsOf(baton, id)).filter(({ type }) => type === 'task.made_available');
  assert.deepEqual(
    events.map(({ payload, actor_id: actor }) => [payload, actor]),
    [
      [
        { publicId: free.publicId, failedAttempts: 1, availableAt: null, version: free.version },
        worker.actor.principalId,
      ],
    ],
  );
  const { availableAt } = await failOnce(baton, worker, id);
  assert.ok(Date.parse(availableAt) - Date.now() <= 60_000, 'the count is reset');
});

test("only the addressee of a process step's task, or a person who operates processes, ends the pause", async () => {
  const { id } = await makeTask(baton);
  await failOnce(baton, worker, id);
  const addressee = await makeWorker(baton);
  const { principalId } = addressee.actor;
  await baton.pool.run(sql`
    insert into task_addressees (task_id, tenant_id, principal_id) values (${id}, ${baton.tenantId}, ${principalId})`);
  await baton.pool.run(sql`update tasks set is_addressed = true where id = ${id}`);
  const free = (by: Actor) => by.post(`/tasks/${id}:make-available`);
  const details = await refused(free(worker.actor), 403, 'not_eligible');
  assert.deepEqual(details, { taskId: id, addressee: { principalId } });
  assert.equal((await done(free(addressee.actor))).availableAt, null);
  await failOnce(baton, addressee, id);
  assert.equal((await done(free(baton.admin))).availableAt, null);
});

test("it doesn't change the start of a task or its blocked status", async () => {
  const { id } = await makeTask(baton);
  await failOnce(baton, worker, id);
  await change(id, { startDate: tomorrow });
  const later = await done(baton.admin.post(`/tasks/${id}:make-available`));
  assert.equal(later.availableAt, tomorrow);
  await change(id, { startDate: null, status: 'blocked' });
  const blocked = await done(baton.admin.post(`/tasks/${id}:make-available`));
  assert.equal(blocked.status, 'blocked');
  await refused(claim(id), 422, 'task_not_claimable');
});

test('a blocked status puts a task on hold unless its lifecycle lists it; its holder keeps it', async () => {
  const key = `t${newId()}`;
  const statuses = [
    { key: 'open', category: 'active' },
    { key: 'waiting', category: 'blocked' },
    { key: 'parked', category: 'blocked' },
    { key: 'done', category: 'terminal_success' },
  ];
  const transitions = [
    { from: 'open', to: ['waiting', 'parked', 'done'] },
    { from: 'waiting', to: ['open', 'parked'] },
    { from: 'parked', to: ['open', 'waiting'] },
  ];
  const lifecycleSchema = { statuses, transitions, initialStatus: 'open', claimFrom: ['waiting'] };
  const type = await done(baton.admin.post('/task-types', { key, displayName: key, lifecycleSchema }), 201);
  assert.deepEqual(type.lifecycleSchema.claimFrom, ['waiting']);
  const { id: workspaceId } = await makeWorkspace(baton);
  const { id } = await makeTask(baton, { typeKey: key, workspaceId });
  await change(id, { status: 'parked' });
  assert.deepEqual(await offered(workspaceId), []);
  const details = await refused(claim(id), 422, 'task_not_claimable');
  assert.deepEqual(details, { taskId: id, status: 'parked', systemStatusCategory: 'blocked' });
  const { claimable, reasons } = await done(worker.actor.get(`/tasks/${id}/claimability`));
  assert.deepEqual(
    [claimable, reasons[0].code, reasons[0].since, reasons[0].remedies.map(({ act }: any) => act)],
    [false, 'task_not_claimable', null, ['unblock']],
  );
  await change(id, { status: 'waiting' });
  assert.deepEqual(await offered(workspaceId), [id]);
  const held = await claimTask(worker, id);
  const keys = { claimId: held.id, fencingToken: held.fencingToken };
  await change(id, { status: 'parked', ...keys }, worker.actor);
  const run = await done(worker.actor.post(`/tasks/${id}:start-run`, keys), 201);
  await done(worker.actor.post(`/runs/${run.id}:cancel`, {}));
  await done(worker.actor.post(`/claims/${held.id}:release`, {}));
  assert.deepEqual(await offered(workspaceId), []);
  for (const claimFrom of [['open'], ['nowhere'], 'waiting'])
    await refused(
      baton.admin.post('/task-types', {
        key: `t${newId()}`,
        displayName: 'x',
        lifecycleSchema: { ...lifecycleSchema, claimFrom },
      }),
      422,
      'invalid_lifecycle_schema',
    );
});
