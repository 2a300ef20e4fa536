import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  claimTask,
  done,
  endClaimLease,
  eventsOf,
  makeTask,
  makeWorker,
  refused,
  type Worker,
} from '../../testing/leases.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
let worker: Worker;
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
});
after(() => baton.close());

const statuses = (...keys: string[]) =>
  keys.map((key) => ({
    key,
    category:
      key === 'done'
        ? 'terminal_success'
        : key === 'off'
          ? 'terminal_cancelled'
          : key === 'later'
            ? 'backlog'
            : 'active',
  }));
const everywhere = (...keys: string[]) =>
  keys.map((from) => ({ from, to: keys.filter((to) => to !== from) }));
const oldLifecycle = {
  statuses: statuses('new', 'doing', 'odd', 'off', 'done'),
  initialStatus: 'new',
  transitions: everywhere('new', 'doing', 'odd', 'off', 'done'),
};
const newLifecycle = {
  statuses: statuses('later', 'new', 'working', 'off', 'done'),
  initialStatus: 'new',
  transitions: everywhere('later', 'new', 'working', 'off', 'done'),
};

let keys = 0;
/** Two versions of a new type; the second requires points and has its own check. */
async function twoVersions(second: object = {}) {
  keys += 1;
  const key = `kind-${keys}`;
  const make = (body: object) =>
    done(baton.admin.post('/task-types', { key, displayName: 'Kind', ...body }), 201);
  const first = await make({ lifecycleSchema: oldLifecycle });
  return { key, make, first, second: await make({ lifecycleSchema: newLifecycle, ...second }) };
}
type Versions = Awaited<ReturnType<typeof twoVersions>>;

const oldTask = ({ first }: Versions, more: object = {}) => makeTask(baton, { typeId: first.id, ...more });
const migrate = (task: { id: string; version: number }, body: object = {}, actor = baton.admin) =>
  actor.post(`/tasks/${task.id}:migrate-type`, body, { 'if-match': `task-${task.version}` });
const move = (task: { id: string; version: number }, status: string) =>
  done(baton.admin.patch(`/tasks/${task.id}`, { status }, { 'if-match': `task-${task.version}` }));
const wantsPoints = { required: ['points'], properties: { points: { type: 'integer' } } };

