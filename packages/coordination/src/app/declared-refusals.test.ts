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

/** Refusals that many endpoints share, tested here for endpoints whose own tests omit them. */

let baton: TestCoordination;
let worker: Worker;
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
});
after(() => baton.close());

/** A document that is nested more deeply than allowed. */
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

test('lists refuse an invalid limit and an invalid cursor', async () => {
  const { run } = await startRun(worker);
  const workspace = await done(baton.admin.post('/workspaces', { slug: 'lists', name: 'Lists' }), 201);
  const { typeId } = await makeTask(baton);
  const executors = `/task-types/${typeId}/executors?workspaceId=${workspace.id}&`;
  const manifests = `/runs/${run.id}/harness-manifests?`;
  for (const list of [`/runs/${run.id}/actions?`, manifests])
    await refused(baton.admin.get(`${list}limit=0`), 422, 'invalid_limit');
  const role = await done(baton.admin.post('/roles', { slug: 'lists', name: 'Lists' }), 201);
  const comments = `/tasks/${run.taskId}/comments`;
  const comment = await done(baton.admin.post(comments, { body: 'seen' }), 201);
  const others = [`/roles/${role.id}/principals?`, `${comments}/${comment.id}/revisions?`];
  for (const list of [manifests, '/artifacts?', '/approvals?', executors, ...others])
    await refused(baton.admin.get(`${list}cursor=none`), 422, 'invalid_cursor');
});

describe('after the delegation of its session has ended, a write under a run ends the session', () => {
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

test('documents that are nested too deeply are refused', async () => {
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
    ['/workspaces', { slug: 'deep', name: 'D', customFields: nested() }],
    ['/workspace-types', { key: 'deep', displayName: 'D', fieldSchema: { const: nested() } }],
  ] as const)
    await refused(actor.post(path, body), 422, 'payload_too_deep');

  const goal = await done(actor.post('/goals', { title: 'g' }), 201);
  const type = await done(actor.post('/workspace-types', { key: 'flat', displayName: 'F' }), 201);
  const workspace = await done(actor.post('/workspaces', { slug: 'flat', name: 'F' }), 201);
  for (const [path, tag, body] of [
    [`/goals/${goal.id}`, 'goal-1', { criteria }],
    [`/workspace-types/${type.id}`, 'workspace_type-1', { fieldSchema: { const: nested() } }],
    [`/workspaces/${workspace.id}`, 'workspace-1', { customFields: nested() }],
  ] as const)
    await refused(actor.patch(path, body, { 'if-match': tag }), 422, 'payload_too_deep');
});

test('documents with an integer that would be rounded are refused', async () => {
  const { run } = await startRun(worker);
  const { actor } = worker;
  const large = '{"spec":{"n":9007199254740993}';
  const criteria = `"criteria":[${large.replace('{', '{"key":"k","kind":"human","description":"d",')}}]`;
  const goal = await done(actor.post('/goals', { title: 'g' }), 201);
  const type = await done(actor.post('/workspace-types', { key: 'rounded', displayName: 'Rounded' }), 201);
  const patch = (path: string, body: string, tag: string) => actor.patch(path, body, { 'if-match': tag });
  await refused(
    actor.post(
      `/runs/${run.id}:handoff`,
      '{"checkpoint":{"kind":"handoff","data":{"summary":"s","n":9007199254740993}}}',
    ),
    422,
    'invalid_document',
  );
  await refused(actor.post('/goals', `{"title":"g",${criteria}}`), 422, 'invalid_document');
  await refused(patch(`/goals/${goal.id}`, `{${criteria}}`, 'goal-1'), 422, 'invalid_document');
  const schema = '{"fieldSchema":{"const":9007199254740993}}';
  await refused(patch(`/workspace-types/${type.id}`, schema, 'workspace_type-1'), 422, 'invalid_document');
});

test('documents that are too large or contain a secret are refused', async () => {
  const { actor } = worker;
  const text = 'x'.repeat(70_000);
  const goal = await done(actor.post('/goals', { title: 'g' }), 201);
  const type = await done(actor.post('/workspace-types', { key: 'large', displayName: 'L' }), 201);
  const workspace = await done(actor.post('/workspaces', { slug: 'large', name: 'L' }), 201);
  const [goalTag, typeTag, workspaceTag] = ['goal-1', 'workspace_type-1', 'workspace-1'].map((tag) => ({
    'if-match': tag,
  }));
  const criteria = [{ key: 'k', kind: 'human', description: 'd', spec: { text } }];
  const customFields = { text };
  const large = { fieldSchema: { description: text } };
  const secret = { fieldSchema: { description: `Bearer ${'abcdefgh'.repeat(4)}` } };
  const tooLarge = 'payload_too_large';
  await refused(actor.patch(`/goals/${goal.id}`, { criteria }, goalTag), 422, tooLarge);
  await refused(actor.post('/workspaces', { slug: 'l2', name: 'L', customFields }), 422, tooLarge);
  await refused(actor.patch(`/workspaces/${workspace.id}`, { customFields }, workspaceTag), 422, tooLarge);
  await refused(actor.patch(`/workspace-types/${type.id}`, large, typeTag), 422, tooLarge);
  const rejected = 'secret_material_rejected';
  const hidden = { customFields: { password: 'x' } };
  await refused(actor.patch(`/workspaces/${workspace.id}`, hidden, workspaceTag), 422, rejected);
  await refused(actor.post('/workspace-types', { key: 's', displayName: 'S', ...secret }), 422, rejected);
  await refused(actor.patch(`/workspace-types/${type.id}`, secret, typeTag), 422, rejected);
});

test('a principal that is not a decider cannot decide, and one that lacks a capability cannot take work over', async () => {
  const [asked, other] = [await baton.actor({ kind: 'human' }), await baton.actor({ kind: 'human' })];
  const body = { assignedPrincipalId: asked.principalId, comment: 'yes?' };
  const approval = await done(baton.admin.post('/approvals', body), 201);
  await refused(other.post(`/approvals/${approval.id}:reject`), 403, 'not_eligible');

  const capability = await done(baton.admin.post('/capabilities', { name: 'rare' }), 201);
  const skilled = await makeWorker(baton);
  const given = `/principals/${skilled.actor.principalId}/capabilities`;
  await done(baton.admin.post(given, { capabilityId: capability.id }), 201);
  const task = await makeTask(baton, { requirements: { capabilities: ['rare'] } });
  const claim = await claimTask(skilled, task.id);
  await done(skilled.actor.post(`/claims/${claim.id}:release`));
  const { actor, sessionId } = worker;
  await refused(actor.post(`/claims/${claim.id}:reclaim`, { sessionId }), 403, 'not_eligible');
});

test("the evidence of a goal's origin is validated", async () => {
  const fact = { kind: 'external', externalRef: { system: 's', id: '1' } };
  const from = (evidence: object[]) => ({ title: 'g', createdFrom: { kind: 'human', evidence } });
  await refused(worker.actor.post('/goals', from([fact, fact])), 422, 'duplicate_evidence');
});
