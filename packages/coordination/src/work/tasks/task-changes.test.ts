import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import type { Lifecycle } from '../../definitions/task-types/lifecycle.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import {
  claimTask,
  delegate,
  done,
  endClaimLease,
  endDelegation,
  eventsOf,
  makeTask,
  makeWorker,
  openSession,
  refused,
  type Worker,
} from '../../testing/leases.ts';

let baton: TestCoordination;
let worker: Worker;

before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
});
after(() => baton.close());

const patch = (id: string, body: object, version: number, by = baton.admin) =>
  by.patch(`/tasks/${id}`, body, { 'if-match': `"task-${version}"` });

/** Inserts a run under a claim, as start-run would. */
async function insertRun(claim: { id: string; taskId: string; fencingToken: number }): Promise<string> {
  const id = newId();
  await baton.pool.run(sql`
    insert into runs (id, tenant_id, task_id, claim_id, principal_id, session_id, fencing_token, attempt)
    select ${id}, tenant_id, task_id, id, holder_id, session_id, fencing_token, fencing_token from claims
    where id = ${claim.id}`);
  return id;
}

describe('PATCH /tasks/{ref}', () => {
  test('changes the given fields, increases the version, and emits one event', async () => {
    const task = await makeTask(baton, { startDate: '2026-01-01', customFields: { a: 1 } });
    const owner = await baton.actor();
    const check = { key: 'seen', kind: 'human', description: 'seen' };
    const change = {
      title: 'another title',
      description: 'words',
      priority: 'low',
      status: 'blocked',
      ownerId: owner.principalId,
      assigneeId: owner.principalId,
      customFields: { b: 2 },
      startDate: null,
      dueDate: '2026-02-01T00:00:00Z',
      acceptance: [check],
      evidence: [{ kind: 'external', externalRef: { system: 's', id: '1' }, check: 'seen' }],
      requirements: { roles: [], capabilities: [], skills: [] },
      workspaceId: null,
      goalId: null,
    };
    const { status, body, headers } = await patch(task.publicId, change, 1);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(headers.get('etag'), '"task-2"');
    const { requirements: _, ...shown } = change;
    const expected = {
      ...task,
      ...shown,
      acceptance: [{ ...check, addedByPrincipalId: baton.admin.principalId }],
      dueDate: '2026-02-01T00:00:00.000Z',
      systemStatusCategory: 'blocked',
      acceptanceChecks: 1,
      availableAt: null,
      version: 2,
      updatedAt: body.updatedAt,
    };
    assert.deepEqual(body, expected);
    assert.deepEqual(await done(baton.admin.get(`/tasks/${task.id}`)), expected);
    const [, event, ...more] = await eventsOf(baton, task.id);
    assert.equal(more.length, 0);
    assert.equal(event?.type, 'task.updated');
    assert.deepEqual(event?.payload, {
      publicId: task.publicId,
      changes: {
        title: 'another title',
        description: 'words',
        priority: 'low',
        status: 'blocked',
        ownerId: owner.principalId,
        assigneeId: owner.principalId,
        customFields: true,
        startDate: null,
        dueDate: '2026-02-01T00:00:00.000Z',
        acceptance: 1,
        evidence: 1,
      },
      version: 2,
      fromStatus: 'todo',
      status: 'blocked',
      systemStatusCategory: 'blocked',
    });
  });

  test('null clears owner, assignee and dates, and is refused for every other field', async () => {
    const person = baton.admin.principalId;
    const { id } = await makeTask(baton, { ownerId: person, assigneeId: person, dueDate: '2026-01-01' });
    const cleared = await done(patch(id, { ownerId: null, assigneeId: null, dueDate: null }, 1));
    assert.deepEqual([cleared.ownerId, cleared.assigneeId, cleared.dueDate], [null, null, null]);
    for (const field of [
      'title',
      'description',
      'priority',
      'status',
      'customFields',
      'requirements',
      'acceptance',
      'evidence',
      'claimId',
      'fencingToken',
    ]) {
      const details = await refused(patch(id, { [field]: null }, 2), 422, 'invalid_field');
      assert.deepEqual(details, { field });
    }
  });

  test('unchanged values have no effect: 200, same version, no event', async () => {
    const given = {
      title: 'as it is',
      description: 'd',
      priority: 'high',
      ownerId: baton.admin.principalId,
      customFields: { a: { x: 1, y: [1, 2.5] } },
      dueDate: '2026-01-01T00:00:00Z',
      acceptance: [{ key: 'k', kind: 'human', description: 'd', spec: {} }],
      evidence: [{ kind: 'external', externalRef: { system: 's', id: '1' } }],
    };
    const task = await makeTask(baton, given);
    const again = {
      ...given,
      dueDate: '2026-01-01T01:00:00+01:00',
      customFields: { a: { y: [1, 2.5], x: 1 } },
    };
    assert.deepEqual(await done(patch(task.id, again, 1)), task);
    assert.deepEqual(await done(patch(task.id, { requirements: {}, workspaceId: null }, 1)), task);
    assert.equal((await eventsOf(baton, task.id)).length, 1);
  });

  test('a patch with only the fields of the claim is refused', async () => {
    const { id } = await makeTask(baton);
    await refused(patch(id, {}, 1), 422, 'empty_update');
    const claim = await claimTask(worker, id);
    await refused(patch(id, { claimId: claim.id, fencingToken: 1 }, 2, worker.actor), 422, 'empty_update');
  });

  test('origin, type and category are not accepted', async () => {
    const { id, typeId } = await makeTask(baton);
    for (const field of [{ origin: { kind: 'human' } }, { typeId }, { systemStatusCategory: 'active' }])
      await refused(patch(id, field, 1), 400, 'invalid_request');
  });

  test('the version is checked before the claim, and the claim before the fields', async () => {
    const { id } = await makeTask(baton);
    const claim = await claimTask(worker, id);
    const wrong = { title: ' ', priority: 'urgent' };
    const details = await refused(patch(id, wrong, 1), 409, 'version_conflict');
    assert.deepEqual(details, { taskId: id, entity: 'task', id, expectedVersion: 1, currentVersion: 2 });
    const claimed = await refused(patch(id, wrong, 2), 409, 'task_claimed');
    assert.deepEqual(claimed, { taskId: id, claimId: claim.id, expiresAt: claim.expiresAt });
    const stale = { ...wrong, claimId: claim.id, fencingToken: 7 };
    const shown = await refused(patch(id, stale, 2, worker.actor), 409, 'stale_claim');
    assert.deepEqual(shown, { claimId: claim.id, presentedFencingToken: 7, currentClaimEpoch: 1 });
    await refused(patch(id, { ...wrong, claimId: claim.id }, 2, worker.actor), 409, 'stale_claim');
    await refused(patch(id, { ...wrong, claimId: newId(), fencingToken: 1 }, 2), 409, 'stale_claim');
    const right = { claimId: claim.id, fencingToken: 1 };
    await refused(patch(id, { ...wrong, ...right }, 2), 403, 'claim_holder_mismatch');
    await refused(patch(id, { ...wrong, ...right }, 2, worker.actor), 422, 'invalid_title');
    const { body } = await patch(id, { title: 'mine', ...right }, 2, worker.actor);
    assert.deepEqual([body.title, body.version, body.activeClaimId], ['mine', 3, claim.id]);
    const events = await eventsOf(baton, id);
    assert.equal(events.at(-1)?.session_id, worker.sessionId);
  });

  test("an ended claim must not be presented, and a dead one doesn't prevent a change", async () => {
    const { id } = await makeTask(baton);
    await refused(patch(id, { title: 'x', claimId: newId(), fencingToken: 1 }, 1), 409, 'stale_claim');
    const claim = await claimTask(worker, id);
    await endClaimLease(baton, id);
    const shown = { title: 'x', claimId: claim.id, fencingToken: 1 };
    await refused(patch(id, shown, 2, worker.actor), 409, 'stale_claim');
    await done(patch(id, { title: 'x' }, 2));
  });

  test('a claim of a session whose delegation has ended is ended and refused', async () => {
    const human = await baton.actor({ kind: 'human' });
    const { id } = await makeTask(baton);
    const delegation = await delegate(human, worker.actor, baton);
    const sessionId = await openSession(worker.actor, { onBehalfOf: human.principalId });
    const claim = await claimTask({ ...worker, sessionId }, id);
    await endDelegation(baton, delegation);
    const shown = { title: 'x', claimId: claim.id, fencingToken: 1 };
    await refused(patch(id, shown, 2, worker.actor), 409, 'stale_claim');
    const session = await done(worker.actor.get(`/sessions/${sessionId}`));
    assert.equal(session.status, 'closed');
  });

  test('checks its fields in the documented order', async () => {
    const { id } = await makeTask(baton);
    const somebody = newId();
    const rows: [object, number, string][] = [
      [{ title: ' ' }, 422, 'invalid_title'],
      [{ title: undefined, priority: 'urgent' }, 422, 'invalid_priority'],
      [{ priority: undefined, status: 'unheard-of' }, 422, 'status_not_in_lifecycle'],
      [{ status: 'done' }, 422, 'invalid_status'],
      [{ status: 'todo' }, 422, 'invalid_transition'],
      [{ status: undefined, assigneeId: 'agent:builder' }, 422, 'unknown_agent'],
      [{ assigneeId: somebody }, 404, 'not_found'],
      [{ assigneeId: undefined, workspaceId: somebody }, 404, 'not_found'],
      [{ workspaceId: undefined, customFields: 1 }, 422, 'invalid_document'],
      [{ customFields: { token: 'x' } }, 422, 'secret_material_rejected'],
      [
        { customFields: undefined, startDate: '2026-02-02', dueDate: '2026-02-01' },
        422,
        'invalid_planned_dates',
      ],
      [{ startDate: undefined, dueDate: undefined, goalId: somebody }, 404, 'not_found'],
      [{ goalId: undefined, acceptance: [{ key: 'A' }] }, 422, 'invalid_acceptance'],
      [
        { acceptance: [{ key: 'a', kind: 'human', description: 'd', spec: { x: 1 } }] },
        422,
        'invalid_acceptance_spec',
      ],
      [{ acceptance: undefined, evidence: [{}] }, 422, 'invalid_evidence'],
      [
        { evidence: [{ kind: 'artifact', artifactId: somebody, check: 'no' }] },
        422,
        'unknown_acceptance_check',
      ],
      [{ evidence: [{ kind: 'artifact', artifactId: somebody }] }, 404, 'not_found'],
      [{ evidence: undefined, requirements: { skills: ['@'] } }, 422, 'invalid_requirement'],
      [{ requirements: { skills: ['lint@1'] } }, 422, 'unknown_requirement'],
    ];
    const wrong = rows.map(([body]) => body);
    for (const [index, [, status, code]] of rows.entries()) {
      const body = Object.assign({}, ...wrong.slice(index).reverse());
      await refused(patch(id, body, 1), status, code);
    }
    const check = { key: 'a', kind: 'human', description: 'd' };
    const fact = { kind: 'external', externalRef: { system: 's', id: '1' } };
    await refused(patch(id, { acceptance: [check, check] }, 1), 422, 'duplicate_check_key');
    await refused(patch(id, { evidence: [fact, fact] }, 1), 422, 'duplicate_evidence');
    await refused(patch(id, { customFields: { a: 'x'.repeat(66_000) } }, 1), 422, 'payload_too_large');
    const deep = JSON.parse(`${'{"a":'.repeat(21)}1${'}'.repeat(21)}`);
    await refused(patch(id, { customFields: deep }, 1), 422, 'payload_too_deep');
    const unchanged = await done(baton.admin.get(`/tasks/${id}`));
    assert.equal(unchanged.version, 1);
    assert.equal((await eventsOf(baton, id)).length, 1);
  });

  test("custom fields are replaced as a whole and must match the type's schema", async () => {
    await insertTestType(baton, {
      key: 'pointed',
      fieldSchema: { properties: { points: { type: 'integer' } }, required: ['points'] },
      acceptance: [{ key: 'own', kind: 'human', description: 'd' }],
    });
    const { id } = await makeTask(baton, { typeKey: 'pointed', customFields: { points: 1, more: 2 } });
    await refused(patch(id, { customFields: { more: 3 } }, 1), 422, 'custom_fields_invalid');
    const { customFields } = await done(patch(id, { customFields: { points: 5 } }, 1));
    assert.deepEqual(customFields, { points: 5 });
    const own = { key: 'own', kind: 'human', description: 'd' };
    await refused(patch(id, { acceptance: [own] }, 2), 422, 'invalid_acceptance');
    const fact = { kind: 'external', externalRef: { system: 's', id: '1' }, check: 'own' };
    await done(patch(id, { evidence: [fact] }, 2));
  });

  test('unchanged evidence must still refer to existing checks, and unchanged dates still be in order', async () => {
    const check = { key: 'a', kind: 'human', description: 'd' };
    const fact = { kind: 'external', externalRef: { system: 's', id: '1' }, check: 'a' };
    const { id } = await makeTask(baton, { acceptance: [check], evidence: [fact], dueDate: '2026-01-02' });
    const details = await refused(patch(id, { acceptance: [] }, 1), 422, 'unknown_acceptance_check');
    assert.deepEqual(details, { field: 'evidence[0]', check: 'a', known: [] });
    await refused(patch(id, { startDate: '2026-01-03' }, 1), 422, 'invalid_planned_dates');
    await done(patch(id, { acceptance: [], evidence: [] }, 1));
  });

  test('a status change needs a declared edge, and success is only reached by :complete', async () => {
    const { id } = await makeTask(baton, { status: 'backlog' });
    const same = await refused(patch(id, { status: 'backlog' }, 1), 422, 'invalid_transition');
    assert.deepEqual(same, {
      from: 'backlog',
      to: 'backlog',
      allowed: ['todo', 'in_progress', 'blocked', 'cancelled'],
    });
    await refused(patch(id, { status: 'done' }, 1), 422, 'invalid_status');
    const moved = await done(patch(id, { status: 'cancelled' }, 1));
    assert.deepEqual([moved.systemStatusCategory, moved.completedAt], ['terminal_cancelled', null]);
    const ended = await refused(patch(id, { status: 'todo' }, 2), 422, 'invalid_transition');
    assert.deepEqual(ended, { from: 'cancelled', to: 'todo', allowed: [] });
    const renamed = await done(patch(id, { title: 'still editable' }, 2));
    assert.equal(renamed.version, 3);
  });

  test('if a type allows reopening a completed task, that clears its completion time', async () => {
    const lifecycle: Lifecycle = {
      statuses: [
        { key: 'open', category: 'active', displayName: 'Open' },
        { key: 'closed', category: 'terminal_success', displayName: 'Closed' },
      ],
      initialStatus: 'open',
      transitions: [
        { from: 'open', to: ['closed'] },
        { from: 'closed', to: ['open'] },
      ],
      completionStatus: 'closed',
    };
    await insertTestType(baton, { key: 'reopening', lifecycle });
    const { id } = await makeTask(baton, { typeKey: 'reopening' });
    const completed = await done(baton.admin.post(`/tasks/${id}:complete`, {}, { 'if-match': 'task-1' }));
    assert.ok(completed.completedAt);
    const renamed = await done(patch(id, { title: 'x' }, 2));
    assert.equal(renamed.completedAt, completed.completedAt);
    assert.equal((await done(patch(id, { status: 'open' }, 3))).completedAt, null);
  });

  test('moving to cancelled fails the running run with task_cancelled and releases the claim', async () => {
    const { id, publicId } = await makeTask(baton);
    const claim = await claimTask(worker, id);
    const runId = await insertRun(claim);
    const shown = { status: 'cancelled', claimId: claim.id, fencingToken: 1 };
    const task = await done(patch(id, shown, 2, worker.actor));
    assert.deepEqual([task.status, task.version, task.activeClaimId], ['cancelled', 3, null]);
    const events = (await eventsOf(baton, id, claim.id, runId)).slice(-3);
    assert.deepEqual(
      events.map(({ type, payload }) => [type, payload]),
      [
        ['run.failed', { taskId: id, reason: 'task_cancelled', attempt: 1 }],
        ['claim.released', { taskId: id, reason: 'task_cancelled' }],
        [
          'task.updated',
          {
            publicId,
            changes: { status: 'cancelled' },
            version: 3,
            fromStatus: 'in_progress',
            status: 'cancelled',
            systemStatusCategory: 'terminal_cancelled',
          },
        ],
      ],
    );
    const released = await done(baton.admin.get(`/claims/${claim.id}`));
    assert.equal(released.status, 'released');
  });

  test('moving to cancelled fails a run left running under a dead claim', async () => {
    const { id } = await makeTask(baton);
    const claim = await claimTask(worker, id);
    const runId = await insertRun(claim);
    await endClaimLease(baton, id);
    await done(patch(id, { status: 'cancelled' }, 2));
    const [failed] = await eventsOf(baton, runId);
    assert.deepEqual(failed?.payload, { taskId: id, reason: 'task_cancelled', attempt: 1 });
  });

  test('an unknown task returns 404, also one of another tenant', async () => {
    const foreign = await done(baton.otherAdmin.post('/tasks', { title: 'elsewhere' }), 201);
    for (const ref of [newId(), 'TASK-999999', foreign.id])
      await refused(patch(ref, { title: 'x' }, 1), 404, 'not_found');
  });
});