describe('POST /tasks/{ref}:migrate-type', () => {
  test('migrates the task to the newest active version, keeps its status, and emits the event', async () => {
    const types = await twoVersions();
    await done(baton.admin.post(`/task-types/${(await types.make({})).id}:deprecate`));
    const task = await oldTask(types);
    const migrated = await done(migrate(task));
    assert.deepEqual(
      { ...migrated, updatedAt: 0 },
      { ...task, typeId: types.second.id, typeVersion: 2, version: 2, updatedAt: 0 },
    );
    const [, event] = await eventsOf(baton, task.id);
    assert.deepEqual(
      [event?.type, event?.schema_version, event?.actor_id],
      ['task.type_migrated', 1, baton.admin.principalId],
    );
    assert.deepEqual(event?.payload, {
      publicId: task.publicId,
      typeKey: types.key,
      fromTypeVersion: 1,
      typeVersion: 2,
      fromStatus: 'new',
      status: 'new',
      systemStatusCategory: 'active',
      trigger: 'task',
      version: 2,
    });
  });

  test('maps the status, and takes its category from the new version', async () => {
    const task = await move(await oldTask(await twoVersions()), 'doing');
    const migrated = await done(migrate(task, { typeVersion: 2, statusMap: { doing: 'later', odd: 'new' } }));
    assert.deepEqual([migrated.status, migrated.systemStatusCategory], ['later', 'backlog']);
    // The task continues with the new lifecycle.
    assert.equal((await move(migrated, 'working')).status, 'working');
  });

  test('also migrates to a specified older version', async () => {
    const types = await twoVersions();
    const migrated = await done(
      migrate(await makeTask(baton, { typeId: types.second.id }), { typeVersion: 1 }),
    );
    assert.deepEqual([migrated.typeId, migrated.typeVersion], [types.first.id, 1]);
  });

  test('migrating to the current version changes nothing, regardless of other obstacles', async () => {
    const types = await twoVersions();
    const { id } = await makeTask(baton, { typeId: types.second.id });
    await claimTask(worker, id);
    const task = await done(baton.admin.get(`/tasks/${id}`));
    assert.deepEqual(await done(migrate(task)), task);
    assert.deepEqual(await done(migrate(task, { typeVersion: 2 })), task);
    assert.deepEqual(
      (await eventsOf(baton, id)).map(({ type }) => type),
      ['task.created', 'task.claimed'],
    );
  });

  describe('is refused', () => {
    test('for a missing or foreign task, and one with another version than If-Match', async () => {
      const task = await oldTask(await twoVersions());
      const foreign = await done(baton.otherAdmin.post('/tasks', { title: 'x' }), 201);
      for (const id of [newId(), foreign.id]) await refused(migrate({ id, version: 1 }), 404, 'not_found');
      const details = await refused(migrate({ ...task, version: 2 }), 409, 'version_conflict');
      assert.deepEqual([details.expectedVersion, details.currentVersion], [2, 1]);
      await refused(baton.admin.post(`/tasks/${task.id}:migrate-type`, {}), 428, 'if_match_required');
    });

    test('without one of the two permissions', async () => {
      const task = await oldTask(await twoVersions());
      for (const [held, missing] of [
        ['task_types.manage', 'tasks.write'],
        ['tasks.write', 'task_types.manage'],
      ] as const) {
        const actor = await baton.actor({ permissions: [held] });
        assert.deepEqual(await refused(migrate(task, {}, actor), 403, 'permission_denied'), {
          required: [missing],
        });
      }
      const both = await baton.actor({ permissions: ['tasks.write', 'task_types.manage'] });
      await done(migrate(task, {}, both));
    });

    test('to a version that is absent, deprecated or of another type', async () => {
      const types = await twoVersions();
      await done(baton.admin.post(`/task-types/${types.second.id}:deprecate`));
      const task = await oldTask(types);
      for (const typeVersion of [2, 3])
        assert.deepEqual(await refused(migrate(task, { typeVersion }), 422, 'invalid_migration_target'), {
          typeKey: types.key,
          typeVersion,
        });
      await done(baton.admin.post(`/task-types/${types.first.id}:deprecate`));
      const details = await refused(migrate(task), 422, 'invalid_migration_target');
      assert.deepEqual(details, { typeKey: types.key, typeVersion: null });
    });

    test('with a map from an unknown status, or to one that is unknown or terminal', async () => {
      const task = await oldTask(await twoVersions());
      const details = await refused(
        migrate(task, { statusMap: { working: 'new' } }),
        422,
        'invalid_status_map',
      );
      assert.deepEqual(details, { statusKey: 'working', known: ['new', 'doing', 'odd', 'off', 'done'] });
      for (const statusKey of ['doing', 'off', 'done'])
        assert.deepEqual(
          await refused(migrate(task, { statusMap: { odd: statusKey } }), 422, 'invalid_status_map'),
          {
            statusKey,
            known: ['later', 'new', 'working'],
          },
        );
      for (const statusMap of [
        { '': 'new' },
        { new: 'x'.repeat(65) },
        { new: 1 },
        Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`s${n}`, 'new'])),
      ])
        await refused(migrate(task, { statusMap }), 400, 'invalid_request');
    });

    test('of a task that is done or cancelled', async () => {
      const types = await twoVersions();
      const cancelled = await move(await oldTask(types), 'off');
      assert.deepEqual(await refused(migrate(cancelled), 409, 'task_terminal'), {
        taskId: cancelled.id,
        status: 'off',
        systemStatusCategory: 'terminal_cancelled',
      });
      const { id } = await oldTask(types);
      const completed = await done(baton.admin.post(`/tasks/${id}:complete`, {}, { 'if-match': 'task-1' }));
      await refused(migrate(completed), 409, 'task_terminal');
    });

    test('of a task that is claimed, also for the holder; a dead claim is no obstacle', async () => {
      const { id } = await oldTask(await twoVersions());
      const claim = await claimTask(worker, id);
      const task = await done(baton.admin.get(`/tasks/${id}`));
      const holder = await baton.actor({
        permissions: ['tasks.claim', 'tasks.write', 'task_types.manage', 'sessions.open'],
      });
      const { claimId, expiresAt } = claim;
      assert.deepEqual(await refused(migrate(task), 409, 'task_claimed'), { taskId: id, claimId, expiresAt });
      const own = await oldTask(await twoVersions());
      const session = await done(holder.post('/sessions', { clientName: 'c' }), 201);
      await claimTask({ actor: holder, sessionId: session.id }, own.id);
      await refused(migrate({ ...own, version: 2 }, {}, holder), 409, 'task_claimed');
      await endClaimLease(baton, id);
      assert.equal((await done(migrate(task))).typeVersion, 2);
    });

    test('while a run of an ended claim is running', async () => {
      const { id } = await oldTask(await twoVersions());
      const { claimId, fencingToken } = await claimTask(worker, id);
      const run = await done(worker.actor.post(`/tasks/${id}:start-run`, { claimId, fencingToken }), 201);
      await done(worker.actor.post(`/claims/${claimId}:release`));
      const task = await done(baton.admin.get(`/tasks/${id}`));
      assert.deepEqual(await refused(migrate(task), 409, 'run_in_progress'), { taskId: id, runId: run.id });
    });

    test('while it is being verified, or an approval is pending', async () => {
      const types = await twoVersions();
      const checks = { acceptance: [{ key: 'seen', kind: 'human', description: 'd' }] };
      const { id } = await oldTask(types, checks);
      const verifying = await done(baton.admin.post(`/tasks/${id}:complete`, {}, { 'if-match': 'task-1' }));
      const details = await refused(migrate(verifying), 409, 'verification_pending');
      assert.deepEqual(
        [details.taskId, details.verificationId, typeof details.status],
        [id, verifying.verification.id, 'string'],
      );
      const asked = await oldTask(types);
      const body = { task: asked.id, assignedPrincipalId: baton.admin.principalId };
      const approval = await done(baton.admin.post('/approvals', body), 201);
      const task = await done(baton.admin.get(`/tasks/${asked.id}`));
      assert.deepEqual(await refused(migrate(task), 409, 'approval_pending'), {
        taskId: asked.id,
        pendingApprovals: [approval.id],
      });
    });

    test('in a status that is missing or terminal in the new version', async () => {
      const types = await twoVersions();
      const task = await move(await oldTask(types), 'odd');
      const known = ['later', 'new', 'working'];
      assert.deepEqual(await refused(migrate(task), 409, 'incompatible_status'), {
        taskId: task.id,
        statusKey: 'odd',
        known,
      });
      const { version } = await types.make({
        lifecycleSchema: {
          statuses: [
            { key: 'new', category: 'active' },
            { key: 'odd', category: 'terminal_success' },
          ],
          initialStatus: 'new',
        },
      });
      const details = await refused(migrate(task, { typeVersion: version }), 409, 'incompatible_status');
      assert.deepEqual(details, { taskId: task.id, statusKey: 'odd', known: ['new'] });
    });

    test('with fields, checks or evidence that the new version refuses', async () => {
      const types = await twoVersions({
        fieldSchema: wantsPoints,
        acceptance: [{ key: 'seen', kind: 'human', description: 'd' }],
      });
      const { errors } = await refused(migrate(await oldTask(types)), 422, 'custom_fields_invalid');
      assert.deepEqual(errors, [{ path: '', message: 'must have the property points' }]);
      const customFields = { points: 1 };
      const own = { key: 'seen', kind: 'human', description: 'd' };
      const clashing = await oldTask(types, { customFields, acceptance: [{ ...own, key: 'a' }, own] });
      const details = await refused(migrate(clashing), 422, 'invalid_acceptance');
      assert.equal(details.field, 'acceptance[1].key');
      const back = await makeTask(baton, {
        typeId: types.second.id,
        customFields,
        evidence: [{ kind: 'external', externalRef: { system: 's', id: '1' }, check: 'seen' }],
      });
      const unknown = await refused(migrate(back, { typeVersion: 1 }), 422, 'unknown_acceptance_check');
      assert.deepEqual(unknown, { field: 'evidence[0]', check: 'seen', known: [] });
      assert.equal((await done(migrate(await oldTask(types, { customFields })))).typeVersion, 2);
    });
  });
});

