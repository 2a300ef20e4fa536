import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { longTest } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask, refused } from '../../testing/leases.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';
import { blockOf, insertTestView } from '../../testing/packages/views.ts';
import { pagesReadBy } from '../../testing/work/pages-read.ts';
import { keysOfRows } from './block-query.ts';
import { findBlockRows, type Looking, scannedRowsMax } from './rows.sql.ts';
import { sources } from './sources.ts';

/** More rows than one query may scan. */
const many = scannedRowsMax + 4000;

let baton: TestCoordination;
let admin: Actor;
let person: Actor;
let mine: { id: string };
let other: { id: string };
let rare: { id: string };

before(async () => {
  baton = await startCoordination();
  admin = baton.admin;
  ({ person, mine, other } = await makeNarrowPerson(baton));
  rare = await makeTask(baton, { priority: 'critical', title: 'rare', workspaceId: mine.id });
  await fill(many, other.id);
});
after(() => baton.close());

/** Tasks that are newer than all others, each with a claim, a run, an approval and a call. */
async function fill(count: number, workspaceId: string): Promise<void> {
  const { tenantId, pool } = baton;
  const { principalId } = admin;
  await pool.transaction(async (tx) => {
    await tx.run(sql`set local session_replication_role = replica`);
    await tx.run(sql`
      with made as (
        insert into tasks (id, tenant_id, public_number, workspace_id, type_id, title, status, category, priority, origin,
          created_by, owner_id, created_at)
        select gen_random_uuid(), ${tenantId}::uuid, next_task_number(${tenantId}), ${workspaceId}::uuid,
          (select id from task_types where tenant_id = ${tenantId} and key = 'task'), 'work ' || n, 'todo', 'active', 2,
          '{"kind":"human","evidence":[]}', ${principalId}::uuid, ${principalId}::uuid, now() + n * interval '1 ms'
        from generate_series(1, ${count}::integer) n
        returning id
      ), claimed as (
        insert into claims (id, tenant_id, task_id, session_id, holder_id, fencing_token, expires_at, status)
        select gen_random_uuid(), ${tenantId}::uuid, id, ${newId()}::uuid, ${principalId}::uuid, 1, now(), 'released' from made
        returning *
      ), called as (
        insert into skill_invocations (id, tenant_id, skill_id, requested_by_kind, requested_by_ref, authority_principal_id,
          credential, inputs, task_id, max_attempts, timeout_seconds, backoff_seconds, protocol, target, audience)
        select gen_random_uuid(), ${tenantId}::uuid, ${newId()}::uuid, 'principal', 'x', ${principalId}::uuid, '{}', '{}', id, 1,
          30, 1, 'http', 'x', 'x' from made
      ), asked as (
        insert into approvals (id, tenant_id, task_id, requested_by_principal_id, assigned_principal_id, gate)
        select gen_random_uuid(), ${tenantId}::uuid, id, ${principalId}::uuid, ${principalId}::uuid, false from made
      )
      insert into runs (id, tenant_id, task_id, claim_id, principal_id, session_id, fencing_token, attempt, status)
      select gen_random_uuid(), tenant_id, task_id, id, holder_id, session_id, 1, 1, 'succeeded' from claimed`);
  });
  await pool.run(sql`analyze`);
}

const publish = (...blocks: object[]) => insertTestView(baton, admin, blocks);
const query = (key: string, body: object = {}, by = admin) =>
  by.post(`/views/${key}:query`, { block: 0, ...body });
const idsOf = async (key: string, body: object = {}, by = admin) =>
  (await done(query(key, body, by))).items.map(({ id }: any) => id);
const byTitle = { sorts: [{ field: 'title', direction: 'asc' }] };
const counting = { columns: [{ field: 'value' }], aggregate: { fn: 'count' } };