describe('POST /tasks/{ref}:complete', () => {
  const complete = (id: string, version: number, body: object | undefined = {}, by = baton.admin) =>
    by.post(`/tasks/${id}:complete`, body, { 'if-match': `"task-${version}"` });

  test('moves the task to its completion status, records the time, and emits the event', async () => {
    const task = await makeTask(baton);
    const { status, body, headers } = await complete(task.publicId, 1, undefined);
    assert.equal(status, 200);
    assert.equal(headers.get('etag'), '"task-2"');
    assert.deepEqual(body, {
      ...task,
      status: 'done',
      systemStatusCategory: 'terminal_success',
      version: 2,
      completedAt: body.updatedAt,
      updatedAt: body.updatedAt,
    });
    const [, event, ...more] = await eventsOf(baton, task.id);
    assert.equal(more.length, 0);
    assert.equal(event?.type, 'task.completed');
    assert.deepEqual(event?.payload, {
      publicId: task.publicId,
      status: 'done',
      systemStatusCategory: 'terminal_success',
      version: 2,
    });
  });

  test('by the holder, it releases the claim with reason completed', async () => {
    const { id } = await makeTask(baton);
    const claim = await claimTask(worker, id);
    const task = await done(complete(id, 2, { claimId: claim.id, fencingToken: 1 }, worker.actor));
    assert.deepEqual([task.version, task.activeClaimId, task.claimEpoch], [3, null, 1]);
    const events = await eventsOf(baton, id, claim.id);
    assert.deepEqual(
      events.slice(-2).map(({ type, session_id: session }) => [type, session]),
      [
        ['claim.released', worker.sessionId],
        ['task.completed', worker.sessionId],
      ],
    );
    assert.deepEqual(events.at(-2)?.payload, { taskId: id, reason: 'completed' });
    const released = await done(baton.admin.get(`/claims/${claim.id}`));
    assert.deepEqual([released.status, released.releaseReason], ['released', 'completed']);
  });

  test('refuses in the order version, completed, cancelled, claim, run, lifecycle', async () => {
    await refused(complete(newId(), 1), 404, 'not_found');
    const { id } = await makeTask(baton);
    const claim = await claimTask(worker, id);
    const runId = await insertRun(claim);
    const right = { claimId: claim.id, fencingToken: 1 };
    await refused(complete(id, 1), 409, 'version_conflict');
    await refused(complete(id, 2), 409, 'task_claimed');
    await refused(complete(id, 2, { claimId: claim.id, fencingToken: 2 }, worker.actor), 409, 'stale_claim');
    await refused(complete(id, 2, right), 403, 'claim_holder_mismatch');
    const busy = await refused(complete(id, 2, right, worker.actor), 409, 'run_in_progress');
    assert.deepEqual(busy, { taskId: id, runId });
    await baton.pool.run(sql`update runs set status = 'succeeded', finished_at = now() where id = ${runId}`);
    await done(complete(id, 2, right, worker.actor));
    await refused(complete(id, 2), 409, 'version_conflict');
    await refused(complete(id, 3, { claimId: newId() }), 409, 'task_already_completed');
    const other = await makeTask(baton);
    await done(patch(other.id, { status: 'cancelled' }, 1));
    await refused(complete(other.id, 2, { claimId: newId() }), 422, 'task_cancelled');
  });

  test('an undeclared edge to the completion status is refused, and nothing is released', async () => {
    const lifecycle: Lifecycle = {
      statuses: [
        { key: 'draft', category: 'backlog', displayName: 'Draft' },
        { key: 'ready', category: 'active', displayName: 'Ready' },
        { key: 'shipped', category: 'terminal_success', displayName: 'Shipped' },
      ],
      initialStatus: 'draft',
      transitions: [
        { from: 'draft', to: ['ready'] },
        { from: 'ready', to: ['shipped'] },
      ],
      completionStatus: 'shipped',
    };
    await insertTestType(baton, { key: 'shipping', lifecycle });
    const { id } = await makeTask(baton, { typeKey: 'shipping' });
    const claim = await claimTask(worker, id);
    const right = { claimId: claim.id, fencingToken: 1 };
    const details = await refused(complete(id, 2, right, worker.actor), 422, 'invalid_transition');
    assert.deepEqual(details, { from: 'draft', to: 'shipped', allowed: ['ready'] });
    assert.equal((await done(baton.admin.get(`/claims/${claim.id}`))).status, 'active');
    await done(patch(id, { status: 'ready', ...right }, 2, worker.actor));
    await done(complete(id, 3, right, worker.actor));
  });

  test('a run left running under an older claim is failed as superseded', async () => {
    const { id } = await makeTask(baton);
    const runId = await insertRun(await claimTask(worker, id));
    await endClaimLease(baton, id);
    await done(complete(id, 2));
    const [failed] = await eventsOf(baton, runId);
    assert.deepEqual([failed?.type, failed?.payload['reason']], ['run.failed', 'superseded']);
  });

  test('a claim of a session whose delegation has ended is ended and refused', async () => {
    const human = await baton.actor({ kind: 'human' });
    const { id } = await makeTask(baton);
    const delegation = await delegate(human, worker.actor, baton);
    const sessionId = await openSession(worker.actor, { onBehalfOf: human.principalId });
    const claim = await claimTask({ ...worker, sessionId }, id);
    await endDelegation(baton, delegation);
    const right = { claimId: claim.id, fencingToken: 1 };
    await refused(complete(id, 2, right, worker.actor), 409, 'stale_claim');
    assert.equal((await done(baton.admin.get(`/claims/${claim.id}`))).status, 'released');
  });
});
