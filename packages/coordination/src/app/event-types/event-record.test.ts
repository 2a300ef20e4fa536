import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { makeFamily } from '../../testing/execution/children.ts';
import { claimTask, done, endClaimLease, makeTask, makeWorker } from '../../testing/leases.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { openStream } from '../../testing/stream/stream-client.ts';
import { eventCatalog } from './event-catalog.ts';

/** The origin of an event. See docs/reference/journal.md#events. */

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const fields = [
  'sequence',
  'id',
  'tenantId',
  'type',
  'schemaVersion',
  'entityType',
  'entityId',
  'workspaceId',
  'actorId',
  'iamActorId',
  'sessionId',
  'correlationId',
  'causationId',
  'requestId',
  'traceRunId',
  'payload',
  'occurredAt',
  'cursor',
];

async function read(query: string): Promise<Record<string, any>[]> {
  await journalIsStable(baton.pool);
  return (await done(baton.admin.get(`/events?limit=200&${query}`))).items;
}

test('an event has exactly the 18 fields, in pages and in streams alike', async () => {
  const { id } = await makeTask(baton);
  const [byPage] = await read(`entityId=${id}`);
  assert.deepEqual(Object.keys(byPage ?? {}), fields);
  const stream = openStream(baton.url, { token: baton.admin.token });
  await stream.received(1);
  const streamed = stream.events.find((event) => event.id === byPage?.['id']);
  await stream.close();
  assert.deepEqual(streamed, byPage);
});

test('an event contains the ids of its request and of its initiator', async () => {
  const { actor, sessionId } = await makeWorker(baton);
  const task = await makeTask(baton);
  const headers = { 'x-request-id': 'req-7', 'x-correlation-id': 'corr-7', 'x-run-id': 'trace-7' };
  await done(actor.post(`/tasks/${task.id}:claim`, { sessionId }, headers));
  const [claimed] = await read(`entityId=${task.id}&types=task.claimed`);
  const { requestId, correlationId, traceRunId, causationId, ...rest } = claimed ?? {};
  assert.deepEqual([requestId, correlationId, traceRunId, causationId], ['req-7', 'corr-7', 'trace-7', null]);
  assert.deepEqual(
    [rest['actorId'], rest['iamActorId'], rest['sessionId'], rest['tenantId']],
    [actor.principalId, actor.iamPrincipalId, sessionId, baton.tenantId],
  );
});

test('without X-Correlation-ID the request id is the correlation id, and a trace id is generated', async () => {
  const answer = await baton.admin.post('/tasks', { title: 'x' }, { 'x-request-id': 'req-8' });
  const [created] = await read(`entityId=${answer.body.id}`);
  assert.deepEqual([created?.['requestId'], created?.['correlationId']], ['req-8', 'req-8']);
  assert.match(created?.['traceRunId'], /^run_[0-9a-f]{32}$/);
  assert.equal(created?.['traceRunId'], answer.headers.get('x-run-id'));
});

test('the events of one command follow each other in the order of their occurrence', async () => {
  const [first, second] = [await makeWorker(baton), await makeWorker(baton)];
  const task = await makeTask(baton);
  const dead = await claimTask(first, task.id);
  await endClaimLease(baton, task.id);
  const claim = await claimTask(second, task.id);
  const events = await read('types=claim.expired,task.claimed');
  const [expired, claimed] = events.slice(-2);
  assert.deepEqual(
    [expired?.['type'], expired?.['entityId'], claimed?.['type'], claimed?.['payload'].claimId],
    ['claim.expired', dead.id, 'task.claimed', claim.id],
  );
  assert.ok(expired?.['sequence'] < claimed?.['sequence']);
});

test("the actor of an expired lease's event is the caller that detected the expiry", async () => {
  const [first, second] = [await makeWorker(baton), await makeWorker(baton)];
  const task = await makeTask(baton);
  const dead = await claimTask(first, task.id);
  await endClaimLease(baton, task.id);
  await claimTask(second, task.id);
  const [expired] = await read(`entityId=${dead.id}&types=claim.expired`);
  assert.deepEqual(
    [expired?.['actorId'], expired?.['iamActorId'], expired?.['sessionId']],
    [second.actor.principalId, second.actor.iamPrincipalId, first.sessionId],
  );
});