const migrateAll = (types: Versions, body: object = {}, actor = baton.admin) =>
  actor.post(`/task-types/${types.first.id}:migrate-tasks`, body);

describe('POST /task-types/{id}:migrate-tasks', () => {
  test("excludes tasks that the caller can't see", async () => {
    const types = await twoVersions();
    const [seen, unseen] = [await makeWorkspace(baton), await makeWorkspace(baton)];
    const person = await baton.actor({ kind: 'human' });
    await done(baton.admin.post(`/workspaces/${seen.id}/members`, { principalId: person.principalId }), 201);
    await baton.pool.run(sql`
      update iam_bindings set visibility = 'members' where principal_id = ${person.principalId}`);
    const task = await oldTask(types, { workspaceId: seen.id });
    await oldTask(types, { workspaceId: unseen.id });
    const { migrated, skipped } = await done(migrateAll(types, {}, person));
    assert.deepEqual([migrated.map(({ taskId }: { taskId: string }) => taskId), skipped], [[task.id], []]);
  });

  test('migrates possible tasks, and skips the rest with the reason', async () => {
    const types = await twoVersions({ fieldSchema: wantsPoints });
    const customFields = { points: 1 };
    const made = {
      plain: await oldTask(types, { customFields }),
      mapped: await move(await oldTask(types, { customFields }), 'doing'),
      odd: await move(await oldTask(types, { customFields }), 'odd'),
      pointless: await oldTask(types),
      claimed: await oldTask(types, { customFields }),
      cancelled: await move(await oldTask(types), 'off'),
    };
    await makeTask(baton, { typeId: types.second.id, customFields });
    const claim = await claimTask(worker, made.claimed.id);
    const report = await done(migrateAll(types, { statusMap: { doing: 'working' } }));
    const { migrated, skipped, ...head } = report;
    assert.deepEqual(head, {
      typeKey: types.key,
      fromTypeVersion: 1,
      typeVersion: 2,
      typeId: types.second.id,
      nextCursor: null,
    });
    const byTask = (one: { taskId: string }, other: { taskId: string }) =>
      one.taskId < other.taskId ? -1 : 1;
    assert.deepEqual(
      migrated.sort(byTask),
      [
        {
          taskId: made.plain.id,
          publicId: made.plain.publicId,
          fromStatus: 'new',
          status: 'new',
          version: 2,
        },
        {
          taskId: made.mapped.id,
          publicId: made.mapped.publicId,
          fromStatus: 'doing',
          status: 'working',
          version: 3,
        },
      ].sort(byTask),
    );
    const reasons = Object.fromEntries(skipped.map((one: { taskId: string }) => [one.taskId, one]));
    assert.equal(skipped.length, 4);
    assert.deepEqual(reasons[made.claimed.id], {
      taskId: made.claimed.id,
      code: 'task_claimed',
      message: 'The task is claimed, so a change requires the claim.',
      details: { taskId: made.claimed.id, claimId: claim.id, expiresAt: claim.expiresAt },
    });
    assert.equal(reasons[made.odd.id].code, 'incompatible_status');
    assert.equal(reasons[made.pointless.id].code, 'custom_fields_invalid');
    assert.equal(reasons[made.cancelled.id].code, 'task_terminal');
    const [, event] = await eventsOf(baton, made.plain.id);
    assert.deepEqual([event?.type, event?.payload['trigger']], ['task.type_migrated', 'bulk']);
    assert.equal((await eventsOf(baton, made.odd.id)).length, 2);
  });

  test('continues from the cursor: each task is processed once, skipped ones included', async () => {
    const types = await twoVersions();
    const tasks = [];
    for (let n = 0; n < 7; n += 1) {
      const task = await oldTask(types);
      tasks.push(n % 3 === 2 ? await move(task, 'odd') : task);
    }
    const looked: string[] = [];
    let cursor: string | null = null;
    let calls = 0;
    do {
      const { migrated, skipped, nextCursor } = await done(migrateAll(types, { limit: 2, cursor }));
      looked.push(...[...migrated, ...skipped].map(({ taskId }: { taskId: string }) => taskId));
      cursor = nextCursor;
      calls += 1;
    } while (cursor !== null);
    assert.equal(calls, 4);
    assert.deepEqual(looked.sort(), tasks.map(({ id }) => id).sort());
    const again = await done(migrateAll(types, { statusMap: { odd: 'new' } }));
    assert.equal(again.migrated.length, 2);
    assert.deepEqual((await done(migrateAll(types))).migrated, []);
  });

  test('a batch of 500 ends with a cursor, also one that takes long to check', async () => {
    const types = await twoVersions({
      fieldSchema: {
        properties: { list: { allOf: Array.from({ length: 400 }, () => ({ uniqueItems: true })) } },
      },
    });
    const list = Array.from({ length: 400 }, (_, n) => `item ${n}`);
    await baton.pool.run(sql`
      insert into tasks (id, tenant_id, public_number, type_id, title, status, category, priority, origin, created_by,
        custom_fields)
      select gen_random_uuid(), ${baton.tenantId}::uuid, 500000 + n, ${types.first.id}::uuid, 'work', 'new', 'active', 2, '{}',
        ${baton.admin.principalId}::uuid, ${JSON.stringify({ list })}::jsonb
      from generate_series(1, 600) n`);
    const startedAt = performance.now();
    const first = await done(migrateAll(types, { limit: 500 }));
    assertTookLess(startedAt, 6000);
    assert.ok(first.skipped.length >= 20 && first.skipped.length <= 500);
    assert.equal(first.skipped[0].code, 'custom_fields_invalid');
    assert.deepEqual(first.skipped[0].details.errors, [
      { path: '', message: 'takes too many steps to validate' },
    ]);
    assert.notEqual(first.nextCursor, null);
  });

  test('is refused for an unknown type, a wrong target, map, limit or cursor, and without one of the permissions', async () => {
    const types = await twoVersions();
    const [foreign] = (await done(baton.otherAdmin.get('/task-types'))).items;
    for (const id of [newId(), foreign.id])
      await refused(baton.admin.post(`/task-types/${id}:migrate-tasks`), 404, 'not_found');
    await refused(migrateAll(types, { toVersion: 3 }), 422, 'invalid_migration_target');
    assert.deepEqual(await refused(migrateAll(types, { toVersion: 1 }), 422, 'invalid_migration_target'), {
      typeKey: types.key,
      typeVersion: 1,
      reason: 'same_version',
    });
    await refused(
      baton.admin.post(`/task-types/${types.second.id}:migrate-tasks`),
      422,
      'invalid_migration_target',
    );
    await refused(migrateAll(types, { statusMap: { new: 'done' } }), 422, 'invalid_status_map');
    for (const limit of [0, 501, 1.5])
      assert.deepEqual(await refused(migrateAll(types, { limit }), 422, 'invalid_limit'), {
        min: 1,
        max: 500,
      });
    const other = await twoVersions();
    for (let n = 0; n < 2; n += 1) await oldTask(other);
    const { nextCursor } = await done(migrateAll(other, { limit: 1 }));
    for (const cursor of ['x', nextCursor])
      await refused(migrateAll(types, { cursor }), 422, 'invalid_cursor');
    for (const held of ['task_types.manage', 'tasks.write'] as const)
      await refused(
        migrateAll(types, {}, await baton.actor({ permissions: [held] })),
        403,
        'permission_denied',
      );
  });
});
