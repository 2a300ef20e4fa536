import { after, before, describe, test } from 'node:test';
import { startCoordination, type TestCoordination } from '../testing/coordination.ts';
import {
  claimTask,
  delegate,
  done,
  endDelegation,
  makeTask,
  makeWorker,
  openSession,
  refused,
  type Worker,
} from '../testing/leases.ts';

/** Refusals that many endpoints share, for those whose own tests leave them out. */

let baton: TestCoordination;
let worker: Worker;
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
});
after(() => baton.close());

/** A document that is nested deeper than any may be. */
function nested(levels = 30): object {
  let inner: object = {};
  for (let level = 0; level < levels; level += 1) inner = { inner };
  return inner;
}

async function startRun(by: Worker) {
  const claim = await claimTask(by, (await makeTask(baton)).id);
  const keys = { claimId: claim.id, fencingToken: claim.fencingToken };
  return { run: await done(by.actor.post(`/tasks/${claim.taskId}:start-run`, keys), 201), keys };
}

test('lists refuse a limit and a cursor that are none', async () => {
  const { run } = await startRun(worker);
  const workspace = await done(baton.admin.post('/workspaces', { slug: 'lists', name: 'Lists' }), 201);
  const { typeId } = await makeTask(baton);
  const executors = `/task-types/${typeId}/executors?workspaceId=${workspace.id}&`;
  const manifests = `/runs/${run.id}/harness-manifests?`;
  for (const list of [`/runs/${run.id}/actions?`, manifests])
    await refused(baton.admin.get(`${list}limit=0`), 422, 'invalid_limit');
  for (const list of [manifests, '/artifacts?', '/approvals?', executors])
    await refused(baton.admin.get(`${list}cursor=none`), 422, 'invalid_cursor');
});

describe('when the delegation of its session is over, a write under a run ends the session', () => {
  const handoff = { checkpoint: { kind: 'handoff', data: { summary: 'over to you' } } };
  for (const [what, body, isKeyed] of [
    ['/checkpoints', { kind: 'note' }, false],
    ['/actions', { action: 'deploy' }, false],
    [':suspend', {}, false],
    [':handoff', handoff, false],
    ['/harness-manifest:compile', {}, true],
    ['/harness-manifest/ephemeral', { kind: 'note', summary: 'late' }, false],
  ] as const)
    test(`POST /runs/{id}${what}`, async () => {
      const { late, run, keys } = await undelegatedRun();
      const sent = isKeyed ? { ...body, ...keys } : body;
      await refused(late.actor.post(`/runs/${run.id}${what}`, sent), 409, 'stale_claim');
    });

  test('POST /runs/{id}/actions/{aid}:finish', async () => {
    const { late, run, action } = await undelegatedRun();
    const path = `/runs/${run.id}/actions/${action.id}:finish`;
    await refused(late.actor.post(path, { status: 'completed' }), 409, 'stale_claim');
  });

  test('POST /work:claim-next', async () => {
    const { late } = await undelegatedRun();
    await refused(
      late.actor.post('/work:claim-next', { sessionId: late.sessionId }),
      409,
      'session_not_active',
    );
  });

  async function undelegatedRun() {
    const human = await baton.actor({ kind: 'human' });
    const { actor } = await makeWorker(baton);
    const delegation = await delegate(human, actor, baton);
    const late = { actor, sessionId: await openSession(actor, { onBehalfOf: human.principalId }) };
    const { run, keys } = await startRun(late);
    const started = { action: 'deploy', status: 'started' };
    const action = await done(actor.post(`/runs/${run.id}/actions`, started), 201);
    await endDelegation(baton, delegation);
    return { late, run, keys, action };
  }
});

test('documents that are nested too deep are refused', async () => {
  const { run } = await startRun(worker);
  const at = `/runs/${run.id}`;
  const { actor } = worker;
  const started = await done(actor.post(`${at}/actions`, { action: 'a', status: 'started' }), 201);
  const origin = { kind: 'human' };
  const criteria = [{ key: 'k', kind: 'human', description: 'd', spec: nested() }];
  const reference = {
    ...{ entityType: 'task', entityId: run.taskId, externalSystem: 's', externalType: 't', externalId: 'i' },
    metadata: nested(),
  };
  for (const [path, body] of [
    [`${at}/actions`, { action: 'a', metadata: nested() }],
    [`${at}/actions/${started.id}:finish`, { status: 'completed', metadata: nested() }],
    [`${at}/harness-manifest/ephemeral`, { kind: 'note', summary: 's', data: nested() }],
    ['/external-references', reference],
    ['/goals', { title: 'g', createdFrom: origin, criteria }],
  ] as const)
    await refused(actor.post(path, body), 422, 'payload_too_deep');
});