test('a query that would scan more than 20,000 rows returns 409 view_too_costly', async () => {
  const key = await publish(
    blockOf(byTitle),
    blockOf(counting),
    blockOf({ filters: [{ field: 'title', op: 'eq' }] }),
    blockOf({ filters: [{ field: 'priority', op: 'eq' }], ...byTitle }),
  );
  const costly = [
    { block: 0 },
    { block: 1 },
    { block: 2, filter: [{ field: 'title', value: 'absent' }] },
    { block: 3, filter: [{ field: 'priority', value: 'medium' }] },
    { block: 0, workspaceId: other.id },
  ];
  for (const body of costly)
    assert.deepEqual(await refused(query(key, body), 409, 'view_too_costly'), { maxRows: scannedRowsMax });
});

test('any number of newest rows is shown page by page, and so are rows found by an index', async () => {
  const filters = ['id', 'priority', 'title', 'ownerId'].map((field) => ({ field, op: 'eq' }));
  const key = await publish(
    blockOf({ filters: [...filters, { field: 'priority', op: 'in' }], ...byTitle }),
    blockOf({ filters }),
  );
  const page = await done(query(key, { block: 1, limit: 2 }));
  assert.deepEqual(
    page.items.map(({ title }: any) => title),
    [`work ${many}`, `work ${many - 1}`],
  );
  const next = await done(query(key, { block: 1, limit: 1, cursor: page.nextCursor }));
  assert.deepEqual(
    next.items.map(({ title }: any) => title),
    [`work ${many - 2}`],
  );
  for (const filter of [
    [{ field: 'id', value: rare.id }],
    [{ field: 'priority', value: 'critical' }],
    [{ field: 'priority', op: 'in', value: ['critical', 'low'] }],
    [
      { field: 'ownerId', value: admin.principalId },
      { field: 'priority', value: 'critical' },
    ],
  ]) {
    const expected = filter.length > 1 ? [] : [rare.id];
    assert.deepEqual(await idsOf(key, { filter }), expected);
  }
  const recent = [{ field: 'title', value: `work ${many - 50}` }];
  assert.equal((await idsOf(key, { block: 1, filter: recent, limit: 1 })).length, 1);
});

test('the rows of a small workspace are shown too', async () => {
  const small = await makeWorkspace(baton);
  const task = await makeTask(baton, { workspaceId: small.id });
  const key = await publish(blockOf(byTitle), blockOf(counting));
  assert.deepEqual(await idsOf(key, { workspaceId: small.id }), [task.id]);
  assert.deepEqual((await done(query(key, { block: 1, workspaceId: small.id }))).items, [{ value: 1 }]);
});

for (const source of ['tasks', 'runs', 'claims', 'approvals', 'invocations'])
  test(`${source}: hidden rows do not count towards the limit of a query`, async () => {
    const columns = [{ field: 'id' }];
    const filters = [{ field: 'status', op: 'eq' }];
    const sorts = [{ field: 'id', direction: 'asc' }];
    const key = await publish(
      blockOf({ source, columns, filters, sorts }),
      blockOf({ source, ...counting, filters }),
      blockOf({ source, columns, filters }),
    );
    for (const block of [0, 1]) {
      assert.ok((await done(query(key, { block }, person))).items.length < 5);
      await refused(query(key, { block }), 409, 'view_too_costly');
    }
    const before = await idsOf(key, { block: 2 }, person);
    const [status] = { tasks: ['todo'], approvals: ['pending'], invocations: ['pending'] }[source] ?? [
      'released',
    ];
    assert.deepEqual(
      await idsOf(key, { block: 2, filter: [{ field: 'status', value: status }] }, person),
      before,
    );
  });

longTest('a refused query of a tenant twice as large reads no more than before', async () => {
  const source = sources.tasks;
  const { keys } = keysOfRows(source, byTitle.sorts as never);
  const looking: Looking = {
    tenantId: baton.tenantId,
    source,
    access: { by: 'tenant' },
    viewerId: null,
    workspaceId: null,
    comparisons: [],
    granted: undefined,
  };
  const page = {
    columns: [source.fields['title'] as never],
    keys,
    start: undefined,
    inOrder: false,
    rowsMax: 51,
  };
  const read = () => pagesReadBy(baton.pool, findBlockRows(looking, page));
  const before = await read();
  await fill(many, other.id);
  assert.ok((await read()) <= 1.5 * before, `${await read()} pages, ${before} before`);
});