test('events of a child on the run that launched it have its handle as their cause', async () => {
  const [parent, child] = [await makeWorker(baton), await makeWorker(baton)];
  const finished = await makeFamily(baton, { parent, child });
  await done(child.actor.post(`/runs/${finished.child.run.id}:succeed`));
  const events = await read(`entityId=${finished.run.id}&types=run.child.`);
  assert.deepEqual(
    events.map(({ type, causationId }) => [type, causationId]),
    [
      ['run.child.launched', null],
      ['run.child.started', finished.handle.id],
      ['run.child.resolved', finished.handle.id],
    ],
  );
});

test('the same applies to the revocation of a handle, and to the request to cancel its run', async () => {
  const [parent, child] = [await makeWorker(baton), await makeWorker(baton)];
  const { handle, run, child: launched } = await makeFamily(baton, { parent, child });
  await done(parent.actor.post(`/child-handles/${handle.id}:revoke`, { cancelChild: true }));
  const ofParent = await read(`entityId=${run.id}&types=run.child.revoked`);
  assert.deepEqual(
    ofParent.map(({ causationId }) => causationId),
    [handle.id],
  );
  const ofChild = await read(
    `entityId=${launched.run.id}&types=run.child.,run.cancel_requested,run.control_message.`,
  );
  assert.deepEqual(
    ofChild.map(({ type, causationId }) => [type, causationId]),
    ['run.control_message.accepted', 'run.cancel_requested', 'run.child.cancel_requested'].map((type) => [
      type,
      handle.id,
    ]),
  );
});

test('an event is filed in the workspace that its object had when the event was written', async () => {
  const [before, later] = [await makeWorkspace(baton), await makeWorkspace(baton)];
  const task = await makeTask(baton, { workspaceId: before.id });
  const move = { workspaceId: later.id };
  await done(baton.admin.patch(`/tasks/${task.id}`, move, { 'if-match': '"task-1"' }));
  const places = (await read(`entityId=${task.id}`)).map(({ workspaceId }) => workspaceId);
  assert.deepEqual(places, [before.id, later.id]);
  const [person] = await read('types=session.opened');
  assert.equal(person?.['workspaceId'], null, 'events of objects without a workspace have none');
});

test('changes list fields as on the wire, never columns (W34)', async () => {
  const { admin } = baton;
  const workspace = await makeWorkspace(baton);
  const { id, version } = await makeTask(baton);
  const start = { startDate: '2030-01-01', dueDate: '2030-02-01', workspaceId: workspace.id };
  await done(
    admin.patch(
      `/tasks/${id}`,
      { ...start, ownerId: admin.principalId, assigneeId: admin.principalId },
      { 'if-match': `"task-${version}"` },
    ),
  );
  const [updated] = await read(`entityId=${id}&types=task.updated`);
  assert.deepEqual(Object.keys(updated?.['payload'].changes).toSorted(), [
    'assigneeId',
    'dueDate',
    'ownerId',
    'startDate',
    'workspaceId',
  ]);
  const goal = await done(admin.post('/goals', { title: 'g', desiredState: 'so' }), 201);
  const change = { ownerId: admin.principalId, desiredState: 'otherwise' };
  await done(admin.patch(`/goals/${goal.id}`, change, { 'if-match': `"goal-${goal.version}"` }));
  const [goalUpdated] = await read(`entityId=${goal.id}&types=goal.updated`);
  assert.deepEqual(Object.keys(goalUpdated?.['payload'].changes).toSorted(), ['desiredState', 'ownerId']);
});

test('every field of every payload is in camel case', () => {
  const namesIn = (schema: unknown): string[] => {
    if (typeof schema !== 'object' || schema === null) return [];
    const own = 'properties' in schema ? Object.keys(schema.properties as object) : [];
    return [...own, ...Object.values(schema).flatMap(namesIn)];
  };
  for (const { type, payload } of eventCatalog.values())
    for (const name of namesIn(z.toJSONSchema(payload, { io: 'input', unrepresentable: 'any' })))
      if (!name.startsWith('x-')) assert.match(name, /^[a-z][A-Za-z0-9]*$/, type);
});

test('events of another tenant cannot be read by the id of their object', async () => {
  const { id } = await makeTask(baton);
  await journalIsStable(baton.pool);
  const others = await baton.otherAdmin.get(`/events?entityId=${id}`);
  assert.deepEqual([others.status, others.body.items], [200, []]);
  assert.deepEqual((await baton.otherAdmin.get(`/events?entityId=${newId()}`)).body.items, []);
});
